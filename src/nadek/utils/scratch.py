"""Arrays that may outgrow the memory."""

import math
import os
import tempfile
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

IN_MEMORY = 2**26
"""Bytes of an array that is kept in memory, at most."""


def scratch(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an array of zeros, a large one in a temporary file.

    The file has no name, and vanishes with the array or the process. TMPDIR names its folder.
    """
    n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    if n_bytes <= IN_MEMORY:
        return np.zeros(shape, dtype)
    with tempfile.TemporaryFile() as file:
        if hasattr(os, "posix_fallocate"):  # on a full disk this is an error; later it would kill the process
            try:
                os.posix_fallocate(file.fileno(), 0, n_bytes)
            except OSError as error:
                error.filename = tempfile.gettempdir()
                raise
        return np.memmap(file, dtype, "w+", shape=shape)
