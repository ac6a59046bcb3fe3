"""Rows of 0 and 1 as text: `.amat` (separated by white space) and the comma separated form of the DEBD sets."""

import gzip
import os
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_ZERO, _NEWLINE, _COMMA = b"0\n,"


def read_amat(path: str | os.PathLike[str]) -> NDArray[np.uint8]:
    """Read an `.amat` or `.amat.gz` file.

    Args:
        path: The file; it is decompressed when its name ends in ".gz".

    Returns:
        uint8 0/1 [N, D].

    Raises:
        ValueError: Not rows of 0 and 1 of one length, no rows, or a broken gzip file.
    """
    file = Path(path)
    return parse_bits(read_plain(file), name=str(file))


def read_plain(path: Path) -> bytes:
    """All bytes of a file, decompressed when its name ends in ".gz".

    Raises:
        ValueError: The gzip file is broken or is none.
    """
    data = path.read_bytes()
    if path.suffix.lower() != ".gz":
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path}: expected a whole gzip file ({error})") from error


def parse_bits(text: bytes, *, name: str, comma: bool = False) -> NDArray[np.uint8]:
    r"""Parse rows of 0 and 1.

    Args:
        text: One row a line, at 100 MB a second or more when it has no blank lines.
        name: What error messages call the text.
        comma: True when commas separate the values, otherwise white space does.

    Returns:
        uint8 0/1 [N, D].

    Raises:
        ValueError: Names the first row (1 = the first line that is not blank) and column that is wrong.

    >>> parse_bits(b"0 1 1\n1 0 0\n", name="example")
    array([[0, 1, 1],
           [1, 0, 0]], dtype=uint8)
    """
    text = text.replace(b"\r\n", b"\n")
    bits = _parse_fast(text, comma=comma)
    return _parse_slow(text, name=name, comma=comma) if bits is None else bits


def _parse_fast(text: bytes, *, comma: bool) -> NDArray[np.uint8] | None:
    """The rows as one reshape, or None when the text is not of that simple form (whether right or wrong)."""
    compact = text.translate(None, b" \t").rstrip(b"\n") + b"\n"
    width = compact.index(b"\n") + 1
    if width == 1 or len(compact) % width or (not comma and _has_neighbours(text)):
        return None
    grid = np.frombuffer(compact, np.uint8).reshape(-1, width)
    ends_well = bool((grid[:, -1] == _NEWLINE).all())
    separated = not comma or bool((grid[:, 1:-1:2] == _COMMA).all())
    bits = grid[:, 0 : -1 : 2 if comma else 1] - np.uint8(_ZERO)  # wraps below "0", so one comparison is enough
    return bits if ends_well and separated and bits.max() <= 1 else None


def _has_neighbours(text: bytes) -> bool:
    """Whether two characters that are not white space touch: "10" would pass as "1 0" once the spaces are out."""
    solid = np.frombuffer(text, np.uint8) > ord(" ")
    return bool((solid[1:] & solid[:-1]).any())


def _parse_slow(text: bytes, *, name: str, comma: bool) -> NDArray[np.uint8]:
    """The same, line by line: takes any form that is right, and says what is wrong."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise ValueError(f"{name}: expected rows of 0 and 1, found none")
    rows: list[list[bool]] = []
    for number, line in enumerate(lines, start=1):
        tokens = [token.strip() for token in line.split(b",")] if comma else line.split()
        wrong = next((i for i, token in enumerate(tokens) if token not in (b"0", b"1")), None)
        if wrong is not None:
            found = tokens[wrong][:20].decode("utf-8", "replace")
            raise ValueError(f"{name}: row {number}, column {wrong + 1}: expected 0 or 1, found {found!r}")
        if rows and len(tokens) != len(rows[0]):
            raise ValueError(f"{name}: row {number}: expected {len(rows[0])} values, found {len(tokens)}")
        rows.append([token == b"1" for token in tokens])
    return np.array(rows, dtype=np.uint8)
