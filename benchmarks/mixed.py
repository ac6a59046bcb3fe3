"""Compare imputers on hidden cells of real tables of categories and numbers.

    python benchmarks/mixed.py FOLDER [--names iris wine] [--seeds 10 11 12] [--methods nadek forests] [--record]

FOLDER holds NAME.csv.gz and kinds.json, which names the categorical columns of each table. A fifth of the cells is
hidden at random, the same ones for every method, which learns from the others and fills them in. Everybody has
defaults. Log-loss is the mean over categorical columns of -log p(true), with p at least 0.001; the root mean square is
the mean over numeric columns, in standard deviations. *coverage* says how often the range of 20 draws holds the truth:
19 of 21 times, if the draws are right and no two numbers are equal; *rank* how often the truth is neither the first nor
the last among the draws, where equal ones share their ranks: 19 of 21 times, if the draws are right; *interval* how
often the two quantiles hold it that 90 % should lie between. Seconds are of the processor, on one thread. With --record
every result is written to benchmarks/results/mixed.json at once, and an interrupted run goes on where it was.
"""

import json
import os
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import pandas as pd
import torch
from common import RESULTS, record_parser, show, write
from numpy.typing import NDArray
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.experimental import enable_iterative_imputer  # noqa: F401 - what follows needs it
from sklearn.impute import IterativeImputer, KNNImputer

from nadek import NADEkImputer

Array = NDArray[np.float64]
Answers = dict[str, Array]
"""For each column numbers [N], or probabilities of its levels [N, L]."""
HIDDEN = 0.2
LEAST = 1e-3
"""Least probability that a method can give, so that one sure mistake does not decide."""
DRAWS = 20
BETWEEN = (0.05, 0.95)
ROUNDS, TREES = 3, 50
"""Of chained forests, as missForest has them."""


class HiddenCells:
    """A table with hidden cells.

    Attributes:
        frame: the table with holes.
        levels: of each categorical column, those that are left.
        codes: the table as numbers [N, D], NaN where missing.
    """

    def __init__(self, frame: pd.DataFrame, categorical: list[str], seed: int) -> None:
        observed = frame.notna().to_numpy()
        self.whole, self.hidden = frame, (np.random.default_rng(seed).random(frame.shape) < HIDDEN) & observed
        self.frame = frame.mask(self.hidden)
        self.levels = {name: sorted(self.frame[name].dropna().unique()) for name in categorical}
        self.numeric = [name for name in frame if name not in categorical]
        self.codes = np.column_stack([self._numbers(name) for name in frame])

    def _numbers(self, name: str) -> Array:
        column = self.frame[name]
        levels = self.levels.get(name)
        return (column if levels is None else column.map({v: i for i, v in enumerate(levels)})).to_numpy(float)

    def frequencies(self, name: str) -> Array:
        """Return the frequency of each level."""
        codes = self._numbers(name)
        counts = np.bincount(codes[~np.isnan(codes)].astype(np.intp), minlength=len(self.levels[name])) + 0.5
        return counts / counts.sum()


def read(folder: Path, name: str) -> tuple[pd.DataFrame, list[str]]:
    """Return a table and the names of its categorical columns."""
    categorical = json.loads((folder / "kinds.json").read_text())[name]["categorical"]
    types = dict.fromkeys(categorical, object)
    frame = pd.read_csv(folder / f"{name}.csv.gz", keep_default_na=False, na_values=[""], dtype=types)
    numeric = [column for column in frame if column not in categorical]
    return frame.astype(dict.fromkeys(numeric, float)), categorical


def nadek(cells: HiddenCells, **options: Any) -> tuple[Answers, NADEkImputer]:  # noqa: ANN401 - of `NADEkImputer`
    """Fill in with nadek."""
    imputer = NADEkImputer(random_state=0, numeric_features=cells.numeric, **options).fit(cells.frame)
    filled, probabilities = imputer.transform(cells.frame), imputer.predict_missing_proba(cells.frame)
    answers: Answers = {name: filled[name].to_numpy(float) for name in cells.numeric}
    for name, levels in cells.levels.items():
        places = [list(map(str, imputer.levels_[name])).index(level) for level in levels]
        answers[name] = probabilities[name][:, places]
    return answers, imputer


