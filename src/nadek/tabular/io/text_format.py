"""New cells among the words of a text file, spelt as these are."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from nadek.tabular.io.parquet import to_column
from nadek.tabular.io.text_numbers import FALSE, TRUE, is_number

_SPELLINGS = (("0", "1"), ("0.0", "1.0"), *zip(FALSE, TRUE, strict=True))
"""Ways to write false and true."""


def filled_words(words: pa.ChunkedArray, values: NDArray[np.generic], holes: NDArray[np.bool_]) -> pa.ChunkedArray:
    """A column of words with new ones in its holes; all others stay as they stand.

    Where all others spell false and true in one way, so do the new ones; and where all of them are numbers that end in
    .0, as pandas writes whole numbers with holes, the new ones do so where they are whole.

    Args:
        words: text [N].
        values: of all cells, [N].
        holes: where they are new, [N].
    """
    if not holes.any():
        return words
    column = to_column(values)
    new = column.cast(pa.string())
    observed = set(pc.unique(pc.utf8_trim_whitespace(words.filter(pa.array(~holes)))).to_pylist())
    for false, true in _SPELLINGS if observed else ():
        if observed <= {false, true}:
            new = pc.if_else(pa.array(values == 0), false, pc.if_else(pa.array(values == 1), true, new))
    if observed and is_number(column.type) and all(word.endswith(".0") for word in observed):
        new = pc.replace_substring_regex(new, r"^(-?[0-9]+)$", r"\1.0")
    return pc.if_else(pa.array(holes), new, words)
