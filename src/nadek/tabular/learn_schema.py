"""The columns of a training table: what they are by their values, their types, and the user's options."""

import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nadek.tabular.alike_levels import alike_levels, joined_answers, misspelt_levels, quoted_words
from nadek.tabular.arrow_columns import categories_listed, to_arrow
from nadek.tabular.columns import Binary, Categorical, Column, Ordinal, encode, infer, is_missing, read_cells
from nadek.tabular.columns.infer import NO_VALUE, Declared, TickedColumnError, UndecidedColumnError
from nadek.tabular.columns.parsing import LARGEST_EXACT, MixedColumnError, shown
from nadek.tabular.columns.text_hints import hint_of_units
from nadek.tabular.columns.types import MOST_LEVELS
from nadek.tabular.doubtful_numbers import counts_of_codes, lone_fractions, row_counts
from nadek.tabular.encode import texts_of
from nadek.tabular.frames import categories_in, is_categorical, is_ordered
from nadek.tabular.names import chosen_columns, first_columns
from nadek.tabular.schema import Schema
from nadek.tabular.skipped_questions import skipped_columns
from nadek.tabular.table import OtherTypeError, Table
from nadek.tabular.text_cells import NOTHING, Reading, check_thousands
from nadek.tabular.user_options import (
    Choices,
    Declaration,
    ParsedChoices,
    Word,
    WordCount,
    check_words,
    count_words,
    without_words,
)
from nadek.utils.configs import naming
from nadek.utils.scratch import scratch
from nadek.utils.warn import warn

MOST_CODED = 6
"""Columns up to which codes are counted for each of them."""

DECLARING: dict[str, Declared] = {"categorical_features": "categorical", "numeric_features": "numeric"}
"""Options of estimators that say of columns what they are."""


class UndecidedColumnsError(ValueError):
    """Columns whose types the user has to say, each with those that it can have."""

    def __init__(self, message: str, remedies: Mapping[str, tuple[str, ...]]) -> None:
        super().__init__(message)
        self.remedies = dict(remedies)


Learnt = tuple[Column, NDArray[np.float64]]
"""Type of a column, and its codes [N]."""


def learn_schema(table: Table, choices: Choices) -> tuple[Schema, NDArray[np.float32], tuple[WordCount, ...]]:
    """Return the schema of a training file, its codes [N, D], and counts of the words that mean missing.

    Codes lie column by column. Counted are the words that the user named, and those of
    `nadek.tabular.text_cells.NOTHING` that stand beside other texts. An `UndecidedColumnsError` asks the user to say
    more.
    """
    parsed = choices.parse(table.labels)
    places = [j for j, label in enumerate(table.labels) if parsed.declared.get(label) != "drop"]
    if not places:
        raise ValueError(f"{table.where}: expected columns to learn from, found that all are dropped")
    columns: list[Column] = []
    questions: dict[str, UndecidedColumnError] = {}
    empty: list[str] = []
    codes = scratch((len(places), len(table)), np.float32)
    for k, (label, learnt) in enumerate(learn_each(table, parsed)):
        if isinstance(learnt, UndecidedColumnError):
            questions[label] = learnt
        else:
            codes[k] = learnt[1]
            n_values = len(table) - int(np.isnan(learnt[1]).sum())
            columns.append(replace(learnt[0], n_values=n_values))
            if not n_values:
                empty.append(label)
    if len(empty) < len(places):
        questions |= {label: UndecidedColumnError(NO_VALUE.format(label), ()) for label in empty}
    if questions:
        message = f"{table.where}: {first_columns(questions.values(), 3)}"
        raise UndecidedColumnsError(message, {label: one.remedies for label, one in questions.items()})
    counts = count_words(table, parsed.missing, places, declared=True)
    table = without_words(table, parsed.missing)
    placed = dict(zip(places, columns, strict=True))
    warn_of_doubts(table, placed)
    nothing = [Word(text) for text in NOTHING if table.is_text_file and text not in parsed.keep]
    # None among the answers of a column is an answer
    of_text = [j for j, column in placed.items() if (texts := texts_of(column)) and not {*texts} & {*NOTHING}]
    schema = _schema(table, columns, places, parsed.missing)
    return schema, codes.T, (*counts, *count_words(table, nothing, of_text, declared=False))


