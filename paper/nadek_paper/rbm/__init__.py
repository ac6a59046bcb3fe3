"""Restricted Boltzmann machines to compare with: training, and an estimate of their likelihood.

Unlike a NADE-k, an RBM has no likelihood that could be computed: its normalising constant is a sum over all states. It
is estimated by annealed importance sampling, with an error bar; for small RBMs it can be summed up.
"""

from nadek_paper.rbm.model import RBM
from nadek_paper.rbm.partition import AISConfig, Estimate, exact_log_partition, log_partition
from nadek_paper.rbm.training import RBMConfig, RBMState, fit_rbm

__all__ = ["RBM", "AISConfig", "Estimate", "RBMConfig", "RBMState", "exact_log_partition", "fit_rbm", "log_partition"]
