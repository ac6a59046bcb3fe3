"""A peer in an environment of its own, worked through its input and output by `peers.remote`.

    python benchmarks/peers/worker.py peers.boosted:Forest '{"rounds": 5}'

It makes the peer and answers with a line of JSON; then every line it is given names what to do and the npz file with
the arguments, and it answers each: {} when done, {"error": ...} when it could not.
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
    """Do it, and say how it went."""
    told: dict[str, str] = {}
    done = None
    try:
        done = work()
    except Exception as error:  # whatever a library does, the benchmark shall know it and go on
        told = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
    print(json.dumps(told), file=answers, flush=True)
    return done


def make(path: str, options: str) -> Any:  # noqa: ANN401 - a peer of any kind
    """The peer called module:Class."""
    module, name = path.split(":")
    return getattr(importlib.import_module(module), name)(**json.loads(options))


def carry_out(peer: Any, told: dict[str, str]) -> None:  # noqa: ANN401
    """Fit, or fill in and leave the answer in a file."""
    with np.load(told["given"]) as archive:
        given = dict(archive)
    if told["do"] == "fit":
        peer.fit(given["train"], given["valid"], tuple(given["levels"].tolist()))
    else:
        np.save(told["into"], getattr(peer, told["do"])(given["x"]))


def main() -> None:
    """Answer until the input ends."""
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries that print must not print into the answers
    sys.path[0] = str(Path(__file__).parents[1])
    peer = attempt(answers, lambda: make(sys.argv[1], sys.argv[2]))
    for line in sys.stdin:
        attempt(answers, lambda line=line: carry_out(peer, json.loads(line)))


if __name__ == "__main__":
    main()
