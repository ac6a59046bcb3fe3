"""Peer in another environment, run through its input and output.

    python benchmarks/peers/worker.py peers.boosted:Forest '{"rounds": 5}'

`peers.remote` starts it. It makes the peer and answers with a line of JSON. Then every line of its input names a method
and the npz file with the arguments. It answers each line: {} when done, {"error": ...} when it failed.
"""

import importlib
import json
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import numpy as np


def attempt(answers: TextIO, work: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever the work returns
    """Do some work and write a line of JSON."""
    reply: dict[str, str] = {}
    result = None
    try:
        result = work()
    except Exception as error:  # whatever a library does, the benchmark shall know it and go on
        reply = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
    print(json.dumps(reply), file=answers, flush=True)
    return result


def make(path: str, options: dict[str, Any]) -> Any:  # noqa: ANN401 - a peer of any kind
    """Return the peer of a path module:name."""
    module, name = path.split(":")
    return getattr(importlib.import_module(module), name)(**options)


def carry_out(peer: Any, request: dict[str, str]) -> None:  # noqa: ANN401
    """Fit, or impute and write the result."""
    with np.load(request["inputs"]) as archive:
        inputs = dict(archive)
    if request["method"] == "fit":
        peer.fit(inputs["train"], inputs["valid"], tuple(inputs["levels"].tolist()))
    else:
        np.save(request["output"], getattr(peer, request["method"])(inputs["x"]))


def main() -> None:
    """Answer until the input ends."""
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries that print must not print into the answers
    sys.path[0] = str(Path(__file__).parents[1])
    peer = attempt(answers, lambda: make(sys.argv[1], json.loads(sys.argv[2])))
    for line in sys.stdin:
        attempt(answers, lambda line=line: carry_out(peer, json.loads(line)))


if __name__ == "__main__":
    main()
