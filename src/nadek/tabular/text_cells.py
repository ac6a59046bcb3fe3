"""Cells of text files: the numbers, truths, dates and missing values that their words stand for."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from nadek.tabular.arrow_columns import (
    check_exact,
    first_rounded,
    is_number,
    to_arrow,
    to_dates,
    to_numbers,
    to_objects,
)
from nadek.tabular.columns.parsing import UNITS, MixedColumnError, is_missing, shown

MISSING = ("", "NaN", "nan", "NA", "N/A", "n/a", "null", "NULL", "None", "<NA>", "#N/A")
"""Words for missing values, as spreadsheets, databases and other libraries write them."""
NOTHING = MISSING[1:]
"""Those that are more than an empty cell, and could be meant as an answer."""
TRUE = ("true", "True", "TRUE")
FALSE = ("false", "False", "FALSE")

Reading = Literal["guess", "text", "exact", "numbers"]
"""Take words as what they look like, as text (without spaces around it), as text exactly as it stands, or as numbers
or dates where they can be."""

_WORDS = dict.fromkeys(MISSING, np.nan) | dict.fromkeys(TRUE, 1.0) | dict.fromkeys(FALSE, 0.0)
_DECIMAL_COMMA = re.compile(r"\A(\s*[+-]?\d*),(\d+\s*)\Z")
_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(\.\d{3})+\s*|\s*[+-]?[1-9]\d{0,2},\d{3}\s*")
_CLEARLY_DECIMAL_COMMA = r"^\s*[+-]?(\d*,(\d{1,2}|\d{4,})|(0\d*|\d{4,})?,\d+)\s*$"
_DECIMAL_POINT = r"^\s*[+-]?\d*\.\d+\s*$"
_DECIMALS = re.compile(r"[+-]?\d+\.(\d+)")
_PADDED = re.compile("[+-]?0[0-9xX]")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:([ T])(\d\d(?::\d\d(?::\d\d(?:\.\d+)?)?)?)(Z|[+-]\d\d:?\d\d)?)?")
"""Separator, time and zone of a date."""
_NUMBERS = pa.int64(), pa.float64()
_DATES = pa.timestamp("us"), pa.timestamp("us", "UTC")
_SPELLINGS = (("0", "1"), ("0.0", "1.0"), *zip(FALSE, TRUE, strict=True))
"""Ways to write false and true."""


def number(text: str) -> float | None:
    """Return the number that a word stands for: NaN for missing, None for no number."""
    word = text.strip()
    if word in _WORDS:
        return float(_WORDS[word])
    if "_" in word or not word.isascii():  # Python would take 18_25 for 1825, and the digits of every script
        return None
    try:
        value = float(word)
    except ValueError:
        return None
    return None if np.isnan(value) else value  # Nan is a name; NaN and nan are among MISSING


def numbers_among(words: Sequence[str]) -> list[float]:
    """Return the numbers among some words, without true, false and missing."""
    numbers = [number(word) for word in words if word not in TRUE + FALSE]
    return [value for value in numbers if value is not None and not np.isnan(value)]


def read_words(
    column: pa.ChunkedArray, reading: Reading, *, name: str, levels: Sequence[str], first_row: int
) -> NDArray[Any]:
    """Return the values of a column of words: int64, float64, bool, dates or objects [N].

    Words are numbers if all are, and so are true and false beside 0 and 1; alone, these are booleans. They are dates if
    all are as 2024-02-29, and may have a time (ISO 8601). Numbers such as 007 are text unless numbers are asked for, as
    their zeros would be lost (but not if all are 0 and 1); so are numbers that floats would change. Known ``levels``
    mean themselves here, even if they would mean missing; not the empty one.
    """
    words = column.cast(pa.string())
    if reading != "exact":
        words = pc.utf8_trim_whitespace(words)
    nothing = pa.array([word for word in MISSING if not word or word not in levels])
    words = pc.if_else(pc.is_in(words, value_set=nothing), pa.scalar(None, pa.string()), words)
    if reading in ("text", "exact"):
        return to_objects(words)
    numbers = _all_of(words, _NUMBERS)
    if numbers is None:
        dates = _all_of(words, _DATES)
        return _by_word(words, reading) if dates is None else to_dates(dates)
    is_rounded = pa.types.is_floating(numbers.type) and first_rounded(words) is not None
    if reading == "guess" and (is_rounded or _is_padded(words, numbers)):
        return to_objects(words)
    if is_rounded:
        check_exact(words, name, first_row)
    return to_numbers(numbers)


def with_points(column: pa.ChunkedArray, reading: Reading) -> pa.ChunkedArray:
    """Return a column of words with points in place of decimal commas.

    A column is left as it is if it is read as text, if it has numbers with points as well (commas may then separate
    thousands), or if its type is guessed and not all of its words are numbers.
    """
    if reading in ("text", "exact"):
        return column
    encoded = column.combine_chunks().dictionary_encode()
    words = encoded.dictionary.to_pylist()
    pointed = [point(word) for word in words]
    if pointed == words or any("." in word and number(word) is not None for word in words):
        return column
    if reading == "guess" and any(number(word) is None for word in pointed):
        return column
    return pa.chunked_array([pa.array(pointed, pa.string()).take(encoded.indices)])


def check_thousands(
    column: pa.ChunkedArray, name: str, others: Sequence[pa.ChunkedArray], *, is_whole: bool, is_stated: bool = False
) -> None:
    """Refuse numbers whose points or commas seem to separate thousands, where decimals have commas.

    Commas are taken for decimal ones where that is stated or one of the ``others`` has some that cannot be else, unless
    the numbers are known to be whole, smaller whole ones stand beside, or one of the others has decimal points.
    """
    words: list[str] = pc.unique(column.drop_null()).to_pylist()
    grouped = [word.strip() for word in words if _THOUSANDS.fullmatch(word)]
    plain = [word.strip() for word in words if number(word) is not None and "." not in word and "," not in word]
    if not grouped or len(grouped) + len(plain) < len(words):
        return
    beside = next((word for word in plain if word.lstrip("+-").isdigit()), None)
    mark = "point" if "." in grouped[0] else "comma"
    if is_whole:
        reason = "the model knows whole numbers"
    elif mark == "point":
        reason = "decimals have commas in such a file (--decimal . says that they have points)"
    elif beside is not None:
        reason = f"{beside} stands in other cells"
    elif _any_is(others, _DECIMAL_POINT):
        reason = "another column has decimal points"
    elif not is_stated and not _any_is(others, _CLEARLY_DECIMAL_COMMA):
        reason = "no other number says that commas are decimal here (--decimal , does)"
    else:
        return
    raise MixedColumnError(f'column "{name}": {grouped[0]} seems to have a {mark} for thousands: {reason}')


def _any_is(columns: Iterable[pa.ChunkedArray], pattern: str) -> bool:
    return any(pc.any(pc.match_substring_regex(column, pattern)).as_py() for column in columns)


def point(word: str) -> str:
    """Return a word with a point in place of its decimal comma."""
    return _DECIMAL_COMMA.sub(r"\1.\2", word)


def says_one_of(word: str, numbers: set[float]) -> bool:
    """Return True if a word is one of some numbers; 007 and 0x7 are words, not numbers."""
    return not _PADDED.match(word.strip()) and not numbers.isdisjoint(numbers_among([word.strip()]))


class Spelling:
    """Spelling and types of a file's column.

    New cells must look like them. Parts of the file are added one after the other.

    Attributes:
        words: the three longest of a text file, without spaces around them: these tell truths and times.
        sorts: types of their values.
        has_missing: whether cells are missing.
    """

    def __init__(self) -> None:
        self.words: set[str] = set()
        self.sorts: set[type] = set()
        self.has_missing = False
        self._marks: set[str] = set()
        self._decimals: set[int] = set()

    def add(self, values: NDArray[Any]) -> None:
        """Add the values [N] of a part."""
        observed = ~is_missing(values)
        self.has_missing |= not observed.all()
        some = values[observed] if values.dtype == object else np.zeros(int(observed.any()), values.dtype)
        self.sorts |= set(map(type, some.tolist()))

    def add_words(self, words: pa.ChunkedArray, values: NDArray[Any], *, decimal_commas: bool) -> None:
        """Add the words of a part, too.

        It is a ValueError if it has points where others had decimal commas.
        """
        pointed = with_points(words, "numbers") if decimal_commas else words
        observed = ~is_missing(values)
        new = pc.utf8_trim_whitespace(pc.unique(pointed.filter(pa.array(observed)))).to_pylist()
        self.words = set(sorted(self.words.union(new), key=lambda word: (len(word), word))[-3:])
        self._decimals |= {len(plain[1]) if (plain := _DECIMALS.fullmatch(word)) else 0 for word in new}
        if decimal_commas and str not in self.sorts:
            if pointed is not words:
                self._marks.add(",")
            elif any("." in word and number(word) is not None for word in new):
                self._marks.add(".")
        if len(self._marks) == 2:
            message = "expected decimal commas or points, found both, far from each other"
            raise ValueError(f"{message}: write all numbers alike, or say --decimal .")

    @property
    def is_text(self) -> bool:
        """Return True if some cells are text."""
        return str in self.sorts

    def as_in_file(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values of a part as among all.

        True and false are numbers beside numbers and text.
        """
        if bool not in self.sorts or len(self.sorts) == 1:
            return values
        numbers = [float(value) if isinstance(value, bool) else value for value in values.tolist()]
        return np.array(numbers, dtype=object if self.is_text else np.float64)

    def spelt(self, values: NDArray[Any]) -> pa.Array:
        """Return new values as words spelt alike.

        If all others spell false and true in one way, so do the new ones. If all others are numbers of two decimals, so
        are the new ones, where that does not change them. Dates have as much time as the longest.
        """
        if self.words and values.dtype.kind == "M":
            return pa.array([spelt_date(value, max(self.words, key=len)) for value in values], pa.string())
        if self.is_text:
            values = as_texts(values)
        elif values.dtype.kind == "b" and self.sorts & {int, float}:
            values = values.astype(np.int64)
        column = to_arrow(values)
        new = column.cast(pa.string())
        for false, true in _SPELLINGS if self.words else ():
            if self.words <= {false, true}:
                new = pc.if_else(pa.array(values == 0), false, pc.if_else(pa.array(values == 1), true, new))
        if is_number(column.type) and len(self._decimals) == 1 and 0 not in self._decimals:
            padded = [f"{value:.{max(self._decimals)}f}" for value in values.tolist()]
            new = pc.if_else(pa.array(np.array(padded, dtype=np.float64) == values), pa.array(padded, pa.string()), new)
        return new


