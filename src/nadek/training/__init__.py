"""Training configs (`TrainingConfig`) and the training loop (`fit`)."""

from nadek.training.fit_confidence import fit_confidence
from nadek.training.fit_memory import Gain, add_memory
from nadek.training.fit_sharpness import fit_sharpness
from nadek.training.loop import fit
from nadek.training.optimizers import AdaDelta, AdamW, Muon
from nadek.training.prepare import Rows, data_mean, needed_rows, prepare
from nadek.training.state import Epoch, TrainingDivergedError, TrainingState
from nadek.training.table_training import FittedTable, Recipe, fit_table, last_metrics
from nadek.training.training_config import Phase, TrainingConfig
from nadek.training.world import World

__all__ = [
    "AdaDelta",
    "AdamW",
    "Epoch",
    "FittedTable",
    "Gain",
    "Muon",
    "Phase",
    "Recipe",
    "Rows",
    "TrainingConfig",
    "TrainingDivergedError",
    "TrainingState",
    "World",
    "add_memory",
    "data_mean",
    "fit",
    "fit_confidence",
    "fit_sharpness",
    "fit_table",
    "last_metrics",
    "needed_rows",
    "prepare",
]
