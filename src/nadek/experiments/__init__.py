"""Recipes, what carries them out, and the records they leave."""

from nadek.experiments.beginnings import begin_as_model
from nadek.experiments.choosing import choose_recipe
from nadek.experiments.demo import Demo, demo
from nadek.experiments.evaluation import evaluate
from nadek.experiments.folders import check_output, finished
from nadek.experiments.found import Found
from nadek.experiments.gallery import draw_model, why_rows_are_not_drawn
from nadek.experiments.grids import Grid, grid_tables, grids, read_grid, run_grid
from nadek.experiments.jobs import Job, Workplace
from nadek.experiments.kinds import Choices, UndecidedColumnsError, kinds_of, names_of
from nadek.experiments.meanfield import read_meanfield, run_meanfield
from nadek.experiments.names import listed_names
from nadek.experiments.pictures import Picture, make_picture, read_picture, read_pictures
from nadek.experiments.provenance import provenance
from nadek.experiments.recipe import (
    Recipe,
    joined,
    make_recipe,
    merge,
    parse_settings,
    phases,
    read_recipe,
)
from nadek.experiments.records import finite, read_record, write_record
from nadek.experiments.report import markdown_table, summary, write_report
from nadek.experiments.reproduce import job_of, record_path, reproduce
from nadek.experiments.rows import KINDS, Kind, Recipes, Row, read_row, read_table, tables
from nadek.experiments.run import train
from nadek.experiments.sources import Source, open_data, open_training, rows_for, source_for
from nadek.experiments.taken import Taken
from nadek.experiments.values import completed, drawn, falls, level_headers, spread_levels
from nadek.experiments.variability import Variability, read_variability, variability_summary, variability_table

__all__ = [
    "KINDS",
    "Choices",
    "Demo",
    "Found",
    "Grid",
    "Job",
    "Kind",
    "Picture",
    "Recipe",
    "Recipes",
    "Row",
    "Source",
    "Taken",
    "UndecidedColumnsError",
    "Variability",
    "Workplace",
    "begin_as_model",
    "check_output",
    "choose_recipe",
    "completed",
    "demo",
    "draw_model",
    "drawn",
    "evaluate",
    "falls",
    "finished",
    "finite",
    "grid_tables",
    "grids",
    "job_of",
    "joined",
    "kinds_of",
    "level_headers",
    "listed_names",
    "make_picture",
    "make_recipe",
    "markdown_table",
    "merge",
    "names_of",
    "open_data",
    "open_training",
    "parse_settings",
    "phases",
    "provenance",
    "read_grid",
    "read_meanfield",
    "read_picture",
    "read_pictures",
    "read_recipe",
    "read_record",
    "read_row",
    "read_table",
    "read_variability",
    "record_path",
    "reproduce",
    "rows_for",
    "run_grid",
    "run_meanfield",
    "source_for",
    "spread_levels",
    "summary",
    "tables",
    "train",
    "variability_summary",
    "variability_table",
    "why_rows_are_not_drawn",
    "write_record",
    "write_report",
]
