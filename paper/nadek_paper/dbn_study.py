"""Rows that are DBNs, over an RBM of another row."""

import json
from dataclasses import replace

import torch

from nadek.runs.provenance import provenance
from nadek.utils.configs import encode
from nadek_paper.dbn import DBN
from nadek_paper.importance import QUICK_DRAWS, VALIDATION_DRAWS, sampled_scores
from nadek_paper.rbm import RBMState, log_partition
from nadek_paper.rbm_study import RBMTraining
from nadek_paper.result_records import estimated
from nadek_paper.rows import Row
from nadek_paper.studies import Job, Progress, Record, digest_of, same_result, write_changed
from nadek_paper.workspace import Workspace


def dbn_job(row: Row, workspace: Workspace) -> Job:
    """Return the job of a row that is a DBN."""
    training = RBMTraining.of(row, workspace)
    if row.dbn is None or training.below is None:
        raise ValueError(f"{row.table}/{row.name}: expected a DBN, found a row that is none")
    below, path, draws = training.below, workspace.record(training.name), row.dbn.draws
    recipe = replace(row.dbn, training=training.recipe.training, annealing=training.recipe.annealing)
    if workspace.quick:
        recipe = replace(recipe, draws=min(draws, QUICK_DRAWS))

    def score(state: RBMState, force: bool, progress: Progress) -> Record:  # noqa: FBT001 - a Job's
        model, test, valid = DBN(below.trained().result, state.result), training.open("test"), training.open("valid")
        options = json.dumps([encode(recipe.annealing), recipe.draws], sort_keys=True).encode()
        digest = digest_of(options, *vars(model.first).values(), *vars(model.top).values(), test)
        about = row.about("modern", quick=workspace.quick)
        earlier = None if force else same_result(path, digest)
        if earlier is not None:
            return {**earlier, **about}
        train = training.open("train")
        mean = torch.sigmoid(model.first.hidden_logits(train)).mean(0)
        constant = log_partition(model.top, mean, recipe.annealing, progress=progress)
        scores = sampled_scores(model.log_weights, test, recipe.draws, progress=progress)
        seen, others = (
            sampled_scores(model.log_weights, x, min(recipe.draws, VALIDATION_DRAWS)).log_p.mean().item()
            for x in (train[: len(valid)], valid)
        )
        return {
            **about,
            **estimated(scores.log_p - constant.value, constant.error),
            "by_draws": [{"draws": n, "log_likelihood": one - constant.value} for n, one in scores.by_draws.items()],
            "log_partition": constant.value,
            "log_partition_error": constant.error,
            "train_log_likelihood": seen - constant.value,
            "best_validation": constant.value - others,
            "epochs": recipe.training.epochs,
            "seconds": sum(point["seconds"] for point in state.curve),
            "config": encode(recipe),
            "digest": digest,
            "evaluation": provenance(workspace.device),
            "curve": state.curve,
        }

    return Job(
        name=row.name,
        train=lambda force, on_epoch: training.trained(force=force, on_epoch=on_epoch),
        score=score,
        write=lambda record: write_changed(path, record),
    )
