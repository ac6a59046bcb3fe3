"""NADE-k as a network: its config, the network, and the paper's models as settings of it."""

from nadek.model.assemblies import (
    dbm_like,
    from_rbm,
    nade,
    nade_k,
    nade_mask,
    orderless_nade,
    residual_nade_k,
)
from nadek.model.config import ModelConfig
from nadek.model.network import Network

__all__ = [
    "ModelConfig",
    "Network",
    "dbm_like",
    "from_rbm",
    "nade",
    "nade_k",
    "nade_mask",
    "orderless_nade",
    "residual_nade_k",
]
