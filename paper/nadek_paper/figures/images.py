"""Pictures of rows that are images: samples, reconstructions and filters of a trained model."""

import numpy as np
import torch
from torch import Tensor

from nadek import figures
from nadek.checkpoints import SavedModel
from nadek.inference.sampling import reconstruction_probabilities, sample
from nadek.models import IterativeNADE
from nadek_paper.figures.charts import Points
from nadek_paper.figures.config import Filters, Reconstructions, Samples
from nadek_paper.figures.references import Reference


def samples(shows: Samples, reference: Reference) -> tuple[Points, figures.Figure]:
    """Draw samples, each along an ordering of its own."""
    saved = reference.model()
    generator = torch.Generator(saved.model.b.device).manual_seed(shows.seed)
    drawn = sample(saved.model, shows.number, generator=generator).cpu().numpy()
    points: Points = [{"bits": np.packbits(row).tobytes().hex()} for row in drawn]
    return points, figures.samples(drawn, image_shape=_shape(saved))


def filters(shows: Filters, reference: Reference) -> tuple[Points, figures.Figure]:
    """Draw the weights of randomly chosen hidden units."""
    saved = reference.model()
    if not isinstance(saved.model, IterativeNADE):
        raise ValueError(f"{shows.model}: expected a network with a matrix to show, found one of images")
    weights = saved.model.W if shows.side == "encoder" else saved.model.output_weight.t()
    chosen = torch.randperm(len(weights), generator=torch.Generator().manual_seed(shows.seed))[: shows.number]
    shown = weights.detach()[chosen.to(weights.device)].float().cpu().numpy()
    points: Points = [
        {"unit": unit, "largest": round(float(np.abs(row).max()), 4)}
        for unit, row in zip(chosen.tolist(), shown, strict=True)
    ]
    return points, figures.filters(shown, image_shape=_shape(saved))


def reconstructions(shows: Reconstructions, reference: Reference) -> tuple[Points, figures.Figure]:
    """Draw states of the inference for partly hidden rows; record how they agree with the data."""
    saved, rows = reference.model(), reference.training.open(shows.split).x
    generator = torch.Generator().manual_seed(shows.seed)  # on a CPU: the same rows and cells everywhere
    chosen = torch.randperm(len(rows), generator=generator)[: len(shows.hidden)]
    x, missing = rows[chosen], _hidden(shows, rows.shape[1], generator)[: len(chosen)]
    device = saved.model.b.device
    states = reconstruction_probabilities(saved.model, x.to(device), missing.to(device), steps=shows.steps)
    states = states.float().cpu()
    points: Points = [
        {"row": row, "hidden": int(missing[index].sum()), "log_probability": _agreement(states, x, missing, index)}
        for index, row in enumerate(chosen.tolist())
    ]
    return points, figures.inpainting(x.numpy(), missing.numpy(), states.numpy(), image_shape=_shape(saved))


def _hidden(shows: Reconstructions, n_variables: int, generator: torch.Generator) -> Tensor:
    """Return masks of the hidden cells: a random choice of each row's part."""
    ranks = torch.rand(len(shows.hidden), n_variables, generator=generator).argsort(1).argsort(1)
    numbers = torch.tensor([max(1, round(part * n_variables)) for part in shows.hidden])
    return ranks < numbers[:, None]


def _agreement(states: Tensor, x: Tensor, missing: Tensor, index: int) -> list[float]:
    """Return the log-probability of one row's hidden cells, each by itself, in every state (nats)."""
    p, truth, hidden = states[:, index].double(), x[index].double(), missing[index]
    right = (p * truth + (1 - p) * (1 - truth)).clamp_min(1e-12).log()
    values: list[float] = (right * hidden).sum(1).tolist()
    return [round(value, 3) for value in values]


def _shape(saved: SavedModel) -> tuple[int, int]:
    if saved.schema.image_shape is None:
        raise ValueError("expected a model of images, found one whose rows are none")
    return saved.schema.image_shape
