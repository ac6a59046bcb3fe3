"""Time trainings by two processes against one, and restart them after kills.

    python benchmarks/processes.py [--steps 10] [--kills 10] [--record]

Each process has one thread. The first trains alone while the second waits, then both train, in turns; the least times
count. Processor time, of the first process, tells what the sharing saves where other work holds the cores.

Then one of two processes that ``torchrun`` started is killed at a random step; the restarted training must end with the
weights of an undisturbed one.
"""

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from common import record_parser, show, write
from torch import distributed, multiprocessing

from nadek.checkpoints import weights_digest
from nadek.models import nade_k
from nadek.models.base import ConditionalModel
from nadek.models.registry import build
from nadek.training import AdamW, Phase, Rows, TrainingConfig, fit
from nadek.training.defaults import defaults
from nadek.training.world import ALONE, World

BATCH, REPEATS = 400, 5
LEVELS = (2, 3, 4, 5) * 12
DYING = """
import os, signal
from nadek.cli import main
from nadek.training import loop

def step(*arguments, usual=loop._Run._step, count=iter(range(10**6))):
    if os.environ["RANK"] == {rank!r} and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and next(count) == {step}:
        os.kill(os.getpid(), signal.SIGKILL)
    return usual(*arguments)

loop._Run._step = step
main()
"""
EPOCHS = 12
FIT = ("--hidden", "16", "--epochs", str(EPOCHS), "--batch-size", "20", "--device", "cpu", "--save-every", "0")


def networks() -> dict[str, tuple[ConditionalModel, tuple[int, ...]]]:
    """Return each network and the levels of its variables."""
    generator = torch.Generator().manual_seed(0)
    config, _ = defaults(20_000, LEVELS)
    return {
        "NADE-5 2HL 500, 784 binary columns": (
            nade_k(784, hidden=(500, 500), steps=5, generator=generator),
            (2,) * 784,
        ),
        f"default, {len(LEVELS)} columns of 2 to 5 levels": (build(config, None, generator=generator), LEVELS),
    }


def epoch_of(model: ConditionalModel, levels: tuple[int, ...], n_steps: int) -> Callable[[World], object]:
    """Return an epoch of `fit` with all its bookkeeping."""
    chance = torch.rand(n_steps * BATCH, len(levels), generator=torch.Generator().manual_seed(0))
    rows = Rows((chance * torch.tensor(levels)).to(torch.uint8), None, 0)
    phases = (Phase(objective="all_steps", epochs=1),)
    config = TrainingConfig(phases=phases, optimizer=AdamW(), batch_size=BATCH)
    return lambda world: fit(model, rows, config=config, world=world)


def child(rank: int, folder: Path, n_steps: int) -> None:
    """Train alone, if this is the first process, then with the other one, in turns."""
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    table = []
    for name, (model, levels) in networks().items():
        epoch, wall, processor = epoch_of(model, levels, n_steps), {1: [], 2: []}, {1: [], 2: []}
        for _ in range(1 + REPEATS):  # the first is a warm-up
            for size, world in ((1, ALONE), (2, World(rank, 2))):
                distributed.barrier()
                started, used = time.perf_counter(), time.process_time()
                if rank < size:
                    epoch(world)
                wall[size].append((time.perf_counter() - started) / n_steps)
                processor[size].append((time.process_time() - used) / n_steps)
        one, two = (1e3 * min(wall[size][1:]) for size in (1, 2))
        least = min(processor[1][1:]) / min(processor[2][1:])
        table.append({"network": name, "ms_one": one, "ms_two": two, "times": one / two, "times_processor": least})
    torch.save(table, folder / f"{rank}.pt")
    distributed.barrier()
    distributed.destroy_process_group()


def torchrun(*arguments: object) -> None:
    """Run two processes, which may start a second time."""
    command = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--max-restarts", "1", *map(str, arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, *command], env=environment, capture_output=True, check=True)


def restarts(folder: Path, n_kills: int) -> int:
    """Return how many killed trainings ended with the weights of an undisturbed one."""
    x = (torch.rand(200, 8, generator=torch.Generator().manual_seed(0)) < 0.4).int().tolist()
    table, chance, identical = folder / "table.csv", random.Random(0), 0
    table.write_text("\n".join(["a,b,c,d,e,f,g,h", *(",".join(map(str, row)) for row in x)]), encoding="utf-8")
    torchrun("-m", "nadek", "fit", table, "-o", folder / "whole", *FIT)
    for kill in range(n_kills):
        script = folder / f"dying{kill}.py"
        rank, step = str(kill % 2), chance.randrange(9 * EPOCHS)
        script.write_text(DYING.format(rank=rank, step=step), encoding="utf-8")
        torchrun(script, "fit", table, "-o", folder / f"killed{kill}", *FIT, "--resume")
        identical += weights_digest(folder / f"killed{kill}") == weights_digest(folder / "whole")
        print(f"rank {rank} killed at step {step}: {identical} of {kill + 1} identical", flush=True)
    return identical


def main() -> None:
    """Measure, print and write a record."""
    parser = record_parser(__doc__, "processes")
    parser.add_argument("--steps", type=int, default=10, help="minibatches of a timed epoch")
    parser.add_argument("--kills", type=int, default=10, help="processes to kill")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        multiprocessing.spawn(child, (folder, options.steps), nprocs=2)
        table = torch.load(folder / "0.pt")
        show(f"batch {BATCH}", list(table[0]), [list(row.values()) for row in table])
        identical = restarts(folder, options.kills)
    if options.record:
        load = os.getloadavg()[0]
        write(
            "processes", {"batch": BATCH, "load": load, "table": table, "kills": options.kills, "identical": identical}
        )


if __name__ == "__main__":
    main()
