"""Names of columns, as options list them."""

import csv
from collections.abc import Sequence


def listed_names(entries: Sequence[str], known: Sequence[str]) -> list[str]:
    """Entries that are no names themselves taken apart at their commas (a name with commas may stand in quotes)."""
    parts = [[entry] if entry in known else next(csv.reader([entry], skipinitialspace=True), []) for entry in entries]
    return [name.strip() for part in parts for name in part or [""]]  # an entry without a name is not passed over
