"""Warnings that name the caller's line."""

import inspect
import warnings

LIBRARIES = ("nadek", "sklearn")
"""Packages whose own lines tell a user nothing."""


def warn(message: str, *, where: str = "") -> None:
    """Give a `UserWarning` at the line that called the outermost function of these packages."""
    packages = [str(info.frame.f_globals.get("__name__")).partition(".")[0] for info in inspect.stack(0)]
    outermost = max(depth for depth, package in enumerate(packages, 1) if package in LIBRARIES)
    warnings.warn(f"{where}: {message}" if where else message, UserWarning, stacklevel=outermost + 1)
