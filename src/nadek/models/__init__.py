"""NADE-k and its relatives: configs, models and presets."""

from nadek.models.iterative_nade import IterativeNADE
from nadek.models.model_config import ImageConfig, ModelConfig
from nadek.models.presets import Weights, dbm_like, nade, nade_k, nade_mask, orderless_nade, residual_nade_k
from nadek.models.unet import ImageNetwork

__all__ = [
    "ImageConfig",
    "ImageNetwork",
    "IterativeNADE",
    "ModelConfig",
    "Weights",
    "dbm_like",
    "nade",
    "nade_k",
    "nade_mask",
    "orderless_nade",
    "residual_nade_k",
]
