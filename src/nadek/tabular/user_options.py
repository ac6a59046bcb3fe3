"""Options by which users describe columns: categorical, numeric, ordinal, drop, missing, keep."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from nadek.tabular.columns.infer import N_BINS
from nadek.tabular.names import as_known, nearest, quoted
from nadek.tabular.table import Table
from nadek.tabular.text_cells import NOTHING

Declaration = Literal["categorical", "numeric", "ordinal", "drop"]
WholeNumbers = Literal["categorical", "numeric"]


@dataclass(frozen=True, kw_only=True)
class Choices:
    """Options about columns, by their names (or their numbers from 1 without names), and about cells.

    Every entry is one name or word, or several with commas between them. A name may also be a pattern (``item_*``) or a
    range (``item_1..item_9``) of columns.

    Attributes:
        categorical: columns that hold categories.
        numeric: columns that hold numbers.
        ordinal: columns with their answers in order, as ``pain,mood=none,mild,severe``.
        drop: columns that are left out.
        missing: words that mean missing in any column, or in one, as ``age=99``.
        keep: words such as None that are answers in columns of text, although they mean missing elsewhere.
        whole_numbers: what columns of whole numbers hold that nothing else is said of.
        n_bins: bins of a column of numbers, at most.
    """

    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    ordinal: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    whole_numbers: WholeNumbers | None = None
    n_bins: int = N_BINS

    def parse(self, labels: Sequence[str]) -> "ParsedChoices":
        """Return what the options say of the columns of a table."""
        orders = parse_orders(self.ordinal, labels)
        options: list[tuple[Declaration, Iterable[str]]] = [
            ("categorical", column_names(self.categorical, labels)),
            ("numeric", column_names(self.numeric, labels)),
            ("ordinal", orders),
            ("drop", column_names(self.drop, labels)),
        ]
        declared: dict[str, Declaration] = {}
        for option, columns in options:
            for name in columns:
                if name not in labels:
                    raise ValueError(f'{option}: there is no column "{name}"; {nearest(name, labels)}')
                if declared.setdefault(name, option) != option:
                    raise ValueError(f'column "{name}" is said to be both: {declared[name]} and {option}')
        missing, keep = parse_missing(self.missing, labels), tuple(split_names(self.keep))
        return ParsedChoices(declared, orders, missing, keep, self.whole_numbers, self.n_bins)


class ParsedChoices(NamedTuple):
    """`Choices` about one table's columns, by their labels."""

    declared: Mapping[str, Declaration]
    orders: Mapping[str, tuple[str, ...]]
    missing: tuple["Word", ...]
    keep: tuple[str, ...]
    whole_numbers: WholeNumbers | None
    n_bins: int


class Word(NamedTuple):
    """A word that means missing, in all columns or in one only."""

    text: str
    column: str | None = None

    def __str__(self) -> str:
        return repr(self.text) if self.column is None else f'{self.text!r} in column "{self.column}"'

    def is_of(self, label: str) -> bool:
        """Return True if it means missing in a column."""
        return self.column in (None, label)


class WordCount(NamedTuple):
    """The cells of a word that means missing, by columns, so that nobody loses an answer unawares.

    Either the user declared the word, or it is one of `nadek.tabular.text_cells.NOTHING`.
    """

    word: str
    cells: Mapping[str, int]
    declared: bool


def split_names(entries: Sequence[str], labels: Sequence[str] = ()) -> list[str]:
    """Split entries at their commas, unless they are known names; a name with commas may stand in quotes."""
    parts = [[entry] if entry in labels else next(csv.reader([entry], skipinitialspace=True), []) for entry in entries]
    return [name.strip() for part in parts for name in part or [""]]  # an entry without a name is not passed over


def column_names(entries: Sequence[str], labels: Sequence[str]) -> list[str]:
    """Return the columns that entries name: by names, patterns (item_*), or ranges (item_1..item_9)."""
    names = as_known(split_names(entries, labels), labels)
    return [column for name in names for column in ([name] if name in labels else _matching(name, labels))]


