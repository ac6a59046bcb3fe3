"""Words of a user's table that are taken for nothing, counted, so that nobody loses an answer without being told."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nadek.tabular.io import NOTHING, RawTable, nearest, quoted
from nadek.tabular.user_options import Word


class Taken(NamedTuple):
    """A word that is taken for missing.

    Attributes:
        word: as it is written.
        cells: how many cells of which columns hold it.
        told: whether the user said so; otherwise it is one of `nadek.tabular.io.NOTHING`.
    """

    word: str
    cells: Mapping[str, int]
    told: bool


def check_words(raw: RawTable, missing: Sequence[Word], keep: Sequence[str]) -> None:
    """Refuse words that no cell holds, and words to be kept that are answers anyway, or none.

    Raises:
        ValueError: names the option and the first such word.
    """
    for text in keep:
        if text not in NOTHING:
            raise ValueError(f"keep: expected one of {quoted(NOTHING)}, found {text!r}, which is an answer without it")
        if Word(text) in missing:
            raise ValueError(f"{text!r} is said to be both: missing and keep")
    for option, words in (("missing", missing), ("keep", [Word(text) for text in keep])):
        for word in words:
            if not any(raw.times(j, word.text) for j in _places(raw, word)):
                raise ValueError(f"{option}: no cell of {raw.where} holds {word}{_hint(word, raw)}")


def taken(raw: RawTable, words: Sequence[Word], places: Sequence[int], *, told: bool) -> tuple[Taken, ...]:
    """Which words are held by which columns.

    Args:
        raw: the table as it came.
        words: to look for.
        places: the columns to look at.
        told: see `Taken`.
    """
    found = []
    for word in words:
        counts = {raw.names[j]: raw.times(j, word.text) for j in _places(raw, word) if j in places}
        found.append(Taken(word.text, {name: n for name, n in counts.items() if n}, told))
    return tuple(one for one in found if one.cells)


def _places(raw: RawTable, word: Word) -> list[int]:
    """The columns where a word stands for nothing."""
    return [j for j, name in enumerate(raw.names) if word.column in (None, name)]


def _hint(word: Word, raw: RawTable) -> str:
    """What may have been meant by a word with a sign of equality, which no column's name stands before."""
    if word.column is not None or "=" not in word.text:
        return ""
    column = word.text.partition("=")[0]
    return f'; there is no column "{column}", {nearest(column, raw.names)}'
