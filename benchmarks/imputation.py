"""Compare imputers on hidden cells of real tables.

    PEERS/bin/python benchmarks/imputation.py [--record]
    python benchmarks/imputation.py --sets digits --fractions 0.3 --methods nadek neighbours --rows 100  # a short look

Every method learns from the training rows. Cells of the test rows are hidden at random, the same for all methods. Each
method gives the probabilities of the levels of every hidden cell. A method's setting, and how far its probabilities are
drawn towards the columns' frequencies, are chosen on validation rows with as many hidden cells. Seconds are those of
the chosen setting alone. PEERS is an environment with the libraries of all methods (benchmarks/peers/requirements.txt).

OMP_NUM_THREADS=1 gives every method one thread; the record holds the number.

With --record every result is written to benchmarks/results/imputation.json at once, and an interrupted run goes on
where it was. docs/imputation.md is made from it.
"""

import argparse
import importlib
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from common import RESULTS, show
from imputation_data import FRACTIONS, SETS, Table, hide, table
from imputation_measures import CLIP, best_shrinkage, cell_losses, frequencies, measures, shrunk
from imputation_record import Record, Result, versions
from peers.methods import METHODS, Method, Setting

from nadek.runs.provenance import provenance

CHOICE_ROWS = 500
"""Number of validation rows to choose settings on."""
SHOWN = ("log_loss", "standard_error", "brier", "accuracy", "auroc", "calibration_error", "fit_seconds", "fill_seconds")


Fitted = tuple[Any, float]
"""A fitted peer and the seconds that it took."""


class PeerError(RuntimeError):
    """Reason why a peer has no result."""


