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
TOGETHER = 8 * 2**20
"""Bytes of logits of the columns that are judged together."""


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
    numbers = np.array([j for j, single in enumerate(knots) if single is not None])
    counted = chosen.counted
    n_effective = float(counted.sum() ** 2 / counted.square().sum())  # few heavy rows say little (Kish 1965)
    exponents = np.linspace(-1, 1, N_FACTORS)

    def costs(some: Int[np.ndarray, " J"], focus: float, bend: float) -> Float[np.ndarray, "J F"]:
        columns = torch.from_numpy(some).to(x.device)
        where, place = hidden[:, columns].nonzero(as_tuple=True)
        variable = columns[place]
        scores, codes = variables.scores(logits[where], variable), x[where, variable]
        weight, at_nodes = validation.rows.counted[where], np.zeros((N_NODES, len(some)))
        densities.focus = focus
        densities.bends.fill_(bend)
        for index, node in enumerate(nodes):
            densities.sharpness.fill_(MOST**node)
            log_p = variables.log_prob(scores, codes, variable)
            log_p = weight * torch.logaddexp(log_p, log_p.new_tensor(ERRONEOUS))
            at_nodes[index] = -place.bincount(log_p.double(), len(some)).cpu().numpy() * n_effective / len(x)
        return chebval(exponents, chebfit(nodes, at_nodes, N_NODES - 1))

    def costs_of_all(some: Int[np.ndarray, " J"], focus: float, bend: float) -> Float[np.ndarray, "J F"]:
        return np.concatenate([costs(some[part], focus, bend) for part in chunks(len(some), logits.nbytes, TOGETHER)])

    logs = exponents * math.log(MOST)
    least = math.inf
    for tried in FOCUSES:
        curves = costs_of_all(numbers, tried, 0.0)
        total, shared, own = _most_probable(curves, logs)
        if total >= least:
            break  # there is one valley
        least, focus, straight, common, places = total, tried, curves, shared, own
    bends = np.zeros(len(numbers))
    may_bend = np.flatnonzero((logs[places] > 0) | (focus > 0))
    if len(may_bend):
        bent = [costs_of_all(numbers[may_bend], focus, bend) + np.log1p(bend) ** 2 / (2 * BENT**2) for bend in BENDS]
        every = np.stack([straight[may_bend], *bent], 1) + _unlike(logs)[common]
        best, places[may_bend] = np.divmod(every.reshape(len(may_bend), -1).argmin(1), len(logs))
        bends[may_bend] = np.array([0.0, *BENDS])[best]
    densities.focus = focus
    densities.sharpness.fill_(1)
    densities.bends.fill_(0)
    factors = (64 * MOST ** exponents[places]).round() / 64  # as any float holds them
    densities.sharpness[numbers] = torch.from_numpy(factors).to(network.b)
    densities.bends[numbers] = torch.from_numpy(bends).to(network.b)
    network.config = replace(
        network.config,
        sharpness=tuple(densities.sharpness.tolist()),
        focus=focus,
        bends=tuple(densities.bends.tolist()) if bends.any() else None,
    )


def _most_probable(
    costs: Float[np.ndarray, "J F"], logs: Float[np.ndarray, " F"]
) -> tuple[float, int, Int[np.ndarray, " J"]]:
    """Return the least total cost, in nats, and the places of the common factor and each variable's."""
    all_costs = np.expand_dims(costs, 1) + _unlike(logs)  # [J, common, own]
    total = all_costs.min(2).sum(0) + logs**2 / (2 * COMMON**2)
    common = int(total.argmin())
    return float(total[common]), common, all_costs[:, common].argmin(1)


def _unlike(logs: Float[np.ndarray, " F"]) -> Float[np.ndarray, "F F"]:
    """Return costs, for each common factor, of others that are unlike it."""
    return (logs - logs[:, None]) ** 2 / (2 * OWN**2)
