"""Rows that are DBNs, over an RBM of another row."""

import json
from dataclasses import replace

import torch
from torch import Tensor

from nadek.utils.configs import encode
from nadek_paper.dbn import DBN
from nadek_paper.estimated_job import estimated_job
from nadek_paper.importance import QUICK_DRAWS, VALIDATION_DRAWS, sampled_scores
from nadek_paper.rbm import RBMState, log_partition
from nadek_paper.rbm_study import RBMTraining
from nadek_paper.result_records import estimated
from nadek_paper.rows import Row
from nadek_paper.studies import Job, Progress, Record
from nadek_paper.workspace import Workspace


def dbn_job(row: Row, workspace: Workspace) -> Job:
    """Return the job of a row that is a DBN."""
    training = RBMTraining.of(row, workspace)
    if row.dbn is None or training.below is None:
        raise ValueError(f"{row.table}/{row.name}: expected a DBN, found a row that is none")
    below, draws = training.below, row.dbn.draws
    recipe = replace(row.dbn, training=training.recipe.training, annealing=training.recipe.annealing)
    if workspace.quick:
        recipe = replace(recipe, draws=min(draws, QUICK_DRAWS))

    def model_of(state: RBMState) -> DBN:
        return DBN(below.trained().result, state.result)

    def tensors(state: RBMState) -> list[Tensor]:
        model = model_of(state)
        return [*vars(model.first).values(), *vars(model.top).values(), training.open("test")]

    def estimate(state: RBMState, progress: Progress) -> Record:
        model, valid, train = model_of(state), training.open("valid"), training.open("train")
        mean = torch.sigmoid(model.first.hidden_logits(train)).mean(0)
        constant = log_partition(model.top, mean, recipe.annealing, progress=progress)
        scores = sampled_scores(model.log_weights, training.open("test"), recipe.draws, progress=progress)
        seen, others = (
            sampled_scores(model.log_weights, x, min(recipe.draws, VALIDATION_DRAWS)).log_p.mean().item()
            for x in (train[: len(valid)], valid)
        )
        return {
            **estimated(scores.log_p - constant.value, constant.error),
            "by_draws": [{"draws": n, "log_likelihood": one - constant.value} for n, one in scores.by_draws.items()],
            "log_partition": constant.value,
            "log_partition_error": constant.error,
            "train_log_likelihood": seen - constant.value,
            "best_validation": constant.value - others,
        }

    settings = json.dumps([encode(recipe.annealing), recipe.draws], sort_keys=True).encode()
    return estimated_job(
        row, workspace, recipe, train=training.trained, settings=settings, tensors=tensors, estimate=estimate
    )
