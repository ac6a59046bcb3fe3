"""Whether the first row of a text file, which was taken for its names, is one of names."""

import math

import pyarrow as pa
import pyarrow.compute as pc

from nadek.tabular.io.arrow_table import RawTable
from nadek.tabular.io.names import quoted
from nadek.tabular.io.text_numbers import number
from nadek.tabular.io.text_types import DECIMAL_COMMA


def check_header(raw: RawTable) -> None:
    """Refuse names that could just as well be the first row of data, which would be lost.

    Such are words that stand in the rows of their columns, too, alone or beside numbers that stand above numbers.

    Raises:
        ValueError: says what to do if they are data, and if they are names.
    """
    if not raw.are_words or raw.columns is None:
        return
    words = [name for name in raw.columns if _number(name, raw) is None]
    if words and all(_could_be_value(name, cells, raw) for name, cells in zip(raw.columns, raw.cells, strict=True)):
        raise ValueError(
            f"{raw.where}: expected names in the first row, found {quoted(words)}, which stand in the rows below, too: "
            "if they are data, write a row of names above them; if they are names, change them, or take them out of "
            "the rows below"
        )


def _could_be_value(name: str, cells: pa.ChunkedArray, raw: RawTable) -> bool:
    """Whether a name is what the cells of its column are; an empty one can be anything."""
    value = _number(name, raw)
    if value is None:
        return bool(pc.any(pc.equal(pc.utf8_trim_whitespace(cells), name)).as_py())
    return math.isnan(value) or all(_number(word, raw) is not None for word in pc.unique(cells.drop_null()).to_pylist())


def _number(word: str, raw: RawTable) -> float | None:
    return number(DECIMAL_COMMA.sub(r"\1.\2", word) if raw.decimal_commas else word)
