"""Answers that differ in spaces or capital letters only, are misspelt, several at once, or have quotes around them."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from difflib import get_close_matches

from nadek.tabular.columns import Column
from nadek.tabular.columns.text_hints import separator_of_answers
from nadek.tabular.encode import texts_of
from nadek.tabular.table import Table

RARE, FREQUENT = 5, 20
"""Most rows of a misspelt answer, and how many times as many the right one has at least."""
LETTERS = 5
"""Least letters of an answer that may be misspelt."""
ALIKE = 0.85
"""Least part of the letters of two answers that is alike where one is a misspelling of the other."""


def alike_levels(column: Column) -> list[str]:
    """Return groups of levels that differ in spaces or capital letters only, three at most."""
    groups = defaultdict[str, list[str]](list)
    for text in texts_of(column):
        groups[" ".join(text.casefold().split())].append(repr(text))
    return [" and ".join(levels) for levels in groups.values() if len(levels) > 1][:3]


def misspelt_levels(table: Table, j: int, column: Column) -> list[str]:
    """Return levels of few rows that are spelt nearly as frequent ones, three at most."""
    texts = {text for text in texts_of(column) if len(text) >= LETTERS and not any(map(str.isdigit, text))}
    if len(texts) < 2:
        return []
    times = Counter(value for value in table.column(j, reading="text").tolist() if value in texts)
    frequent = {n: [text for text in times if times[text] >= n * FREQUENT] for n in range(1, RARE + 1)}
    pairs = [(text, get_close_matches(text, frequent[n], 1, ALIKE)) for text, n in times.items() if n <= RARE]
    return [f"{text!r} (as {close[0]!r})" for text, close in pairs if close][:3]


def joined_answers(column: Column) -> list[str]:
    """Return a level that looks like several answers at once, if many do."""
    texts = texts_of(column)
    separator = separator_of_answers(texts)
    return [] if separator is None else [repr(next(text for text in texts if separator in text))]


def quoted_words(words: Iterable[str]) -> list[str]:
    """Return words with quotes around them, three at most: behind a space these open no cell of a CSV file."""
    return [repr(text) for text in words if len(text) > 1 and text[0] == text[-1] == '"'][:3]
