"""A peer that lives in another Python, with the face of one that lives here."""

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
WORKER = Path(__file__).parent / "worker.py"


class PeerError(RuntimeError):
    """What the other Python could not do."""


class Remote:
    """One process for one peer; it has imported its libraries when the constructor returns.

    Args:
        python: the other environment's interpreter.
        path: module:Class of the peer.
        options: of its constructor.

    Raises:
        PeerError: the peer could not be made there, or a later call failed.
    """

    def __init__(self, python: str, path: str, options: dict[str, Any]) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._process = subprocess.Popen(
            [python, str(WORKER), path, json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._heard()

    def fit(self, train: Array, valid: Array, levels: tuple[int, ...]) -> None:
        """As the peer does."""
        self._tell("fit", train=train, valid=valid, levels=np.array(levels))

    def probabilities(self, x: Array) -> Array:
        """As the peer does."""
        return self._tell("probabilities", x=x)

    def close(self) -> None:
        """End the process."""
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
        self._folder.cleanup()

    def _tell(self, what: str, **arrays: NDArray[Any]) -> Any:  # noqa: ANN401 - an array, or None
        given, into = (Path(self._folder.name) / name for name in ("given.npz", "into.npy"))
        np.savez(given, **arrays)
        print(json.dumps({"do": what, "given": str(given), "into": str(into)}), file=self._process.stdin, flush=True)
        self._heard()
        return None if what == "fit" else np.load(into)

    def _heard(self) -> None:
        line = self._process.stdout.readline()
        if not line:
            raise PeerError(f"the process ended with status {self._process.wait()}")
        if error := json.loads(line).get("error"):
            raise PeerError(error)
