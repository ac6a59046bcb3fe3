"""Frozen dataclasses to plain dictionaries (JSON, TOML) and back, strictly: an unknown or ill-typed option is an error.

Understood: nested dataclasses, unions of them told apart by their ``kind`` (which one of them may lack), tuples,
literals, ``T | None``, int, float, str and bool, and unions of these four. Every message names the option by its full
path.
"""

import dataclasses
import difflib
import itertools
import types
import typing
from collections.abc import Mapping
from numbers import Integral
from typing import Any, TypeGuard, TypeVar

import numpy as np

T = TypeVar("T")


def encode(config: Any) -> dict[str, Any]:  # noqa: ANN401 - any frozen dataclass
    """The dictionary of a config; options that are None are left out, as TOML cannot say None.

    Numbers of NumPy's are Python's in it.

    Example:
        >>> from nadek.models.cores import DeepConfig
        >>> encode(DeepConfig(hidden=(8,)))
        {'hidden': [8], 'activation': 'tanh', 'dropout': 0.0, 'kind': 'deep'}
    """
    plain = dataclasses.asdict(config)
    return {key: _plain(value) for key, value in plain.items() if value is not None}


def check_choices(config: Any, *names: str) -> None:  # noqa: ANN401 - any dataclass
    """Refuse options that are not among the literals of their fields, which Python itself does not look at.

    Args:
        config: the dataclass.
        names: of the options.

    Raises:
        ValueError: names the first option that is none of its choices, and these.
    """
    kinds = typing.get_type_hints(type(config))
    for name in names:
        choices, found = _choices(kinds[name]), getattr(config, name)
        if found not in choices:
            raise ValueError(f"{name}: expected one of {', '.join(map(repr, choices))}, found {found!r}")


def difference(a: Mapping[str, Any], b: Mapping[str, Any]) -> tuple[str, Any, Any] | None:
    """The path of the first option in which two dictionaries of `encode` differ, and both values; None if in none.

    An option that one of them lacks is None there. Where tables are of different kinds, it is the kind.

    Example:
        >>> difference({"steps": 2, "core": {"hidden": [8]}}, {"steps": 2, "core": {"hidden": [9]}})
        ('core.hidden', [8], [9])
    """
    for key in sorted(dict.fromkeys((*a, *b)), key=lambda key: key != "kind"):
        one, other = a.get(key), b.get(key)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            if (inner := difference(one, other)) is not None:
                return _join(key, inner[0]), *inner[1:]
        elif one != other:
            return key, one, other
    return None


def check_whole(config: Any, *names: str) -> None:  # noqa: ANN401 - any dataclass
    """Refuse options that are no whole numbers, such as 2.0, on which a run would break off later; None is let through.

    Args:
        config: the dataclass.
        names: of the options.

    Raises:
        ValueError: names the first option that is none.
    """
    for name in names:
        found = getattr(config, name)
        if found is not None and not is_whole(found):
            raise ValueError(f"{name}: expected a whole number, found {found!r}")


