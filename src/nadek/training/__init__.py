"""Training as data (`TrainingConfig`) and the loop that carries it out (`fit`)."""

from nadek.training.checks import check_teacher
from nadek.training.divergence import TrainingDivergedError
from nadek.training.fit_memory import Gain, remember
from nadek.training.history import Epoch
from nadek.training.isolation import isolated
from nadek.training.loop import fit
from nadek.training.optimizers import SGD, AdaDelta, AdamW, Muon
from nadek.training.prepare import EmptyColumnsError, Rows, data_mean, needed_rows, prepare
from nadek.training.state import TrainingState
from nadek.training.training_config import Phase, TrainingConfig

__all__ = [
    "SGD",
    "AdaDelta",
    "AdamW",
    "EmptyColumnsError",
    "Epoch",
    "Gain",
    "Muon",
    "Phase",
    "Rows",
    "TrainingConfig",
    "TrainingDivergedError",
    "TrainingState",
    "check_teacher",
    "data_mean",
    "fit",
    "isolated",
    "needed_rows",
    "prepare",
    "remember",
]
