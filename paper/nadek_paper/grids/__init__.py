"""Grids of small trainings: what they are, how they are run, and the tables they make."""

from nadek_paper.grids.digest import current, is_current
from nadek_paper.grids.grid import Cell, Grid, Part, Variant, grids, read_grid
from nadek_paper.grids.run import job_of_cell, run_grid, score
from nadek_paper.grids.table import Mean, grid_tables, mean_over_seeds
from nadek_paper.grids.width import n_parameters, widest

__all__ = [
    "Cell",
    "Grid",
    "Mean",
    "Part",
    "Variant",
    "current",
    "grid_tables",
    "grids",
    "is_current",
    "job_of_cell",
    "mean_over_seeds",
    "n_parameters",
    "read_grid",
    "run_grid",
    "score",
    "widest",
]
