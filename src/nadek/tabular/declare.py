"""What the columns of a user's table are: found out when a model is trained, known when it is used."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nadek.tabular.columns import (
    LARGEST_EXACT,
    Binary,
    Column,
    MixedColumnError,
    Numeric,
    TickedColumnError,
    UndecidedColumnError,
    encode,
    infer,
    is_plain,
)
from nadek.tabular.io import NOTHING, OtherTypeError, RawTable, Reading, as_known, called, nearest, places_of
from nadek.tabular.listed_names import listed_names
from nadek.tabular.orders import as_ordinal, orders_said
from nadek.tabular.schema import Schema
from nadek.tabular.taken import Taken, check_words, taken
from nadek.tabular.user_options import Word, without, words_of, words_said

Told = Literal["auto", "categorical", "numeric", "ordinal", "drop"]
_READINGS: dict[Told, Reading] = {"categorical": "text", "numeric": "numbers"}


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What a user says of columns, by their names (or their numbers from 1 where there are no names), and of cells.

    Attributes:
        categorical: those that hold categories; every entry is a name, or several with commas between them.
        numeric: those that hold numbers.
        ordinal: those that hold answers in an order, see `nadek.tabular.orders`.
        drop: those that are left out.
        missing: words that stand for nothing in any column, or in one, as ``age=99``; an entry may be several with
            commas between them.
        keep: words such as None that are answers in columns of text, although they stand for nothing elsewhere.
    """

    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    ordinal: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """What is said of words that stand for nothing, one by one; see `nadek.tabular.user_options.words_said`."""
        return tuple(listed_names(self.missing, ()))

    @property
    def kept(self) -> tuple[str, ...]:
        """The words to keep, one by one."""
        return tuple(listed_names(self.keep, ()))

    def told(self, names: Sequence[str]) -> dict[str, Told]:
        """What is said of each column of a table that is spoken of.

        Raises:
            ValueError: on a name that the table does not have (tells the nearest), or one of which two things are said.
        """
        found: dict[str, Told] = {}
        said: list[tuple[Told, Sequence[str]]] = [
            ("categorical", listed_names(self.categorical, names)),
            ("numeric", listed_names(self.numeric, names)),
            ("ordinal", list(orders_said(self.ordinal, names))),
            ("drop", listed_names(self.drop, names)),
        ]
        for option, columns in said:
            for name in as_known(columns, names):
                if name not in names:
                    raise ValueError(f'{option}: there is no column "{name}"; {nearest(name, names)}')
                if found.setdefault(name, option) != option:
                    raise ValueError(f'column "{name}" is said to be both: {found[name]} and {option}')
        return found


