"""The models that the contract holds for: a dict of constructors, each (D, generator) -> float64 model in eval mode."""

import math

import torch

from nadek.models import IterativeNADE, ModelConfig, dbm_like, nade, nade_k, nade_mask, orderless_nade, residual_nade_k
from nadek.models.cores import DeepConfig, ResidualConfig
from nadek.models.first_guess import FactorAnalysis
from nadek.models.memory import MemoryModel
from nadek.models.model_config import ImageConfig
from nadek.models.unet import ImageNetwork
from nadek.models.variables import variables_of


def _tied_sigmoid(D, generator):
    options = {"core": DeepConfig(hidden=(5,), activation="sigmoid"), "tied": True, "init_std": 1.0}
    return IterativeNADE(ModelConfig(n_variables=D, steps=3, **options), _mean(D, generator), generator=generator)


def _deep(D, generator, **options):
    core = DeepConfig(hidden=(6, 5), activation="relu")
    return IterativeNADE(ModelConfig(n_variables=D, core=core, **options), _mean(D, generator), generator=generator)


def _uncarried(D, generator):
    core = ResidualConfig(width=6, blocks=1, carry=False, activation="tanh")
    config = ModelConfig(n_variables=D, core=core, steps=2)
    return IterativeNADE(config, _mean(D, generator), generator=generator)


def _mean(D, generator):
    return 0.2 + 0.6 * torch.rand(D, generator=generator)


def _mixed(D, generator, pattern, **options):
    """Variables with the first D of a repeated pattern of numbers of levels."""
    levels = (pattern * D)[:D]
    mean = _mean(variables_of(levels).n_columns, generator)
    return IterativeNADE(ModelConfig(n_variables=D, levels=levels, **options), mean, generator=generator)


def _guessing(D, generator, pattern=(4, 2, 3, 3), **options):
    """Ordered and other variables, with a first guess by two factors."""
    levels = (pattern * D)[:D]
    options = {"ordinal": tuple(j for j in range(D) if j % 4 in (0, 2)), "factors": 2, **options}
    network = _mixed(D, generator, levels, core=DeepConfig(hidden=(6,)), **options)
    variables = network.variables
    n_features = len(network.first_guess.features(variables)[1])
    analysis = FactorAnalysis(
        torch.rand(n_features, generator=generator),
        torch.randn(n_features, 2, generator=generator),
        0.1 + torch.rand(n_features, generator=generator),
        torch.rand(n_features, generator=generator),
        0.1 + torch.rand(n_features, generator=generator),
    )
    network.first_guess.use_normal_scores(torch.rand(variables.n_columns, generator=generator), variables)
    network.first_guess.begin(analysis, variables)
    return network


