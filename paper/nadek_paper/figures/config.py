"""Pictures as data: a file ``recipes/figures/NAME.toml`` names the models and what is shown of them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from nadek.runs.data import Split
from nadek_paper.recipe_files import files_of, read_config
from nadek_paper.rows import Kind


@dataclass(frozen=True, kw_only=True)
class Curves:
    """Costs along the trainings of several models: training on the left, validation on the right.

    Attributes:
        models: rows of tables (``table1/nade-5-1hl``) or cells of grids (``ksweep/mnist-1hl-k5-s0``).
        labels: their labels, in the same order.
        recipe: of the rows.
        skip: part of the epochs that the height need not fit.
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
class OfModel:
    """Options of a picture of one model.

    Attributes:
        model: a row or a cell, see `Curves`.
        recipe: of a row.
        seed: seed of everything random.
    """

    model: str
    recipe: Kind = "modern"
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class StepsAtTest(OfModel):
    """Log-likelihoods of one model with other numbers of steps than it was trained with.

    Attributes:
        steps: the largest number of steps, from 1.
        split: rows to score.
        masks: masks of the unbiased estimate for each row, the same for all numbers of steps.
        rows: number of rows to score, a fixed random choice; None for all.
    """

    steps: int = 15
    split: Split = "test"
    masks: int = 8
    rows: int | None = None
    kind: Literal["test_steps"] = "test_steps"


@dataclass(frozen=True, kw_only=True)
class Reconstructions(OfModel):
    """States v⟨0⟩, v⟨1⟩, ... of partly hidden rows.

    Attributes:
        steps: number of steps, perhaps more than in training.
        split: rows to choose from.
        hidden: part of the cells that is hidden, for each row of the picture.
    """

    steps: int = 10
    split: Split = "test"
    hidden: tuple[float, ...] = (0.5,)
    kind: Literal["reconstructions"] = "reconstructions"

    def __post_init__(self) -> None:
        if not self.hidden or not all(0 < part <= 1 for part in self.hidden):
            raise ValueError(f"hidden: expected parts above 0 and at most 1, found {self.hidden}")


@dataclass(frozen=True, kw_only=True)
class Samples(OfModel):
    """Samples, each drawn along an ordering of its own.

    Attributes:
        number: number of samples.
    """

    number: int = 100
    kind: Literal["samples"] = "samples"


@dataclass(frozen=True, kw_only=True)
class Filters(OfModel):
    """Weights of randomly chosen hidden units, as images.

    Attributes:
        side: those that read the image (W), or those that write it (V).
        number: number of units.
    """

    side: Literal["encoder", "decoder"]
    number: int = 100
    kind: Literal["filters"] = "filters"


@dataclass(frozen=True, kw_only=True)
class Structures:
    """The structures of the paper: a drawing, not of our models."""

    kind: Literal["structures"] = "structures"


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A picture.

    Attributes:
        name: the file's name without its suffix; not an option of the file.
        title: caption, with the figure of the paper that it stands for.
        shows: what is drawn.
        notes: what to know about it.
    """

    name: str
    title: str
    shows: Curves | GridLines | StepsAtTest | Reconstructions | Samples | Filters | Structures
    notes: tuple[str, ...] = ()


def read_pictures(recipes: Path, *, only: str | None = None) -> list[Picture]:
    """Read all pictures, sorted by name, or the one called ``only``."""
    return [read_config(Picture, path, name=path.stem) for path in files_of(recipes / "figures", only, "figure")]
