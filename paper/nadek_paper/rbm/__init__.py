"""Restricted Boltzmann machines, to compare with: training, and a likelihood as good as it can be estimated.

Unlike a NADE-k an RBM has no likelihood that could be computed: its normalising constant is a sum over all states. It
is estimated by annealed importance sampling, with an error bar; for small machines it can be summed up.
"""

from nadek_paper.rbm.machine import Machine
from nadek_paper.rbm.partition import AISConfig, Estimate, exact_log_partition, log_partition
from nadek_paper.rbm.training import MachineConfig, MachineState, fit_machine

__all__ = [
    "AISConfig",
    "Estimate",
    "Machine",
    "MachineConfig",
    "MachineState",
    "exact_log_partition",
    "fit_machine",
    "log_partition",
]
