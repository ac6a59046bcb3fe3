"""The command and its verbs; every mistake of a user ends in one clear line and a non-zero exit code."""

import os
import sys

import typer

from nadek.cli.complete import impute, sample
from nadek.cli.console import say
from nadek.cli.fit import fit
from nadek.cli.score import evaluate, score
from nadek.cli.show import data, demo, draw, info
from nadek.training import TrainingDivergedError

USER_ERRORS = (ValueError, OSError, TrainingDivergedError)

app = typer.Typer(
    name="nadek",
    help="NADE-k: one network that fills in, scores and samples rows of yes/no data, in any order.",
    epilog="Set NADEK_TRACEBACK=1 to see where an error came from.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    add_completion=False,
)
for verb in (fit, evaluate, score, sample, impute, draw, info, data, demo):
    app.command()(verb)


def main() -> None:
    """Run the command."""
    try:
        app()
    except USER_ERRORS as error:
        if os.environ.get("NADEK_TRACEBACK"):
            raise
        say(f"nadek: {_one_line(error)}")
        sys.exit(1)


def _one_line(error: BaseException) -> str:
    """The error's own words; the system's errors with the file they are about."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return " ".join(str(error).split())
