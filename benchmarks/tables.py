"""Score published test rows under `nadek.NADEk` with defaults.

    python benchmarks/tables.py [--sets nltcs plants accidents mushrooms] [--record]

The model is trained on the training rows, the best weights are chosen on the validation rows, and the test rows are
scored once: mean log-probability under the mixture of 32 orderings, and its standard error. Seconds are of the
processor. "plants-holes" is trained with three in ten cells of the training and validation rows missing, and scored on
the same complete rows. "plants-memory" keeps the training rows beside the network (`memory=True`). With --record each
set is written as soon as it is done, and is not done again.
"""

import json
import time
from typing import Any

import numpy as np
import pandas as pd
from common import RESULTS, record_parser, show, write
from imputation_data import Table, hide, table

import nadek
from nadek.runs.provenance import provenance

SETS = ("nltcs", "plants", "accidents", "mushrooms", "plants-holes", "plants-memory")
PUBLISHED = {"nltcs": -5.99, "plants": -11.99, "accidents": -26.55, "mushrooms": -9.55}
"""Best published result that we remember, of any model."""


def main() -> None:
    """Measure, print and write a record."""
    parser = record_parser(__doc__, "tables")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    options = parser.parse_args()
    done: dict[str, Any] = {}
    if options.record and (RESULTS / "tables.json").is_file():
        done = json.loads((RESULTS / "tables.json").read_text(encoding="utf-8"))["sets"]
    for name in options.sets:
        if name not in done:
            done[name] = measure(name)
            if options.record:
                write("tables", {"sets": done})
    rows = [[name, *(done[name][key] for key in ("mean", "single", "spread", "published"))] for name in options.sets]
    show("Test log-likelihood, nats", ["set", "ensemble of 32", "one ordering", "spread", "best published"], rows)


def measure(name: str) -> dict[str, Any]:
    """Fit and score one set."""
    data = table(name.split("-")[0])
    train, valid = data.train, data.valid
    if "holes" in name:
        train, valid = (hide(part, 0.3, data.levels, part=name) for part, name in ((train, "train"), (valid, "valid")))
    started = time.process_time()
    model = nadek.NADEk(memory="memory" in name, n_orderings=32, random_state=0)
    model.fit(_frame(train, data), X_val=_frame(valid, data))
    fitted = time.process_time()
    test = _frame(data.test, data)
    scores = model.score_samples(test)
    single = model.log_prob(test, ordering=model.orderings_[0])
    return {
        "mean": scores.mean(),
        "standard_error": scores.std(ddof=1) / len(scores) ** 0.5,
        "single": single.mean(),
        "spread": model.ordering_spread(test[:500]).mean(),
        "published": PUBLISHED[data.name],
        "rows": len(scores),
        "validation": model.history_[-1].best,
        "epochs": model.n_iter_,
        "seconds_fit": fitted - started,
        "seconds_score": time.process_time() - fitted,
        "processor": provenance()["hardware"]["processor"],
    }


def _frame(x: np.ndarray, data: Table) -> pd.DataFrame:
    """Return a frame of numbers (0 and 1) and categories."""
    columns = {
        f"x{j}": x[:, j] if n == 2 else pd.Categorical.from_codes(np.nan_to_num(x[:, j], nan=-1).astype(int), range(n))
        for j, n in enumerate(data.levels)
    }
    return pd.DataFrame(columns)


if __name__ == "__main__":
    main()