def make(method: Method, setting: Setting) -> Any:  # noqa: ANN401 - a peer of any kind
    """Return a peer."""
    module, name = method.path.split(":")
    try:
        maker = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError:
        raise PeerError(f"{method.library} is not installed here") from None
    return maker(**setting.options)


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of some work and its wall-clock seconds."""
    started = time.perf_counter()
    return work(), time.perf_counter() - started


def fitted(data: Table, method: Method, setting: Setting, fraction: float) -> Fitted:
    """Make and fit a peer."""
    train = data.train[: setting.train_rows]
    if setting.holes:
        train = hide(train, fraction, data.levels, part="train")
    peer = make(method, setting)
    return peer, timed(lambda: peer.fit(train, data.valid, data.levels))[1]


def suited(method: Method, data: Table) -> list[Setting]:
    """Return the settings of a method that suit a table."""
    kind = "binary" if max(data.levels) == 2 else "categorical"
    fits = [setting.most_cells is None or data.train.size <= setting.most_cells for setting in method.settings]
    settings = [s for s, fit in zip(method.settings, fits, strict=True) if fit and s.only in (None, kind)]
    if not settings:
        raise PeerError(f"not for {kind} columns")
    return settings


def checked_probabilities(peer: Any, x: np.ndarray) -> np.ndarray:  # noqa: ANN401 - a peer of any kind
    """Return the probabilities of the hidden cells, checked."""
    probabilities = peer.probabilities(x)
    if not np.isfinite(probabilities[np.isnan(x)]).all():
        raise PeerError("some of its probabilities are not finite")
    return probabilities


def results(data: Table, method: Method, fractions: Sequence[float]) -> Iterator[Result]:
    """Yield a result for each fraction of hidden cells."""
    settings = suited(method, data)
    ready = {setting.name: fitted(data, method, setting, 0.0) for setting in settings if not setting.holes}
    for fraction in fractions:
        chains = {setting.name: fitted(data, method, setting, fraction) for setting in settings if setting.holes}
        yield result(data, method, fraction, ready | chains)


def result(data: Table, method: Method, fraction: float, ready: Mapping[str, Fitted]) -> Result:
    """Return the metrics of the setting that validates best."""
    towards = frequencies(data.train, data.levels)
    valid = data.valid[:CHOICE_ROWS]
    x = hide(valid, fraction, data.levels, part="valid")
    validation = {}
    for name, (peer, fit_seconds) in ready.items():
        p, seconds = timed(lambda peer=peer: checked_probabilities(peer, x))
        weight, loss = best_shrinkage(p, towards, valid, np.isnan(x))
        validation[name] = {"log_loss": loss, "shrinkage": weight, "seconds": fit_seconds + seconds}
    name = min(validation, key=lambda name: validation[name]["log_loss"])
    x = hide(data.test, fraction, data.levels, part="test")
    hidden = np.isnan(x)
    peer, fit_seconds = ready[name]
    p, seconds = timed(lambda: checked_probabilities(peer, x))
    plain = cell_losses(shrunk(p, towards, 0.0), data.test, hidden).mean()
    return {
        **{"set": data.name, "fraction": fraction, "method": method.name, "title": method.title, "setting": name},
        **measures(shrunk(p, towards, validation[name]["shrinkage"]), data.test, hidden, data.levels),
        **{"unshrunk_log_loss": float(plain), "fit_seconds": fit_seconds, "fill_seconds": seconds},
        "validation": validation,
        "processor": provenance()["hardware"]["processor"],
    }


def attempted(data: Table, method: Method, fractions: Sequence[float]) -> Iterator[Result]:
    """Yield the results of a method, or its errors."""
    remaining = list(fractions)
    try:
        for one in results(data, method, fractions):
            remaining.remove(one["fraction"])
            yield one
    except Exception as error:  # whatever a library does, the others shall still run
        message = str(error) if isinstance(error, PeerError) else f"{type(error).__name__}: {error}"
        for fraction in remaining:
            what = {"set": data.name, "fraction": fraction, "method": method.name, "title": method.title}
            yield {**what, "error": message.splitlines()[0]}


def show_all(every: Sequence[Result]) -> None:
    """Print a table for each set and fraction."""
    for name, fraction in dict.fromkeys((r["set"], r["fraction"]) for r in every):
        these = [r for r in every if (r["set"], r["fraction"]) == (name, fraction) and "error" not in r]
        rows = [
            [r["title"], r["setting"], *(r[key] for key in SHOWN)] for r in sorted(these, key=lambda r: r["log_loss"])
        ]
        if rows:
            columns = ["method", "setting", *(key.replace("_", " ") for key in SHOWN)]
            show(f"{name}, {fraction:.0%} hidden, {these[0]['cells']} cells", columns, rows)
    for failure in dict.fromkeys((r["set"], r["method"], r["error"]) for r in every if "error" in r):
        print("did not run:", *failure)


def parse() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--fractions", nargs="+", type=float, default=FRACTIONS)
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--rows", type=int, help="so many validation and test rows at most, for a short look")
    parser.add_argument("--train-rows", type=int, help="so many training rows at most, for a short look")
    text = "write results/imputation.json, or another NAME for a run on other terms, and go on from it"
    parser.add_argument("--record", nargs="?", const="imputation", metavar="NAME", help=text)
    parser.add_argument("--again", action="store_true", help="measure again what the record already has")
    return parser.parse_args()


def main() -> None:
    """Measure what the record lacks, and print."""
    options = parse()
    warnings.simplefilter("ignore")  # peers have many
    setup = {"rows": options.rows, "train_rows": options.train_rows, "choice_rows": CHOICE_ROWS, "clip": CLIP}
    setup["threads"] = torch.get_num_threads()  # OMP_NUM_THREADS says how many, to every library
    libraries = versions([method.library for method in METHODS.values()])
    record = Record(RESULTS / f"{options.record}.json" if options.record else None, setup, libraries)
    for name in options.sets:
        data = table(name, train_rows=options.train_rows, rows=options.rows)
        for method in options.methods:
            for fraction in options.fractions if options.again else ():
                record.forget(set=name, fraction=fraction, method=method)
            missing = [f for f in options.fractions if record.lacks(set=name, fraction=f, method=method)]
            for one in attempted(data, METHODS[method], missing) if missing else ():
                record.add(one)
                print(name, f"{one['fraction']:.0%}", method, one.get("log_loss", one.get("error")), flush=True)
    show_all([r for r in record.results if r["set"] in options.sets and r["method"] in options.methods])


if __name__ == "__main__":
    main()