def is_whole(value: object) -> TypeGuard[int]:
    """Whether a value is a whole number, of Python's or NumPy's; true and false are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def decode(cls: type[T], values: Any, *, where: str = "") -> T:  # noqa: ANN401 - whatever JSON or TOML held
    """Build a config from a dictionary.

    Args:
        cls: a dataclass.
        values: a dictionary of its options; what is left out takes its default.
        where: the path to put before the names of options in messages.

    Raises:
        ValueError: on something that is no dictionary, an unknown option, a missing one, or a value of the wrong kind.

    Example:
        >>> from nadek.models.cores import DeepConfig
        >>> decode(DeepConfig, {"hiden": [8]}, where="model.core")
        Traceback (most recent call last):
        ...
        ValueError: unknown option model.core.hiden; did you mean hidden?
    """
    if not isinstance(values, Mapping):
        raise ValueError(f"{where or 'options'}: expected a table of options, found {values!r}")
    fields = {field.name: field for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    hints = typing.get_type_hints(cls)
    for key in values:
        if key not in fields:
            raise ValueError(f"unknown option {_join(where, key)}; {_suggest(key, cls, where)}")
    read = {key: _value(hints[key], value, _join(where, key)) for key, value in values.items()}
    for name, field in fields.items():
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if required and name not in read:
            raise ValueError(f"option {_join(where, name)} is missing")
    try:
        return cls(**read)
    except ValueError as error:  # a config checks its own values; say where it stands
        raise ValueError(f"{where}: {error}" if where else str(error)) from None


def _value(hint: Any, value: Any, where: str) -> Any:  # noqa: ANN401 - types are data here
    """One value, checked against one type hint."""
    origin, options = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return _union(options, value, where)
    if origin is typing.Literal:
        if value not in options:
            raise ValueError(f"{where}: expected one of {', '.join(map(repr, options))}, found {value!r}")
        return value
    if origin is tuple:
        return _tuple(options, value, where)
    if dataclasses.is_dataclass(hint):
        return decode(hint, value, where=where)  # type: ignore[arg-type]
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
        raise ValueError(f"{where}: expected {hint.__name__}, found {value!r}")
    return value


def _tuple(options: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:  # noqa: ANN401
    """A tuple of any length, or of one value for each hint."""
    if not isinstance(value, list | tuple):
        raise ValueError(f"{where}: expected a list, found {value!r}")
    hints = [options[0]] * len(value) if options[-1] is Ellipsis else list(options)
    if len(hints) != len(value):
        raise ValueError(f"{where}: expected a list of {len(hints)}, found {value!r}")
    return tuple(_value(hint, item, f"{where}[{i}]") for i, (hint, item) in enumerate(zip(hints, value, strict=True)))


def _union(options: tuple[Any, ...], value: Any, where: str) -> Any:  # noqa: ANN401
    """``T | None``, a value of one of several plain types, or the config that has the ``kind`` asked for."""
    if value is None and type(None) in options:
        return None
    members = [option for option in options if option is not type(None)]
    if len(members) == 1:
        return _value(members[0], value, where)
    if not any(map(dataclasses.is_dataclass, members)):
        if type(value) not in members:
            raise ValueError(f"{where}: expected {' or '.join(m.__name__ for m in members)}, found {value!r}")
        return value
    if not isinstance(value, Mapping):
        raise ValueError(f"{where}: expected a table of options, found {value!r}")
    kinds = {_kind(member): member for member in members}
    found = value.get("kind")
    if found not in kinds:
        named = [kind for kind in kinds if kind is not None]
        least = "none or one of" if None in kinds else "one of"
        raise ValueError(f"{where}.kind: expected {least} {', '.join(named)}, found {found!r}")
    return decode(kinds[found], value, where=where)


def _choices(hint: Any) -> tuple[Any, ...]:  # noqa: ANN401
    """The literals of a hint, and None where it may be left out."""
    among = [typing.get_args(one) or (None,) for one in _one_of(hint)]
    return tuple(itertools.chain.from_iterable(among))


def _kind(member: Any) -> str | None:  # noqa: ANN401
    """What the ``kind`` of a config class says; None for the one that has no such option."""
    kinds = [str(field.default) for field in dataclasses.fields(member) if field.name == "kind"]
    return kinds[0] if kinds else None


def _plain(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _suggest(key: str, cls: type, where: str) -> str:
    """What may have been meant: an option of that name in a config below, or the one here or there most like it."""
    here = {field.name: [field.name] for field in dataclasses.fields(cls)}
    known = _below(cls, where) | here
    close = [key] if key in known else difflib.get_close_matches(key, known, n=1)
    return f"did you mean {' or '.join(known[close[0]])}?" if close else f"known are {', '.join(sorted(here))}"


def _below(cls: Any, where: str) -> dict[str, list[str]]:  # noqa: ANN401 - any dataclass
    """The options of the configs that a config holds, by their names: their full paths, the shortest first."""
    found: dict[str, list[str]] = {}
    for name, hint in typing.get_type_hints(cls).items():
        path = _join(where, name)
        for member in filter(dataclasses.is_dataclass, _one_of(hint)):
            options = {field.name: [_join(path, field.name)] for field in dataclasses.fields(member)}
            for option, paths in itertools.chain(options.items(), _below(member, path).items()):
                found[option] = sorted({*found.get(option, []), *paths}, key=lambda path: (path.count("."), path))
    return found


def _one_of(hint: Any) -> tuple[Any, ...]:  # noqa: ANN401
    """The types of which a value may be."""
    return typing.get_args(hint) if typing.get_origin(hint) in (types.UnionType, typing.Union) else (hint,)
