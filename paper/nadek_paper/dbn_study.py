"""Deep belief networks, an RBM over another row's hidden units, and rows that are such.

They are by Hinton, Osindero and Teh (2006). The top RBM is the joint distribution of the hidden units h. The first one
gives p(v | h), and its own p(h | v) is where importance sampling draws h from (Murray and Salakhutdinov 2008).
"""

import json
from dataclasses import dataclass

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from nadek.utils.configs import encode
from nadek_paper.estimated_job import estimated, estimated_job
from nadek_paper.importance import VALIDATION_DRAWS, log_bernoulli, sampled_scores
from nadek_paper.rbm import RBM, RBMState, draw, log_partition
from nadek_paper.rbm_study import RBMTraining
from nadek_paper.rows import DBNRecipe, Row
from nadek_paper.studies import Job, Progress, Record
from nadek_paper.workspace import Workspace


@dataclass(frozen=True)
class DBN:
    """A DBN: the hidden units of ``first`` are ``top``'s visible ones."""

    first: RBM
    top: RBM

    def log_weights(self, v: Shaped[Tensor, "B D"], n: int, generator: torch.Generator) -> Float[Tensor, "n B"]:
        """Return log p(v, h) - log q(h | v) of n draws.

        They are in nats, without the constant of ``top``.
        """
        v = v.to(self.first.W)
        logits = self.first.hidden_logits(v).expand(n, -1, -1)
        h = draw(logits, generator)
        log_p = log_bernoulli(self.first.visible_logits(h), v) - log_bernoulli(logits, h)
        return self.top.log_weight(h.flatten(0, 1)).view(n, len(v)) + log_p


def dbn_job(row: Row, workspace: Workspace) -> Job:
    """Return the job of a row that is a DBN."""
    training = RBMTraining.of(row, workspace)
    recipe, below = training.recipe, training.below
    assert isinstance(recipe, DBNRecipe)
    assert below is not None

    def model_of(state: RBMState) -> DBN:
        return DBN(below.trained().result, state.result)

    def tensors(state: RBMState) -> list[Tensor]:
        model = model_of(state)
        return [*vars(model.first).values(), *vars(model.top).values()]

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
    return estimated_job(row, training, settings=settings, tensors=tensors, estimate=estimate)
