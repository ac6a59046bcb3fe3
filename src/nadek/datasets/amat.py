"""Rows of 0 and 1 as text, separated by white space (`.amat`)."""

import gzip
import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nadek.utils.atomic import check_regular, check_unpacked, damage_in, most_unpacked, read_whole


def read_plain(path: Path) -> bytes:
    """Read a file; decompress one with suffix ".gz".

    Raises:
        ValueError: for a broken gzip file.
    """
    if path.suffix.lower() != ".gz":
        return read_whole(path)
    with open_plain(path) as stream:
        return stream.read(most_unpacked(path) + 1)


class Unpacked(gzip.GzipFile):
    """A gzip file of at most `most_unpacked` bytes."""

    def read(self, size: int | None = -1) -> bytes:
        """Read some bytes."""
        with damage_in(self.name, "a whole gzip file"):
            data = super().read(size)
        check_unpacked(self.name, self.tell())
        return data


def open_plain(path: Path) -> io.BufferedIOBase:
    """Open a file as `read_plain` reads it."""
    check_regular(path)
    return Unpacked(path) if path.suffix.lower() == ".gz" else path.open("rb")


def parse_bits(text: bytes, *, name: str) -> NDArray[np.uint8]:
    r"""Parse rows of 0 and 1; the errors name row and column.

    >>> parse_bits(b"0 1 1\n1 0 0\n", name="example")
    array([[0, 1, 1],
           [1, 0, 0]], dtype=uint8)
    """
    rows: list[bytes] = []
    for line in filter(None, map(bytes.strip, text.splitlines())):
        row = f"{name}: row {len(rows) + 1}"
        tokens = line.split()
        if wrong := set(tokens) - {b"0", b"1"}:
            column, token = next((j, token) for j, token in enumerate(tokens, start=1) if token in wrong)
            value = token[:20].decode("utf-8", "replace")
            raise ValueError(f"{row}, column {column}: expected 0 or 1, found {value!r}")
        rows.append(b"".join(tokens))
        if len(rows[-1]) != len(rows[0]):
            raise ValueError(f"{row}: expected {len(rows[0])} values, found {len(rows[-1])}")
    if not rows:
        raise ValueError(f"{name}: expected rows of 0 and 1, found none")
    return np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1) - np.uint8(ord("0"))
