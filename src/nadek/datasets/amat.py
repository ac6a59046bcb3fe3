"""Rows of 0 and 1 as text, separated by white space (`.amat`) or commas."""

import gzip
import io
import os
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nadek.utils.atomic import check_unpacked, most_unpacked, read_whole


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
    data = read_whole(path)
    if path.suffix.lower() != ".gz":
        return data
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            text = stream.read(most_unpacked(path) + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path}: expected a whole gzip file ({error})") from error
    check_unpacked(path, len(text))
    return text


def parse_bits(text: bytes, *, name: str, comma: bool = False) -> NDArray[np.uint8]:
    r"""Parse rows of 0 and 1; the errors name row and column.

    >>> parse_bits(b"0 1 1\n1 0 0\n", name="example")
    array([[0, 1, 1],
           [1, 0, 0]], dtype=uint8)
    """
    text = text.replace(b"\r\n", b"\n").replace(b" \n", b"\n")
    grid = _parse_grid(text, b"," if comma else b" ")
    return _parse_lines(text, name, comma=comma) if grid is None else grid


def _parse_grid(text: bytes, separator: bytes) -> NDArray[np.uint8] | None:
    """Return rows of the plain form, one separator between two values, by one reshape; None for another form."""
    text = text.rstrip(b"\n") + b"\n"
    width = text.index(b"\n") + 1
    if len(text) % width or width % 2:
        return None
    grid = np.frombuffer(text, np.uint8).reshape(-1, width)
    bits, between = grid[:, ::2] - np.uint8(ord("0")), grid[:, 1::2]  # below "0" it wraps
    plain = (between[:, :-1] == ord(separator)).all() and (between[:, -1] == ord("\n")).all() and bits.max() <= 1
    return bits if plain else None


def _parse_lines(text: bytes, name: str, *, comma: bool) -> NDArray[np.uint8]:
    """Return rows of any form, line by line; the errors name row and column."""
    rows: list[bytes] = []
    for line in filter(None, map(bytes.strip, text.splitlines())):
        row = f"{name}: row {len(rows) + 1}"
        rows.append(_join_tokens(line, row, comma=comma))
        if len(rows[-1]) != len(rows[0]):
            raise ValueError(f"{row}: expected {len(rows[0])} values, found {len(rows[-1])}")
    if not rows:
        raise ValueError(f"{name}: expected rows of 0 and 1, found none")
    return np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1) - np.uint8(ord("0"))


def _join_tokens(line: bytes, row: str, *, comma: bool) -> bytes:
    """Join the tokens of a line; an error names the first that is neither 0 nor 1."""
    tokens = [token.strip() for token in line.split(b",")] if comma else line.split()
    for column, token in enumerate(tokens, start=1):
        if token not in (b"0", b"1"):
            value = token[:20].decode("utf-8", "replace")
            raise ValueError(f"{row}, column {column}: expected 0 or 1, found {value!r}")
    return b"".join(tokens)
