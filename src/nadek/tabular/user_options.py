"""Words that stand for nothing in a user's table: in all of its columns, or in one."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nadek.tabular.io import RawTable, as_known
from nadek.tabular.schema import Schema


class Word(NamedTuple):
    """A word that stands for nothing.

    Attributes:
        text: as it is written.
        column: name of the only column where it does; None for all columns.
    """

    text: str
    column: str | None = None

    def __str__(self) -> str:
        return repr(self.text) if self.column is None else f'{self.text!r} in column "{self.column}"'


def words_said(entries: Sequence[str], names: Sequence[str]) -> tuple[Word, ...]:
    """The words of a user's entries: ``age=99`` is one of column ``age`` where there is such a column.

    Args:
        entries: one word each.
        names: of the columns of the table.

    Example:
        >>> words_said(["age=99", "?", "a=b"], ["age", "sex"])
        (Word(text='99', column='age'), Word(text='?', column=None), Word(text='a=b', column=None))
    """
    return tuple(_word(entry, names) for entry in entries)


def possible_texts(entries: Sequence[str]) -> list[str]:
    """What may be written in cells that stand for nothing, while the names of the columns are not known yet."""
    return [text for entry in entries for text in (entry, *(text for _, text in divided(entry)))]


def words_of(schema: Schema) -> tuple[Word, ...]:
    """The words that a model was told of when it was trained."""
    own = [Word(text, column) for column, text in schema.missing_in or ()]
    return (*map(Word, schema.missing or ()), *own)


def without(raw: RawTable, words: Sequence[Word], places: Mapping[str, int]) -> RawTable:
    """A table with nothing in the cells that hold such words.

    Args:
        raw: the table.
        words: the words.
        places: where the columns stand that they name.
    """
    raw = raw.without([word.text for word in words if word.column is None])
    for text, column in words:
        if column is not None:
            raw = raw.without([text], places[column])
    return raw


def _word(entry: str, names: Sequence[str]) -> Word:
    for column, text in divided(entry):
        if (name := as_known([column], names)[0]) in names:
            return Word(text, name)
    return Word(entry)


def divided(entry: str) -> list[tuple[str, str]]:
    """An entry as what stands before and after a sign of equality, at each of them: names and words may have some."""
    parts = entry.split("=")
    return [("=".join(parts[:cut]).strip(), "=".join(parts[cut:]).strip()) for cut in range(1, len(parts))]
