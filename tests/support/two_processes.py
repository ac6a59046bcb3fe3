"""Two processes that train together, each a Python of its own."""

import torch
from torch import distributed, multiprocessing

from nadek.training.world import World


def _child(rank, folder, work, arguments):
    torch.set_num_threads(1)
    store = f"file://{folder}/store"
    distributed.init_process_group("gloo", init_method=store, rank=rank, world_size=2)
    torch.save(work(World(rank, 2), *arguments), folder / f"{rank}.pt")
    distributed.barrier()
    distributed.destroy_process_group()


def together(folder, work, *arguments):
    """Return what a function of the module of a test returns in both processes, given its `World`."""
    multiprocessing.spawn(_child, (folder, work, arguments), nprocs=2)
    return [torch.load(folder / f"{rank}.pt", weights_only=False) for rank in range(2)]
