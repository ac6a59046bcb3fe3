"""The command ``nadek``: verbs that read options, call the library and show results."""

from nadek.cli.app import main

__all__ = ["main"]