def learn_each(table: Table, choices: ParsedChoices) -> Iterator[tuple[str, Learnt | UndecidedColumnError]]:
    """Yield the columns of a training file that are not dropped: type and codes, or a question to the user."""
    check_words(table, choices.missing, choices.keep)
    table = without_words(table, choices.missing)
    for j, label in enumerate(table.labels):
        declared = choices.declared.get(label)
        if declared == "drop":
            continue
        try:
            yield label, _learn(table, j, declared, choices)
        except OtherTypeError as error:
            yield label, UndecidedColumnError(f"{error}: leave it out", ())
        except TickedColumnError as error:
            lost = [word for word in NOTHING if table.is_text_file and table.count(j, word)]
            hint = f"; --keep {lost[0]} makes that an answer" if lost else ""
            yield label, UndecidedColumnError(f"{error}{hint}", error.remedies)
        except UndecidedColumnError as error:
            yield label, error
        except ValueError as error:
            raise ValueError(f"{table.where}: {error}") from None


def declared_names(table: Table, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options about columns of an estimator in plain words: ``n_bins``, and names for each of `DECLARING`.

    An option may have names, indices or a mask, or None for no columns.
    """
    names: dict[str, Any] = {"n_bins": int(options["n_bins"])}
    for option in DECLARING:
        which = [] if options[option] is None else options[option]
        chosen = chosen_columns(option, which, table.labels, named=table.columns is not None)
        names[option] = [label for label, one in zip(table.labels, chosen, strict=True) if one]
    return names


def learn_columns(table: Table, options: Mapping[str, Any], *, keep_empty: bool) -> tuple[Column | None, ...]:
    """Return the types of the columns of a training array or frame; None for empty ones with ``keep_empty``.

    The options are those of `declared_names`; columns that they do not name go by their types and values.
    """
    if both := set.intersection(*(set(options[option]) for option in DECLARING)):
        raise ValueError(f'column "{min(both)}": expected one kind, found it in {" and in ".join(DECLARING)}')
    declared: dict[str, Declared] = {label: kind for option, kind in DECLARING.items() for label in options[option]}
    columns: list[Column | None] = []
    questions: dict[str | int, UndecidedColumnError] = {}
    for j, label in enumerate(table.labels):
        kind = declared.get(label, "categorical" if is_categorical(table, j) else "auto")
        n_values = len(table) - int(table.is_missing(j).sum())
        try:
            column = None if keep_empty and not n_values else _learn_typed(table, j, kind, options["n_bins"])
            columns.append(None if column is None else replace(column, n_values=n_values))
        except UndecidedColumnError as error:
            questions[label if table.columns is not None else j] = error
    if questions:
        keys = "".join(f"{key!r}, " for key, error in questions.items() if error.remedies)
        hint = f" (categorical_features=[{keys}...] says so)" if keys else ""
        raise ValueError(first_columns(questions.values(), 3) + hint)
    warn_of_doubts(table, dict(enumerate(columns)))
    return tuple(columns)


def warn_of_doubts(table: Table, columns: Mapping[int, Column | None]) -> None:
    """Warn of cells that may be meant otherwise, in the columns at these places: once of each sort."""
    learnt = {f'column "{table.labels[j]}"': (j, column) for j, column in columns.items() if column is not None}
    codes = {place: counts_of_codes(table, j, column) for place, (j, column) in learnt.items()}
    words = [f"{table.labels[learnt[place][0]]}={code}" for place, some in codes.items() for code in some]
    option = shlex.quote(",".join([*words[:MOST_CODED], "..."][: len(words)]))
    remedy = f"--missing {option} says so" if table.where else "put NaN there"
    _warn_of(table, _by_code(codes), "these may mean missing, but are learnt as numbers", f"if they do, {remedy}")
    broken = {f"in {place}": lone_fractions(table, j, column) for place, (j, column) in learnt.items()}
    message = "hardly another number of these columns has a fraction, but now filled-in ones have"
    _warn_of(table, broken, message, "if they are slips, correct them")
    counts = {f"in {place}": row_counts(table, j, column) for place, (j, column) in learnt.items()}
    _warn_of(table, counts, "these only count the rows, but are learnt as numbers", "if they mean nothing, drop them")
    alike = {f"in {place}": alike_levels(column) for place, (_, column) in learnt.items()}
    message = "these differ in spaces or capital letters only, but are learnt as different answers"
    _warn_of(table, alike, message, "if they are the same, write them alike")
    misspelt = {f"in {place}": misspelt_levels(table, j, column) for place, (j, column) in learnt.items()}
    _warn_of(table, misspelt, "these stand in few rows, spelt nearly as a frequent answer", "if they mean it, write it")
    joined = {f"in {place}": joined_answers(column) for place, (_, column) in learnt.items()}
    message = "these look like several answers at once, but each is learnt as one"
    _warn_of(table, joined, message, "str.get_dummies of pandas, with their separator, makes a column of each")
    message = "these are stated only beside some answers of other columns"
    remedy = "if the rest skip these questions, write there what that means, such as 0 or a word"
    _warn_of(table, skipped_columns(table, columns), message, remedy)
    if table.is_text_file:
        quoted = {"in the header": quoted_words(table.labels[j] for j in columns)}
        quoted |= {f"in {place}": quoted_words(texts_of(column)) for place, (_, column) in learnt.items()}
        message = "these are learnt with the quotes around them, as a quote behind a space opens no cell"
        _warn_of(table, quoted, message, "if they shall have none, take out such spaces")


def _by_code(counts: Mapping[str, Mapping[str, int]]) -> dict[str, list[str]]:
    """Return codes of columns with their numbers of cells; of many columns, each code with its number of columns."""
    some = {place: codes for place, codes in counts.items() if codes}
    if len(some) <= MOST_CODED:
        return {f"of {place}": [f"{code} in {n} cells" for code, n in codes.items()] for place, codes in some.items()}
    lines = defaultdict[str, list[str]](list)
    for code in dict.fromkeys(code for codes in some.values() for code in codes):
        places = [place.removeprefix("column ") for place, codes in some.items() if code in codes]
        lines[f"in {len(places)} columns such as {places[0]}"].append(code)
    return lines


def _warn_of(table: Table, cells: Mapping[str, list[str]], message: str, remedy: str) -> None:
    lines = [f"{', '.join(some)} {place}" for place, some in cells.items() if some]
    if lines:
        warn(f"{message}: {first_columns(lines)}; {remedy}", where=table.where)


def _learn(table: Table, j: int, declared: Declaration | None, choices: ParsedChoices) -> Learnt:
    label = table.labels[j]
    if order := choices.orders.get(label, () if declared else _order_in_file(table.cells[j])):
        # two answers have no neighbours
        ordered: Column = Binary(levels=(order[0], order[1])) if len(order) == 2 else Ordinal(levels=order)
        return ordered, encode(ordered, table.column(j, reading="text", levels=order), name=label)
    readings: dict[Declaration | None, Reading] = {"categorical": "text", "numeric": "numbers"}
    values = table.column(j, reading=readings.get(declared, "guess"))
    is_text = values.dtype == object and all(value is None or isinstance(value, str) for value in values)
    may_be_text = is_text or is_missing(values).all()  # all cells may be words such as None
    if choices.keep and table.is_text_file and declared != "numeric" and may_be_text:
        values = table.column(j, reading="text", levels=choices.keep)
    if declared == "categorical" and table.is_text_file:
        values = _whole_numbers(values)
    if is_missing(values).all():
        return Binary(), np.full(len(table), np.nan)
    kind: Declared = declared if declared in ("categorical", "numeric") else "auto"
    try:
        if table.decimal_commas and declared != "categorical":
            others = [table.cells[k] for k in range(len(table.cells))]
            check_thousands(table.cells[j], label, others, is_whole=False, is_stated=table.has_stated_decimal)
        column = infer(values, name=label, kind=kind, n_bins=choices.n_bins)
    except MixedColumnError as error:
        if declared is not None:
            raise
        texts = sorted(set(table.column(j, reading="text").tolist()) - {None})
        can_be_words, hint = len(texts) <= MOST_LEVELS, hint_of_units(texts)
        remedy = "that the column is categorical" if can_be_words else "leave the column out"
        also = "" if hint is None else f" ({hint})"
        question = f"{error}{also}: correct it, say that it means missing, or {remedy}"
        raise UndecidedColumnError(question, ("categorical",) if can_be_words else ()) from None
    except UndecidedColumnError as error:
        if choices.whole_numbers not in error.remedies or "numeric" not in error.remedies:
            raise
        return _learn(table, j, choices.whole_numbers, choices)
    return column, encode(column, values, name=label)


def _order_in_file(cells: Any) -> tuple[str, ...]:  # noqa: ANN401 - a column of Arrow
    """Return the ordered categories of a column of text."""
    listed = categories_listed(cells) if getattr(cells.type, "ordered", False) else []
    return tuple(listed) if len(listed) > 1 and all(isinstance(category, str) for category in listed) else ()


def _learn_typed(table: Table, j: int, kind: Declared, n_bins: int) -> Column:
    """Return the type of one column of an array or frame, where integers are numbers."""
    values, label = table.column(j), table.labels[j]
    listed = categories_in(table, j) if kind != "numeric" else None
    if listed is not None:
        read_cells(values, name=label)  # a wrong cell is told by its row, not by its place in the list
        with naming(f'categories of the type of column "{label}"'):
            read_cells(listed, name=label)
    column = infer(values if listed is None else listed, name=label, kind=kind, n_bins=n_bins, integers="numeric")
    if listed is not None and isinstance(column, Categorical) and is_ordered(table, j):
        return Ordinal(levels=tuple(sorted(column.levels, key=listed.tolist().index)))
    if kind == "auto" and isinstance(column, Categorical) and len(column.levels) == 1:
        (level,) = column.levels
        if not isinstance(level, str):  # others like it may come later
            return infer(values, name=label, kind="numeric", n_bins=n_bins)
        if table.is_missing(j).any():
            warn(f'column "{label}" holds {shown(level)} or nothing: write a word where nothing is an answer')
    return column


def _schema(table: Table, columns: list[Column], places: list[int], words: Sequence[Word]) -> Schema:
    names = table.labels if table.columns is None else table.columns
    kept = set(places)
    is_parquet = table.where.lower().endswith(".parquet")
    schema = Schema(
        columns=None if table.columns is None else tuple(names[j] for j in places),
        kinds=tuple(columns),
        dropped=tuple(name for j, name in enumerate(names) if j not in kept) or None,
        types=tuple(str(to_arrow(table.cells[j][:0]).type) for j in places) if is_parquet else None,
        missing=tuple(word.text for word in words if word.column is None) or None,
        nameless=dict(zip(names, table.labels, strict=True)).get(""),
    )
    own = zip(schema.labels(len(places)), (table.labels[j] for j in places), strict=True)
    missing_in = [(label, word.text) for label, here in own for word in words if word.column == here]
    return replace(schema, missing_in=tuple(missing_in) or None)


def _whole_numbers(values: NDArray[Any]) -> NDArray[Any]:
    """Return integers in place of words that all are, each written in one way: their order is that of numbers.

    They stay words if floats would change one.
    """
    digits = {word: word.removesuffix(".0") for word in set(values.tolist()) - {None}}  # pandas writes 2.0 for 2
    try:
        numbers = {word: int(text) for word, text in digits.items()}
    except ValueError:
        return values
    exact = {str(number) for number in numbers.values() if abs(number) <= LARGEST_EXACT}
    if exact != set(digits.values()) or len(exact) < len(numbers):
        return values
    return np.array([numbers.get(word) for word in values.tolist()], dtype=object)
