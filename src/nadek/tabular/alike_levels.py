"""Answers that differ in spaces or capital letters only, such as "Yes" and "yes ", or have quotes around them."""

from collections import defaultdict
from collections.abc import Mapping

from nadek.tabular.columns import Column
from nadek.tabular.encode import texts_of
from nadek.tabular.names import first_columns
from nadek.tabular.table import Table
from nadek.utils.warn import warn


def warn_of_alike_levels(table: Table, columns: Mapping[int, Column | None]) -> None:
    """Warn once of alike levels in the columns at these places of a training table."""
    named = []
    for j, column in columns.items():
        alike = defaultdict[str, list[str]](list)
        for text in texts_of(column) if column else ():
            alike[" ".join(text.casefold().split())].append(repr(text))
        pairs = [" and ".join(levels) for levels in alike.values() if len(levels) > 1]
        if pairs:
            named.append(f'{", ".join(pairs[:3])} in column "{table.labels[j]}"')
    if named:
        message = "these differ in spaces or capital letters only, but are learnt as different answers"
        warn(f"{message}: {first_columns(named)}; if they are the same, write them alike", where=table.where)


def warn_of_quotes(table: Table, columns: Mapping[int, Column | None]) -> None:
    """Warn once of quotes around names and answers: behind a space they open no cell of a CSV file."""
    if not table.is_text_file:
        return
    parts = {"the header": tuple(table.labels[j] for j in columns)}
    parts |= {f'column "{table.labels[j]}"': texts_of(column) for j, column in columns.items() if column}
    named = []
    for place, words in parts.items():
        if texts := [repr(text) for text in words if len(text) > 1 and text[0] == text[-1] == '"']:
            named.append(f"{', '.join(texts[:3])} in {place}")
    if named:
        message = "these are learnt with the quotes around them, as a quote behind a space opens no cell"
        warn(f"{message}: {first_columns(named)}; if they shall have none, take out such spaces", where=table.where)
