"""Records of runs, as JSON that people can read."""

import json
import math
import os
import stat
from pathlib import Path
from typing import Any

from nadek.utils.atomic import replacing

LARGEST_RECORD = 2**28
"""Bytes of a record, at most."""


def read_whole(path: str | os.PathLike[str], most: int | None = None) -> bytes:
    """Read a regular file of at most so many bytes."""
    status = Path(path).stat()
    if not stat.S_ISREG(status.st_mode):
        raise ValueError(f"{path}: expected a file, found a folder, a pipe or a device")
    if most is not None and status.st_size > most:
        raise ValueError(f"{path}: expected at most {most:,} bytes, found {status.st_size:,}")
    return Path(path).read_bytes()


def read_record(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a JSON object."""
    content = read_whole(path, LARGEST_RECORD)
    try:
        record = json.loads(content.decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not valid JSON: {error}") from None
    if not isinstance(record, dict):
        raise ValueError(f"{path}: expected a JSON object, found {type(record).__name__}")
    return record


def write_record(path: Path, record: dict[str, Any], *, lines: str) -> None:
    """Write a record, whole or not at all; NaN becomes null.

    The entry ``lines``, a list or a dictionary, is written last, one line an item.
    """
    content = finite(record)
    entries = content.pop(lines)
    if isinstance(entries, dict):
        opening, closing = "{}"
        written = [f"    {json.dumps(key)}: {json.dumps(entry)}" for key, entry in entries.items()]
    else:
        opening, closing = "[]"
        written = [f"    {json.dumps(entry)}" for entry in entries]
    text = json.dumps(content, indent=2, allow_nan=False).removesuffix("\n}")
    text += f',\n  "{lines}": {opening}\n' + ",\n".join(written) + f"\n  {closing}\n}}\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as stream:
        stream.write(text.encode())


def finite(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Replace numbers that JSON lacks by None."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
