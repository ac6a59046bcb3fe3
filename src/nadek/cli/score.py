"""``nadek evaluate`` and ``nadek score``: exact log-likelihoods."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated, Any

import torch
from torch import Tensor

from nadek.checkpoints import SavedModel
from nadek.cli.arguments import (
    FORMS,
    NUMBERS,
    DataArgument,
    Json,
    ModelArgument,
    Orderings,
    Seed,
    Spread,
    TableOptions,
    option,
    with_groups,
)
from nadek.cli.console import say, show_json, show_table
from nadek.cli.output import add_columns, target_of
from nadek.cli.progress import rows_progress
from nadek.datasets import names
from nadek.inference import Explanation, image_distances, spread_orderings
from nadek.inference.decoders.chunking import part_of
from nadek.inference.summary import Summary
from nadek.runs.data import ModelRows, of_numbers
from nadek.runs.evaluate import CLOSEST
from nadek.runs.evaluate import evaluate as evaluate_model
from nadek.runs.evaluate import privacy as measure_privacy
from nadek.runs.odd_cells import OddCell, odd_cells
from nadek.runs.scores import scores
from nadek.tabular.columns import log_density
from nadek.tabular.columns.parsing import counted
from nadek.tabular.writing import writing
from nadek.training.expected_scores import expected_scores


@with_groups
def evaluate(
    model: ModelArgument,
    data: DataArgument,
    *,
    orderings: Orderings = 8,
    spread: Spread = False,
    rows: Annotated[int | None, option("--rows", "Number of rows, chosen at random.", min=1)] = None,
    privacy: Annotated[
        str | None,
        option("--privacy", "The training table: shows how near drawn rows come to its rows, beside those of DATA."),
    ] = None,
    seed: Seed = 0,
    table: TableOptions,
    as_json: Json = False,
) -> None:
    """Estimate the exact log-likelihood of complete rows, in nats.

    Numbers count with their density. Shown are the mean over random orderings, and the mixture of these orderings
    (EoNADE). Ctrl-C stops early and shows the result of the orderings scored so far.

    Example: [bold]nadek evaluate model mnist --orderings 128[/]
    """
    saved = table.load(model, (".json",))
    batch = table.read(saved, data)
    along = _orderings(saved, orderings, seed, spread=spread)
    if privacy is not None:
        train = table.read(saved, privacy).x
        distances = measure_privacy(saved, batch.x, train, orderings=along, rows=rows, seed=seed)
        _show_record({"data": data, "train": privacy, **distances}, table, _show_privacy, as_json=as_json)
        if distances["unseen"]["copies"] == 1:
            line = f"{data}: all rows are training rows, too: expected rows that training has not seen"
            say(line, quiet=table.quiet, level="warning")
        return
    _check_complete(batch, saved.labels)
    x, densities = batch.x, of_numbers(log_density, saved, batch).sum(1)
    if rows is not None and rows < len(x):
        some = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))[:rows]
        x, densities = x[some], densities[some]
    with rows_progress("scoring", quiet=table.quiet) as progress:

        def estimate(now: Summary) -> None:
            in_all = orderings if saved.model.config.ordering is None else 1
            done, total = (n * len(x) for n in (now.n_orderings, in_all))
            progress(done, total, f"mean so far {now.mean:.3f} ± {now.ordering_error:.3f}")

        estimates = evaluate_model(
            saved, x, orderings=along, densities=densities, seed=seed, progress=progress, on_estimate=estimate
        )
    record = {"data": data, "split": (table.split or "test") if data in names() else None, **estimates}
    record |= {"spread": True} if spread else {}
    _show_record(record, table, _show_estimates, as_json=as_json)


def _show_record(
    record: dict[str, Any], table: TableOptions, show: Callable[[dict[str, Any]], None], *, as_json: bool
) -> None:
    if table.output is not None:
        show_json(record, table.output)
    (show_json if as_json else show)(record)


def _show_estimates(record: dict[str, Any]) -> None:
    nats = {key: f"{value:.3f}" for key, value in record.items() if isinstance(value, float)}
    lines = [
        ["mean over orderings", nats["test_log_likelihood"], nats["standard_error"]],
        ["its error by the choice of orderings", "", nats["ordering_error"]],
        ["ensemble (mixture of the orderings)", nats["ensemble"], nats["ensemble_standard_error"]],
        ["spread over orderings", nats["spread_over_orderings"], ""],
        ["spread over rows", nats["spread_over_rows"], ""],
    ]
    title = f"log-likelihood of {counted(record['rows'], 'row')} under {counted(record['orderings'], 'ordering')}"
    show_table(title, ["", "nats a row", "standard error"], lines)


def _show_privacy(record: dict[str, Any]) -> None:
    lines = [
        [f"{record['rows']:,} {name} rows", f"{of['copies']:.2%}", f"{of['closest_part']:.4f}", f"{of['median']:.4f}"]
        for name, of in ((name, record[name]) for name in ("drawn", "unseen"))
    ]
    title = f"distance to the closest of {record['training_rows']:,} training rows"
    if n := record["incomplete_rows"]:
        title += f"; {n:,} rows with missing cells are left out"
    show_table(title, ["", "copies", f"{CLOSEST:.0%} are closer than", "median"], lines)


@with_groups
def score(
    model: ModelArgument,
    data: DataArgument,
    *,
    outliers: Annotated[
        int | None,
        option("--outliers", "Only so many rows, those most unlike the others, and their oddest cells.", min=1),
    ] = None,
    orderings: Orderings = 8,
    spread: Spread = False,
    seed: Seed = 0,
    table: TableOptions,
) -> None:
    """Compute the exact log-likelihood of each row, in nats.

    Four columns: the row, from 1; mixture of the orderings, mean over them, and spread over them. Missing cells are
    summed out. Numbers count with their density, per unit of their column. A low value is unusual among rows with the
    same observed cells. The scores of outliers compare all rows, as those of NADEkOutlierDetector do; beside them are
    the row's most surprising cell and the value expected there.

    Example: [bold]nadek score model answers.csv --outliers 10[/]
    """
    saved = table.load(model, NUMBERS if outliers is None else FORMS)
    stream, along = table.stream(saved, data), _orderings(saved, orderings, seed, spread=spread)
    # drawn once, and only where cells are missing
    expected = None if outliers is None else cache(lambda: expected_scores(saved.model, saved.kinds, seed=seed))
    worst, words, oddest = dict[str, Tensor](), dict[str, list[str]](), dict[int, OddCell]()
    with writing(target_of(table.output)) as writer, rows_progress("scoring", quiet=table.quiet) as progress:
        for batch in stream:
            some = part_of(progress, batch.first_row, len(batch.x), stream.n_rows)
            columns = scores(saved, batch, along, seed=seed, expected=expected, progress=some)
            columns = {"row": batch.rows + 1} | columns
            if outliers is None:
                add_columns(writer, **columns)
            else:
                worst = _worst(worst, columns, outliers)
                rows = worst["row"] - 1 - batch.first_row
                rows = rows[(rows >= 0) & (rows < len(batch.x))]
                if saved.model.own_ordering is None:  # else no cell can be judged by all others
                    cells = odd_cells(saved, batch, rows, Explanation.oddest_of_rows)
                    oddest |= {cell.row: cell for cell in cells}
        if outliers is not None:
            of_rows = [oddest.get(row) for row in worst["row"].tolist()]
            for name in ("column", "value", "expected"):
                words[name] = ["" if cell is None else getattr(cell, name) for cell in of_rows]
            add_columns(writer, **worst, **words)


def _worst(before: dict[str, Tensor], columns: dict[str, Tensor], n_rows: int) -> dict[str, Tensor]:
    """Return the rows with the lowest scores so far."""
    joined = {name: torch.cat([before[name], new]) if before else new for name, new in columns.items()}
    order = joined["outlier_score"].argsort(stable=True)[:n_rows]
    return {name: column[order] for name, column in joined.items()}


def _orderings(saved: SavedModel, number: int, seed: int, *, spread: bool) -> int | Tensor:
    """Return spread orderings, or the number of random ones."""
    if not spread:
        return number
    if (shape := saved.schema.image_shape) is None:
        raise ValueError("--spread: expected a model of images, found one of a table")
    return spread_orderings(number, image_distances(shape), generator=torch.Generator().manual_seed(seed))


def _check_complete(batch: ModelRows, names: Sequence[str]) -> None:
    missing = batch.x.isnan().nonzero()
    if len(missing):
        row, column = missing[0].tolist()
        cell = "a missing value" if batch.missing[row, column] else "a value that the model does not know"
        message = f'row {row + 1}, column "{names[column]}": expected complete rows, found {cell}'
        raise ValueError(f"{batch.table.where}: {message}; nadek score sums out what is missing")