def spelt_date(date: np.datetime64, like: str) -> str:
    """Return a date as a word like another one, in universal time; with more of the time if it has more."""
    parts = _DATE.fullmatch(like)
    separator, time, zone = parts.groups("") if parts else ("", "", "")
    units = UNITS[min(len(time) // 3 + bool(time), len(UNITS) - 1) :]
    unit = next(unit for unit in units if date.astype(f"M8[{unit}]") == date)
    text = str(date.astype(f"M8[{unit}]")).replace("T", separator or " ")
    return text + (zone and ("Z" if zone == "Z" else "+00:00"))


def as_texts(values: NDArray[Any]) -> NDArray[np.object_]:
    """Return all values [N] as text, but None."""
    texts = [value if value is None or isinstance(value, str) else shown(value) for value in values.tolist()]
    return np.array(texts, dtype=object)


def as_date(word: str) -> np.datetime64 | None:
    """Return a word's date; None for no date."""
    if not _DATE.fullmatch(word):
        return None
    dates = _all_of(pa.chunked_array([[word]]), _DATES)
    return None if dates is None else to_dates(dates)[0]


def _all_of(words: pa.ChunkedArray, kinds: Sequence[pa.DataType]) -> pa.ChunkedArray | None:
    """Return words in the first type that holds all of them."""
    for kind in kinds:
        try:
            words.slice(0, 100).cast(kind)  # a cast that fails is slow
            return words.cast(kind)
        except pa.ArrowInvalid:
            continue
    return None


def _is_padded(words: pa.ChunkedArray, numbers: pa.ChunkedArray) -> bool:
    """Return True if numbers would lose zeros before them (or are no decimal numbers at all)."""
    padded = pc.any(pc.match_substring_regex(words, f"^{_PADDED.pattern}")).as_py()
    return bool(padded) and not pc.all(pc.is_in(numbers.drop_null(), value_set=pa.array([0, 1], numbers.type))).as_py()


def _by_word(words: pa.ChunkedArray, reading: Reading) -> NDArray[Any]:
    """Read each distinct word once; missing cells have none."""
    encoded = words.combine_chunks().dictionary_encode()
    distinct = encoded.dictionary.to_pylist()
    index, missing = encoded.indices.fill_null(0).to_numpy(), words.is_null().to_numpy()
    parsed: list[Any] = [number(word) for word in distinct]
    booleans = [word in TRUE or word in FALSE for word in distinct]
    if all(booleans):
        truths = (np.array(parsed) == 1)[index]
        return np.where(missing, np.array(None), truths) if missing.any() else truths
    if None not in parsed:
        return np.where(missing, np.nan, np.array(parsed, dtype=np.float64)[index])
    numeric = [value is not None and not boolean for value, boolean in zip(parsed, booleans, strict=True)]
    if not any(numeric):
        dates = [as_date(word) for word in distinct]
        if reading == "guess" and 2 * dates.count(None) > len(dates):
            return to_objects(words)
        parsed = [date if value is None else value for value, date in zip(parsed, dates, strict=True)]
    mixed = [word if value is None else value for word, value in zip(distinct, parsed, strict=True)]
    return np.where(missing, np.array(None), np.array(mixed, dtype=object)[index])
