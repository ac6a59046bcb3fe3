"""Pictures as data: a file ``recipes/figures/NAME.toml`` names the models and what is shown of them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from nadek.runs.data import Split
from nadek_paper.workspace import files_of, read_config


@dataclass(frozen=True, kw_only=True)
class Curves:
    """Costs along the trainings of several models: training on the left, validation on the right."""

    models: tuple[str, ...]  # rows of tables (``table1/nade-5-1hl``) or cells of grids (``ksweep/mnist-1hl-k5-s0``)
    labels: tuple[str, ...]  # their labels, in the same order
    kind: Literal["curves"] = "curves"

    def __post_init__(self) -> None:
        if len(self.models) != len(self.labels) or not self.models:
            raise ValueError(f"labels: expected one for each model, found {len(self.labels)} for {len(self.models)}")


@dataclass(frozen=True, kw_only=True)
class GridLines:
    """Test log-likelihoods of a grid against the number of steps in training, a panel for each data set."""

    grid: str  # its name
    along: tuple[str, ...]  # variants of its last axis to put along x, by their numbers of steps
    level: tuple[str, ...] = ()  # variants of its last axis to draw as level lines
    kind: Literal["grid"] = "grid"


@dataclass(frozen=True, kw_only=True)
class OfModel:
    """Options of a picture of one model."""

    model: str  # a row or a cell, see `Curves`
    seed: int = 0  # seed of everything random


@dataclass(frozen=True, kw_only=True)
class StepsAtTest(OfModel):
    """Log-likelihoods of one model with other numbers of steps than it was trained with."""

    steps: int = 15  # the largest number of steps, from 1
    split: Split = "test"  # rows to score
    masks: int = 8  # masks of the unbiased estimate for each row, the same for all numbers of steps
    rows: int | None = None  # number of rows to score, a fixed random choice; None for all
    kind: Literal["test_steps"] = "test_steps"


@dataclass(frozen=True, kw_only=True)
class Reconstructions(OfModel):
    """States v⟨0⟩, v⟨1⟩, ... of partly hidden rows."""

    steps: int = 10  # number of steps, perhaps more than in training
    split: Split = "test"  # rows to choose from
    hidden: tuple[float, ...] = (0.5,)  # part of the cells that is hidden, for each row of the picture
    kind: Literal["reconstructions"] = "reconstructions"

    def __post_init__(self) -> None:
        if not self.hidden or not all(0 < part <= 1 for part in self.hidden):
            raise ValueError(f"hidden: expected parts above 0 and at most 1, found {self.hidden}")


@dataclass(frozen=True, kw_only=True)
class Samples(OfModel):
    """Samples, each drawn along an ordering of its own."""

    number: int = 100  # number of samples
    kind: Literal["samples"] = "samples"


@dataclass(frozen=True, kw_only=True)
class Filters(OfModel):
    """Weights of randomly chosen hidden units, as images."""

    side: Literal["encoder", "decoder"]  # those that read the image (W), or those that write it (V)
    number: int = 100  # number of units
    kind: Literal["filters"] = "filters"


@dataclass(frozen=True, kw_only=True)
class Structures:
    """The structures of the paper: a drawing, not of our models."""

    kind: Literal["structures"] = "structures"


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A picture."""

    name: str  # the file's name without its suffix; not an option of the file
    title: str  # caption, with the figure of the paper that it stands for
    shows: Curves | GridLines | StepsAtTest | Reconstructions | Samples | Filters | Structures  # what is drawn
    notes: tuple[str, ...] = ()  # what to know about it


def read_pictures(recipes: Path, *, only: str | None = None) -> list[Picture]:
    """Read all pictures by name, or only one."""
    return [read_config(Picture, path, name=path.stem) for path in files_of(recipes / "figures", only, "figure")]
