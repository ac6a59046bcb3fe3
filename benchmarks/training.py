"""Time training steps of NADE-5 against their floor.

    python benchmarks/training.py [--steps 500] [--record]

Steps of the straightforward network are timed, too. The network has two hidden layers of 500 units, minibatches have
100 rows. The floor is the flops of forward and backward (six times batch x k x weights) at the bfloat16 peak of this
run.
"""

from collections.abc import Callable

import torch
from common import memory_peak, peak, record_parser, seconds, show, write
from straightforward import StraightforwardNADEk, training_loss

from nadek.models import nade_k
from nadek.training import AdamW, Phase, Rows, TrainingConfig, fit

D, H, K, BATCH = 784, 500, 5, 100
FLOPS = 6.0 * BATCH * K * (2 * D * H + H * H)


def straightforward(x: torch.Tensor) -> Callable[[], None]:
    """Return one straightforward epoch."""
    model = StraightforwardNADEk(D, (H, H), K, x.float().mean(0))
    optimizer = torch.optim.Adadelta(model.parameters())

    def epoch() -> None:
        for rows in torch.randperm(len(x)).split(BATCH):
            loss = training_loss(model, x[rows].float())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return epoch


def ours(x: torch.Tensor, precision: str) -> Callable[[], None]:
    """Return one epoch of `fit`, with all its bookkeeping."""
    config = TrainingConfig(phases=(Phase(objective="all_steps", epochs=1),), optimizer=AdamW(), precision=precision)
    model = nade_k(D, hidden=(H, H), steps=K, mean=x.float().mean(0), generator=torch.Generator().manual_seed(0))
    return lambda: fit(model, Rows(x, None, 0), config=config)


def main() -> None:
    """Measure, print and write a record."""
    parser = record_parser(__doc__, "training")
    parser.add_argument("--steps", type=int, default=500, help="500 are an epoch of binarized MNIST")
    options = parser.parse_args()
    x = (torch.rand(options.steps * BATCH, D, generator=torch.Generator().manual_seed(0)) < 0.13).to(torch.uint8)
    bf16 = peak(torch.bfloat16)
    ways = {
        "straightforward, float32": straightforward(x),
        "nadek, float32": ours(x, "float32"),
        "nadek, bfloat16": ours(x, "bfloat16"),
    }
    times = {name: seconds(way) / options.steps for name, way in ways.items()}
    bf16 = max(bf16, peak(torch.bfloat16))  # a shared machine has better and worse minutes
    floor = FLOPS / bf16
    first = times["straightforward, float32"]
    rows = [[name, 1e3 * t, first / t, t / floor] for name, t in times.items()]
    columns = ["way", "ms_a_step", "times_as_fast", "times_the_floor"]
    show(f"NADE-5 2HL {H}, batch {BATCH}; bfloat16 floor {1e3 * floor:.2f} ms", columns, rows)
    if options.record:
        table = [dict(zip(columns, row, strict=True)) for row in rows]
        write("training", {"peak_flops_bfloat16": bf16, "table": table, "memory_peak_mib": memory_peak()})


if __name__ == "__main__":
    main()
