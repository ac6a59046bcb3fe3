"""Answers that differ in spaces or capital letters only, such as "Yes" and "yes ", or have quotes around them."""

from collections import defaultdict
from collections.abc import Iterable

from nadek.tabular.columns import Column
from nadek.tabular.encode import texts_of


def alike_levels(column: Column) -> list[str]:
    """Return groups of levels that differ in spaces or capital letters only, three at most."""
    groups = defaultdict[str, list[str]](list)
    for text in texts_of(column):
        groups[" ".join(text.casefold().split())].append(repr(text))
    return [" and ".join(levels) for levels in groups.values() if len(levels) > 1][:3]


def quoted_words(words: Iterable[str]) -> list[str]:
    """Return words with quotes around them, three at most: behind a space these open no cell of a CSV file."""
    return [repr(text) for text in words if len(text) > 1 and text[0] == text[-1] == '"'][:3]
