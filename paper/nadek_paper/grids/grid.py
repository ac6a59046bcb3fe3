"""Grids as data: many small trainings that differ along named axes."""

import itertools
import math
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

from nadek.models import ModelConfig
from nadek.models.cores import ResidualConfig
from nadek.models.model_config import NetworkConfig
from nadek.models.registry import build_meta
from nadek.runs.recipe import make_recipe, merge, phases, read_recipe
from nadek.training import Recipe
from nadek.utils.configs import decode, naming
from nadek_paper.workspace import choose

SET, SEED = "set", "seed"
"""Keys of a cell, beside the axes."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """A data set of a grid, the length of its trainings and their scoring."""

    label: str  # shown in tables
    data: str  # name of a known data set
    n_variables: int  # D
    epochs: int  # of a variant that does not train longer; half on the cost of all steps, half on the last step's
    # "exact" log-likelihoods over some orderings, or an unbiased "estimate" from sampled positions, the same for
    # every cell
    scored: Literal["exact", "estimate"] = "exact"
    orderings: int = 4  # of exact scores
    masks: int = 16  # of estimates, for each row
    train_rows: int | None = None  # number of training rows, a fixed random choice; None for all
    rows: int | None = None  # number of validation and of test rows to score, a fixed random choice; None for all
    parameters: int | None = None  # make every model as wide as this number allows; None leaves widths alone


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A variant of an axis."""

    label: str  # shown in tables
    longer: int = 1  # factor on the number of epochs


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One training of a grid; ``where`` has the set and the variant of each axis."""

    name: str
    part: Part
    where: dict[str, str]
    recipe: Recipe


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A grid: a file ``recipes/grids/NAME.toml``.

    ``axes`` is axis -> variant -> its options; the sets are the first axis, the last one makes the columns of tables.
    Models are kept once they are scored if ``keep`` is set.
    """

    name: str
    title: str
    axes: dict[str, dict[str, Part | Variant]]
    cells: tuple[Cell, ...]
    keep: bool


@dataclass(frozen=True, kw_only=True)
class _Head:
    title: str
    seeds: tuple[int, ...] = (0,)
    keep: bool = False
    notes: tuple[str, ...] = ()


def read_grid(path: Path) -> Grid:
    """Read a grid, strictly."""
    options = read_recipe(path)
    with naming(path):
        tables = {key: options.pop(key, {}) for key in ("options", "sets", "axes")}
        products = options.pop("cells", [{}])
        head = decode(_Head, options)
        changes = {SET: tables["sets"], **tables["axes"]}
        axes, laid = _axes(changes)
        cells: dict[str, Cell] = {}
        for product in products:
            for where in _product(product, axes):
                for seed in head.seeds:
                    cell = _cell(where, seed, axes, [tables["options"], *(laid[axis][where[axis]] for axis in axes)])
                    cells.setdefault(cell.name, cell)
    every = tuple(cells.values())
    return Grid(name=path.stem, title=head.title, axes=axes, cells=every, keep=head.keep)


def grids(recipes: Path) -> list[str]:
    """Return the names of the grids, sorted."""
    return sorted(path.stem for path in recipes.glob("grids/*.toml"))


def _axes(
    tables: Mapping[str, Mapping[str, Any]],
) -> tuple[dict[str, dict[str, Part | Variant]], dict[str, dict[str, Mapping[str, Any]]]]:
    """Return the variants of each axis, and the recipe options that each lays over those before it."""
    axes: dict[str, dict[str, Part | Variant]] = {}
    laid: dict[str, dict[str, Mapping[str, Any]]] = {}
    for axis, variants in tables.items():
        if not isinstance(variants, Mapping) or not variants:
            raise ValueError(f"{'sets' if axis == SET else f'axes.{axis}'}: expected at least one variant")
        axes[axis], laid[axis] = {}, {}
        for name, options in variants.items():
            where = f"sets.{name}" if axis == SET else f"axes.{axis}.{name}"
            own = {key: value for key, value in options.items() if key not in ("model", "training")}
            axes[axis][name] = decode(Part, own, where=where) if axis == SET else decode(Variant, own, where=where)
            laid[axis][name] = {key: options[key] for key in ("model", "training") if key in options}
    return axes, laid


def _product(chosen: Mapping[str, Any], axes: Mapping[str, Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return every combination of the chosen variants; an axis without a choice is taken whole."""
    for axis, names in chosen.items():
        choose(axis, list(axes), "cells: unknown axis")
        for name in names:
            choose(name, list(axes[axis]), f"cells.{axis}: unknown variant")
    lists = [chosen.get(axis, list(axes[axis])) for axis in axes]
    return [dict(zip(axes, names, strict=True)) for names in itertools.product(*lists)]


def _cell(
    where: dict[str, str], seed: int, axes: Mapping[str, Mapping[str, Part | Variant]], layers: list[Mapping[str, Any]]
) -> Cell:
    name = "-".join([*where.values(), f"s{seed}"])
    part = axes[SET][where[SET]]
    assert isinstance(part, Part)
    options: dict[str, Any] = {}
    for layer in layers:
        options = merge(options, layer)
    longer = [variant.longer for axis in axes if isinstance(variant := axes[axis][where[axis]], Variant)]
    schedule = phases(part.epochs * math.prod(longer), options.get("model", {}).get("steps", 5))
    options = merge(options, {"seed": seed, "training": {"seed": seed, "phases": schedule}})
    recipe = make_recipe(options, n_variables=part.n_variables, where=name)
    if part.parameters is not None:
        recipe = widest(recipe, part.parameters)
    return Cell(name=name, part=part, where=where, recipe=recipe)


def widest(recipe: Recipe, parameters: int) -> Recipe:
    """Return the recipe with the widest hidden layers that a number of parameters allows."""
    if not isinstance(recipe.model, ModelConfig):
        raise ValueError("parameters: expected a network with hidden layers, found one of images")
    return replace(recipe, model=_widest_model(recipe.model, parameters))


def n_parameters(model: NetworkConfig) -> int:
    """Return the number of parameters of a network."""
    return sum(weights.numel() for weights in build_meta(model).parameters())


@cache  # cells that differ only in the seed share a model, and a search builds many
def _widest_model(model: ModelConfig, parameters: int) -> ModelConfig:
    widths = range(1, parameters // model.n_variables + 1)  # a unit reads every variable
    width = bisect_right(widths, parameters, key=lambda width: n_parameters(_of_width(model, width)))
    if width == 0:
        raise ValueError(f"parameters: {parameters} are too few for hidden layers of one unit")
    return _of_width(model, width)


def _of_width(model: ModelConfig, width: int) -> ModelConfig:
    if isinstance(model.core, ResidualConfig):
        return replace(model, core=replace(model.core, width=width))
    return replace(model, core=replace(model.core, hidden=(width,) * len(model.core.hidden)))
