"""Recipes, what carries them out, and the records they leave."""

from nadek.experiments.demo import Demo, demo
from nadek.experiments.gallery import draw_model
from nadek.experiments.kinds import Choices, UndecidedColumnsError, kinds_of
from nadek.experiments.provenance import provenance
from nadek.experiments.recipe import (
    Recipe,
    is_of_images,
    joined,
    make_recipe,
    merge,
    parse_settings,
    phases,
    read_recipe,
    usual_epochs,
)
from nadek.experiments.report import Found, markdown_table, summary, write_report
from nadek.experiments.reproduce import Workplace, read_record, record_path, reproduce
from nadek.experiments.rows import KINDS, Kind, Recipes, Row, read_row, read_table, tables
from nadek.experiments.run import check_output, evaluate, train
from nadek.experiments.sources import Source, matching, open_data, open_training, rows_for, source_for
from nadek.experiments.values import completed, drawn, spread_levels

__all__ = [
    "KINDS",
    "Choices",
    "Demo",
    "Found",
    "Kind",
    "Recipe",
    "Recipes",
    "Row",
    "Source",
    "UndecidedColumnsError",
    "Workplace",
    "check_output",
    "completed",
    "demo",
    "draw_model",
    "drawn",
    "evaluate",
    "is_of_images",
    "joined",
    "kinds_of",
    "make_recipe",
    "markdown_table",
    "matching",
    "merge",
    "open_data",
    "open_training",
    "parse_settings",
    "phases",
    "provenance",
    "read_recipe",
    "read_record",
    "read_row",
    "read_table",
    "record_path",
    "reproduce",
    "rows_for",
    "source_for",
    "spread_levels",
    "summary",
    "tables",
    "train",
    "usual_epochs",
    "write_report",
]
