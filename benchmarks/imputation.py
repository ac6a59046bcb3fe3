"""Hidden cells of real tables: nadek with its defaults against other ways to fill them in.

    python benchmarks/imputation.py [--peers-python PEERS/bin/python] [--record]
    python benchmarks/imputation.py --sets digits --fractions 0.3 --methods nadek neighbours --rows 100  # a short look

Every method learns from the training rows. Cells of the test rows are hidden at random, the same for all methods, and
each gives the probabilities of the levels of every hidden cell. What is chosen (a method's setting, and how far its
probabilities are drawn towards the columns' frequencies) is chosen on validation rows with as many hidden cells.
Seconds are those of the chosen setting; what the choice took stands beside them. Methods whose library is not
installed here are worked in the environment of --peers-python (benchmarks/peers/requirements.txt).

With --record every result is kept in benchmarks/results/imputation.json as soon as it is there, and an interrupted run
goes on where it was. docs/imputation.md is made from it.
"""

import argparse
import importlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from common import RESULTS, show
from imputation_data import FRACTIONS, SETS, Table, hide, table
from imputation_measures import CLIP, best_shrinkage, frequencies, measures, shrunk
from imputation_record import Record, Result, versions
from peers.methods import METHODS, Method, Setting
from peers.remote import PeerError, Remote

CHOOSE_ROWS = 500
"""Validation rows that settings are chosen on."""
SHOWN = ("log_loss", "standard_error", "brier", "accuracy", "auroc", "calibration_error", "fit_seconds", "fill_seconds")


@dataclass
class Fitted:
    """A peer, and what fitting it took."""

    peer: Any
    seconds: float


def here(path: str) -> bool:
    """Whether the libraries that a peer imports are installed in this environment."""
    try:
        importlib.import_module(path.split(":")[0])
    except ModuleNotFoundError:
        return False
    return True


def make(method: Method, setting: Setting, python: str | None) -> Any:  # noqa: ANN401 - a peer of any kind
    """The peer, in this process or in one of the other environment."""
    if here(method.path):
        module, name = method.path.split(":")
        return getattr(importlib.import_module(module), name)(**setting.options)
    if python is None:
        raise PeerError(f"{method.library} is not installed here: give --peers-python")
    return Remote(python, method.path, setting.options)


def fitted(data: Table, method: Method, setting: Setting, fraction: float, python: str | None) -> Fitted:
    """Make a peer and let it learn."""
    train = data.train if setting.train_rows is None else data.train[: setting.train_rows]
    if setting.holes:
        train = hide(train, fraction, data.levels, part="train")
    peer = make(method, setting, python)
    started = time.perf_counter()
    peer.fit(train, data.valid, data.levels)
    return Fitted(peer, time.perf_counter() - started)


def answers(peer: Any, x: np.ndarray) -> np.ndarray:  # noqa: ANN401 - a peer of any kind
    """Probabilities of the hidden cells, checked."""
    found = peer.probabilities(x)
    if not np.isfinite(found[np.isnan(x)]).all():
        raise PeerError("some of its probabilities are not finite")
    return found


def results(data: Table, method: Method, fractions: Sequence[float], python: str | None) -> Iterator[Result]:
    """One method on one table, a result for each fraction of hidden cells."""
    ready: dict[str, Fitted] = {}  # those that learn from whole rows serve every fraction
    towards = frequencies(data.train, data.levels)
    known = data.valid[:CHOOSE_ROWS]
    for fraction in fractions:
        asked = hide(known, fraction, data.levels, part="valid")
        started = time.perf_counter()
        found = []
        for setting in method.settings:
            if setting.holes or setting.name not in ready:
                ready[setting.name] = fitted(data, method, setting, fraction, python)
            p = answers(ready[setting.name].peer, asked)
            found.append((*best_shrinkage(p, towards, known, np.isnan(asked)), setting))
        choosing = time.perf_counter() - started
        weight, loss, setting = min(found, key=lambda one: one[1])
        chosen = ready[setting.name]
        asked = hide(data.test, fraction, data.levels, part="test")
        started = time.perf_counter()
        p = answers(chosen.peer, asked)
        filling = time.perf_counter() - started
        yield {
            **{"set": data.name, "fraction": fraction, "method": method.name, "setting": setting.name},
            **{"shrinkage": weight, "validation_log_loss": loss},
            **measures(shrunk(p, towards, weight), data.test, np.isnan(asked), data.levels),
            **{"fit_seconds": chosen.seconds, "fill_seconds": filling, "choice_seconds": choosing},
        }
    for one in ready.values():
        if isinstance(one.peer, Remote):
            one.peer.close()


def attempted(data: Table, method: Method, fractions: Sequence[float], python: str | None) -> Iterator[Result]:
    """`results`, or why there are none."""
    wanted = list(fractions)
    if method.binary_only and max(data.levels) > 2:
        told = "knows columns of two levels only"
    else:
        try:
            for result in results(data, method, fractions, python):
                wanted.remove(result["fraction"])
                yield result
            return
        except Exception as error:  # whatever a library does, the others shall still run
            told = f"{type(error).__name__}: {error}".splitlines()[0]
    for fraction in wanted:
        yield {"set": data.name, "fraction": fraction, "method": method.name, "error": told}


def show_all(found: Sequence[Result]) -> None:
    """A table for each set and fraction, the best on top, and what did not run."""
    for name, fraction in dict.fromkeys((result["set"], result["fraction"]) for result in found):
        these = [r for r in found if (r["set"], r["fraction"]) == (name, fraction) and "error" not in r]
        rows = [
            [METHODS[r["method"]].title, r["setting"], r["shrinkage"], *(r[key] for key in SHOWN)]
            for r in sorted(these, key=lambda r: r["log_loss"])
        ]
        if rows:
            columns = ["method", "setting", "shrinkage", *(key.replace("_", " ") for key in SHOWN)]
            show(f"{name}, {fraction:.0%} hidden, {these[0]['cells']} cells", columns, rows)
    for told in dict.fromkeys((r["set"], r["method"], r["error"]) for r in found if "error" in r):
        print("did not run:", *told)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--fractions", nargs="+", type=float, default=FRACTIONS)
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--rows", type=int, help="so many validation and test rows at most, for a short look")
    parser.add_argument("--train-rows", type=int, help="so many training rows at most, for a short look")
    parser.add_argument("--peers-python", help="Python of an environment with the peers' libraries")
    parser.add_argument(
        "--record", action="store_true", help="keep benchmarks/results/imputation.json, and go on from it"
    )
    return parser.parse_args()


def main() -> None:
    """Measure what is not there yet, print."""
    options = parse()
    setup = {
        **{"rows": options.rows, "train_rows": options.train_rows, "choice_rows": CHOOSE_ROWS, "clip": CLIP},
        "versions": versions([method.library for method in METHODS.values()], options.peers_python),
    }
    record = Record(RESULTS / "imputation.json" if options.record else None, setup)
    for name in options.sets:
        data = table(name, train_rows=options.train_rows, rows=options.rows)
        for method in options.methods:
            wanted = [f for f in options.fractions if record.lacks(set=name, fraction=f, method=method)]
            for result in attempted(data, METHODS[method], wanted, options.peers_python) if wanted else ():
                record.add(result)
                print(
                    name, f"{result['fraction']:.0%}", method, result.get("log_loss", result.get("error")), flush=True
                )
    show_all([r for r in record.results if r["set"] in options.sets and r["method"] in options.methods])


if __name__ == "__main__":
    main()