def _matching(pattern: str, labels: Sequence[str]) -> list[str]:
    """Return the columns of a pattern or a range; the text itself if there are none."""
    ends = [label for label in as_known(pattern.split(".."), labels) if label in labels]
    if len(ends) == 2 == len(pattern.split("..")):
        first, last = sorted(map(labels.index, ends))
        return list(labels[first : last + 1])
    return [label for label in labels if "*" in pattern and fnmatchcase(label, pattern)] or [pattern]


def parse_orders(entries: Sequence[str], labels: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the answers of ordinal columns, from one end to the other: ``pain,mood=none,mild,severe``."""
    orders: dict[str, tuple[str, ...]] = {}
    for entry in entries:
        columns, text = _split_equals(entry, labels)
        levels = tuple(split_names([text]))
        if not columns or "" in levels or len(set(levels)) < len(levels):
            form = "columns and their answers in order, as pain=none,mild,severe, each answer once"
            raise ValueError(f"ordinal: expected {form}, found {entry!r}")
        for column in columns:
            if column in orders:
                raise ValueError(f'ordinal: column "{column}" is said twice')
            orders[column] = levels
    return orders


def parse_missing(entries: Sequence[str], labels: Sequence[str]) -> tuple[Word, ...]:
    """Return the words that mean missing: ``age=99`` is one of column ``age`` if there is such a column."""
    words: list[Word] = []
    for entry in split_names(entries):
        columns, text = _split_equals(entry, labels)
        known_columns = columns if set(columns) <= set(labels) else []
        words += [Word(text, label) for label in known_columns] or [Word(entry)]
    return tuple(words)


def without_words(table: Table, words: Sequence[Word]) -> Table:
    """Return a table whose cells lack such words."""
    for column in dict.fromkeys(word.column for word in words):
        texts = [word.text for word in words if word.column == column]
        table = table.without(texts, None if column is None else table.labels.index(column))
    return table


def check_words(table: Table, missing: Sequence[Word], keep: Sequence[str]) -> None:
    """Refuse words that no cell holds, and words to keep that are answers anyway, or none."""
    for text in keep:
        if text not in NOTHING:
            raise ValueError(f"keep: expected one of {quoted(NOTHING)}, found {text!r}, which is an answer without it")
        if Word(text) in missing:
            raise ValueError(f"{text!r} is said to be both: missing and keep")
    for option, words in (("missing", missing), ("keep", [Word(text) for text in keep])):
        for word in words:
            if not any(word.is_of(label) and table.count(j, word.text) for j, label in enumerate(table.labels)):
                raise ValueError(f"{option}: no cell of {table.where} holds {word}{_hint(word, table)}")


def count_words(table: Table, words: Sequence[Word], places: Sequence[int], *, declared: bool) -> tuple[WordCount, ...]:
    """Count the cells of words that mean missing."""
    cells: dict[Word, dict[str, int]] = {word: {} for word in words}
    for j in places:
        for word in words:
            if word.is_of(table.labels[j]) and (n := table.count(j, word.text)):
                cells[word][table.labels[j]] = n
    return tuple(WordCount(word.text, cells[word], declared) for word in words if cells[word])


def _hint(word: Word, table: Table) -> str:
    """Suggest a column for a word with a sign of equality behind an unknown name."""
    if word.column is not None or "=" not in word.text:
        return ""
    column = word.text.partition("=")[0]
    return f'; there is no column "{column}", {nearest(column, table.labels)}'


def _split_equals(entry: str, labels: Sequence[str]) -> tuple[list[str], str]:
    """Return columns and the text behind the first sign of equality before which all are known, else the first."""
    parts = entry.split("=")
    ends = [("=".join(parts[:cut]).strip(), "=".join(parts[cut:]).strip()) for cut in range(1, len(parts))]
    ways = [(column_names([columns], labels), text) for columns, text in ends]
    return next((way for way in ways if set(way[0]) <= set(labels)), ways[0] if ways else ([], ""))
