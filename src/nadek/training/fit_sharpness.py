"""Fitting of the sharpness of numbers: how narrow their densities are, judged by rows that were not learnt.

A network that learnt few rows is too sure of its numbers, and one that learnt for a short time not sure enough. This is
temperature scaling (Guo et al. 2017) with a temperature for each column of numbers; the network stays as it is.
"""

import math
from dataclasses import replace
from itertools import product

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nadek.inference.decoders.chunking import bytes_per_row, chunks
from nadek.inference.order_agnostic import MaskLaw
from nadek.models.evaluation import evaluation_mode
from nadek.models.iterative_nade import IterativeNADE
from nadek.models.variables import MixedVariables
from nadek.training.costs import prepare_validation
from nadek.training.prepare import Rows

COMMON, OWN = 0.3, 0.4
"""Standard deviations, before any row is seen, of the logarithm that all numbers share and of what each adds to it."""
MOST, N_FACTORS = 4.0, 21
"""Largest factor, and how many are tried from its inverse on."""
FOCUSES = (0.0, 0.4, 0.8, 1.6, 3.2)
"""What is tried as `nadek.ModelConfig.focus`."""
ERRONEOUS = math.log(1e-5)
"""Log-density of codes that are typing errors, anywhere among the bins: a few of them must not decide."""
ROWS = 1024
"""Smaller sets of rows are repeated, with other masks, and larger ones cut to four times as many."""


@evaluation_mode
def fit_sharpness(
    network: IterativeNADE, rows: Rows, *, law: MaskLaw = "orderings", generator: torch.Generator
) -> None:
    """Give a trained network of every ordering the most probable sharpness and focus of its numbers.

    Args:
        network: one with continuous variables; a sharpness that it has does not count.
        rows: rows that it was not trained on, on its device.
        law: of the masks, which hide what is judged.
        generator: source of the masks.

    Example:
        >>> from nadek import ModelConfig, prepare
        >>> levels, knots = (4, 2), ((), None)
        >>> network = IterativeNADE(ModelConfig(n_variables=2, levels=levels, knots=knots))
        >>> rows = prepare(torch.tensor([[0.5, 1], [2.5, 0]]), levels=levels, knots=knots)
        >>> fit_sharpness(network, rows, generator=torch.Generator())
        >>> len(network.config.sharpness)
        2
    """
    variables, knots = network.variables, network.config.knots
    assert isinstance(variables, MixedVariables)
    assert variables.densities is not None
    assert knots is not None
    drawn = torch.randperm(len(rows.values), generator=generator, device=generator.device)
    chosen = rows.select(drawn[: 4 * ROWS].to(rows.values.device))
    validation = prepare_validation(chosen, network, generator, law=law, min_rows=ROWS)
    x, missing = validation.rows.values, validation.missing
    parts = chunks(len(missing), bytes_per_row(network))
    logits = torch.cat([network(x[part], missing[part])[-1] for part in parts]).double()
    hidden = missing & validation.rows.shown
    factors = torch.logspace(-1, 1, N_FACTORS, base=MOST, dtype=torch.float64, device=x.device)
    factors = (64 * factors).round() / 64  # as any float holds them
    numbers = [j for j, single in enumerate(knots) if single is not None]
    costs = torch.zeros(len(FOCUSES), len(numbers), N_FACTORS, dtype=torch.float64, device=x.device)
    for index, j in enumerate(numbers):
        where = hidden[:, j].nonzero().squeeze(1)
        variable = torch.full_like(where, j)
        scores, codes = variables.scores(logits[where], variable), x[where, j].double()
        weight = 1.0 if validation.rows.weights is None else validation.rows.weights[where]
        for (at, focus), (place, factor) in product(enumerate(FOCUSES), enumerate(factors)):
            variables.densities.focus = focus
            variables.densities.sharpness.fill_(factor)
            log_p = variables.log_prob(scores, codes, variable)
            log_p = torch.logaddexp(log_p, log_p.new_tensor(ERRONEOUS))
            costs[at, index, place] = -(weight * log_p).sum() * len(chosen.values) / len(x)
    at, places = _most_probable(costs, factors.log())
    variables.densities.focus = FOCUSES[at]
    variables.densities.sharpness.fill_(1)
    variables.densities.sharpness[numbers] = factors[places].to(network.b.dtype)
    sharpness = tuple(variables.densities.sharpness.tolist())
    network.config = replace(network.config, sharpness=sharpness, focus=variables.densities.focus)


def _most_probable(costs: Float[Tensor, "c J F"], logs: Float[Tensor, " F"]) -> tuple[int, Int[Tensor, " J"]]:
    """Return the place of the focus and of each variable's factor, given the costs of all, in nats."""
    unlike = (logs - logs[:, None]).square() / (2 * OWN**2)  # [common, own]
    least, place = (costs.unsqueeze(2) + unlike).min(3)  # [c, J, common]
    total = least.sum(1) + logs.square() / (2 * COMMON**2)
    at, common = divmod(int(total.argmin()), len(logs))
    return at, place[at, :, common]
