"""Processes of their own, forked from one that has imported what takes long."""

import multiprocessing
from multiprocessing import forkserver

forkserver.set_forkserver_preload(["torch", "scipy.stats", "pytest"])
FORKS = multiprocessing.get_context("forkserver")


def start(work, *arguments):
    """Start a function of a module in a process, which has no package but those above."""
    process = FORKS.Process(target=work, args=arguments)
    process.start()
    return process


def exit_code(process):
    """Wait for its end; minus the signal for a process that was killed."""
    process.join()
    return process.exitcode


def _child(rank, folder, work, arguments):
    import torch
    from torch import distributed

    from nadek.training.world import World

    torch.set_num_threads(1)
    store = f"file://{folder}/store"
    distributed.init_process_group("gloo", init_method=store, rank=rank, world_size=2)
    torch.save(work(World(rank, 2), *arguments), folder / f"{rank}.pt")
    distributed.barrier()
    distributed.destroy_process_group()


def together(folder, work, *arguments):
    """Return what a function of the module of a test returns in two processes that train together."""
    import torch

    children = [start(_child, rank, folder, work, arguments) for rank in range(2)]
    assert [exit_code(child) for child in children] == [0, 0]
    return [torch.load(folder / f"{rank}.pt", weights_only=False) for rank in range(2)]