def means(cells: HiddenCells) -> Answers:
    """Fill in means and frequencies."""
    numbers = {name: np.full(len(cells.frame), cells.frame[name].mean()) for name in cells.numeric}
    return numbers | {name: np.tile(cells.frequencies(name), (len(cells.frame), 1)) for name in cells.levels}


def _columns(cells: HiddenCells) -> tuple[Array, dict[str, slice]]:
    """Return standardised numbers and one-hot levels, and the place of each column."""
    parts, places, start = [], dict[str, slice](), 0
    for j, name in enumerate(cells.frame):
        codes = cells.codes[:, j]
        if name in cells.levels:
            part = (codes[:, None] == np.arange(len(cells.levels[name]))).astype(float)
            part[np.isnan(codes)] = np.nan
        else:
            part = ((codes - np.nanmean(codes)) / np.nanstd(codes))[:, None]
        parts.append(part)
        places[str(name)] = slice(start, start := start + part.shape[1])
    return np.hstack(parts), places


def _answers(cells: HiddenCells, filled: Array, places: dict[str, slice]) -> Answers:
    """Return answers from filled columns, the reverse of `_columns`."""
    answers: Answers = {}
    for j, name in enumerate(cells.frame):
        part = filled[:, places[name]]
        codes = cells.codes[:, j]
        answers[name] = part if name in cells.levels else part[:, 0] * np.nanstd(codes) + np.nanmean(codes)
    return answers


def neighbours(cells: HiddenCells) -> Answers:
    """Fill in means of ten neighbours."""
    columns, places = _columns(cells)
    return _answers(cells, KNNImputer(n_neighbors=10, keep_empty_features=True).fit_transform(columns), places)


def regressions(cells: HiddenCells) -> Answers:
    """Fill in by chained linear regressions; the last level of each column follows from the others."""
    columns, places = _columns(cells)
    last = [places[name].stop - 1 for name in cells.levels]
    kept = np.setdiff1d(np.arange(columns.shape[1]), last)
    columns[:, kept] = IterativeImputer(random_state=0, keep_empty_features=True).fit_transform(columns[:, kept])
    for name in cells.levels:
        place = places[name]
        columns[:, place.stop - 1] = 1 - columns[:, place.start : place.stop - 1].sum(1)
    return _answers(cells, columns, places)


def forests(cells: HiddenCells) -> Answers:
    """Fill in by chained random forests, column by column, three times."""
    options = {"n_estimators": TREES, "min_samples_leaf": 3}
    values, answers = cells.codes.copy(), means(cells)
    for j, name in enumerate(cells.frame):
        start = answers[name]
        values[np.isnan(cells.codes[:, j]), j] = start[0].argmax() if name in cells.levels else start[0]
    for turn in range(ROUNDS):
        for j in np.isnan(cells.codes).sum(0).argsort(kind="stable"):
            name = cells.frame.columns[j]
            if name in cells.levels:
                model: Any = RandomForestClassifier(**options, max_features="sqrt", random_state=turn)
            else:
                model = RandomForestRegressor(**options, max_features=0.5, random_state=turn)
            _predict(cells, int(j), model, np.delete(values, j, 1), answers)
            missing, answer = np.isnan(cells.codes[:, j]), answers[name]
            values[missing, j] = (answer.argmax(1) if name in cells.levels else answer)[missing]
    return answers


