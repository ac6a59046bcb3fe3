"""What ``nadek reproduce`` does with each kind of target."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from typing import Any, NamedTuple

from nadek.cli.console import say, show_json, show_line, show_table
from nadek.cli.progress import epochs_progress, rows_progress, warn_if_slow
from nadek.training import Epoch
from nadek_paper.figures import make_picture, read_pictures
from nadek_paper.grids import read_grid, run_grid
from nadek_paper.jobs import Workplace
from nadek_paper.rows import Kind, Row, read_table
from nadek_paper.run_meanfield import read_meanfield, run_meanfield
from nadek_paper.run_row import reproduce as reproduce_row
from nadek_paper.table3 import read_variability, variability_summary


class Wish(NamedTuple):
    """What was asked for: see the options of `nadek_paper.cli.reproduce`."""

    target: str
    row: str | None
    kind: Kind
    force: bool
    as_json: bool
    quiet: bool


def run_rows(wish: Wish, place: Workplace) -> None:
    """Train and score the rows of a table."""
    records = []
    for one in read_table(place.experiments / wish.target, only=wish.row):
        if wish.row is None and wish.kind not in one.kinds:
            why = "only cited" if one.cited else f"no recipe {wish.kind!r}"
            say(f"{one.name}: {why}, not run", quiet=wish.quiet)
            continue
        records.append(_run_row(one, wish, place))
    if wish.as_json:
        show_json({record["row"]: {k: v for k, v in record.items() if k != "curve"} for record in records})
        return
    keys = ("paper", "test_log_likelihood", "standard_error", "paper_ensemble", "ensemble", "ensemble_standard_error")
    told = [[record["title"], *(_number(record[key]) for key in keys)] for record in records]
    columns = ["model", "paper", "ours", "±", "paper, ensemble", "ours, ensemble", "±"]
    title = f"{wish.target}, recipe {wish.kind}: test log-likelihood in nats a row"
    show_table(f"{title} (a quick look, no result)" if place.quick else title, columns, told)


def run_grid_cells(wish: Wish, place: Workplace) -> None:
    """Train and score the cells of a grid."""
    grid = read_grid(place.experiments / "grids" / f"{wish.target}.toml")
    with _Bars(quiet=wish.quiet) as bars:
        record = run_grid(
            grid,
            place,
            only=wish.row,
            force=wish.force,
            on_cell=lambda name, number, total: bars.name(f"{name} ({number} of {total})"),
            on_epoch=lambda epoch: bars.of("training", epochs_progress)(epoch),
        )
    if wish.as_json:
        show_json(record)
        return
    keys = ("validation_log_likelihood", "test_log_likelihood", "test_standard_error", "seconds")
    told = [[name, *(_number(cell.get(key)) for key in keys)] for name, cell in record["cells"].items()]
    title = f"{grid.title}: log-likelihoods in nats a row"
    columns = ["cell", "validation", "test", "±", "seconds"]
    show_table(f"{title} (a quick look, no result)" if place.quick else title, columns, told)


def run_figures(wish: Wish, place: Workplace) -> None:
    """Draw the figures; one of all for which something is lacking is told and left out."""
    drawn = {}
    for picture in read_pictures(place.experiments, only=wish.row):
        try:
            drawn[picture.name] = str(make_picture(picture, place))
        except FileNotFoundError as error:
            if wish.row is not None:
                raise
            say(f"{picture.name}: not drawn, {error}", quiet=wish.quiet)
    if wish.as_json:
        show_json(drawn)
        return
    for path in drawn.values():
        show_line(path)


def show_spreads(wish: Wish, place: Workplace) -> None:
    """Show a table that is made from the records of another one."""
    told = read_variability(place.experiments / f"{wish.target}.toml")
    if wish.row is not None:
        asked = tuple(spread for spread in told.rows if spread.row == wish.row)
        if not asked:
            known = ", ".join(spread.row for spread in told.rows)
            raise ValueError(f"{wish.target} has no row {wish.row!r}; known are: {known}")
        told = replace(told, rows=asked)
    entries = variability_summary(place.experiments, told)
    for spread in told.rows:
        if spread.row not in entries:
            command = f"nadek reproduce {told.table} --row {spread.row}"
            say(f"{spread.row}: there is no record, give {command} first", quiet=wish.quiet)
    if wish.as_json:
        show_json(entries)
        return
    keys = ("paper", "test_log_likelihood", *(f"{who}spread_over_orderings" for who in ("paper_", "")))
    keys += ("paper_spread_over_rows", "spread_over_rows")
    columns = ["model", "paper", "ours", "over orderings: paper", "ours", "over rows: paper", "ours"]
    rows = [[entry["title"], *(_number(entry[key]) for key in keys)] for entry in entries.values()]
    show_table(f"{wish.target}: {told.title}, in nats", columns, rows)


def run_machines(wish: Wish, place: Workplace) -> None:
    """RBMs turned into networks."""
    if wish.row is not None:
        raise ValueError(f"--row: expected none, as {wish.target} is run as a whole; found {wish.row!r}")
    study, options = read_meanfield(place.experiments / f"{wish.target}.toml")
    with _Bars(quiet=wish.quiet) as bars:
        record = run_meanfield(
            study,
            options,
            place,
            force=wish.force,
            on_part=bars.name,
            on_epoch=lambda epoch: bars.of("training", epochs_progress)(epoch),
        )
    if wish.as_json:
        show_json(record)
        return
    keys = ("test_log_likelihood", "standard_error")
    rows = [[line["machine"], line["as"], *(_number(line[key]) for key in keys)] for line in record["lines"]]
    title = f"{study.title}: log-likelihoods in nats a row"
    show_table(f"{title} (a quick look, no result)" if place.quick else title, ["machine", "as", "test", "±"], rows)


def _run_row(row: Row, wish: Wish, place: Workplace) -> dict[str, Any]:
    """One row, with a bar for its training and then one for its scoring."""

    def training_bar(*, quiet: bool, label: str) -> AbstractContextManager[Callable[[Epoch], None]]:
        if row.rbm is None:
            warn_if_slow(row.recipe(wish.kind).training, place.device, quiet=quiet)
        return epochs_progress(quiet=quiet, label=label)

    with _Bars(quiet=wish.quiet) as bars:

        def told(epoch: Epoch) -> None:
            if epoch.phase == "rbm" and row.rbm is None:
                bars.of("training the RBM it begins as", epochs_progress)(epoch)
            else:
                bars.of("training", training_bar)(epoch)

        bars.name(row.name)
        return reproduce_row(
            row,
            wish.kind,
            place,
            force=wish.force,
            on_epoch=told,
            progress=lambda done, total: bars.of(f"scoring {total:,}", rows_progress)(done, total),
        )


class _Bars(ExitStack):
    """Bars of which one is shown at a time: another one takes the place of the last."""

    def __init__(self, *, quiet: bool) -> None:
        super().__init__()
        self._quiet = quiet
        self._name = ""
        self._shown: dict[str, Callable[..., None]] = {}

    def name(self, name: str) -> None:
        """What comes now; its bars are new ones."""
        self.close()
        self._name, self._shown = name, {}

    def of(self, what: str, make: Callable[..., Any]) -> Callable[..., None]:
        """The bar for one kind of work."""
        if what not in self._shown:
            self.close()
            self._shown[what] = self.enter_context(make(quiet=self._quiet, label=f"{self._name}: {what}"))
        return self._shown[what]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
