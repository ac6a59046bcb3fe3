"""Reading the TOML files of tables, figures and studies."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from nadek.runs.recipe import read_recipe
from nadek.utils.configs import decode, naming

T = TypeVar("T")


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