def boosting(cells: HiddenCells) -> Answers:
    """Fill in by gradient boosting, which reads missing cells itself."""
    options = {"max_iter": 60, "max_leaf_nodes": 15, "min_samples_leaf": 10, "random_state": 0}
    answers = means(cells)
    for j, name in enumerate(cells.frame):
        of_levels = [other in cells.levels for other in cells.frame if other != name]
        kind: Any = HistGradientBoostingClassifier if name in cells.levels else HistGradientBoostingRegressor
        model = kind(**options, categorical_features=of_levels, early_stopping=False)
        _predict(cells, j, model, np.delete(cells.codes, j, 1), answers)
    return answers


def _predict(cells: HiddenCells, j: int, model: Any, others: Array, answers: Answers) -> None:  # noqa: ANN401 - any
    """Fit one column on the others, and answer for its missing cells."""
    name, codes = cells.frame.columns[j], cells.codes[:, j]
    missing = np.isnan(codes)
    if not missing.any() or len(np.unique(codes[~missing])) < 2:
        return
    model.fit(others[~missing], codes[~missing])
    if name in cells.levels:
        answers[name][missing] = 0
        answers[name][np.ix_(missing, model.classes_.astype(int))] = model.predict_proba(others[missing])
    else:
        answers[name][missing] = model.predict(others[missing])


METHODS: dict[str, tuple[str, Callable[[HiddenCells], Any]]] = {
    "nadek": ("nadek (NADEkImputer)", nadek),
    "quick": ("nadek, quick", partial(nadek, effort="quick")),
    "thorough": ("nadek, thorough", partial(nadek, effort="thorough")),
    "fine": ("nadek, 48 knots", partial(nadek, n_bins=48)),
    "forests": ("chained random forests", forests),
    "boosting": ("gradient boosting, one pass", boosting),
    "regressions": ("chained regressions (IterativeImputer)", regressions),
    "neighbours": ("nearest neighbours (KNNImputer)", neighbours),
    "means": ("means and frequencies", means),
}


OWN = ("quick", "thorough", "fine")
"""Methods that are not compared with the default."""


def measure(cells: HiddenCells, answers: Answers) -> dict[str, float]:
    """Return log-loss and root mean square."""
    losses, errors = [], []
    for j, name in enumerate(cells.frame):
        hidden = cells.hidden[:, j]
        if not hidden.any():
            continue
        truth, answer = cells.whole[name][hidden], answers[name][hidden]
        if name in cells.numeric:
            away = (answer - truth.to_numpy(float)) / cells.whole[name].std()
            errors.append(np.sqrt((away**2).mean()))
            continue
        p = np.clip(answer, LEAST, None)
        p = np.column_stack([p / p.sum(1, keepdims=True), np.full(len(p), LEAST)])  # a level that is only hidden
        place = {level: i for i, level in enumerate(cells.levels[name])}
        losses.append(-np.log(p[np.arange(len(p)), [place.get(level, -1) for level in truth]]).mean())
    both = {"log_loss": losses, "rmse": errors}
    return {key: float(np.mean(values)) for key, values in both.items() if values}


def coverage(cells: HiddenCells, imputer: NADEkImputer) -> dict[str, float]:
    """Return how often draws and quantiles hold a hidden number."""
    draws = imputer.set_params(n_imputations=DRAWS).transform_multiple(cells.frame)
    quantiles = imputer.predict_missing_quantiles(cells.frame, BETWEEN)
    parts = []
    for j, name in enumerate(cells.frame):
        hidden = cells.hidden[:, j]
        if name in quantiles and hidden.any():
            drawn = np.array([draw[name].to_numpy(float)[hidden] for draw in draws])
            truth = cells.whole[name].to_numpy(float)[hidden]
            low, high = quantiles[name][hidden].T
            ranges = ((drawn.min(0), drawn.max(0)), (low, high))
            within = [((below <= truth) & (truth <= above)).mean() for below, above in ranges]
            parts.append([*within, inner_ranks(drawn, truth).mean()])
    return dict(zip(("coverage", "interval", "rank"), np.mean(parts, 0).tolist(), strict=True)) if parts else {}


