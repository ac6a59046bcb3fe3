"""Which lines of a grid's record are of the cells that its file asks for today."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from nadek.runs.recipe import Recipe
from nadek.utils.configs import encode
from nadek_paper.grids.grid import Cell, Grid

CAME_LATER = {"stride": 1, "tilt": 0.0}
"""Options of a training, at their defaults, that the first records do not know: they were made as with these.

An option that comes with time has to be added here, or all cells that were run before count as changed.
"""


def digest(cell: Cell) -> str:
    """Changes with anything that a cell's numbers depend on."""
    return _digest(cell, _told(cell.recipe))


def is_current(cell: Cell, line: Mapping[str, Any] | None) -> bool:
    """Whether a line of a record is of a cell as it is today."""
    return line is not None and line.get("digest") in (digest(cell), _digest(cell, _before(cell.recipe)))


def current(grid: Grid, cells: Mapping[str, Any]) -> dict[str, Any]:
    """The lines of a record that are of the grid's cells as they are today, in the order of the grid.

    Args:
        grid: the grid.
        cells: of its record.
    """
    return {cell.name: cells[cell.name] for cell in grid.cells if is_current(cell, cells.get(cell.name))}


def _told(recipe: Recipe) -> dict[str, Any]:
    """The recipe; a memory, which came later, stands in it only where there is one."""
    return {key: value for key, value in encode(recipe).items() if key != "memory" or value}


def _before(recipe: Recipe) -> dict[str, Any]:
    """The recipe as it was told before there were the options of `CAME_LATER`; those that are used stay."""
    told = _told(recipe)
    unknown = {key for key, default in CAME_LATER.items() if told["training"].get(key) == default}
    return {**told, "training": {key: value for key, value in told["training"].items() if key not in unknown}}


def _digest(cell: Cell, recipe: Mapping[str, Any]) -> str:
    config = {"recipe": recipe, "part": {**asdict(cell.part), "label": None}}
    return hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()[:16]
