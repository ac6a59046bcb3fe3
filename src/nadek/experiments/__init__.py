"""Recipes, what carries them out, and the records they leave."""

from nadek.experiments.demo import Demo, demo
from nadek.experiments.gallery import draw_model
from nadek.experiments.provenance import provenance
from nadek.experiments.recipe import Recipe, make_recipe, merge, parse_settings, phases, read_recipe
from nadek.experiments.run import check_output, evaluate, train
from nadek.experiments.sources import Source, matching, open_data, open_training, rows_for

__all__ = [
    "Demo",
    "Recipe",
    "Source",
    "check_output",
    "demo",
    "draw_model",
    "evaluate",
    "make_recipe",
    "matching",
    "merge",
    "open_data",
    "open_training",
    "parse_settings",
    "phases",
    "provenance",
    "read_recipe",
    "rows_for",
    "train",
]
