"""Time a training step of the U-Net, part by part.

The parts are forward and backward, AdamW, our Muon and torch's.

    python benchmarks/muon.py [--record]

Torch's Muon gets filters as matrices, and multiplies in bfloat16 on every processor.
"""

import torch
from common import record_parser, seconds, show, write

from nadek.inference.order_agnostic import step_costs
from nadek.kernels.cpu import has_fast_bfloat16
from nadek.models.model_config import ImageConfig
from nadek.models.unet import ImageNetwork
from nadek.training import AdamW, Muon
from nadek.training.optimizer_steps import MuonAdamW

BATCH = 100
CONFIG = ImageConfig(image_shape=(28, 28), channels=(16, 32, 64), blocks=1, dense=256, steps=1)


def torch_muon(ours: MuonAdamW) -> torch.optim.Optimizer:
    """Return torch's Muon for matrices of the same shapes."""
    moved = ours.param_groups[0]["params"]
    matrices = [torch.nn.Parameter(torch.randn(len(weight), weight[0].numel())) for weight in moved]
    for matrix in matrices:
        matrix.grad = torch.randn_like(matrix)
    return torch.optim.Muon(matrices, adjust_lr_fn="match_rms_adamw")


def main() -> None:
    """Measure, print and write a record."""
    options = record_parser(__doc__, "muon").parse_args()
    generator = torch.Generator().manual_seed(0)
    model = ImageNetwork(CONFIG, generator=generator)
    x = torch.rand(BATCH, 784, generator=generator) < 0.13
    missing = torch.rand(BATCH, 784, generator=generator) < 0.5

    def learn() -> None:
        model.zero_grad()
        step_costs(model, x.float(), missing, first=-1).mean().backward()

    muon = Muon().build(model)
    ways = {
        "forward and backward": learn,
        "AdamW": AdamW().build(model).step,
        "Muon": muon.step,
        "Muon of torch": torch_muon(muon).step,
    }
    columns = ["what", "ms_a_step"]
    rows = [[name, 1e3 * seconds(way, repeats=5)] for name, way in ways.items()]
    quick = has_fast_bfloat16("cpu")
    show(f"U-Net, {BATCH} images, float32; bfloat16 is {'quick' if quick else 'slow'} here", columns, rows)
    if options.record:
        table = [dict(zip(columns, row, strict=True)) for row in rows]
        write("muon", {"batch": BATCH, "has_fast_bfloat16": quick, "table": table})


if __name__ == "__main__":
    main()
