"""Rows of 0 and 1 as text, separated by white space (`.amat`) or commas."""

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
        path: the file; one named ".gz" is decompressed.

    Returns:
        uint8 0/1 [N, D].

    Raises:
        ValueError: for other rows, no rows, or a broken gzip file.
    """
    file = Path(path)
    return parse_bits(read_plain(file), name=str(file))


def read_plain(path: Path) -> bytes:
    """Read a file; decompress one with suffix ".gz".

    Raises:
        ValueError: for a broken gzip file.
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

    >>> parse_bits(b"0 1 1\n1 0 0\n", name="example")
    array([[0, 1, 1],
           [1, 0, 0]], dtype=uint8)
    """
    text = text.replace(b"\r\n", b"\n")
    bits = _parse_fast(text, comma=comma)
    return _parse_slow(text, name=name, comma=comma) if bits is None else bits


def _parse_fast(text: bytes, *, comma: bool) -> NDArray[np.uint8] | None:
    """Parse text of a simple form by one reshape (100 MB a second), else return None."""
    compact = text.translate(None, b" \t").rstrip(b"\n") + b"\n"
    width = compact.index(b"\n") + 1
    if width == 1 or len(compact) % width or (not comma and _has_adjacent(text)):
        return None
    grid = np.frombuffer(compact, np.uint8).reshape(-1, width)
    aligned = bool((grid[:, -1] == _NEWLINE).all())
    separated = not comma or bool((grid[:, 1:-1:2] == _COMMA).all())
    bits = grid[:, 0 : -1 : 2 if comma else 1] - np.uint8(_ZERO)  # wraps below "0", so one comparison is enough
    return bits if aligned and separated and bits.max() <= 1 else None


def _has_adjacent(text: bytes) -> bool:
    """Return True if two values touch: "10" is not "1 0"."""
    solid = np.frombuffer(text, np.uint8) > ord(" ")
    return bool((solid[1:] & solid[:-1]).any())


def _parse_slow(text: bytes, *, name: str, comma: bool) -> NDArray[np.uint8]:
    """Parse any valid text line by line; the errors name row and column."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise ValueError(f"{name}: expected rows of 0 and 1, found none")
    rows: list[list[bool]] = []
    for number, line in enumerate(lines, start=1):
        tokens = [token.strip() for token in line.split(b",")] if comma else line.split()
        wrong = next((i for i, token in enumerate(tokens) if token not in (b"0", b"1")), None)
        if wrong is not None:
            token = tokens[wrong][:20].decode("utf-8", "replace")
            raise ValueError(f"{name}: row {number}, column {wrong + 1}: expected 0 or 1, found {token!r}")
        if rows and len(tokens) != len(rows[0]):
            raise ValueError(f"{name}: row {number}: expected {len(rows[0])} values, found {len(tokens)}")
        rows.append([token == b"1" for token in tokens])
    return np.array(rows, dtype=np.uint8)
