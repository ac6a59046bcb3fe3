"""What a table is, and how its columns meet those of a model."""

import difflib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of values, some of them missing.

    Attributes:
        values: float32 [N, D]; NaN = missing.
        columns: Names of the D columns; None when the file has none.
    """

    values: NDArray[np.float32]
    columns: tuple[str, ...] | None


def places_of(wanted: Sequence[str], columns: Sequence[str], *, where: str) -> list[int]:
    """Where the columns of a model stand among those of a table, which are the same ones in any order.

    Args:
        wanted: Those of the model.
        columns: Those of the table.
        where: What messages call the table.

    Raises:
        ValueError: The table lacks some, or has others; names them.

    >>> places_of(("a", "b"), ("b", "a"), where="t.csv")
    [1, 0]
    """
    columns = as_known(columns, wanted)
    place = {name: j for j, name in enumerate(columns)}
    lacking = [name for name in wanted if name not in place]
    known = set(wanted)
    unexpected = [name for name in columns if name not in known]
    if lacking or unexpected:
        complaints = [f"lacks {_counted(lacking)}"] if lacking else []
        complaints += [f"has the unexpected {_counted(unexpected)}"] if unexpected else []
        told = " and ".join(complaints)
        raise ValueError(f"{where}: expected the {len(wanted)} columns of the model; the table {told}")
    return [place[name] for name in wanted]


def as_known(columns: Sequence[str], known: Sequence[str]) -> list[str]:
    """Names with the spaces around them that known ones have: CSV is read without them.

    >>> as_known(["a", "b"], [" a ", "b"])
    [' a ', 'b']
    """
    spaced = {name.strip(): name for name in known}
    there = set(known)
    return [name if name in there else spaced.get(name, name) for name in columns]


def called(columns: Sequence[str] | None, dim: int) -> tuple[str, ...]:
    """What messages and options call `dim` columns: their names, or their numbers from 1 where they have none.

    A column whose name is empty keeps it where another is called by that number.

    >>> called(None, 2), called(["", "a"], 2), called(["", "1"], 2)
    (('1', '2'), ('1', 'a'), ('', '1'))
    """
    names = ("",) * dim if columns is None else columns
    taken = set(names)
    return tuple(name or ("" if str(j) in taken else str(j)) for j, name in enumerate(names, start=1))


def check_names(columns: Sequence[str], dim: int, *, where: str) -> tuple[str, ...]:
    """The same names as a tuple, when there is one for each of `dim` columns and no two are the same.

    Where several are empty, as behind the last commas of a spreadsheet, these columns are named as they are called.

    Raises:
        ValueError: Too many, too few, or some occur twice (which are named).

    >>> check_names(["a", ""], 2, where="t.csv"), check_names(["a", "", ""], 3, where="t.csv")
    (('a', ''), ('a', '2', '3'))
    """
    names = tuple(columns)
    names = called(names, len(names)) if names.count("") > 1 else names
    if len(names) != dim:
        raise ValueError(f"{where}: expected {dim} column names, found {len(names)}")
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise ValueError(f"{where}: expected every column name once, found more of {quoted(twice)}")
    return names


def check_rectangle(values: NDArray[Any], *, where: str) -> None:
    """Refuse anything but a two-dimensional array of numbers with rows and columns.

    Raises:
        ValueError: The array is another; says which.
    """
    if values.dtype.kind not in "buif":
        raise ValueError(f"{where}: expected numbers, found an array of {values.dtype}")
    check_shape(values, where=where)


def check_shape(values: NDArray[Any], *, where: str) -> None:
    """Refuse anything but two dimensions, with rows and columns.

    Raises:
        ValueError: The array is another; tells its shape.
    """
    if values.ndim != 2:
        raise ValueError(f"{where}: expected a 2-D array [rows, columns], found shape {values.shape}")
    if 0 in values.shape:
        raise ValueError(f"{where}: expected rows and columns, found shape {values.shape}")


def quoted(names: Iterable[str], most: int = 8) -> str:
    """Names in quotes for a message, the first few of many.

    >>> quoted(["a", "b", "c"], most=2)
    '"a", "b" and 1 more'
    """
    shown = [f'"{name}"' for name in names]
    rest = len(shown) - most
    return ", ".join(shown[:most]) + (f" and {rest} more" if rest > 0 else "")


def nearest(name: str, known: Sequence[str]) -> str:
    """A hint for a name that is not among the known ones.

    >>> nearest("agee", ["age", "sex"]), nearest("q", ["age", "sex"])
    ('did you mean "age"?', 'known are "age", "sex"')
    """
    alike = [one for one in known if one.lower() == name.lower()]
    close = alike or difflib.get_close_matches(name, known, n=1)
    return f'did you mean "{close[0]}"?' if close else f"known are {quoted(known)}"


def _counted(names: list[str]) -> str:
    return f"{'column' if len(names) == 1 else f'{len(names)} columns'} {quoted(names)}"
