"""Learn from rows whose missing cells depend on another column.

    python benchmarks/holes.py [--quick] [--record]

The table is nltcs. The answer to the eighth question is always observed. Where it is yes, four in five of the other
fifteen answers are hidden from the training and validation rows; where it is no, none is. That is "follow". "random"
hides as many cells anywhere. "learnt" completes the rows of "follow" while it learns (`missing="complete"`), and
"random, learnt" those of "random". "completed" learns from rows that the model of "follow" completed by one joint draw
each. All else are defaults. All are scored on the same complete test rows: mean log-probability under the mixture of 32
orderings. "ones" is the share of yes among the fifteen answers, in the test rows and in 20,000 samples of a model.
"""

import time
from typing import Any

import numpy as np
import pandas as pd
from common import record_parser, show, write
from imputation_data import table

import nadek

DRIVER = 7
"""Question whose answer decides; a third says yes."""
HIDDEN = 0.8
SAMPLES = 20_000
WAYS = {
    "whole": "no holes",
    "random": "holes anywhere",
    "random, learnt": "the same, completed while learning",
    "follow": "holes that follow from a column",
    "learnt": "the same, completed while learning",
    "completed": "the same, completed first",
}


def main() -> None:
    """Measure, print and write a record."""
    parser = record_parser(__doc__, "holes")
    parser.add_argument("--quick", action="store_true", help="two epochs, to see that it runs")
    options = parser.parse_args()
    data, settings = table("nltcs"), {"n_orderings": 32} | ({"max_iter": 2} if options.quick else {})
    test, others = _frame(data.test), np.delete(np.arange(data.test.shape[1]), DRIVER)
    models: dict[str, nadek.NADEk] = {}
    metrics: dict[str, Any] = {}
    for way, title in WAYS.items():
        train, valid = (with_missing(x, way, seed) for seed, x in enumerate((data.train, data.valid)))
        missing = train.isna().to_numpy().mean()
        started = time.perf_counter()
        if way == "completed":
            train, valid = (models["follow"].sample_conditional(x, random_state=0)[0] for x in (train, valid))
        missing_is = "complete" if "learnt" in way else "use"
        models[way] = nadek.NADEk(random_state=0, missing=missing_is, **settings).fit(train, X_val=valid)
        seconds = time.perf_counter() - started
        scores = models[way].score_samples(test)
        drawn = models[way].sample(SAMPLES, random_state=1)
        metrics[way] = {
            "title": title,
            "missing": missing,
            "log_likelihood": scores.mean(),
            "standard_error": scores.std(ddof=1) / len(scores) ** 0.5,
            "ones": float(drawn.to_numpy(float)[:, others].mean()),
            "fit_seconds": seconds,
        }
    truth = {"ones": float(data.test[:, others].mean()), "rows": len(test), "samples": SAMPLES, "hidden": HIDDEN}
    show(
        f"nltcs, {truth['ones']:.3f} of the answers are yes",
        ["way", "missing", "log-likelihood", "standard error", "yes in samples", "fit seconds"],
        [[title, *(v for key, v in metrics[way].items() if key != "title")] for way, title in WAYS.items()],
    )
    if options.record:
        write("holes", {"test": truth, "ways": metrics})


def with_missing(x: np.ndarray, way: str, seed: int) -> pd.DataFrame:
    """Return the rows with the missing cells of one way."""
    hidden = np.random.default_rng(seed).random(x.shape) < HIDDEN
    follows = hidden & (x[:, [DRIVER]] == 1)
    follows[:, DRIVER] = False
    if way == "whole":
        missing = np.zeros_like(hidden)
    elif way.startswith("random"):
        missing = np.random.default_rng(seed + 10).random(x.shape) < follows.mean()
    else:
        missing = follows
    return _frame(np.where(missing, np.nan, x))


def _frame(x: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(x.astype(float), columns=[f"q{j}" for j in range(x.shape[1])])


if __name__ == "__main__":
    main()
