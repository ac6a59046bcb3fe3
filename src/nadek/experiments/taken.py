"""Words of a user's table that are taken for nothing, counted, so that nobody loses an answer without being told."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nadek.tables import NOTHING, RawTable, quoted


class Taken(NamedTuple):
    """A word that is taken for missing.

    Attributes:
        word: as it is written.
        cells: how many cells of which columns hold it.
        told: whether the user said so; otherwise it is one of `nadek.tables.NOTHING`.
    """

    word: str
    cells: Mapping[str, int]
    told: bool


def check_words(raw: RawTable, missing: Sequence[str], keep: Sequence[str]) -> None:
    """Refuse words that no cell holds, and words to be kept that are answers anyway, or none.

    Raises:
        ValueError: names the option and the first such word.
    """
    for word in keep:
        if word not in NOTHING:
            raise ValueError(f"keep: expected one of {quoted(NOTHING)}, found {word!r}, which is an answer without it")
        if word in missing:
            raise ValueError(f"{word!r} is said to be both: missing and keep")
    for option, words in (("missing", missing), ("keep", keep)):
        for word in words:
            if not raw.holds(word):
                raise ValueError(f"{option}: no cell of {raw.where} holds {word!r}")


def taken(raw: RawTable, words: Sequence[str], places: Sequence[int], *, told: bool) -> tuple[Taken, ...]:
    """Which words are held by which columns.

    Args:
        raw: the table as it came.
        words: to look for.
        places: the columns to look at.
        told: see `Taken`.
    """
    found = (Taken(word, {raw.names[j]: n for j in places if (n := raw.times(j, word))}, told) for word in words)
    return tuple(one for one in found if one.cells)
