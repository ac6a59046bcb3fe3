"""A recipe: model and training as data, from TOML and from options of the command line."""

import math
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nadek.training import defaults
from nadek.models.base import Structure
from nadek.utils.configs import decode, encode
from nadek.models.unet_config import ImageConfig
from nadek.models import ModelConfig
from nadek.models.registry import NetworkConfig
from nadek.training import TrainingConfig

_KINDS = {"model": {"core": {"kind": "deep"}}, "training": {"optimizer": {"kind": "adamw"}}}
"""What is meant where a recipe does not say."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What to train and how.

    Attributes:
        model: the structure.
        training: the run.
        seed: of the initial weights (the training has its own).
        start: what the weights begin as: a trained model of the same structure, by its folder or the name of one that
            comes with the package; or, in a row of a table, the RBM of another row, "TABLE/ROW" (see
            `nadek.models.begin_as_rbm`). None begins with random ones.
        teacher: a model to learn from: the name of one that comes with the package, or a folder. The network learns
            what it expects of hidden cells instead of what they hold.
        memory: keep the training rows beside the network once it is trained (see `nadek.models.memory`); how far they are to
            be trusted is learnt from the validation rows.
        notes: why it is so; for people.
    """

    model: NetworkConfig
    training: TrainingConfig = field(default_factory=TrainingConfig)
    seed: int = 0
    start: str | None = None
    teacher: str | None = None
    memory: bool = False
    notes: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**63:
            raise ValueError(f"seed: expected a whole number from 0 to 2**63 - 1, found {self.seed}")


def trained_alike(model: Structure) -> Structure:
    """The structure without what matters while it is trained only: equal for networks that can share their weights."""
    if isinstance(model, ImageConfig):
        return replace(model, dropout=0.0)
    assert isinstance(model, ModelConfig)
    return replace(model, init_std=None, ordinal=None, core=replace(model.core, dropout=0.0))


def is_recipe(recipe: Recipe, kept: Any) -> bool:  # noqa: ANN401 - whatever JSON held
    """Whether a record is of this recipe, whatever its notes say.

    Options that came after it was written are at their defaults in it.
    """
    try:
        return kept == encode(recipe) or _without_notes(decode(Recipe, kept)) == _without_notes(recipe)
    except ValueError:
        return False


def _without_notes(recipe: Recipe) -> dict[str, Any]:
    return encode(replace(recipe, notes=""))


def read_recipe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The options in a TOML file, not yet checked (see `make_recipe`).

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is not TOML.
    """
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no recipe at {path}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not valid TOML: {error}") from None


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Put a file's name before what is wrong with its options."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def make_recipe(
    options: Mapping[str, Any], *, n_variables: int, image_shape: tuple[int, int] | None = None, where: str = ""
) -> Recipe:
    """Check options and make a recipe of them for data with ``n_variables`` columns.

    A core or an optimizer without a ``kind`` is a deep core or AdamW, a model without one the paper's network.

    Args:
        options: model, training, seed and notes.
        n_variables: D.
        image_shape: height and width, where it is known that rows are images; what a network of images takes them for.
        where: the file that they stand in, for the messages.

    Raises:
        ValueError: on an unknown option or a value that does not fit; names it by its path.
    """
    try:
        options = merge({"model": {"n_variables": n_variables}}, with_kinds(options))
        if image_shape is not None and is_of_images(options):
            options = merge({"model": {"kind": "images", "image_shape": image_shape}}, options)
        recipe = decode(Recipe, options)
        if recipe.model.n_variables != n_variables:
            raise ValueError(f"the recipe is for {recipe.model.n_variables} variables, the data have {n_variables}")
    except ValueError as error:
        raise ValueError(f"{where}: {error}" if where else str(error)) from None
    return recipe


def with_kinds(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a recipe with the usual kinds of core and optimizer where they say none.

    Example:
        >>> with_kinds({"model": {"core": {"hidden": [8]}}})["model"]
        {'core': {'kind': 'deep', 'hidden': [8]}}
    """
    return merge(_KINDS, options)


def is_of_images(options: Mapping[str, Any]) -> bool:
    """Whether options, not yet checked, ask for a network of images."""
    model = options.get("model")
    return isinstance(model, Mapping) and model.get("kind") == "images"


def merge(options: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Options with changes laid over them, table by table; another ``kind`` replaces its table.

    Example:
        >>> merge({"model": {"steps": 5, "tied": True}}, {"model": {"steps": 2}})
        {'model': {'steps': 2, 'tied': True}}
    """
    merged = dict(options)
    for key, value in changes.items():
        old = merged.get(key)
        if not (isinstance(old, Mapping) and isinstance(value, Mapping)):
            merged[key] = value
        elif value.get("kind", old.get("kind")) != old.get("kind"):
            merged[key] = dict(value)
        else:
            merged[key] = merge(old, value)
    return merged


def joined(options: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Options that are given side by side, table by table: none of them replaces the table of another.

    Example:
        >>> joined({"model": {"steps": 2}}, {"model": {"kind": "images"}})
        {'model': {'steps': 2, 'kind': 'images'}}
    """
    both = dict(options)
    for key, value in more.items():
        old = both.get(key)
        both[key] = joined(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return both


def usual_epochs(n_rows: int, batch_size: int) -> int:
    """How long to train where nobody says: about 6,000 minibatches, and 20 to 500 passes over the rows.

    Example:
        >>> usual_epochs(2700, 100), usual_epochs(50_000, 100)
        (223, 20)
    """
    return min(500, max(20, math.ceil(6000 / math.ceil(n_rows / batch_size))))


def phases(epochs: int, steps: int, *, fixed_order: bool = False) -> list[dict[str, Any]]:
    """The usual schedule (`nadek.training.defaults.phases`) as options; a model of one ordering has the one objective that fits.

    Example:
        >>> phases(5, 2)
        [{'objective': 'all_steps', 'epochs': 2}, {'objective': 'last_step', 'epochs': 3}]
    """
    if fixed_order:
        return [{"objective": "fixed_order", "epochs": epochs}]
    return [{"objective": phase.objective, "epochs": phase.epochs} for phase in defaults.phases(epochs, steps)]


def parse_settings(settings: Iterable[str]) -> dict[str, Any]:
    """Options given as ``path.to.option=value`` with TOML values (a bare word is a string).

    Raises:
        ValueError: on something that is not of that form.

    Example:
        >>> parse_settings(["model.steps=2", "model.core.activation=relu"])
        {'model': {'steps': 2, 'core': {'activation': 'relu'}}}
    """
    options: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name:
            raise ValueError(f"expected path.to.option=value, found {setting!r}")
        value: Any = _toml_value(text.strip())
        for part in reversed(name.strip().split(".")):
            value = {part: value}
        options = joined(options, value)
    return options


def _toml_value(text: str) -> Any:  # noqa: ANN401 - any TOML value
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
