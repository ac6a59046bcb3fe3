"""What the words of a text file mean: numbers, booleans or text, a column at a time."""

import re
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from nadek.tabular.columns import LARGEST_EXACT
from nadek.tabular.io.text_numbers import FALSE, MISSING, TRUE, first_rounded, floats, number

Reading = Literal["guess", "text", "exact", "numbers"]
"""Whether words are taken as what they look like, as text (without spaces around it), as text exactly as it stands, or
as numbers where they can be."""

DECIMAL_COMMA = re.compile(r"\A(\s*[+-]?\d*),(\d+\s*)\Z")


def read_words(column: pa.ChunkedArray, reading: Reading, *, name: str, levels: Sequence[str] = ()) -> NDArray[Any]:
    """The values of a column of words.

    Words are numbers if all are, and so are true and false beside 0 and 1; alone, these are booleans. Numbers such as
    007 that are not all 0 and 1 are text, as their zeros would be lost; so are numbers that floats would round, see
    `nadek.tabular.io.text_numbers.first_rounded`.

    Args:
        column: text [N].
        reading: see `Reading`; "numbers" also takes 007 as a number.
        name: what messages call the column.
        levels: texts that mean themselves here, even where they would stand for nothing; not the empty one.

    Returns:
        int64, float64 or bool [N], or objects where text or holes need them. Where words and numbers are mixed,
        numbers are floats among text.

    Raises:
        ValueError: on what shall be a number and would be rounded; names the cell.
    """
    words = column.cast(pa.string())
    if reading != "exact":
        words = pc.utf8_trim_whitespace(words)
    nothing = pa.array([word for word in MISSING if not word or word not in levels])
    words = pc.if_else(pc.is_in(words, value_set=nothing), pa.scalar(None, pa.string()), words)
    if reading in ("text", "exact"):
        return to_objects(words)
    numbers = _all_numbers(words)
    if numbers is not None:
        if reading == "guess" and (_is_padded(words, numbers) or _is_rounded(words, numbers)):
            return to_objects(words)
        if pa.types.is_floating(numbers.type):
            check_held(words, name)
        return to_numbers(numbers)
    return _by_word(words, reading)


def check_held(column: pa.ChunkedArray, name: str) -> None:
    """Refuse numbers that would become others.

    Raises:
        ValueError: names the first such cell.
    """
    row = first_rounded(column)
    if row is not None:
        found = f"expected a number that floats can hold, found {column[row]}"
        place = f'row {row + 1}, column "{name}"'
        raise ValueError(f"{place}: {found}, which they would round: drop the column, or say that it is categorical")


def with_points(column: pa.ChunkedArray, reading: Reading) -> pa.ChunkedArray:
    """A column of words with points in place of decimal commas.

    Where it is guessed what they are, all have to be numbers; what is read as text stays as it is. So does a column in
    which numbers have points as well: one of both may stand between thousands.
    """
    if reading in ("text", "exact"):
        return column
    encoded = column.combine_chunks().dictionary_encode()
    known = encoded.dictionary.to_pylist()
    pointed = [DECIMAL_COMMA.sub(r"\1.\2", word) for word in known]
    if pointed == known or any("." in word and number(word) is not None for word in known):
        return column
    if reading == "guess" and any(number(word) is None for word in pointed):
        return column
    return pa.chunked_array([pa.array(pointed, pa.string()).take(encoded.indices)])


def to_numbers(column: pa.ChunkedArray) -> NDArray[Any]:
    """Arrow's numbers as NumPy's: integers where nothing is missing, otherwise floats with NaN.

    Integers too large for floats stay what they are, as objects beside None.
    """
    if pa.types.is_integer(column.type) and column.null_count:
        ends = pc.min_max(column).as_py()
        if max(abs(ends["min"] or 0), abs(ends["max"] or 0)) > LARGEST_EXACT:
            return to_objects(column)
    values: NDArray[Any] = column.to_numpy().copy() if pa.types.is_integer(column.type) else floats(column)
    return values


def to_objects(column: pa.ChunkedArray) -> NDArray[np.object_]:
    """Python's own objects, None where missing."""
    if pa.types.is_string(column.type):
        texts: NDArray[np.object_] = column.to_numpy()
        return texts.copy()
    values = np.empty(len(column), dtype=object)
    values[:] = column.to_pylist()
    return values


def _all_numbers(words: pa.ChunkedArray) -> pa.ChunkedArray | None:
    for kind in (pa.int64(), pa.float64()):
        try:
            words.slice(0, 100).cast(kind)  # a cast that fails is slow
            return words.cast(kind)
        except pa.ArrowInvalid:
            continue
    return None


def _is_padded(words: pa.ChunkedArray, numbers: pa.ChunkedArray) -> bool:
    """Whether numbers would lose zeros before them (or be no decimal numbers at all)."""
    padded = pc.any(pc.match_substring_regex(words, "^[+-]?0[0-9xX]")).as_py()
    return bool(padded) and not pc.all(pc.is_in(numbers.drop_null(), value_set=pa.array([0, 1], numbers.type))).as_py()


def _is_rounded(words: pa.ChunkedArray, numbers: pa.ChunkedArray) -> bool:
    return pa.types.is_floating(numbers.type) and first_rounded(words) is not None


def _by_word(words: pa.ChunkedArray, reading: Reading) -> NDArray[Any]:
    """Each distinct word is looked at once; missing cells have none."""
    encoded = words.combine_chunks().dictionary_encode()
    known = encoded.dictionary.to_pylist()
    index, missing = encoded.indices.fill_null(0).to_numpy(), words.is_null().to_numpy()
    parsed = [number(word) for word in known]
    booleans = [word in TRUE or word in FALSE for word in known]
    if None not in parsed:
        if all(booleans):
            return _booleans(np.array(parsed) == 1, index, missing)
        return np.where(missing, np.nan, np.array(parsed, dtype=np.float64)[index])
    numeric = [value is not None and not boolean for value, boolean in zip(parsed, booleans, strict=True)]
    if not any(numeric) and reading == "guess":
        return to_objects(words)
    mixed = [word if value is None else value for word, value in zip(known, parsed, strict=True)]
    return _with_holes(np.array(mixed, dtype=object)[index], missing)


def _booleans(known: NDArray[np.bool_], index: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[Any]:
    values = known[index]
    return _with_holes(values.astype(object), missing) if missing.any() else values


def _with_holes(values: NDArray[np.object_], missing: NDArray[np.bool_]) -> NDArray[np.object_]:
    values[missing] = None
    return values
