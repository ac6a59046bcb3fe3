"""Digests that say which lines of a grid's record are current."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from nadek.training import Recipe
from nadek.utils.configs import encode
from nadek_paper.grids.grid import Cell, Grid

CAME_LATER = {"stride": 1, "tilt": 0.0}
"""Options of a training that the first records lack, with the defaults that they were made with.

A new option has to be added here, or all cells that were run before count as changed.
"""


def digest(cell: Cell) -> str:
    """Return a digest of everything that a cell's numbers depend on."""
    return _digest(cell, _options(cell.recipe))


def is_current(cell: Cell, line: Mapping[str, Any] | None) -> bool:
    """Return True if a line of a record is of the cell as it is today."""
    return line is not None and line.get("digest") in (digest(cell), _digest(cell, _before(cell.recipe)))


def current(grid: Grid, cells: Mapping[str, Any]) -> dict[str, Any]:
    """Return the lines of a record that are current, in the order of the grid."""
    return {cell.name: cells[cell.name] for cell in grid.cells if is_current(cell, cells.get(cell.name))}


def _options(recipe: Recipe) -> dict[str, Any]:
    """Return the recipe's options; ``memory``, which came later, only where there is one."""
    return {key: value for key, value in encode(recipe).items() if key != "memory" or value}


def _before(recipe: Recipe) -> dict[str, Any]:
    """Return the recipe's options without those of `CAME_LATER` that are at their defaults."""
    options = _options(recipe)
    unused = {key for key, default in CAME_LATER.items() if options["training"].get(key) == default}
    return {**options, "training": {key: value for key, value in options["training"].items() if key not in unused}}


def _digest(cell: Cell, recipe: Mapping[str, Any]) -> str:
    config = {"recipe": recipe, "part": {**asdict(cell.part), "label": None}}
    return hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()[:16]
