"""Folders that the studies read and write, their TOML files, and the device that computes."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor

from nadek.runs.data import CodedTable, Split, open_data
from nadek.runs.recipe import read_recipe
from nadek.utils.configs import decode, naming

T = TypeVar("T")

RECIPES = Path(__file__).parent / "recipes"
"""The paper's tables, grids and figures as TOML files; they are part of the package."""

QUICK_ROWS = 200
"""Rows of each part of the data in a quick look."""

CHOICE_SEED = 0
"""Seed of the choice of rows, where not all are used."""

_PAPER = Path(__file__).parents[1]


def _default(in_checkout: str, elsewhere: str) -> Path:
    """Return a path in the repository, or one in the working directory for an installed package."""
    return (_PAPER / in_checkout).resolve() if (_PAPER / "pyproject.toml").is_file() else Path(elsewhere)


RESULTS = _default("results", "results")
PICTURES = _default("../docs/pictures", "pictures")
PAGE = _default("../docs/results.md", "results.md")


@dataclass(frozen=True, kw_only=True)
class Workspace:
    """Folders and device of a study."""

    recipes: Path = RECIPES  # folder of the TOML files
    results: Path = RESULTS  # folder of the records
    runs: Path = Path("runs")  # folder of the trainings and their models
    pictures: Path = PICTURES  # folder of the pictures
    data_dir: Path | None = None  # folder of the known data sets; None for the environment variable NADEK_DATA
    device: torch.device | str = "cpu"  # where to compute
    # take a quick look: one epoch a phase, few rows; all output, also records, goes to ``runs/quick``
    quick: bool = False

    def folder(self, name: str) -> Path:
        """Return the folder of a training."""
        return self.runs / "quick" / name if self.quick else self.runs / name

    def record(self, name: str) -> Path:
        """Return the path of a record."""
        return self.folder(name) / "record.json" if self.quick else self.results / f"{name}.json"

    def picture(self, name: str) -> Path:
        """Return the path of a picture."""
        return self.folder(f"figures-{name}") / f"{name}.png" if self.quick else self.pictures / f"{name}.png"

    def command(self, arguments: str) -> str:
        """Return a command line for a message."""
        return f"nadek-paper {arguments}{' --quick' if self.quick else ''}"

    def open(self, data: str, split: Split, *, train_rows: int | None = None) -> CodedTable:
        """Read one part of a data set; a quick look reads few rows."""
        table = open_data(data, split=split, data_dir=self.data_dir)
        x = some_rows(table.x, train_rows) if split == "train" else table.x
        return CodedTable(x[:QUICK_ROWS] if self.quick else x, table.schema)


def some_rows(x: Tensor, number: int | None) -> Tensor:
    """Return a fixed random choice of rows, or all; the first rows will not do, many sets are sorted by class."""
    if number is None:
        return x
    return x[torch.randperm(len(x), generator=torch.Generator().manual_seed(CHOICE_SEED))[:number].to(x.device)]


def read_config(cls: type[T], path: str | os.PathLike[str], **given: Any) -> T:  # noqa: ANN401 - options of any kind
    """Read a TOML file as a config, strictly."""
    options = read_recipe(path)
    with naming(path):
        return decode(cls, {**options, **given})


def files_of(folder: Path, only: str | None, noun: str) -> list[Path]:
    """Return the TOML files of a folder by name, or the one called ``only``."""
    paths = {path.stem: path for path in sorted(folder.glob("*.toml"))}
    return list(paths.values()) if only is None else [paths[choose(only, list(paths), f"{folder.name} has no {noun}")]]


def choose(name: str, names: Sequence[str], complaint: str) -> str:
    """Return a name that is one of several."""
    if name not in names:
        raise ValueError(f"{complaint} {name!r}; known are: {', '.join(names)}")
    return name
