"""Arguments and options that several verbs share."""

import inspect
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from nadek import pretrained
from nadek.checkpoints import SavedModel, load_saved
from nadek.cli.console import say
from nadek.cli.progress import rows_progress
from nadek.kernels.cpu import pick_device as pick_device
from nadek.runs.data import ModelRows, Split, Stream
from nadek.tabular import cut_rows
from nadek.tabular.csv import CsvFormat
from nadek.tabular.files import MATRICES, SUFFIXES, form_of


def option(flags: str, text: str, **more: Any) -> Any:  # noqa: ANN401 - typer's own
    """Return an option, with flags as in ``"--output -o"``, whose help says by itself what holds without it."""
    return typer.Option(*flags.split(), help=text, show_default=False, **more)


ModelArgument = Annotated[
    Path,
    typer.Argument(help=f"Folder of a trained model, or one of {', '.join(pretrained.names())}.", show_default=False),
]
DataArgument = Annotated[
    str,
    typer.Argument(
        help="A known data set (see nadek data) or a table: .csv .parquet .npz .npy .amat, also .gz; - reads CSV.",
        show_default=False,
    ),
]
DataDir = Annotated[Path | None, option("--data-dir", "Folder of the known data sets.", envvar="NADEK_DATA")]
LARGEST_SEED = 2**32 - 1
"""As in scikit-learn; its multiples for generators fit 64 bits."""
Seed = Annotated[int, typer.Option("--seed", min=0, max=LARGEST_SEED, help="Seed of everything random.")]
Json = Annotated[bool, option("--json", "Print the result as JSON.")]
Quiet = Annotated[bool, option("--quiet -q", "No progress, no messages.")]
Force = Annotated[bool, option("--force", "Replace what is there.")]
Orderings = Annotated[int, typer.Option("--orderings", min=1, help="Number of random orderings.")]
Spread = Annotated[bool, option("--spread", "Models of images: orderings that spread out.")]


def some_file(path: str | Path) -> Path | None:
    """Return an output file's path; None for ``-``."""
    return None if str(path) == "-" else Path(path)


OutputFile = Annotated[
    Path | None,
    option(
        "--output -o",
        "File to write, by its suffix; standard output if - or not given.",
        parser=some_file,
        metavar="<path>",
    ),
]

FORMS = (".csv", ".csv.gz", ".parquet")
"""Suffixes of tables with text."""
NUMBERS = tuple(suffix for suffix in SUFFIXES if not suffix.startswith(".amat"))
"""Suffixes of tables for any numbers."""

DeviceOption = Annotated[
    Literal["auto", "cpu", "cuda"], typer.Option("--device", help="Where to compute; auto takes a GPU if there is one.")
]
SplitOption = Annotated[Split | None, option("--split", "Which part of a known data set. [dim]\\[default: test][/]")]
Header = Annotated[
    bool | None, option("--header/--no-header", "CSV: the first row holds names. [dim]\\[told from its cells][/]")
]
Delimiter = Annotated[
    str | None, option("--delimiter", "CSV: what separates cells. [dim]\\[comma, else semicolon, tab or bar][/]")
]
Decimal = Annotated[
    Literal[".", ","] | None, option("--decimal", "CSV: the decimal mark. [dim]\\[point; comma between semicolons][/]")
]

UnknownOption = Annotated[
    Literal["missing", "error"],
    typer.Option("--unknown", help="Values that are no levels of a column: missing with a message, or an error."),
]


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """Options of verbs that read a table."""

    data_dir: DataDir = None
    header: Header = None
    delimiter: Delimiter = None
    decimal: Decimal = None

    @property
    def form(self) -> CsvFormat:
        """Form of CSV text."""
        return CsvFormat(header=self.header, delimiter=self.delimiter, decimal=self.decimal)


@dataclass(frozen=True, kw_only=True)
class TableOptions(FileOptions):
    """Options of verbs that turn one table into another."""

    split: SplitOption = None
    output: OutputFile = None
    unknown: UnknownOption = "missing"
    device: DeviceOption = "auto"
    force: Force = False
    quiet: Quiet = False

    def load(self, model: Path, suffixes: tuple[str, ...]) -> SavedModel:
        """Check the output file and load the model."""
        check_file(self.output, suffixes, force=self.force)
        return load_saved(model, device=pick_device(self.device))

    def read(self, saved: SavedModel, data: str) -> ModelRows:
        """Read the table for a model as a whole."""
        (batch,) = self.stream(saved, data, whole=True)
        return batch

    def stream(self, saved: SavedModel, data: str, *, whole: bool = False) -> Stream:
        """Look through the table, to read it in batches.

        There is one if the output is written in one.
        """
        whole = whole or (self.output is not None and form_of(self.output) in MATRICES)
        with warnings.catch_warnings(record=True) as messages, rows_progress("reading", quiet=self.quiet) as progress:
            warnings.simplefilter("always")
            stream = Stream(
                saved,
                data,
                split=self.split,
                data_dir=self.data_dir,
                form=self.form,
                unknown=self.unknown,
                cells=None if whole else cut_rows.CELLS,
                on_rows=progress,
            )
        for message in messages:
            say(str(message.message), quiet=self.quiet, level="warning")
        return stream


def with_groups(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb an option for each field of its dataclasses, as typer knows single options only."""
    signature = inspect.signature(verb)
    groups: dict[str, Any] = {name: group for name, group in verb.__annotations__.items() if is_dataclass(group)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        parameters += inspect.signature(groups[name]).parameters.values() if name in groups else [parameter]

    @wraps(verb)
    def command(*arguments: Any, **values: Any) -> None:  # noqa: ANN401
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        verb(*arguments, **values)

    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def some_folder(path: str | Path) -> Path:
    """Return the path of an output folder."""
    if not str(path).strip():
        raise typer.BadParameter("expected the name of a folder, found nothing")
    return Path(path)


def check_file(path: Path | None, suffixes: tuple[str, ...], *, force: bool) -> None:
    """Refuse an output file that cannot be written."""
    if path is None:
        return
    if not path.name.lower().endswith(suffixes):
        raise ValueError(f"{path}: expected a file that ends in {', '.join(suffixes)}, found {path.suffix!r}")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, expected a file to write")
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise FileNotFoundError(f"{path}: the folder {folder} does not exist")
    # also for a file that exists: another one takes its place
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{path}: the folder {folder} cannot be written to")
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists; use --force to replace it")
