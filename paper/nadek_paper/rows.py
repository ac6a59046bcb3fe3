"""Rows of the paper's tables as data: the paper's values, and the recipes that reproduce them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from nadek import datasets
from nadek.runs.recipe import USUAL_KINDS, merge, read_recipe, trained_alike
from nadek.training import Recipe
from nadek.utils.configs import check_range, decode, naming
from nadek_paper.darn import DARNConfig
from nadek_paper.rbm import AISConfig, RBMConfig
from nadek_paper.workspace import files_of

Kind = Literal["modern", "paper", "taught"]
"""Our training, chosen on validation data; the training of the paper and its authors' code; or learning from another
network, which learnt from the same rows."""

KINDS: tuple[Kind, ...] = ("modern", "paper", "taught")


@dataclass(frozen=True, kw_only=True)
class Recipes:
    """Recipes of a row, None where there is none of a kind."""

    modern: Recipe | None = None
    paper: Recipe | None = None
    taught: Recipe | None = None

    def __post_init__(self) -> None:
        for kind, recipe in vars(self).items():
            if recipe is not None and (recipe.teacher is not None) != (kind == "taught"):
                expected = "a model to learn from" if kind == "taught" else 'none (the recipe "taught" is for that)'
                raise ValueError(f"{kind}.teacher: expected {expected}, found {recipe.teacher or 'none'}")


@dataclass(frozen=True, kw_only=True)
class RBMChoice:
    """Choice of the epoch of an RBM that validation rows are likeliest under, by a short annealing."""

    every: int = 10  # epochs between two estimates; there is one after the last epoch, too
    # settings of the estimate
    annealing: AISConfig = field(default_factory=lambda: AISConfig(chains=50, temperatures=1000))

    def __post_init__(self) -> None:
        check_range(self, "every", least=1)


@dataclass(frozen=True, kw_only=True)
class RBMRecipe:
    """Training of an RBM, choice of its epoch, and the estimate of its normalising constant."""

    training: RBMConfig  # settings of the training
    choice: RBMChoice | None = None  # choice of the epoch; None for the last
    annealing: AISConfig = field(default_factory=AISConfig)  # settings of the estimate for the test rows


@dataclass(frozen=True, kw_only=True)
class DBNRecipe:
    """Training of a DBN's upper layer, and the estimates."""

    first: str  # the RBM of the first layer: a row "TABLE/ROW", which is trained first if need be
    training: RBMConfig  # settings of the training of the top RBM
    annealing: AISConfig = field(default_factory=AISConfig)  # settings of the estimate of its normalising constant
    draws: int = 100  # draws of the hidden units of the first layer for each row

    def __post_init__(self) -> None:
        check_range(self, "draws", least=1)