def _images(D, generator, **options):
    """Images as square as D pixels allow."""
    height = max(n for n in range(1, math.isqrt(D) + 1) if D % n == 0)
    config = ImageConfig(image_shape=(height, D // height), **options)
    return ImageNetwork(config, _mean(D, generator), generator=generator)


def _remembering(network, generator, *, n_rows=7, holes=False):
    """A network and some rows that it remembers."""
    levels = torch.tensor(network.levels)
    rows = (torch.rand(n_rows, len(levels), generator=generator) * levels).to(torch.uint8)
    known = torch.rand(rows.shape, generator=generator) < 0.6 if holes else None
    seen = torch.randint(1, 4, (n_rows,), generator=generator)
    return MemoryModel(network, rows, known, seen, decay=1.5, trust=(0.5, 0.4))


ZOO = {
    "nade-5 1hl": lambda D, g: nade_k(D, hidden=(6,), steps=5, mean=_mean(D, g), generator=g),
    "nade-2 3hl": lambda D, g: nade_k(D, hidden=(6, 5, 4), steps=2, mean=_mean(D, g), generator=g),
    "nade-1 1hl": lambda D, g: nade_k(D, hidden=(6,), steps=1, mean=_mean(D, g), generator=g),
    "orderless nade": lambda D, g: orderless_nade(D, hidden=(6,), mean=_mean(D, g), generator=g),
    "nade-mask 2hl": lambda D, g: nade_mask(D, hidden=(6, 5), mean=_mean(D, g), generator=g),
    "nade-3 with mask input": lambda D, g: _deep(D, g, steps=3, mask_input=True),
    "alternating tied": lambda D, g: dbm_like(D, hidden=(6, 5, 4), steps=3, mean=_mean(D, g), generator=g),
    "alternating untied": lambda D, g: dbm_like(D, hidden=(6, 5), steps=3, tied=False, generator=g),
    "residual carried": lambda D, g: residual_nade_k(D, width=6, blocks=2, mean=_mean(D, g), generator=g),
    "residual uncarried": _uncarried,
    "tied sigmoid": _tied_sigmoid,
    "categorical": lambda D, g: _mixed(D, g, (3,), core=DeepConfig(hidden=(6,)), steps=3),
    "mixed": lambda D, g: _mixed(D, g, (2, 3, 1, 4), core=DeepConfig(hidden=(6, 5)), steps=2, mask_input=True),
    "mixed, one step": lambda D, g: _mixed(D, g, (4, 2), core=DeepConfig(hidden=(6,)), steps=1, fill="zero"),
    "mixed, wide": lambda D, g: _mixed(D, g, (2, 3, 1, 70), core=DeepConfig(hidden=(6,)), steps=2, mask_input=True),
    "mixed, residual": lambda D, g: _mixed(
        D, g, (3, 2, 2), core=ResidualConfig(width=6, blocks=1), steps=3, fill="zero", mask_input=True
    ),
    "confident": lambda D, g: _deep(D, g, steps=2, confidence=4),
    "confident, mixed, memory": lambda D, g: _remembering(
        _mixed(D, g, (3, 2, 1, 4), core=DeepConfig(hidden=(6,)), steps=3, mask_input=True, confidence=3), g
    ),
    "confident, fixed-order nade": lambda D, g: _deep(
        D, g, steps=1, confidence=3, ordering=tuple(torch.randperm(D, generator=g).tolist())
    ),
    "first guess": lambda D, g: _guessing(D, g, steps=2, mask_input=True),
    "first guess of all": lambda D, g: _guessing(D, g, steps=2, category_trust=0.7, number_trust=0.8, mask_input=True),
    "first guess of binary": lambda D, g: _guessing(D, g, (2,), steps=3),
    "first guess, one step, mean fill": lambda D, g: _guessing(D, g, steps=1, fill="mean"),
    "images": lambda D, g: _images(D, g, channels=(3, 4), dense=5),
    "images, two steps": lambda D, g: _images(D, g, channels=(3, 2), dense=0, steps=2),
    "memory": lambda D, g: _remembering(nade_k(D, hidden=(6,), steps=3, mean=_mean(D, g), generator=g), g),
    "memory, mixed, with holes": lambda D, g: _remembering(
        _mixed(D, g, (3, 2, 1, 4), core=DeepConfig(hidden=(6,)), steps=2), g, holes=True
    ),
    "fixed-order nade": lambda D, g: nade(D, hidden=6, ordering=torch.randperm(D, generator=g).tolist(), generator=g),
}


def build(name, n_variables, *, seed=0, noise=0.7):
    """A model of the zoo with lively weights: every parameter is moved, biases and gains too."""
    generator = torch.Generator().manual_seed(seed)
    model = ZOO[name](n_variables, generator).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += noise * torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    return model


def decoders_of(name):
    """Return the decoders that serve a model."""
    return ["full", "batched", "incremental"] if build(name, 2).can_decode_incrementally else ["full", "batched"]


WITH_COLUMNS = [name for name in ZOO if isinstance(build(name, 2), IterativeNADE)]


def orderings_of(model, n, generator):
    """A few orderings that the model answers for."""
    if model.config.ordering is not None:
        return torch.tensor([model.config.ordering])
    return torch.stack([torch.randperm(model.n_variables, generator=generator) for _ in range(n)])
