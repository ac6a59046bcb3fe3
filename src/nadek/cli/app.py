"""The command and its verbs; errors end in one line.

A verb's module is imported when the verb is called: ``nadek --help`` needs no torch.
"""

import os
import sys
import warnings
from collections.abc import Collection
from importlib import import_module, metadata
from typing import Annotated, Any

import typer

from nadek.cli.console import as_json_lines, say, standard_output

VERBS = {
    "fit": ("fit", "Train a model on a data set or a table."),
    "evaluate": ("score", "Estimate the exact log-likelihood of complete rows, in nats."),
    "score": ("score", "Compute the exact log-likelihood of each row, in nats."),
    "explain": ("ask", "Find the most surprising cells of a table."),
    "sample": ("fill", "Draw independent rows."),
    "impute": ("fill", "Fill missing cells with a joint draw."),
    "complete": ("fill", "Fill missing cells with a probable completion."),
    "suggest": ("ask", "Find the missing cells to ask for next."),
    "draw": ("show", "Draw samples, filters, training curves and inpainting."),
    "info": ("show", "Show a model and its training."),
    "export": ("share", "Write a model as a file of ONNX."),
    "play": ("share", "Serve a page to play with a model, on this machine only."),
    "data": ("show", "List the known data sets, check or download them."),
}
"""Each verb: its module in `nadek.cli`, and the first line of its help."""

UsageError: type[Exception] = typer.BadParameter.mro()[1]
"""Click's error for unknown options and the like; new versions of typer carry click inside and do not export it."""


def make_app(verbs: Collection[str]) -> typer.Typer:
    """Build the command; other verbs are only listed."""
    app = typer.Typer(
        name="nadek",
        help="NADE-k: fill in, score and sample rows of answers, categories and numbers, in any order.",
        epilog="Set NADEK_LOG=json for messages as lines of JSON, NADEK_TRACEBACK=1 to see where an error came from.",
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        add_completion=False,
    )
    app.callback()(_show_version)
    for name, (module, summary) in VERBS.items():
        if name in verbs:
            app.command(name)(getattr(import_module(f"nadek.cli.{module}"), name))
        else:
            app.command(name, help=summary)(_not_imported)
    return app


def main() -> None:
    """Run the command."""
    try:
        run_app(make_app(sys.argv[1:2]), "nadek")
    except KeyboardInterrupt:  # of the imports of a verb
        sys.exit(130)


def run_app(app: typer.Typer, name: str) -> None:
    """Run a command line; user errors take one line."""
    prefix = "" if as_json_lines() else "nadek: "
    warnings.showwarning = lambda message, *_: say(f"{prefix}{message}", level="warning")
    if sys.stdout is not None:
        standard_output()  # for the pages of help
    try:
        sys.exit(app(sys.argv[1:] or ["--help"], prog_name=name, standalone_mode=False))
    except UsageError as error:
        say(f"nadek: {_usage(error)}", level="error")
        sys.exit(2)
    except Exception as error:
        message = _user_error(error)
        if message is None or os.environ.get("NADEK_TRACEBACK"):
            raise
        say(f"nadek: {message}", level="error")
        sys.exit(1)


def _print_version(value: bool) -> bool:  # noqa: FBT001 - the value of an option, from typer
    if value:
        typer.echo(f"nadek {metadata.version('nade-k')}")
        raise typer.Exit
    return value


def _show_version(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version, and exit.")
    ] = False,
) -> None:
    """Hold the option that stands before the verbs."""


def _not_imported() -> None:
    """Stand in for a verb that is not called."""


def _user_error(error: Exception) -> str | None:
    """Return the line for a user error, else None."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    # a training that diverged is an ArithmeticError
    if isinstance(error, ValueError | OSError | ModuleNotFoundError) or type(error).__name__ == "TrainingDivergedError":
        return _one_line(str(error))
    if _is_about_memory(error):
        less = "a training needs less with smaller --hidden, --steps or --batch-size, other verbs with fewer rows"
        return f"there is not enough memory: {less} or --orderings"
    return None


def _is_about_memory(error: Exception) -> bool:
    """Return True for PyTorch's lack of memory."""
    words = ("can't allocate memory", "Storage size calculation overflowed")
    if isinstance(error, RuntimeError):
        return type(error).__name__ == "OutOfMemoryError" or any(word in str(error) for word in words)
    return isinstance(error, MemoryError)


def _usage(error: Any) -> str:  # noqa: ANN401 - a class without a public name
    verb = "nadek" if error.ctx is None else error.ctx.command_path
    message = _one_line(error.format_message().replace("Value error, ", ""))
    return f"{message.rstrip('.')}; see {verb} --help"


def _one_line(message: str) -> str:
    """Join the lines of a message."""  # other white space may belong to a name
    return " ".join(line.strip() for line in message.splitlines())
