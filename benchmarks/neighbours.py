"""Measure the gain from ordered bins, on numeric tables.

    python benchmarks/neighbours.py [--sets wine breast-cancer diabetes digits] [--seeds 3] [--record]

Six rows in ten are for training (a tenth of them for early stopping), the others for the test. Numbers fall into at
most 16 bins, the same for all models. The table shows the mean log-probability of the test rows' bins in nats: of nadek
with its defaults (the mixture of 32 orderings), of the same without an order of the bins, and of two models with exact
likelihoods. All sets come with scikit-learn; pixels of digits that are blank everywhere are left out.
"""

import argparse
import time
from typing import Any

import numpy as np
import torch
from common import show, write
from number_data import NUMBERS
from numpy.typing import NDArray
from peers.mixture import Mixture
from peers.tree import Tree

from nadek.inference.likelihood import log_prob
from nadek.inference.orderings import random_orderings
from nadek.models import IterativeNADE
from nadek.tabular.columns import Column, encode, infer, n_levels, ordinal
from nadek.training import data_mean, fit, prepare
from nadek.training.defaults import defaults

Array = NDArray[np.float64]
WAYS = ("nadek", "nadek, bins in no order", "Chow-Liu tree", "mixture by EM")


def main() -> None:
    """Measure, print and write a record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=NUMBERS, default=list(NUMBERS))
    parser.add_argument("--seeds", type=int, default=3, help="splits, each with a training of its own")
    parser.add_argument("--epochs", type=int, help="fewer, to see that it runs")
    parser.add_argument("--record", action="store_true", help="write benchmarks/results/neighbours.json")
    options = parser.parse_args()
    results = {}
    for name in options.sets:
        each = [measure(NUMBERS[name](), seed, epochs=options.epochs) for seed in range(options.seeds)]
        results[name] = {
            "shape": NUMBERS[name]().shape,
            "ways": [
                {
                    "way": way,
                    "log_likelihood": float(np.mean([scores[way][0] for scores in each])),
                    "each": [scores[way][0] for scores in each],
                    "fit_seconds": float(np.mean([scores[way][1] for scores in each])),
                }
                for way in WAYS
            ],
        }
        columns = ["way", "log_likelihood", "fit_seconds"]
        show(name, columns, [[line[key] for key in columns] for line in results[name]["ways"]])
    if options.record:
        write("neighbours", {"seeds": options.seeds, "sets": results})


def measure(x: Array, seed: int, *, epochs: int | None = None) -> dict[str, tuple[float, float]]:
    """Return test log-probability and seconds of every way."""
    places = np.random.default_rng(seed).permutation(len(x))
    learnt, test = np.split(places, [round(0.6 * len(x))])
    columns = [infer(values, name=str(j), kind="numeric", integers="numeric") for j, values in enumerate(x[learnt].T)]
    codes = np.column_stack([encode(column, x[:, j], name=str(j)) for j, column in enumerate(columns)])
    held, train = np.split(learnt, [len(learnt) // 10])
    scores = {}
    for way in WAYS:
        started = time.perf_counter()
        if way.startswith("nadek"):
            model = _network(codes[train], codes[held], columns, seed, order="no order" not in way, epochs=epochs)
        else:
            model = Tree() if "tree" in way else Mixture(20)
            model.fit(codes[train], codes[held], tuple(map(n_levels, columns)))
        seconds = time.perf_counter() - started
        scores[way] = float(_log_prob(model, codes[test]).mean()), seconds
    return scores


def _network(
    train: Array, held: Array, columns: list[Column], seed: int, *, order: bool, epochs: int | None
) -> IterativeNADE:
    levels = tuple(map(n_levels, columns))
    model, training = defaults(len(train), levels, ordinal=ordinal(columns) if order else (), epochs=epochs)
    rows, others = (prepare(torch.from_numpy(x), levels=levels) for x in (train, held))
    network = IterativeNADE(
        model, data_mean(torch.from_numpy(train), levels), generator=torch.Generator().manual_seed(seed)
    )
    fit(network, rows, others, config=training)
    return network


def _log_prob(model: Any, x: Array) -> Array:  # noqa: ANN401 - a network, or one of the peers
    if not isinstance(model, IterativeNADE):
        return model.log_prob(x)
    orderings = random_orderings(32, x.shape[1], generator=torch.Generator().manual_seed(0))
    return log_prob(model, torch.from_numpy(x), orderings=orderings, reduce="mixture").numpy()


if __name__ == "__main__":
    main()
