"""Fitting of the sharpness of numbers: how narrow their densities are, judged by rows that were not learnt.

A network that learnt few rows is too sure of its numbers, and one that learnt for a short time not sure enough. This is
temperature scaling (Guo et al. 2017) with a temperature for each column of numbers; the network stays as it is. Columns
that ask for more sharpness than the network has may get a bend, too: they may be narrower than the way between knots.
"""

import math
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.polynomial.chebyshev import chebfit, chebval

from nadek.inference.decoders.chunking import bytes_per_row, chunks
from nadek.inference.order_agnostic import MaskLaw
from nadek.models.evaluation import evaluation_mode
from nadek.models.iterative_nade import IterativeNADE
from nadek.training.costs import prepare_validation
from nadek.training.prepare import Rows

COMMON, OWN = 0.3, 0.4
"""Standard deviations, before any row is seen, of the logarithm that all numbers share and of what each adds to it."""
MOST, N_FACTORS = 4.0, 41
"""Largest factor, and from how many one is chosen, from its inverse on."""
N_NODES = 9
"""How many factors are tried: costs are smooth in the logarithm, so a polynomial gives the others."""
FOCUSES = (0.0, 0.4, 0.8, 1.6, 3.2)
"""What is tried as `nadek.ModelConfig.focus`."""
BENDS, BENT = (1.0, 2.0, 4.0, 8.0), 0.6
"""What is tried as `nadek.ModelConfig.bends`, beside 0; deviation of ``log(1 + bend)`` before rows are seen."""
ERRONEOUS = math.log(1e-5)
"""Log-density of codes that are typing errors, anywhere among the bins: a few of them must not decide."""
ROWS = 1024
"""Smaller sets of rows are repeated, with other masks, and larger ones cut to four times as many."""


@evaluation_mode
def fit_sharpness(
    network: IterativeNADE, rows: Rows, *, law: MaskLaw = "orderings", generator: torch.Generator
) -> None:
    """Give a trained network of every ordering the most probable sharpness, focus and bends of its numbers.

    Args:
        network: one with continuous variables; what it has of these does not count.
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
    variables, densities, knots = network.variables, network.variables.densities, network.config.knots
    assert densities is not None
    assert knots is not None
    chosen = rows.sample(4 * ROWS, generator)
    validation = prepare_validation(chosen, network, generator, law=law, min_rows=ROWS)
    x, missing = validation.rows.values, validation.missing
    parts = chunks(len(missing), bytes_per_row(network))
    logits = torch.cat([network(x[part], missing[part])[-1] for part in parts])
    hidden = missing & validation.rows.shown
    nodes = np.cos(np.pi * (np.arange(N_NODES) + 0.5) / N_NODES)  # Chebyshev's: no wiggles between them
    numbers = [j for j, single in enumerate(knots) if single is not None]
    counted = chosen.counted
    n_effective = float(counted.sum() ** 2 / counted.square().sum())  # few heavy rows say little (Kish 1965)
    exponents = np.linspace(-1, 1, N_FACTORS)

    def costs(j: int, focus: float, bend: float) -> Float[np.ndarray, " F"]:
        where = hidden[:, j].nonzero().squeeze(1)
        variable = torch.full_like(where, j)
        scores, codes = variables.scores(logits[where], variable), x[where, j]
        weight, at_nodes = validation.rows.counted[where], np.zeros(N_NODES)
        densities.focus = focus
        densities.bends.fill_(bend)
        for place, node in enumerate(nodes):
            densities.sharpness.fill_(MOST**node)
            log_p = variables.log_prob(scores, codes, variable)
            log_p = weight * torch.logaddexp(log_p, log_p.new_tensor(ERRONEOUS))
            at_nodes[place] = -float(log_p.double().sum()) * n_effective / len(x)
        return chebval(exponents, chebfit(nodes, at_nodes, N_NODES - 1))

    logs = exponents * math.log(MOST)
    straight = np.array([[costs(j, focus, 0.0) for j in numbers] for focus in FOCUSES])
    at, common, places = _most_probable(straight, logs)
    focus, bends = FOCUSES[at], np.zeros(len(numbers))
    for index in np.flatnonzero((logs[places] > 0) | (focus > 0)):
        tried = [costs(numbers[index], focus, bend) + np.log1p(bend) ** 2 / (2 * BENT**2) for bend in BENDS]
        every = np.stack([straight[at, index], *tried]) + _unlike(logs)[common]
        best, places[index] = divmod(every.argmin(), len(logs))
        bends[index] = (0.0, *BENDS)[best]
    densities.focus = focus
    densities.sharpness.fill_(1)
    densities.bends.fill_(0)
    factors = (64 * MOST ** exponents[places]).round() / 64  # as any float holds them
    densities.sharpness[numbers] = torch.from_numpy(factors).to(network.b)
    densities.bends[numbers] = torch.from_numpy(bends).to(network.b)
    sharpness, bent = (tuple(one.tolist()) for one in (densities.sharpness, densities.bends))
    network.config = replace(network.config, sharpness=sharpness, focus=focus, bends=bent if any(bent) else None)


def _most_probable(
    costs: Float[np.ndarray, "c J F"], logs: Float[np.ndarray, " F"]
) -> tuple[int, int, Int[np.ndarray, " J"]]:
    """Return the places of the focus, the common factor and each variable's, given the costs of all, in nats."""
    all_costs = np.expand_dims(costs, 2) + _unlike(logs)  # [c, J, common, own]
    total = all_costs.min(3).sum(1) + logs**2 / (2 * COMMON**2)
    at, common = np.unravel_index(total.argmin(), total.shape)
    return int(at), int(common), all_costs[at, :, common].argmin(1)


def _unlike(logs: Float[np.ndarray, " F"]) -> Float[np.ndarray, "F F"]:
    """Return costs, for each common factor, of others that are unlike it."""
    return (logs - logs[:, None]) ** 2 / (2 * OWN**2)
