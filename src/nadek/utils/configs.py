"""Frozen dataclasses to plain dictionaries (JSON, TOML) and back, and checks of options.

Understood: nested dataclasses, unions of them told apart by their ``kind`` (which one of them may lack), tuples,
literals, ``T | None``, int, float, str and bool, and unions of these four.
"""

import dataclasses
import difflib
import math
import os
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from numbers import Integral, Real
from typing import Any, TypeGuard, TypeVar

import numpy as np

T = TypeVar("T")

_hints: Callable[[Any], dict[str, Any]] = cache(typing.get_type_hints)
"""Types of a dataclass's fields, which take longer to find than to check: a training builds configs in every step."""

_ABSTRACT: dict[type, Any] = {int: Integral, float: Real, bool: bool | np.bool_}
_NAMES = {int: "a whole number", float: "a number", str: "a text", bool: "true or false", dict: "a table"}
"""Types whose values may be of NumPy, too, and names of types for users."""


def encode(config: Any) -> dict[str, Any]:  # noqa: ANN401 - any frozen dataclass
    """Return the dictionary of a config, without None."""
    return _plain(dataclasses.asdict(config))


def _plain(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def difference(a: Mapping[str, Any], b: Mapping[str, Any]) -> tuple[str, Any, Any] | None:
    """Return path and values of the first differing option.

    An option that one dictionary lacks is None there. Tables of different kinds differ by their kind.
    """
    for key in sorted(dict.fromkeys((*a, *b)), key=lambda key: key != "kind"):
        one, other = a.get(key), b.get(key)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            if (inner := difference(one, other)) is not None:
                return _join(key, inner[0]), *inner[1:]
        elif one != other:
            return key, one, other
    return None


def convert_options(config: Any) -> None:  # noqa: ANN401 - any frozen dataclass
    """Convert options as `decode` does.

    A ValueError names one of another type than its field has.
    """
    hints = _hints(type(config))
    for field in dataclasses.fields(config):
        object.__setattr__(config, field.name, convert(hints[field.name], getattr(config, field.name), field.name))


def check_range(config: Any, *names: str, least: int, below: int | None = None) -> None:  # noqa: ANN401 - any dataclass
    """Check that options are finite, at least ``least`` and less than ``below``; None passes."""
    for name in names:
        value = getattr(config, name)
        if value is not None and not least <= value < (math.inf if below is None else below):
            number = "a number of " if below is None and not is_whole(value) else ""
            top = "" if below is None else f" and below {below}"
            raise ValueError(f"{name}: expected {number}at least {least}{top}, found {value}")


def is_whole(value: object) -> TypeGuard[int]:
    """Return True for whole numbers, not for booleans."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_choice(name: str, value: object, choices: Sequence[object]) -> None:
    """Refuse all but some choices."""
    if not _is_among(value, choices):
        raise ValueError(f"{name}: expected one of {', '.join(map(repr, choices))}, found {value!r}")


def check_whole(name: str, value: object, *, least: int = 1, also: Sequence[object] = ()) -> None:
    """Refuse all but whole numbers from ``least``, and ``also``."""
    if not _is_among(value, also) and not (is_whole(value) and value >= least):
        raise ValueError(f"{name}: expected a whole number of at least {least}{_or(also)}, found {value!r}")


def check_number(
    name: str, value: object, interval: str, is_inside: Callable[[float], bool], *, also: Sequence[object] = ()
) -> None:
    """Refuse all but numbers in an interval, and ``also``."""
    fits = isinstance(value, Real) and not isinstance(value, bool) and is_inside(float(value))
    if not _is_among(value, also) and not fits:
        raise ValueError(f"{name}: expected a number {interval}{_or(also)}, found {value!r}")


def _is_among(value: object, words: Sequence[object]) -> bool:
    """Return True if a value is one of the words; arrays never are, NumPy's booleans may be."""
    value = bool(value) if isinstance(value, np.bool_) else value
    return any(value is word or (isinstance(value, str) and value == word) for word in words)


def _or(also: Sequence[object]) -> str:
    return "".join(f" or {word!r}" for word in also)


def decode(cls: type[T], values: Any, *, where: str = "") -> T:  # noqa: ANN401 - whatever JSON or TOML held
    """Build a config of a dataclass from a dictionary.

    A ValueError names an unknown, missing or ill-typed option, with the path ``where`` before it.
    """
    if not isinstance(values, Mapping):
        raise ValueError(f"{where or 'options'}: expected a table of options, found {values!r}")
    fields = {field.name: field for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    hints = _hints(cls)
    for key in values:
        if key not in fields:
            raise ValueError(f"unknown option {_join(where, key)}; {_suggest(key, cls, where)}")
    options = {key: convert(hints[key], value, _join(where, key)) for key, value in values.items()}
    for name, field in fields.items():
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if required and name not in options:
            raise ValueError(f"option {_join(where, name)} is missing")
    with naming(where):  # in errors of the config's own checks
        return cls(**options)


@contextmanager
def naming(where: str | os.PathLike[str]) -> Iterator[None]:
    """Put the name of a file, a table or an option before the message of an error, unless it is empty."""
    try:
        yield
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{where}: {error}" if where else str(error)) from None


def convert(hint: Any, value: Any, where: str) -> Any:  # noqa: ANN401 - types are data here
    """Convert a value by its type hint; see `decode`."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return _union(arguments, value, where)
    if origin is typing.Literal:
        check_choice(where, value, arguments)
        return value
    if origin is tuple:
        return _tuple(arguments, value, where)
    if origin is list:
        return list(_tuple((*arguments, ...), value, where))
    if dataclasses.is_dataclass(hint):
        return value if isinstance(value, hint) else decode(hint, value, where=where)  # type: ignore[arg-type]
    if not _is_a(value, hint):
        raise ValueError(f"{where}: expected {_NAMES[hint]}, found {value!r}")
    value = value.item() if isinstance(value, np.generic) else value
    return float(value) if hint is float else value


def _is_a(value: object, hint: type) -> bool:
    return (hint is bool or not isinstance(value, bool)) and isinstance(value, _ABSTRACT.get(hint, hint))


def _tuple(hints: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:  # noqa: ANN401
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(value, list | tuple):
        raise ValueError(f"{where}: expected a list, found {value!r}")
    if hints[-1] is Ellipsis:
        hints = (hints[0],) * len(value)
    if len(hints) != len(value):
        raise ValueError(f"{where}: expected a list of {len(hints)}, found {value!r}")
    return tuple(convert(hint, item, f"{where}[{i}]") for i, (hint, item) in enumerate(zip(hints, value, strict=True)))


def _union(hints: tuple[Any, ...], value: Any, where: str) -> Any:  # noqa: ANN401
    if value is None and type(None) in hints:
        return None
    members = [hint for hint in hints if hint is not type(None)]
    if len(members) == 1:
        return convert(members[0], value, where)
    if not any(map(dataclasses.is_dataclass, members)):
        if not any(_is_a(value, member) for member in members):
            raise ValueError(f"{where}: expected {' or '.join(_NAMES[member] for member in members)}, found {value!r}")
        return value
    if isinstance(value, tuple(members)):
        return value
    if not isinstance(value, Mapping):
        classes = ", ".join(member.__name__ for member in members)
        hint = f"; known are {classes}" if dataclasses.is_dataclass(value) else ""
        raise ValueError(f"{where}: expected a table of options, found {value!r}{hint}")
    by_kind = {getattr(member, "kind", None): member for member in members}  # the default of the field, if there is one
    kind = value.get("kind")
    if not isinstance(kind, str | None) or kind not in by_kind:
        expected = "none or one of" if None in by_kind else "one of"
        raise ValueError(f"{where}.kind: expected {expected} {', '.join(filter(None, by_kind))}, found {kind!r}")
    return decode(by_kind[kind], value, where=where)


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _suggest(key: str, cls: type, where: str) -> str:
    here = [field.name for field in dataclasses.fields(cls)]
    nested = sorted(_nested_options(cls, where), key=lambda path: (path.count("."), path))
    names = [*here, *(path.rpartition(".")[2] for path in nested)]
    if not (close := difflib.get_close_matches(key, names, n=1)):
        return f"known are {', '.join(sorted(here))}"
    paths = close if close[0] in here else [path for path in nested if path.endswith(f".{close[0]}")]
    return f"did you mean {' or '.join(paths)}?"


def _nested_options(cls: Any, where: str) -> set[str]:  # noqa: ANN401 - any dataclass
    options: set[str] = set()
    for name, hint in _hints(cls).items():
        path = _join(where, name)
        for member in filter(dataclasses.is_dataclass, _members(hint)):
            options |= {_join(path, field.name) for field in dataclasses.fields(member)} | _nested_options(member, path)
    return options


def _members(hint: Any) -> tuple[Any, ...]:  # noqa: ANN401
    return typing.get_args(hint) if typing.get_origin(hint) in (types.UnionType, typing.Union) else (hint,)
