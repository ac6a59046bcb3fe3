"""Hints at what texts may be besides the names of categories."""

import re
from collections import Counter
from collections.abc import Collection

from nadek.tabular.columns.parsing import listed

FORMS = (
    (r"[+-]?[1-9]\d{0,2},\d{3}", ",", "numbers if commas are decimal (--decimal , says so) or once they are left out"),
    (r"[+-]?\d+(,\d+)?", ",", "numbers if commas are decimal (--decimal , or decimal=',' of pandas.read_csv says so)"),
    (
        r"[+-]?\d*(\.\d+)?(e[+-]?\d+)?",
        r"\.",
        "which look like numbers (pandas.to_numeric makes some, and --numeric in files)",
    ),
    (
        r"[+-]?(\d{1,3}([.,' \u202f]\d{3})+|\d+)([.,]\d+)?( ?[€$£%])?",
        "[^0-9]",
        "numbers once separators of thousands and units are left out",
    ),
    (
        r"(\d{4}([-./])\d\d?\2\d\d?|\d\d?([-./])\d\d?\3\d{2,4})(\D.*)?",
        "",
        "which look like dates (in files 2023-05-31 is one; pandas.to_datetime makes some)",
    ),
)
"""Of texts: the patterns of all and of a part of one of them, and a hint."""

ODD_NUMBER = re.compile(r"[+-]?(0\d.*|[\d.]{16,}|[\d.]+e[+-]?\d{3,})")
"""Why a column of numbers is text: zeros in front, more digits or larger exponents than floats have."""

NUMBER = re.compile(r"[+-]?(\d+|\d{1,3}([.,' ]\d{3})+)?([.,]\d+)?(?<=\d)")

TIME_OF_DAY = re.compile(r"\d?\d:\d\d(:\d\d)?")

UNIT = re.compile(r"^\(?([+-]?([<>≤≥~±$€£]+|[A-Z]{3}) ?)?| ?[^\d\s()]{0,5}\)?$")
"""Beside a number: a bracket, a sign or a currency in front, or a unit of a few letters behind."""

SEPARATORS = (";", "|", ",")
"""Between several answers in one text."""


def hint_of_form(texts: Collection[str]) -> str | None:
    """Return a hint where all texts have one form of `FORMS`."""
    for pattern, part, hint in FORMS:
        is_form = all(re.fullmatch(pattern, text, re.ASCII) for text in texts)
        if is_form and any(re.search(part, text) for text in texts):
            return hint
    return None


def hint_of_parts(texts: Collection[str]) -> str | None:
    """Return a hint where texts hold numbers, times or several answers."""
    if hint := hint_of_units(texts):
        return hint
    others = [text for text in texts if not NUMBER.fullmatch(text)]
    if 0 < len(others) <= len(texts) / 5:
        return f"numbers but for {listed(others, 3)} (correct or empty such cells)"
    if all(map(TIME_OF_DAY.fullmatch, texts)):
        return "which look like times of day (write hours as numbers, as 13.5)"
    if separator := separator_of_answers(texts):
        return f"which look like several answers at once (str.get_dummies({separator!r}) of pandas parts them)"
    return None


def hint_of_units(texts: Collection[str]) -> str | None:
    """Return a hint where all texts that are not numbers are so beside signs or units."""
    others = [text for text in texts if not NUMBER.fullmatch(text)]
    if others and all(NUMBER.fullmatch(UNIT.sub("", text)) for text in others):
        below = " (in brackets may mean below 0)" if any(text.startswith("(") for text in others) else ""
        return f"numbers once signs and units are left out{below}"
    return None


def separator_of_answers(texts: Collection[str]) -> str | None:
    """Return what separates several answers in one text, where most of these stand in other texts, too."""
    for separator in SEPARATORS:
        if 3 * sum(separator in text for text in texts) < max(1, len(texts)):
            continue
        parts = [{part.strip() for part in text.split(separator)} - {""} for text in texts]
        times = Counter(part for some in parts for part in some)
        n_joined, n_single = sum(len(some) > 1 for some in parts), list(times.values()).count(1)
        is_shared = 3 * n_joined >= len(parts) > len(times) >= 5 * n_single
        if is_shared and not any(map(NUMBER.fullmatch, texts)):
            return separator
    return None
