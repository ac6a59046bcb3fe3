"""The pictures of one trained model: samples, inpainting, filters, training curves."""

from dataclasses import asdict
from pathlib import Path

import torch
from torch import Tensor

from nadek import figures
from nadek.checkpoints import SavedModel
from nadek.inference.sampling import impute, reconstruction_probabilities, sample
from nadek.models.iterative_nade import IterativeNADE
from nadek.training.state import read_history


def draw_model(
    saved: SavedModel, folder: Path, x: Tensor | None = None, *, hidden: float = 0.5, seed: int = 0
) -> list[Path]:
    """Draw whatever a model allows as PNG files, and return them.

    Of the rows ``x`` a part ``hidden`` of the cells is hidden for the picture of inpainting.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pictures = {}
    if history := read_history(saved.metrics):
        pictures["curves"] = figures.training_curves([asdict(epoch) for epoch in history])
    shape = saved.schema.image_shape
    if shape is not None:
        generator = torch.Generator(saved.model.b.device).manual_seed(seed)
        drawn = sample(saved.model, 100, orderings=10, generator=generator).cpu().numpy()
        pictures["samples"] = figures.samples(drawn, image_shape=shape)
        network = saved.model.base_model
        if isinstance(network, IterativeNADE):
            pictures["filters"] = figures.filters(network.W[:100].detach().cpu().numpy(), image_shape=shape)
        if x is not None and why_rows_are_not_drawn(saved) is None:
            pictures["inpainting"] = _inpainting(saved, x, shape, hidden, generator)
    return [figures.save(figure, folder / f"{name}.png") for name, figure in pictures.items()]


def why_rows_are_not_drawn(saved: SavedModel) -> str | None:
    """Return why a model has no inpainting picture."""
    if saved.schema.image_shape is None:
        return "the rows of this model are no images"
    return None if saved.model.config.ordering is None else "this model knows one ordering and cannot fill in any cells"


def _inpainting(
    saved: SavedModel, x: Tensor, image_shape: tuple[int, int], hidden: float, generator: torch.Generator
) -> figures.Figure:
    """A few rows with cells hidden at random, every state of the inference, and one joint draw."""
    x = x[torch.linspace(0, len(x) - 1, min(8, len(x))).long()].to(saved.model.b.device)  # sets may be sorted by class
    missing = x.isnan() | (torch.rand(x.shape, generator=generator, device=x.device) < hidden)
    states = reconstruction_probabilities(saved.model, x, missing)
    completed = impute(saved.model, x.float().masked_fill(missing, torch.nan), generator=generator)
    return figures.inpainting(
        x.cpu().numpy(),
        missing.cpu().numpy(),
        states.float().cpu().numpy(),
        image_shape=image_shape,
        completed=completed.cpu().numpy(),
    )