def inner_ranks(drawn: Array, truth: Array) -> Array:
    """Return the part of the ranks that a truth may have among its draws which are neither the first nor the last."""
    least, equal = (drawn < truth).sum(0), (drawn == truth).sum(0)
    inner = np.minimum(DRAWS - 1, least + equal) - np.maximum(1, least) + 1
    return np.maximum(inner, 0) / (equal + 1)


def run(cells: HiddenCells, method: str) -> dict[str, Any]:
    """Return the measures of a method, or its error."""
    started = time.process_time()
    try:
        result = METHODS[method][1](cells)
    except ValueError as error:
        return {"error": f"{type(error).__name__}: {error}"}
    seconds = time.process_time() - started
    answers, imputer = result if isinstance(result, tuple) else (result, None)
    return {"seconds": seconds, **measure(cells, answers), **({} if imputer is None else coverage(cells, imputer))}


def summary(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Return means over seeds: of each table and method, and comparisons with the best of the others."""
    frame = pd.DataFrame(sorted(results, key=lambda result: list(METHODS).index(result["method"])))
    keys = [key for key in ("rmse", "log_loss", "seconds", "coverage", "interval", "rank") if key in frame]
    each = frame.groupby(["name", "method"], sort=False)[keys].mean()
    tables = {key: each[key].unstack(0) for key in keys}
    rows = {
        key: [
            {"method": METHODS[method][0]} | {str(name): float(value) for name, value in row.items() if pd.notna(value)}
            for method, row in table.iterrows()
            if row.notna().any()
        ]
        for key, table in tables.items()
    }
    counts: dict[str, Any] = {"tables": len(tables["seconds"].columns)}
    if {"nadek", "forests"} <= set(frame["method"]):
        rmse, loss, seconds = (tables[key].dropna(axis=1, how="all") for key in ("rmse", "log_loss", "seconds"))
        ratio = seconds.loc["nadek"] / seconds.loc["forests"]
        counts |= {
            "rmse_no_worse": int((rmse.loc["nadek"] <= rmse.loc["forests"]).sum()),
            "rmse_tables": rmse.shape[1],
            "rmse_nadek": float(rmse.loc["nadek"].mean()),
            "rmse_forests": float(rmse.loc["forests"].mean()),
            "log_loss_best": int((loss.drop(list(OWN), errors="ignore").idxmin() == "nadek").sum()),
            "log_loss_tables": loss.shape[1],
            "within_3": int((ratio <= 3).sum()),
            "within_5": int((ratio <= 5).sum()),
            "ratio": {str(name): float(value) for name, value in ratio.items()},
        }
    return {"rows": rows, "counts": counts}


def main() -> None:
    """Measure, print and write a record."""
    parser = record_parser(__doc__, "mixed")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--names", nargs="+", help="tables; all by default")
    parser.add_argument("--seeds", nargs="+", type=int, default=[10, 11, 12])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # peers warn of rounds that do not converge
    path = RESULTS / "mixed.json"
    results = json.loads(path.read_text())["results"] if options.record and path.exists() else []
    done = {(r["name"], r["seed"], r["method"]) for r in results}
    names = options.names or list(json.loads((options.folder / "kinds.json").read_text()))
    for name, seed in ((name, seed) for name in names for seed in options.seeds):
        cells = HiddenCells(*read(options.folder, name), seed)
        for method in options.methods:
            if (name, seed, method) in done:
                continue
            results.append({"name": name, "seed": seed, "method": method, **run(cells, method)})
            print(json.dumps(results[-1]), flush=True)
            if options.record:
                write("mixed", {"hidden": HIDDEN, "seeds": options.seeds, **summary(results), "results": results})
    whole = summary(results)
    for key, rows in whole["rows"].items():
        columns = ["method", *dict.fromkeys(name for row in rows for name in row if name != "method")]
        show(key, columns, [[row.get(column, float("nan")) for column in columns] for row in rows])
    print(json.dumps(whole["counts"]))


if __name__ == "__main__":
    main()
