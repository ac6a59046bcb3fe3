"""Shapes in signatures: checked at each call whose arguments or result are of a kind that was not met before."""

from collections import defaultdict
from functools import cache, partial, update_wrapper, wraps
from inspect import isfunction, isgeneratorfunction
from threading import local
from types import CodeType, FunctionType
from typing import Any

import jaxtyping
import numpy as np
from torch import Tensor

MET: dict[CodeType, set[object]] = defaultdict(set)
"""Of the code of each function, kinds of arguments, and of these with a result, that were right."""
JAXTYPED = jaxtyping.jaxtyped
FOR_USERS = "nadek.estimators."
"""Modules whose public functions take whatever they are given, and refuse it by a message."""


def kind_of(value: object) -> object:
    """Return all that an annotation can tell of a value: its type, shape, dtype and parts."""
    if isinstance(value, Tensor | np.ndarray):
        return type(value), value.dtype, tuple(value.shape)
    if isinstance(value, tuple | list):
        return type(value), *map(kind_of, value)
    if isinstance(value, dict):
        return type(value), *value, *map(kind_of, value.values())
    return value if isinstance(value, str) else type(value)


def returning(box: local, function: FunctionType) -> FunctionType:
    """Return a function of the same signature that returns what lies in a box."""
    stub: Any = lambda *_, **__: box.result  # noqa: E731
    twin = FunctionType(stub.__code__, function.__globals__, function.__name__, None, stub.__closure__)
    return update_wrapper(twin, function)  # type: ignore[return-value]


def checked(function: Any = None, *, typechecker: Any) -> Any:
    """Decorate as `jaxtyping.jaxtyped` does, which takes longer than what most functions compute."""
    if function is None:
        return partial(checked, typechecker=typechecker)
    name = getattr(function, "__name__", "")
    if function.__module__.startswith(FOR_USERS) and (name == "__init__" or not name.startswith("_")):
        return function
    if not isfunction(function) or isgeneratorfunction(function):
        return JAXTYPED(function, typechecker=typechecker)
    met, box, decorate = MET[function.__code__], local(), cache(partial(JAXTYPED, typechecker=typechecker))
    twin = cache(partial(returning, box))

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        kind = kind_of((args, options))
        try:
            is_new = kind not in met
        except TypeError:  # symbols in place of sizes have no hash
            return decorate(function)(*args, **options)
        result = (decorate(function) if is_new else function)(*args, **options)
        if (both := (kind, kind_of(result))) not in met:
            box.result = result
            decorate(twin(function))(*args, **options)
            met.update((kind, both))
            del box.result
        return result

    return call


def check_shapes(*packages: str) -> None:
    """Check all functions of packages that are imported after this."""
    jaxtyping.jaxtyped = checked  # type: ignore[assignment]
    jaxtyping.install_import_hook(packages, "beartype.beartype")
