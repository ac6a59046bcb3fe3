"""The command ``nadek``."""

from nadek.cli.app import main

__all__ = ["main"]
