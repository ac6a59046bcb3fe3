"""Training as data (`TrainingConfig`) and the loop that carries it out (`fit`)."""

from nadek.training.checks import check_teacher
from nadek.training.config import Phase, TrainingConfig
from nadek.training.data import EmptyColumnsError, Rows, data_mean, needed_rows, prepare
from nadek.training.divergence import TrainingDivergedError
from nadek.training.history import Epoch
from nadek.training.loop import fit
from nadek.training.optimizers import SGD, AdaDelta, AdamW, Muon
from nadek.training.remembering import Gain, remember
from nadek.training.state import TrainingState
from nadek.training.undisturbed import undisturbed

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
    "needed_rows",
    "prepare",
    "remember",
    "undisturbed",
]