class UndecidedColumnsError(ValueError):
    """Columns of which the user has to say what they are.

    Attributes:
        columns: their names.
        unreadable: those of columns that can only be left out, as they hold dates and the like.
    """

    def __init__(self, message: str, columns: Sequence[str], unreadable: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.columns = tuple(columns)
        self.unreadable = tuple(unreadable)


def decide(raw: RawTable, choices: Choices) -> tuple[Schema, NDArray[np.float32], tuple[Taken, ...]]:
    """What the columns of a table are, its codes, and which of its words are taken for missing.

    Args:
        raw: a table to train on.
        choices: what the user says of it.

    Returns:
        A schema of the columns that are not dropped, their codes [N, D] with NaN for missing, and the words
        that were said to mean missing, and those of `nadek.tabular.io.NOTHING` that stand beside other texts.

    Raises:
        UndecidedColumnsError: if the user has to say more; tells of which columns, and what was found in them.
        ValueError: on choices that do not fit the table, and on values that no column can hold.
    """
    words, answers = words_said(choices.words, raw.names), choices.kept
    check_words(raw, words, answers)
    told, orders = choices.told(raw.names), orders_said(choices.ordinal, raw.names)
    kept = [j for j, name in enumerate(raw.names) if told.get(name) != "drop"]
    if not kept:
        raise ValueError(f"{raw.where}: expected columns to learn from, found that all are dropped")
    emptied = taken(raw, words, kept, told=True)
    raw = without(raw, words, {name: j for j, name in enumerate(raw.names)})
    codes = np.empty((raw.n_rows, len(kept)), dtype=np.float32)
    kinds: list[Column] = []
    of_text: list[int] = []
    asked: dict[str, str] = {}
    unreadable: dict[str, str] = {}
    for place, j in enumerate(kept):
        name = raw.names[j]
        try:
            kind, codes[:, place] = _decide(raw, j, told.get(name, "auto"), answers, orders.get(name))
            kinds.append(kind)
            texts = _texts(kind)
            of_text += [j] if texts and not set(texts) & set(NOTHING) else []  # None among answers is one
        except TickedColumnError as error:
            lost = [word for word in NOTHING if raw.are_words and raw.times(j, word)]
            asked[name] = f"{error}; --keep {lost[0]} makes that an answer" if lost else str(error)
        except UndecidedColumnError as error:
            asked[name] = str(error)
        except OtherTypeError as error:
            unreadable[name] = f"{error}: leave it out"
        except ValueError as error:
            raise ValueError(f"{raw.where}: {error}") from None
    if asked or unreadable:
        questions = _some([*asked.values(), *unreadable.values()])
        raise UndecidedColumnsError(f"{raw.where}: {questions}", list(asked), list(unreadable))
    nothing = [Word(text) for text in NOTHING if raw.are_words and text not in answers]
    schema = _schema(raw, kinds, kept, words)
    return schema, codes, (*emptied, *taken(raw, nothing, of_text, told=False))


def read_as(
    raw: RawTable, schema: Schema, kinds: Sequence[Column]
) -> tuple[tuple[NDArray[Any], ...] | None, NDArray[np.float32], list[int]]:
    """The columns that a model was trained on, as they are and as codes.

    Args:
        raw: a table that has them, in any order; columns that were dropped then may be there and are not looked at.
        schema: names of the columns, and the words that stand for nothing.
        kinds: what they are, see `nadek.runs.data.kinds_of`.

    Returns:
        D arrays [N], codes [N, D] with NaN for missing, and where the columns stand in the table. Instead of the arrays
        None where all hold 0 and 1, which are their own codes.

    Raises:
        ValueError: on columns that are lacking or unexpected, and on values that a column cannot hold.
    """
    places = _places(raw, schema, len(kinds))
    raw = without(raw, words_of(schema), dict(zip(names_of(schema, len(kinds)), places, strict=True)))
    if all(map(is_plain, kinds)):
        return None, raw.zeros_and_ones(places), places
    values: list[NDArray[Any]] = []
    codes = np.empty((raw.n_rows, len(kinds)), dtype=np.float32)
    for place, (j, kind) in enumerate(zip(places, kinds, strict=True)):
        name = raw.names[j] if raw.columns is not None or schema.columns is None else schema.columns[place]
        try:
            texts = _texts(kind)
            values.append(raw.column(j, reading=_reading(texts), levels=texts))
            codes[:, place] = encode(kind, values[place], name=name)
        except ValueError as error:
            raise ValueError(f"{raw.where}: {error}") from None
    return tuple(values), codes, places


def names_of(schema: Schema, n_columns: int) -> tuple[str, ...]:
    """What messages and options call the columns of a model, see `nadek.tabular.io.called`.

    Columns without names have the numbers that they had in the table of training, in which some may have been dropped.
    """
    if schema.columns is not None:
        return called(schema.columns, n_columns)
    dropped = schema.dropped or ()
    return tuple(name for name in called(None, n_columns + len(dropped)) if name not in dropped)


def _decide(
    raw: RawTable, place: int, told: Told, answers: Sequence[str], order: Sequence[str] | None
) -> tuple[Column, NDArray[np.float64]]:
    """What one column is, and its codes; among texts, some answers mean themselves, see `Choices`."""
    name = raw.names[place]
    if told == "ordinal":
        assert order is not None
        kind = as_ordinal(order)
        return kind, encode(kind, raw.column(place, reading="text", levels=order), name=name)
    values = raw.column(place, reading=_READINGS.get(told, "guess"))
    if answers and raw.are_words and told != "numeric" and _is_text(values):
        values = raw.column(place, reading="text", levels=answers)
    if told == "categorical" and raw.are_words:
        values = _whole_numbers(values)
    if _is_empty(values):  # training says what to do about it
        return Binary(), np.full(raw.n_rows, np.nan)
    try:
        kind = infer(values, name=name, kind="auto" if told == "drop" else told)
    except MixedColumnError as error:
        if told != "auto":
            raise
        question = f"{error}: correct it, say that it means missing, or that the column is categorical"
        raise UndecidedColumnError(question, column=name) from None
    return kind, encode(kind, values, name=name)


def _schema(raw: RawTable, kinds: list[Column], kept: list[int], words: Sequence[Word]) -> Schema:
    columns = [str(j + 1) for j in range(len(raw.cells))] if raw.columns is None else raw.columns
    dropped = tuple(column for j, column in enumerate(columns) if j not in kept)
    schema = Schema(
        columns=None if raw.columns is None else tuple(columns[j] for j in kept),
        kinds=None if all(map(is_plain, kinds)) else tuple(kinds),
        dropped=dropped or None,
        missing=tuple(word.text for word in words if word.column is None) or None,
    )
    own = zip(names_of(schema, len(kept)), (raw.names[j] for j in kept), strict=True)
    missing_in = [(name, word.text) for name, here in own for word in words if word.column == here]
    return replace(schema, missing_in=tuple(missing_in) or None)


def _places(raw: RawTable, schema: Schema, n_columns: int) -> list[int]:
    """Where the columns of a model stand in a table."""
    dropped = schema.dropped or ()
    everything = range(len(raw.cells))
    if raw.columns is not None and schema.columns is not None:
        columns = as_known(raw.columns, (*schema.columns, *dropped))
        kept = [j for j in everything if columns[j] not in dropped]
        return [kept[place] for place in places_of(schema.columns, [columns[j] for j in kept], where=raw.where)]
    if schema.columns is None and len(everything) == n_columns + len(dropped):
        return [j for j in everything if str(j + 1) not in dropped]
    if len(everything) != n_columns:
        raise ValueError(f"{raw.where}: expected {n_columns} columns as in the model, found {len(everything)}")
    return list(everything)


def _texts(kind: Column) -> list[str]:
    """The levels of a known column that are text."""
    return [] if isinstance(kind, Numeric) else [level for level in kind.levels if isinstance(level, str)]


def _reading(texts: Sequence[str]) -> Reading:
    """How words are read for a known column: text that looks like numbers stays text; spaces count if a level's do."""
    if not texts:
        return "numbers"
    return "text" if all(text == text.strip() for text in texts) else "exact"


def _whole_numbers(values: NDArray[Any]) -> NDArray[Any]:
    """Words that are all whole numbers, each written in one way, as numbers: their order is that of numbers.

    They stay words where one is so large that a float would round it.
    """
    numbers = {word: _whole(word) for word in set(values.tolist()) - {None}}
    whole = [value for value in numbers.values() if value is not None and abs(value) <= LARGEST_EXACT]
    if len(whole) < len(numbers) or len(set(whole)) < len(whole):
        return values
    return np.array([numbers.get(word) for word in values.tolist()], dtype=object)


def _whole(word: str) -> int | None:
    """The whole number that a word is as Python writes it, or as pandas does in a column with holes: 2.0."""
    digits = word.removesuffix(".0")
    try:
        return int(digits) if str(int(digits)) == digits else None
    except ValueError:
        return None


def _is_text(values: NDArray[Any]) -> bool:
    """Whether all that is observed is text."""
    return values.dtype == object and all(value is None or isinstance(value, str) for value in values)


def _is_empty(values: NDArray[Any]) -> bool:
    if values.dtype == object:
        return all(value is None for value in values)
    return values.dtype.kind == "f" and bool(np.isnan(values).all())


def _some(questions: list[str], most: int = 3) -> str:
    more = len(questions) - most
    told = f"; and {more} more column{'s' if more > 1 else ''}" if more > 0 else ""
    return "; ".join(questions[:most]) + told
