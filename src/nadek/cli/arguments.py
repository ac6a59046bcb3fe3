"""Options that several verbs share, so that they mean and say the same everywhere."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import torch
import typer

from nadek import pretrained
from nadek.tabular.io import SUFFIXES

ModelArgument = Annotated[
    Path,
    typer.Argument(help=f"Folder of a trained model, or one of {', '.join(pretrained.names())}.", show_default=False),
]
DataArgument = Annotated[
    str,
    typer.Argument(
        help="A known data set (see nadek data) or a table: .csv .parquet .npz .npy .amat, also .gz.",
        show_default=False,
    ),
]
DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", envvar="NADEK_DATA", help="Folder of the known data sets.", show_default=False),
]
LARGEST_SEED = 2**32 - 1
"""As in scikit-learn; generators are given multiples of it, too, which have to fit 64 bits."""
Seed = Annotated[int, typer.Option("--seed", min=0, max=LARGEST_SEED, help="Seed of everything random.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no messages.")]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there.")]
Orderings = Annotated[int, typer.Option("--orderings", min=1, help="Number of random orderings.")]
OutputFile = Annotated[
    Path | None, typer.Option("--output", "-o", help="File to write, by its suffix; standard output if not given.")
]


NUMBERS = tuple(suffix for suffix in SUFFIXES if not suffix.startswith(".amat"))
"""Of tables that hold other numbers than 0 and 1, too."""


class Device(StrEnum):
    """Where to compute."""

    auto = "auto"
    cpu = "cpu"
    cuda = "cuda"


class SplitName(StrEnum):
    """Parts of a known data set."""

    train = "train"
    valid = "valid"
    test = "test"


DeviceOption = Annotated[
    Device, typer.Option("--device", help="Where to compute; auto takes a GPU where there is one.")
]
SplitOption = Annotated[SplitName, typer.Option("--split", help="Which part of a known data set.")]


def pick_device(device: Device) -> torch.device:
    """The device asked for.

    Raises:
        ValueError: if a GPU is asked for and there is none.
    """
    there = torch.cuda.is_available()
    if device is Device.cuda and not there:
        raise ValueError("--device cuda: PyTorch finds no CUDA device on this machine; use --device auto or cpu")
    return torch.device("cuda" if there and device is not Device.cpu else "cpu")


def some_folder(path: str | Path) -> Path:
    """The path of a folder to write into; nothing would be the current one.

    Raises:
        typer.BadParameter: if it is empty.
    """
    if not str(path).strip():
        raise typer.BadParameter("expected the name of a folder, found nothing")
    return Path(path)


def check_file(path: Path | None, suffixes: tuple[str, ...] = SUFFIXES, *, force: bool) -> None:
    """Refuse to write over a file; also to where none can be written, before the work is done and not after it.

    Args:
        path: the file to be; None for standard output.
        suffixes: what its name may end in.
        force: permit to replace it.

    Raises:
        FileExistsError: if it exists and ``force`` is not given.
        OSError: if its folder does not exist or cannot be written to, or it is itself a folder.
        ValueError: on another suffix.
    """
    if path is None:
        return
    if not path.name.lower().endswith(suffixes):
        raise ValueError(f"{path}: expected a file that ends in {', '.join(suffixes)}, found {path.suffix!r}")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, expected a file to write")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: the folder {path.parent} does not exist")
    # also where a file is there: it is not written to, another takes its place
    if not os.access(path.resolve().parent, os.W_OK):
        raise PermissionError(f"{path}: the folder {path.parent} cannot be written to")
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists; use --force to replace it")
