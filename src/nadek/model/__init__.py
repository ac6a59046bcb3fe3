"""NADE-k as a network: its config, the network, and the paper's models as settings of it."""

from nadek.model.assemblies import (
    dbm_like,
    nade,
    nade_k,
    nade_mask,
    orderless_nade,
    residual_nade_k,
)
from nadek.model.boltzmann import begin_as_rbm, from_rbm
from nadek.model.config import ModelConfig
from nadek.model.network import Network

__all__ = [
    "ModelConfig",
    "Network",
    "begin_as_rbm",
    "dbm_like",
    "from_rbm",
    "nade",
    "nade_k",
    "nade_mask",
    "orderless_nade",
    "residual_nade_k",
]
