"""Processes of their own, forked from one that has imported what takes long."""

from multiprocessing import forkserver

import torch
from torch import distributed, multiprocessing

forkserver.set_forkserver_preload(["torch", "scipy.stats", "pytest"])


def exit_code(work, *arguments):
    """Run a function of a module in a process that has no package but those above; how it ended."""
    process = multiprocessing.get_context("forkserver").Process(target=work, args=arguments)
    process.start()
    process.join()
    return process.exitcode


def _child(rank, folder, work, arguments):
    from nadek.training.world import World

    torch.set_num_threads(1)
    store = f"file://{folder}/store"
    distributed.init_process_group("gloo", init_method=store, rank=rank, world_size=2)
    torch.save(work(World(rank, 2), *arguments), folder / f"{rank}.pt")
    distributed.barrier()
    distributed.destroy_process_group()


def together(folder, work, *arguments):
    """Return what a function of the module of a test returns in two processes that train together."""
    multiprocessing.start_processes(_child, (folder, work, arguments), nprocs=2, start_method="forkserver")
    return [torch.load(folder / f"{rank}.pt", weights_only=False) for rank in range(2)]
