"""Rows of the paper's tables as data: what the paper reports, and the recipes that stand for it here."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from nadek import datasets
from nadek.runs.recipe import Recipe, merge, naming, read_recipe, trained_alike, with_kinds
from nadek.utils.configs import decode, encode
from nadek_paper.rbm import AISConfig, MachineConfig

Kind = Literal["modern", "paper", "taught"]
"""Ours, found on validation data; as the paper and its authors' code did it; or from another network, which learnt from
the same rows."""

KINDS: tuple[Kind, ...] = ("modern", "paper", "taught")


@dataclass(frozen=True, kw_only=True)
class Recipes:
    """How a row is trained; None where a way is not given."""

    modern: Recipe | None = None
    paper: Recipe | None = None
    taught: Recipe | None = None

    def __post_init__(self) -> None:
        for kind, recipe in vars(self).items():
            if recipe is not None and (recipe.teacher is not None) != (kind == "taught"):
                expected = "a model to learn from" if kind == "taught" else 'none (the recipe "taught" is for that)'
                raise ValueError(f"{kind}.teacher: expected {expected}, found {recipe.teacher or 'none'}")


@dataclass(frozen=True, kw_only=True)
class MachineChoice:
    """Which epoch of an RBM is taken: the one that validation rows are likeliest under, by a short annealing.

    Attributes:
        every: epochs between two looks; there is one after the last, too.
        annealing: how the normalising constant is estimated for it.
    """

    every: int = 10
    annealing: AISConfig = field(default_factory=lambda: AISConfig(chains=50, temperatures=1000))

    def __post_init__(self) -> None:
        if self.every < 1:
            raise ValueError(f"every: expected at least 1, found {self.every}")


@dataclass(frozen=True, kw_only=True)
class MachineRecipe:
    """How an RBM is trained, which epoch of it is taken, and how its normalising constant is estimated.

    Attributes:
        training: see `nadek_paper.rbm.MachineConfig`.
        choice: how the epoch is chosen; None for the last.
        annealing: for the likelihood of the test rows.
    """

    training: MachineConfig
    choice: MachineChoice | None = None
    annealing: AISConfig = field(default_factory=AISConfig)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of a table: a file ``experiments/TABLE/NAME.toml``.

    Attributes:
        table: the folder's name; not an option of the file.
        name: the file's name without its suffix; not an option of the file.
        title: what tables call it.
        data: name of a known data set.
        paper: the paper's test log-likelihood, nats a row.
        paper_ensemble: the paper's value for the ensemble over orderings.
        orderings: how many random orderings to average over, on all test rows.
        in_turn: score each test row under one of the orderings only, in turn: an estimate of the same mean, without
            bias, where every conditional takes a whole network. Asks for ``ensemble_orderings``.
        ensemble_orderings: how many orderings to mix; None mixes those of ``orderings``.
        ensemble_rows: score that ensemble on so many test rows, a fixed random choice; None for all.
        scoring_dtype: of the matrix products while scoring; with "bfloat16" the record tells how far from float32.
        cited: a value that is only quoted, of a model that is not run here.
        notes: where we differ from the paper, each with the reason.
        recipes: how to train it. A table ``model`` of the file is the structure that all of them share.
        rbm: how to train it, where it is an RBM; it counts as modern.
    """

    table: str
    name: str
    title: str
    data: str
    paper: float | None = None
    paper_ensemble: float | None = None
    orderings: int = 10
    in_turn: bool = False
    ensemble_orderings: int | None = None
    ensemble_rows: int | None = None
    scoring_dtype: Literal["float32", "bfloat16"] = "float32"
    cited: bool = False
    notes: tuple[str, ...] = ()
    recipes: Recipes = field(default_factory=Recipes)
    rbm: MachineRecipe | None = None

    def __post_init__(self) -> None:
        if self.data not in datasets.names():
            raise ValueError(f"data: expected one of {', '.join(datasets.names())}, found {self.data!r}")
        for name in ("orderings", "ensemble_orderings", "ensemble_rows"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name}: expected at least 1, found {value}")
        for name in ("ensemble_rows", "in_turn"):
            if getattr(self, name) and self.ensemble_orderings is None:
                raise ValueError(f"{name}: expected ensemble_orderings beside it, found none")
        given = [recipe for recipe in vars(self.recipes).values() if recipe is not None]
        if self.rbm is not None and given:
            raise ValueError("rbm: expected no recipes beside it, found some")
        if self.cited and (self.kinds or self.paper is None):
            raise ValueError("cited: expected a value of the paper and no recipes")
        if not self.cited and not self.kinds:
            raise ValueError(f"recipes: expected at least one of {', '.join(KINDS)}, found none")
        if len({repr(trained_alike(recipe.model)) for recipe in given}) > 1:
            raise ValueError("recipes: expected one structure, found two; only init_std and dropout may differ")

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The ways to train it."""
        if self.rbm is not None:
            return ("modern",)
        return tuple(kind for kind in KINDS if getattr(self.recipes, kind) is not None)

    def config(self, kind: Kind) -> dict[str, Any]:
        """What a record says of how it was trained.

        Raises:
            ValueError: if there is no such way.
        """
        return encode(self.rbm if self.rbm is not None and kind in self.kinds else self.recipe(kind))

    def recipe(self, kind: Kind) -> Recipe:
        """One of the row's recipes, without its notes: a better word for a reason is no other training.

        Raises:
            ValueError: if the row has no such recipe.
        """
        found: Recipe | None = getattr(self.recipes, kind)
        if found is None:
            why = "its value is only cited" if self.cited else "it is an RBM" if self.rbm else "its file has none"
            raise ValueError(f"{self.table}: row {self.name} has no recipe {kind!r}: {why}")
        return replace(found, notes="")


def read_row(path: str | os.PathLike[str]) -> Row:
    """Read one row, strictly.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is not TOML, or on an unknown, missing or unfit option; names file and option.
    """
    path = Path(path)
    options = read_recipe(path)
    with naming(path):
        for key in ("table", "name"):
            if key in options:
                raise ValueError(f"unknown option {key}; it is told by where the file lies")
        return decode(Row, {**_shared(options), "table": path.absolute().parent.name, "name": path.stem})


def read_table(folder: str | os.PathLike[str], *, only: str | None = None) -> list[Row]:
    """Read the rows of a table, sorted by name.

    Args:
        folder: where their files lie.
        only: the name of the one row that is wanted.

    Raises:
        FileNotFoundError: if there is no such table.
        ValueError: if it has no such row, and as `read_row`.
    """
    folder = Path(folder)
    paths = sorted(folder.glob("*.toml"))
    if not paths:
        known = ", ".join(tables(folder.parent)) or "none"
        raise FileNotFoundError(f"there is no table {folder.name} in {folder.parent}; known are: {known}")
    if only is not None:
        names = ", ".join(path.stem for path in paths)
        paths = [path for path in paths if path.stem == only]
        if not paths:
            raise ValueError(f"{folder.name} has no row {only!r}; known are: {names}")
    return [read_row(path) for path in paths]


def tables(experiments: str | os.PathLike[str]) -> list[str]:
    """Names of the tables: the folders ``table*`` that hold rows, sorted."""
    return sorted({path.parent.name for path in Path(experiments).glob("table*/*.toml")})


def names_machine(start: str, experiments: str | os.PathLike[str]) -> bool:
    """Whether a recipe's ``start`` is an RBM of the tables ("TABLE/ROW"), and not a trained model."""
    return start.partition("/")[0] in tables(experiments)


def _shared(options: Mapping[str, Any]) -> dict[str, Any]:
    """The row's options with its model laid under every recipe, and the kinds that are meant where none is told."""
    options = dict(options)
    model = options.pop("model", {})
    recipes = options.get("recipes")
    if isinstance(recipes, Mapping):  # what is not a table of tables is told by its path later
        options["recipes"] = {
            kind: with_kinds(merge({"model": model}, recipe)) if isinstance(recipe, Mapping) else recipe
            for kind, recipe in recipes.items()
        }
    return options
