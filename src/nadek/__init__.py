"""NADE-k: one network for the exact likelihood, sampling and imputation of discrete data, in any order.

The names here are the whole path: build a model, train it, score, sample, impute, save and load. Everything else
stands in the modules (see docs/architecture.md). The estimators for scikit-learn are imported when they are asked for.
"""

from importlib import import_module, metadata
from typing import TYPE_CHECKING

from nadek.checkpoints import SavedModel, load, save
from nadek.inference import (
    beam,
    best_of,
    cell_log_probs,
    conditional_log_probs,
    expected_information,
    explain_cells,
    greedy,
    marginal_log_probs,
)
from nadek.inference.likelihood import each_log_prob, estimate_log_prob, log_prob, log_probs, mixture_log_prob
from nadek.inference.orderings import random_orderings
from nadek.inference.sampling import (
    impute,
    level_probabilities,
    missing_probabilities,
    reconstruction_probabilities,
    sample,
)
from nadek.inference.summary import Summary, summarise
from nadek.models import (
    IterativeNADE,
    ModelConfig,
    dbm_like,
    from_rbm,
    nade,
    nade_k,
    nade_mask,
    orderless_nade,
    residual_nade_k,
)
from nadek.models.unet import ImageNetwork
from nadek.models.unet_config import ImageConfig
from nadek.tabular.schema import Schema
from nadek.training import TrainingConfig, TrainingDivergedError, data_mean, fit, prepare

if TYPE_CHECKING:
    from nadek.estimators import NADEk, NADEkImputer, NADEkOutlierDetector

__all__ = [
    "ImageConfig",
    "ImageNetwork",
    "IterativeNADE",
    "ModelConfig",
    "NADEk",
    "NADEkImputer",
    "NADEkOutlierDetector",
    "SavedModel",
    "Schema",
    "Summary",
    "TrainingConfig",
    "TrainingDivergedError",
    "beam",
    "best_of",
    "cell_log_probs",
    "conditional_log_probs",
    "data_mean",
    "dbm_like",
    "each_log_prob",
    "estimate_log_prob",
    "expected_information",
    "explain_cells",
    "fit",
    "from_rbm",
    "greedy",
    "impute",
    "level_probabilities",
    "load",
    "log_prob",
    "log_probs",
    "marginal_log_probs",
    "missing_probabilities",
    "mixture_log_prob",
    "nade",
    "nade_k",
    "nade_mask",
    "orderless_nade",
    "prepare",
    "random_orderings",
    "reconstruction_probabilities",
    "residual_nade_k",
    "sample",
    "save",
    "summarise",
]

_LAZY = ("NADEk", "NADEkImputer", "NADEkOutlierDetector")
"""scikit-learn is slow to import; the command line and the torch layer need not wait for it."""


def __getattr__(name: str) -> object:
    if name == "__version__":
        return metadata.version("nade-k")
    if name in _LAZY:
        return getattr(import_module("nadek.estimators"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, "__version__"})
