"""Trained models and their records, by the names of rows and cells."""

from dataclasses import dataclass
from typing import Any

from nadek.checkpoints import SavedModel
from nadek.utils.atomic import read_record
from nadek_paper.grids.grid import Cell, read_grid
from nadek_paper.grids.study import is_current, record_name, training_of_cell
from nadek_paper.rows import read_table
from nadek_paper.table_study import training_of
from nadek_paper.trainings import Training
from nadek_paper.workspace import Workspace


@dataclass(frozen=True)
class Reference:
    """A row of a table (``cell`` is None) or a cell of a grid; ``command`` trains it, ``record`` names its record."""

    name: str
    training: Training
    record: str
    cell: Cell | None
    command: str

    def model(self) -> SavedModel:
        """Return the trained model."""
        saved = self.training.finished()
        if saved is None:
            raise FileNotFoundError(f"there is no trained model in {self.training.folder}: give {self.command} first")
        return saved

    def curve(self) -> dict[str, list[float | None]]:
        """Return the last step's costs, "train" and "validation", an epoch an entry."""
        path = self.training.workspace.record(self.record)
        record: dict[str, Any] = read_record(path) if path.is_file() else {}
        keys = ("train", "validation")
        if self.cell is None and "curve" in record:
            return {key: [epoch[key] and epoch[key][-1] for epoch in record["curve"]] for key in keys}
        line = {} if self.cell is None else record.get("cells", {}).get(self.cell.name, {})
        if self.cell is None or not is_current(self.cell, line) or "train" not in line:
            raise FileNotFoundError(f"there is no curve of {self.training.name} in {path}: give {self.command} first")
        return {key: line[key] for key in keys}


def find(name: str, workspace: Workspace) -> Reference:
    """Return the row or the cell of that name."""
    group, slash, one = name.partition("/")
    if not slash or not one:
        raise ValueError(f"expected TABLE/ROW or GRID/CELL, found {name!r}")
    path = workspace.recipes / "grids" / f"{group}.toml"
    if not path.is_file():
        (row,) = read_table(workspace.recipes / group, only=one)
        training = training_of(row, "modern", workspace)
        return Reference(name, training, training.name, None, workspace.command(f"{group} --row {one}"))
    grid = read_grid(path)
    cells = {cell.name: cell for cell in grid.cells}
    if one not in cells:
        raise ValueError(f"{group} has no cell {one!r}; one is called {grid.cells[0].name}")
    training = training_of_cell(grid, cells[one], workspace)
    return Reference(name, training, record_name(group), cells[one], workspace.command(f"grids {group} --row {one}"))
