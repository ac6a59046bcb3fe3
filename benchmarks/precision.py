"""Compare trainings with bfloat16 products and with float32.

    python benchmarks/precision.py --data mnist [--epochs 30] [--record]

The model is NADE-5 with two hidden layers of 500 units, with AdamW, on the first rows of a data set. If bfloat16 costs
nothing, the two differ by less than two seeds do.
"""

from itertools import product
from statistics import fmean, stdev

import torch
from common import record_parser, show, write

from nadek.datasets import load
from nadek.models import nade_k
from nadek.training import AdamW, Phase, TrainingConfig, fit, prepare

HIDDEN, K, BATCH, SEEDS = 500, 5, 100, (0, 1, 2)
PRECISIONS = ("float32", "bfloat16")


def main() -> None:
    """Train, print and write a record."""
    parser = record_parser(__doc__, "precision")
    parser.add_argument("--data", default="mnist", help="a data set; `nadek data --fetch` gets them")
    parser.add_argument("--rows", type=int, default=10_000, help="training rows, half as many for validation at most")
    parser.add_argument("--epochs", type=int, default=30)
    options = parser.parse_args()
    data = load(options.data)
    train = prepare(torch.from_numpy(data.train[: options.rows]))
    validation = prepare(torch.from_numpy(data.valid[: options.rows // 2]))
    mean = train.values.float().mean(0)
    runs: dict[tuple[str, int], list[float]] = {}
    for precision, seed in product(PRECISIONS, SEEDS):
        config = TrainingConfig(
            phases=(Phase(objective="last_step", epochs=options.epochs),),
            optimizer=AdamW(),
            precision=precision,
            batch_size=BATCH,
            stratified=True,
            seed=seed,
        )
        generator = torch.Generator().manual_seed(seed)
        model = nade_k(mean.numel(), hidden=(HIDDEN, HIDDEN), steps=K, mean=mean, generator=generator)
        history = fit(model, train, validation, config=config)
        runs[precision, seed] = [epoch.validation[-1] for epoch in history if epoch.validation is not None]
        print(f"{precision}, seed {seed}: {runs[precision, seed][-1]:.2f} nats after the last epoch", flush=True)
    columns = ["epochs", *(f"{what}_{precision}" for precision in PRECISIONS for what in ("mean", "spread"))]
    table = []
    for epoch in sorted({1, 2, *range(5, options.epochs + 1, 5), options.epochs}):
        at = {precision: [runs[precision, seed][epoch - 1] for seed in SEEDS] for precision in PRECISIONS}
        table.append([epoch, *(tell(at[precision]) for precision in PRECISIONS for tell in (fmean, stdev))])
    show(f"Validation cost in nats, mean and standard deviation of {len(SEEDS)} seeds", columns, table)
    if options.record:
        content = {
            "data": options.data,
            "train_rows": len(train.values),
            "validation_rows": len(validation.values),
            "seeds": len(SEEDS),
            "epochs": options.epochs,
            "table": [dict(zip(columns, row, strict=True)) for row in table],
            "curves": [{"precision": p, "seed": s, "validation": costs} for (p, s), costs in runs.items()],
        }
        write("precision", content)


if __name__ == "__main__":
    main()
