"""Carry an unfinished training from machine to machine, in a quarter of its size.

    python paper/scripts/carry.py pack runs/table1-nade-5-2hl-paper paper/unfinished/table1-nade-5-2hl-paper
    python paper/scripts/carry.py unpack paper/unfinished/table1-nade-5-2hl-paper runs/table1-nade-5-2hl-paper

Weights are rounded to half precision. Left out are the averages of AdaDelta, which cover some twenty minibatches and
begin at 0 again, and the best weights so far: later epochs are compared.
"""

import argparse

import torch
from torch import Tensor

from nadek.checkpoints import load_state, save_state
from nadek.training import TrainingState


def main() -> None:
    """Pack or unpack the training in a folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("pack", "unpack"))
    parser.add_argument("source", help="folder of an unfinished training")
    parser.add_argument("target", help="folder to write to")
    options = parser.parse_args()
    unfinished = load_state(options.source)
    if unfinished is None:
        parser.error(f"{options.source}: expected an unfinished training, found none")
    state, identity = unfinished
    if options.action == "pack":
        tensors = {name: _packed(name, value) for name, value in state.tensors.items() if not name.startswith("best")}
        state = TrainingState(tensors, state.info | {"best_cost": None})
    else:
        tensors = {name: value.float() if value.is_floating_point() else value for name, value in state.tensors.items()}
        state = TrainingState(tensors, state.info)
    save_state(options.target, state, **identity)


def _packed(name: str, value: Tensor) -> Tensor:
    if not name.startswith("optimizer"):
        return value.half()
    return value if name.endswith("step") else torch.zeros_like(value, dtype=torch.float8_e4m3fn)


if __name__ == "__main__":
    main()
