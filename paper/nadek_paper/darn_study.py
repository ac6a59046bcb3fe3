"""Rows that are DARNs: train and score one."""

from dataclasses import dataclass

from nadek.checkpoints import load_state, save_state
from nadek.training import Epoch
from nadek.utils.configs import encode
from nadek_paper.darn import DARNRun
from nadek_paper.estimated_job import RowTraining, estimated, estimated_job
from nadek_paper.importance import VALIDATION_DRAWS, sampled_scores
from nadek_paper.rows import DARNRecipe, Row
from nadek_paper.studies import Job, OnEpoch, Progress, Record
from nadek_paper.workspace import Workspace


@dataclass(frozen=True)
class DARNTraining(RowTraining):
    """A DARN to be trained."""

    recipe: DARNRecipe

    def trained(self, *, force: bool = False, on_epoch: OnEpoch = None) -> DARNRun:
        """Return the finished training; train first if need be."""
        config, saved = self.recipe.training, None if force else load_state(self.folder)
        if saved is not None and saved[1].get("config") != encode(config):
            raise ValueError(f"{self.folder} holds a DARN of another recipe; use --force to train anew")
        run, valid = DARNRun(self.open("train"), config, None if saved is None else saved[0]), self.open("valid")
        while len(run.curve) < config.epochs:
            run.epoch(valid)
            save_state(self.folder, run.state(), config=encode(config))
            if on_epoch is not None:
                point = run.curve[-1]
                costs = [point["validation"]] if "validation" in point else None
                on_epoch(Epoch(point["epoch"], config.epochs, "bound", [point["train"]], costs, run.lowest, 0.0))
        return run


def darn_job(row: Row, workspace: Workspace) -> Job:
    """Return the job of a row that is a DARN."""
    training = DARNTraining.of(row, workspace)
    draws = training.recipe.draws

    def estimate(run: DARNRun, progress: Progress) -> Record:
        model, test, valid = run.best, training.open("test"), training.open("valid")
        scores = sampled_scores(model.log_weights, test, draws, progress=progress)
        validation = sampled_scores(model.log_weights, valid, min(draws, VALIDATION_DRAWS))
        return {
            **estimated(scores.log_p),
            "by_draws": [{"draws": number, "log_likelihood": mean} for number, mean in scores.by_draws.items()],
            "best_validation": -validation.log_p.mean().item(),
        }

    return estimated_job(
        row,
        training,
        settings=str(draws).encode(),
        tensors=lambda run: [*run.best.state_dict().values()],
        estimate=estimate,
    )
