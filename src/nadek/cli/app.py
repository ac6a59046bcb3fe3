"""The command and its verbs; every mistake of a user ends in one clear line and a non-zero exit code."""

import os
import sys
from typing import Annotated, Any

import torch
import typer

import nadek
from nadek.cli.ask import explain, suggest
from nadek.cli.complete import complete
from nadek.cli.console import say
from nadek.cli.fill import impute, sample
from nadek.cli.fit import fit
from nadek.cli.score import evaluate, score
from nadek.cli.show import data, draw, info
from nadek.training import TrainingDivergedError

USER_ERRORS = (ValueError, OSError, TrainingDivergedError)
UsageError: type[Exception] = typer.BadParameter.mro()[1]
"""Click's, for unknown options and the like; new versions of typer carry click inside and do not export it."""

app = typer.Typer(
    name="nadek",
    help="NADE-k: one network that fills in, scores and samples rows of answers, categories and numbers, in any order.",
    epilog="Set NADEK_TRACEBACK=1 to see where an error came from.",
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    add_completion=False,
)


def tell_version(wanted: bool) -> bool:  # noqa: FBT001 - the value of an option, as typer hands it over
    """Name the package and its version, and end."""
    if wanted:
        typer.echo(f"nadek {nadek.__version__}")
        raise typer.Exit
    return wanted


@app.callback()
def before(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=tell_version, is_eager=True, help="Show the version, and exit.")
    ] = False,
) -> None:
    """Nothing comes before the verbs but this option; the help of the whole stands above."""


for verb in (
    fit,
    evaluate,
    score,
    explain,
    sample,
    impute,
    complete,
    suggest,
    draw,
    info,
    data,
):
    app.command()(verb)


def main() -> None:
    """Run the command."""
    run_app(app, "nadek")


def run_app(app: typer.Typer, name: str) -> None:
    """Run a command line; a user's mistake ends in one line and a non-zero exit code."""
    try:
        sys.exit(app(sys.argv[1:] or ["--help"], prog_name=name, standalone_mode=False))
    except UsageError as error:
        say(f"nadek: {_usage(error)}")
        sys.exit(2)
    except USER_ERRORS as error:
        if os.environ.get("NADEK_TRACEBACK"):
            raise
        say(f"nadek: {_one_line(error)}")
        sys.exit(1)
    except (MemoryError, RuntimeError) as error:
        if os.environ.get("NADEK_TRACEBACK") or not _is_about_memory(error):
            raise
        less = "a training needs less with smaller --hidden, --steps or --batch-size, other verbs with fewer rows"
        say(f"nadek: there is not enough memory: {less} or --orderings")
        sys.exit(1)


def _is_about_memory(error: Exception) -> bool:
    """PyTorch tells of a lack of memory on a CPU by words only; some sizes are too large to be computed."""
    words = ("can't allocate memory", "Storage size calculation overflowed")
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or any(word in str(error) for word in words)


def _usage(error: Any) -> str:  # noqa: ANN401 - a class without a public name
    """What is wrong with the command line, and where to look."""
    verb = "nadek" if error.ctx is None else error.ctx.command_path
    return f"{' '.join(error.format_message().split()).rstrip('.')}; see {verb} --help"


def _one_line(error: BaseException) -> str:
    """The error's own words; the system's errors with the file they are about."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return " ".join(str(error).split())
