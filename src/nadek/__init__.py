"""NADE-k: one network for the exact likelihood, sampling and imputation of discrete data, in any order.

Three estimators follow scikit-learn: `NADEk` (density), `NADEkImputer` and `NADEkOutlierDetector`. Below them is a
layer for PyTorch: build a model, `fit` it, then ask for `log_prob`, `sample` or `impute`. Names are imported when they
are first used, so that ``import nadek`` is quick. Everything else is in the modules (see docs/architecture.md).

Example:
    >>> import nadek, torch
    >>> model = nadek.nade_k(3, hidden=(4,))
    >>> nadek.log_prob(model, torch.tensor([[0, 1, 1]]), orderings=2, reduce="mixture").shape
    torch.Size([1])
"""

from importlib import import_module, metadata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nadek.checkpoints import SavedModel, load, save
    from nadek.estimators import NADEk, NADEkImputer, NADEkOutlierDetector
    from nadek.inference import impute, log_prob, missing_probabilities, random_orderings, sample, summarise
    from nadek.models import (
        ImageConfig,
        ImageNetwork,
        IterativeNADE,
        ModelConfig,
        nade,
        nade_k,
        nade_mask,
        orderless_nade,
        residual_nade_k,
    )
    from nadek.tabular.schema import Schema
    from nadek.training import TrainingConfig, fit, prepare

__all__ = [  # noqa: RUF022 - what a reader needs first stands first
    "NADEk",
    "NADEkImputer",
    "NADEkOutlierDetector",
    "IterativeNADE",
    "ModelConfig",
    "ImageNetwork",
    "ImageConfig",
    "nade_k",
    "nade",
    "orderless_nade",
    "nade_mask",
    "residual_nade_k",
    "fit",
    "prepare",
    "TrainingConfig",
    "log_prob",
    "sample",
    "impute",
    "missing_probabilities",
    "summarise",
    "random_orderings",
    "save",
    "load",
    "SavedModel",
    "Schema",
]

_HOMES = ("models", "inference", "training", "checkpoints", "estimators")
"""Where these names are, from below: each imports those before it anyway."""


def __getattr__(name: str) -> object:
    """Import a name on use (PEP 562)."""
    if name == "__version__":
        return metadata.version("nade-k")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    modules = (import_module(f"nadek.{home}") for home in _HOMES)
    globals()[name] = value = next(getattr(module, name) for module in modules if hasattr(module, name))
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
