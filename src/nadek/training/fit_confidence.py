"""Fitting of the confidence of a trained network.

The rows that a network learnt from are no judges of its confidence: it is fitted on others, by their order-agnostic
cost. The network (`nadek.models.confidence`) stays as it is. This is temperature scaling (Guo et al. 2017) with a
temperature for each part of a row that is given.
"""

from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from nadek.inference.decoders.chunking import bytes_per_row, chunks
from nadek.models.base import ConditionalModel
from nadek.models.confidence import Confidence
from nadek.models.evaluation import evaluation_mode
from nadek.models.iterative_nade import IterativeNADE
from nadek.models.model_config import check_every_ordering
from nadek.training.costs import Validation, cell_weights, prepare_validation
from nadek.training.prepare import Rows

MAX_ROWS = 16_384
"""Largest number of rows to fit on."""
MAX_ITERATIONS = 100
"""Of L-BFGS; some twenty do."""
CLOSE = 1e-6
"""Change of the mean cost, in nats, at which the fit ends."""


@evaluation_mode
def fit_confidence(
    network: ConditionalModel, rows: Rows, *, knots: int = 8, generator: torch.Generator
) -> IterativeNADE:
    """Give a trained network a fitted confidence.

    Args:
        network: an IterativeNADE of every ordering; it is left as it is, and a confidence that it has does not count.
        rows: rows that it was not trained on, on its device.
        knots: number of knots of the confidence.
        generator: source of the masks.

    Returns:
        A copy of the network with the confidence of the least mean cost.

    Raises:
        TypeError: for another network, such as one with a memory (fit the confidence first) or with pruned weights.
        ValueError: for a fixed-order network, and for fewer than one knot.

    Example:
        >>> from nadek.models import nade_k
        >>> from nadek.training import prepare
        >>> network, x = nade_k(3, hidden=(4,)), torch.tensor([[0, 1, 1], [1, 0, 0]])
        >>> fit_confidence(network, prepare(x), knots=2, generator=torch.Generator()).config.confidence
        2
    """
    if type(network) is not IterativeNADE or not network.can_decode_incrementally:
        raise TypeError(f"confidence: expected an IterativeNADE without hooks, found {type(network).__name__}")
    check_every_ordering(network.config, "confidence")
    model = IterativeNADE(replace(network.config, confidence=knots), generator=torch.Generator()).to(network.b)
    assert model.confidence is not None
    weights = {name: value for name, value in network.state_dict().items() if not name.startswith("confidence.")}
    model.load_state_dict(weights, strict=False)  # the factor is 1
    validation = prepare_validation(rows.sample(MAX_ROWS, generator), model, generator)
    model.confidence.log_factor.copy_(_least_cost(model, validation, knots).log_factor)
    return model.eval()


def _least_cost(model: IterativeNADE, validation: Validation, knots: int) -> Confidence:
    x, weight, n_rows = validation.rows.values, cell_weights(validation), len(validation.missing)
    parts = list(chunks(n_rows, bytes_per_row(model)))
    logits = [model(x[part], validation.missing[part])[-1] for part in parts]  # the factor does not change these
    confidence = Confidence(knots).to(x.device).double()
    optimizer = torch.optim.LBFGS(
        confidence.parameters(), max_iter=MAX_ITERATIONS, tolerance_change=CLOSE, line_search_fn="strong_wolfe"
    )

    @torch.enable_grad()
    def mean_cost() -> Float[Tensor, ""]:
        optimizer.zero_grad()
        # worth one row: where rows say nothing of a knot, or that it should be infinite, it stays near 0
        total = confidence.log_factor.square().sum() / 2 / n_rows
        total.backward()
        for part, output in zip(parts, logits, strict=True):
            scaled = confidence.of_rows(validation.missing[part]) * output
            cost = (weight[part] * model.variables.costs(scaled, x[part])).sum() / n_rows
            cost.backward()
            total = total + cost.detach()
        return total.detach()

    optimizer.step(mean_cost)
    return confidence
