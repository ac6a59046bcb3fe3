"""Processes that ``torchrun`` starts: this alone reads its environment."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import distributed

from nadek.kernels.cpu import pick_device
from nadek.training.world import ALONE, World


@contextmanager
def joined(device: str) -> Iterator[tuple[World, torch.device]]:
    """Join the processes that torchrun started; yield them and the device of this one."""
    chosen, size = pick_device(device), 1
    if "TORCHELASTIC_RUN_ID" in os.environ:  # other schedulers set WORLD_SIZE, too
        size = int(os.environ["WORLD_SIZE"])
    if size == 1:
        yield ALONE, chosen
        return
    if chosen.type == "cuda":
        chosen = _own_gpu(int(os.environ.get("LOCAL_RANK", "0")))
    store, rank, _ = next(distributed.rendezvous("env://"))  # type: ignore[attr-defined]
    # after a restart the store still has the addresses of the processes before
    prefix = f"restart-{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}"
    fresh = distributed.PrefixStore(prefix, store)  # type: ignore[attr-defined]
    backend = "gloo" if chosen.type == "cpu" else "cpu:gloo,cuda:nccl"
    distributed.init_process_group(backend, store=fresh, rank=rank, world_size=size)
    try:
        yield World(rank, size), chosen
        distributed.barrier()  # no process ends while another still listens to it
    except RuntimeError as error:
        if "gloo" in str(error) or isinstance(error, distributed.DistBackendError):
            raise ConnectionError(f"process {rank}: another process of this training ended, see its message") from error
        raise
    distributed.destroy_process_group()


def _own_gpu(number: int) -> torch.device:
    if number >= (count := torch.cuda.device_count()):
        message = f"expected a GPU for each process of this machine, found {count}"
        raise ValueError(f"device: {message}; use fewer processes (--nproc-per-node), or --device cpu")
    torch.cuda.set_device(number)
    return torch.device("cuda", number)