@dataclass(frozen=True, kw_only=True)
class DARNRecipe:
    """Training of a DARN, and the estimate."""

    training: DARNConfig  # settings of the training
    draws: int = 100  # draws of the hidden units for each row

    def __post_init__(self) -> None:
        check_range(self, "draws", least=1)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of a table: a file ``recipes/TABLE/NAME.toml``."""

    table: str  # the folder's name; not an option of the file
    name: str  # the file's name without its suffix; not an option of the file
    title: str  # shown in tables
    data: str  # name of a known data set
    paper: float | None = None  # the paper's test log-likelihood, nats a row
    paper_ensemble: float | None = None  # the paper's value for the ensemble over orderings
    orderings: int = 10  # number of random orderings to average over, on all test rows
    # score each test row under one of the orderings only, in turn: an unbiased estimate of the same mean, for
    # models whose conditionals each take a whole network. Needs ``ensemble_orderings``
    in_turn: bool = False
    ensemble_orderings: int | None = None  # number of orderings to mix; None mixes those of ``orderings``
    ensemble_rows: int | None = None  # number of test rows for the ensemble, a fixed random choice; None for all
    # of the matrix products while scoring; with "bfloat16" the record has the difference to float32
    scoring_dtype: Literal["float32", "bfloat16"] = "float32"
    cited: bool = False  # True for a value that is only quoted, of a model that is not run here
    notes: tuple[str, ...] = ()  # differences from the paper, each with the reason
    # the trainings. A table ``model`` of the file is the structure that all of them share
    recipes: Recipes = field(default_factory=Recipes)
    rbm: RBMRecipe | None = None  # the training of an RBM; it counts as modern
    dbn: DBNRecipe | None = None  # the training of a DBN; likewise
    darn: DARNRecipe | None = None  # the training of a DARN; likewise

    def __post_init__(self) -> None:
        if self.data not in datasets.names():
            raise ValueError(f"data: expected one of {', '.join(datasets.names())}, found {self.data!r}")
        check_range(self, "orderings", "ensemble_orderings", "ensemble_rows", least=1)
        for name in ("ensemble_rows", "in_turn"):
            if getattr(self, name) and self.ensemble_orderings is None:
                raise ValueError(f"{name}: expected ensemble_orderings beside it, found none")
        given = [recipe for recipe in vars(self.recipes).values() if recipe is not None]
        baselines = [name for name in ("rbm", "dbn", "darn") if getattr(self, name) is not None]
        if baselines and len(given) + len(baselines) > 1:
            raise ValueError(f"{baselines[0]}: expected no recipes beside it, found some")
        if self.cited and (self.kinds or self.paper is None):
            raise ValueError("cited: expected a value of the paper and no recipes")
        if not self.cited and not self.kinds:
            raise ValueError(f"recipes: expected at least one of {', '.join(KINDS)}, found none")
        if len({repr(trained_alike(recipe.model)) for recipe in given}) > 1:
            raise ValueError("recipes: expected one structure, found two; only init_std and dropout may differ")

    @property
    def baseline(self) -> RBMRecipe | DBNRecipe | DARNRecipe | None:
        """Return the recipe of a model of estimated likelihood."""
        return self.rbm or self.dbn or self.darn

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Return the kinds of recipes that the row has."""
        if self.baseline is not None:
            return ("modern",)
        return tuple(kind for kind in KINDS if getattr(self.recipes, kind) is not None)

    def recipe(self, kind: Kind) -> Recipe:
        """Return a recipe without its notes, which are no part of the training."""
        recipe: Recipe | None = getattr(self.recipes, kind)
        if recipe is None:
            other = "it is an RBM" if self.rbm else "it is a DBN or a DARN" if self.baseline else "its file has none"
            why = "its value is only cited" if self.cited else other
            raise ValueError(f"{self.table}: row {self.name} has no recipe {kind!r}: {why}")
        return replace(recipe, notes="")

    def run_name(self, kind: Kind) -> str:
        """Return the name of training folder and record."""
        return f"{self.table}-{self.name}-{kind}"

    def about(self, kind: Kind, *, quick: bool) -> dict[str, Any]:
        """Return a record's entries on the row."""
        place = {"table": self.table, "row": self.name, "recipe": kind, "title": self.title, "data": self.data}
        return {**place, "quick": quick, "paper": self.paper, "paper_ensemble": self.paper_ensemble}


def read_row(path: Path) -> Row:
    """Read one row, strictly."""
    options = read_recipe(path)
    with naming(path):
        for key in ("table", "name"):
            if key in options:
                raise ValueError(f"unknown option {key}; the place of the file says it")
        return decode(Row, {**_with_model(options), "table": path.absolute().parent.name, "name": path.stem})


def read_table(folder: Path, *, only: str | None = None) -> list[Row]:
    """Read the rows of a table, sorted by name."""
    if not list(folder.glob("*.toml")):
        names = ", ".join(tables(folder.parent)) or "none"
        raise FileNotFoundError(f"there is no table {folder.name} in {folder.parent}; known are: {names}")
    return [read_row(path) for path in files_of(folder, only, "row")]


def tables(recipes: Path) -> list[str]:
    """Return the names of the tables, sorted: the folders ``table*`` with rows."""
    return sorted({path.parent.name for path in recipes.glob("table*/*.toml")})


def names_rbm(start: str, recipes: Path) -> bool:
    """Return True if a recipe's ``start`` is an RBM of the tables ("TABLE/ROW"), not a trained model."""
    return start.partition("/")[0] in tables(recipes)


def _with_model(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row's options with its ``model`` and the usual kinds laid under every recipe."""
    options = dict(options)
    model = options.pop("model", {})
    recipes = options.get("recipes")
    if isinstance(recipes, Mapping):  # `decode` refuses anything else
        options["recipes"] = {
            kind: merge(USUAL_KINDS, merge({"model": model}, recipe)) if isinstance(recipe, Mapping) else recipe
            for kind, recipe in recipes.items()
        }
    return options
