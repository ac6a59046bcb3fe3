"""What a picture is made from: trained models and their records, by the names of rows and cells."""

from dataclasses import dataclass
from typing import Any

from nadek.checkpoints import SavedModel
from nadek.runs.records import read_record
from nadek_paper.grids import Cell, is_current, job_of_cell, read_grid
from nadek_paper.jobs import Job, Workplace
from nadek_paper.rows import Kind, read_table
from nadek_paper.run_row import job_of


@dataclass(frozen=True)
class Reference:
    """A row of a table or a cell of a grid.

    Attributes:
        job: its training.
        grid: the grid's name; None for a row.
        cell: the cell; None for a row.
        command: what trains it.
    """

    job: Job
    grid: str | None
    cell: Cell | None
    command: str

    def model(self) -> SavedModel:
        """The trained model.

        Raises:
            FileNotFoundError: if it was not trained; says how to.
            ValueError: if it was trained by another recipe.
        """
        saved = self.job.finished()
        if saved is None:
            raise FileNotFoundError(f"there is no trained model in {self.job.folder}: give {self.command} first")
        return saved

    def curve(self) -> dict[str, list[float | None]]:
        """The last step's costs along the training, "train" and "validation", an epoch an entry.

        Raises:
            FileNotFoundError: if there is no record, or the cell was changed since; says how to make it.
        """
        path = self.job.place.record(self.job.name if self.grid is None else f"grid-{self.grid}")
        record: dict[str, Any] = read_record(path) if path.is_file() else {}
        if self.grid is None and "curve" in record:
            keys = ("train", "validation")
            return {key: [epoch[key] and epoch[key][-1] for epoch in record["curve"]] for key in keys}
        cell = {}
        if self.cell is not None and is_current(self.cell, line := record.get("cells", {}).get(self.cell.name)):
            cell = line
        if "train" not in cell:
            raise FileNotFoundError(f"there is no curve of {self.job.name} in {path}: give {self.command} first")
        return {"train": cell["train"], "validation": cell["validation"]}


def find(name: str, kind: Kind, place: Workplace) -> Reference:
    """The row or the cell of that name.

    Raises:
        ValueError: on a name that is neither.
        FileNotFoundError: if there is no such table.
    """
    group, slash, one = name.partition("/")
    if not slash or not one:
        raise ValueError(f"expected TABLE/ROW or GRID/CELL, found {name!r}")
    path = place.experiments / "grids" / f"{group}.toml"
    quick = " --quick" if place.quick else ""
    if not path.is_file():
        (row,) = read_table(place.experiments / group, only=one)
        command = f"nadek reproduce {group} --row {one} --recipe {kind}{quick}"
        return Reference(job_of(row, kind, place), None, None, command)
    grid = read_grid(path)
    cells = [cell for cell in grid.cells if cell.name == one]
    if not cells:
        raise ValueError(f"{group} has no cell {one!r}; one is called {grid.cells[0].name}")
    job = job_of_cell(grid, cells[0], place)
    return Reference(job, group, cells[0], f"nadek reproduce {group} --row {one}{quick}")
