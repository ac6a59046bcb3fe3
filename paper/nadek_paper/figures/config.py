"""Pictures as data: a file ``experiments/figures/NAME.toml`` says what is shown, and of which models."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from nadek.runs.data import Split
from nadek.runs.recipe import naming, read_recipe
from nadek.utils.configs import decode
from nadek_paper.rows import Kind


@dataclass(frozen=True, kw_only=True)
class Curves:
    """Costs along the trainings of several models: training on the left, validation on the right.

    Attributes:
        models: rows of tables (``table1/nade-5-1hl``) or cells of grids (``ksweep/mnist-1hl-k5-s0``).
        labels: what to call them, in the same order.
        recipe: of the rows.
        skip: the height fits what comes after this part of the epochs.
    """

    models: tuple[str, ...]
    labels: tuple[str, ...]
    recipe: Kind = "modern"
    skip: float = 0.1
    kind: Literal["curves"] = "curves"

    def __post_init__(self) -> None:
        if len(self.models) != len(self.labels) or not self.models:
            raise ValueError(f"labels: expected one for each model, found {len(self.labels)} for {len(self.models)}")


@dataclass(frozen=True, kw_only=True)
class GridLines:
    """Test log-likelihoods of a grid against the number of steps in training, a panel for each data set.

    Attributes:
        grid: its name.
        along: variants of its last axis to put along x, by their numbers of steps.
        level: variants of its last axis to draw as level lines.
    """

    grid: str
    along: tuple[str, ...]
    level: tuple[str, ...] = ()
    kind: Literal["grid"] = "grid"


@dataclass(frozen=True, kw_only=True)
class StepsAtTest:
    """Log-likelihoods of one model with other numbers of steps than it was trained with.

    Attributes:
        model: a row or a cell, see `Curves`.
        recipe: of a row.
        steps: from 1 to so many.
        split: rows to score.
        masks: of the unbiased estimate, for each row; the same for all numbers of steps.
        rows: score so many, a fixed random choice; None for all.
        seed: of the masks.
    """

    model: str
    recipe: Kind = "modern"
    steps: int = 15
    split: Split = "test"
    masks: int = 8
    rows: int | None = None
    seed: int = 0
    kind: Literal["test_steps"] = "test_steps"


@dataclass(frozen=True, kw_only=True)
class Reconstructions:
    """States v⟨0⟩, v⟨1⟩, ... of partly hidden rows.

    Attributes:
        model: a row or a cell, see `Curves`.
        recipe: of a row.
        steps: how many steps, perhaps more than in training.
        split: rows to take from.
        hidden: part of the cells that is hidden, for each row of the picture.
        seed: of the choice of rows and of what is hidden.
    """

    model: str
    recipe: Kind = "modern"
    steps: int = 10
    split: Split = "test"
    hidden: tuple[float, ...] = (0.5,)
    seed: int = 0
    kind: Literal["reconstructions"] = "reconstructions"

    def __post_init__(self) -> None:
        if not self.hidden or not all(0 < part <= 1 for part in self.hidden):
            raise ValueError(f"hidden: expected parts above 0 and at most 1, found {self.hidden}")


@dataclass(frozen=True, kw_only=True)
class Samples:
    """Samples, each drawn along an ordering of its own.

    Attributes:
        model: a row or a cell, see `Curves`.
        recipe: of a row.
        number: how many.
        seed: of orderings and draws.
    """

    model: str
    recipe: Kind = "modern"
    number: int = 100
    seed: int = 0
    kind: Literal["samples"] = "samples"


@dataclass(frozen=True, kw_only=True)
class Filters:
    """Weights of a random choice of hidden units, as images.

    Attributes:
        model: a row or a cell, see `Curves`.
        recipe: of a row.
        side: those that read the image (W), or those that write it (V).
        number: how many units.
        seed: of the choice.
    """

    model: str
    side: Literal["encoder", "decoder"]
    recipe: Kind = "modern"
    number: int = 100
    seed: int = 0
    kind: Literal["filters"] = "filters"


@dataclass(frozen=True, kw_only=True)
class Structures:
    """The structures of the paper: nothing of ours is in it."""

    kind: Literal["structures"] = "structures"


Shows = Curves | GridLines | StepsAtTest | Reconstructions | Samples | Filters | Structures


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A picture.

    Attributes:
        name: the file's name without its suffix; not an option of the file.
        title: what it is, and which figure of the paper it stands for.
        shows: what is drawn.
        notes: what to know about it.
    """

    name: str
    title: str
    shows: Shows
    notes: tuple[str, ...] = ()


def read_picture(path: str | os.PathLike[str]) -> Picture:
    """Read what one picture shows, strictly.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: on an unknown, missing or unfit option; names file and option.
    """
    path, options = Path(path), read_recipe(path)
    with naming(path):
        return decode(Picture, {**options, "name": path.stem})


def read_pictures(experiments: str | os.PathLike[str], *, only: str | None = None) -> list[Picture]:
    """Read all pictures, sorted by name, or the one that is wanted.

    Raises:
        FileNotFoundError: if there are none.
        ValueError: if there is none of that name, and as `read_picture`.
    """
    paths = sorted(Path(experiments).glob("figures/*.toml"))
    if not paths:
        raise FileNotFoundError(f"there are no figures in {experiments}")
    if only is not None:
        names = ", ".join(path.stem for path in paths)
        paths = [path for path in paths if path.stem == only]
        if not paths:
            raise ValueError(f"there is no figure {only!r}; known are: {names}")
    return [read_picture(path) for path in paths]
