"""Peer in another Python, used like one in this process."""

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
    """Error of a peer, or of the other Python."""


class Remote:
    """Process for one peer.

    It has imported its libraries when the constructor returns.

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
        self._read_reply()

    def fit(self, train: Array, valid: Array, levels: tuple[int, ...]) -> None:
        """Fit the peer."""
        self._call("fit", train=train, valid=valid, levels=np.array(levels))

    def probabilities(self, x: Array) -> Array:
        """Return the probabilities of the peer."""
        return self._call("probabilities", x=x)

    def close(self) -> None:
        """End the process."""
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
        self._folder.cleanup()

    def _call(self, method: str, **arrays: NDArray[Any]) -> Any:  # noqa: ANN401 - an array, or None
        inputs, output = (Path(self._folder.name) / name for name in ("inputs.npz", "output.npy"))
        np.savez(inputs, **arrays)
        print(
            json.dumps({"method": method, "inputs": str(inputs), "output": str(output)}),
            file=self._process.stdin,
            flush=True,
        )
        self._read_reply()
        return None if method == "fit" else np.load(output)

    def _read_reply(self) -> None:
        line = self._process.stdout.readline()
        if not line:
            raise PeerError(f"the process ended with status {self._process.wait()}")
        if error := json.loads(line).get("error"):
            raise PeerError(error)
