"""Search for a row's most probable completion (MAP).

A row has exponentially many completions. Each search returns a good one, with its log-probability along the ordering it
used. The best completion depends on the ordering: a model has one distribution for each.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nadek.inference.cells import cell_scores
from nadek.inference.check_inputs import as_count, missing_cells
from nadek.inference.decoders.chunking import bytes_per_row, chunks
from nadek.inference.orderings import Ordering, as_ordering, as_orderings, as_tensor, in_stages
from nadek.inference.sampling import Completed, complete
from nadek.models.base import ConditionalModel
from nadek.models.evaluation import evaluation_mode
from nadek.models.model_config import check_every_ordering


@evaluation_mode
def greedy(
    model: ConditionalModel,
    x: Float[Tensor, "B D"],
    *,
    ordering: Ordering | None = None,
    most_certain_first: bool = False,
    generator: torch.Generator | None = None,
) -> Completed:
    """Fill the missing cells one by one with the most probable level.

    In general this is not the exact maximum.

    Args:
        model: a NADE-k; a fixed-order NADE serves where the missing cells come last in its ordering.
        x: codes, NaN for a missing value.
        ordering: the order of the missing cells (the observed ones come first anyway); drawn when None.
        most_certain_first: instead of an ordering, always fill the missing cell that the model is surest of. It takes
            one pass of the whole network a cell; the completion is often more probable.
        generator: source of the ordering, on the device of ``x``.

    Returns:
        The completed rows, and log p(completion | observed) in nats along the ordering used.

    Raises:
        TypeError: if ``x`` is no tensor.
        ValueError: on a wrong number of columns, on values that are no codes, on an ordering that is none, and on
            what a fixed-order model cannot fill in.

    Example:
        >>> from nadek.models import nade_k
        >>> model = nade_k(3, hidden=(4,), mean=torch.tensor([0.99, 0.01, 0.5]), generator=torch.Generator())
        >>> x = torch.tensor([[torch.nan, torch.nan, 1]])
        >>> greedy(model, x).x.tolist(), beam(model, x, width=4).x.tolist()
        ([[1.0, 0.0, 1.0]], [[1.0, 0.0, 1.0]])
    """
    missing_cells(model, x)  # checks x
    if most_certain_first:
        if ordering is not None:
            raise ValueError("most_certain_first: finds an ordering for each row; expected none beside it, found one")
        check_every_ordering(model.config, "most_certain_first")
        return _most_certain_first(model, x)
    along = _ordering(model, x, ordering, generator)

    def most_probable(scores: Tensor, variable: Tensor, _: object) -> Tensor:
        return model.variables.level_log_probs(scores, variable).argmax(-1).to(scores.dtype)

    decoded = complete(model, x, most_probable, along)
    return Completed(decoded.values, decoded.log_probs.sum(1))


@evaluation_mode
def beam(
    model: ConditionalModel,
    x: Float[Tensor, "B D"],
    *,
    width: int,
    ordering: Ordering | None = None,
    generator: torch.Generator | None = None,
) -> Completed:
    """Fill the missing cells by beam search.

    It keeps the ``width`` most probable partial completions. In general this is not the exact maximum. It is exact
    along its ordering once ``width`` is the number of all completions; a width of 1 is `greedy`.
    See the example of `greedy`.

    Args:
        model: a NADE-k; a fixed-order NADE serves where the missing cells come last in its ordering.
        x: codes, NaN for a missing value.
        width: number of partial completions to keep.
        ordering: the order of the missing cells (the observed ones come first anyway); drawn when None.
        generator: source of the ordering, on the device of ``x``.

    Returns:
        The completed rows, and log p(completion | observed) in nats along the ordering.

    Raises:
        TypeError: on a width that is no whole number, and if ``x`` is no tensor.
        ValueError: on a width below 1, and as `greedy`.
    """
    width = as_count("width", width)
    missing = missing_cells(model, x)
    orderings = in_stages(model, _ordering(model, x, ordering, generator), missing)
    incomplete = missing.any(1).nonzero().squeeze(1)
    out, log_prob = x.clone(), torch.zeros(x.shape[0], dtype=torch.float64, device=x.device)
    a_beam = bytes_per_row(model) + 3 * x.element_size() * x.shape[1] + 32 * max(model.levels)
    for part in chunks(len(incomplete), width * a_beam):
        rows = incomplete[part]
        out[rows], log_prob[rows] = _beam(model, x[rows], orderings[rows], width)
    return Completed(out, log_prob)


def _ordering(
    model: ConditionalModel, x: Tensor, ordering: Ordering | None, generator: torch.Generator | None
) -> Int[Tensor, " D"]:
    """Return the ordering for all rows: the given one, the model's own, or a drawn one."""
    drawn = as_orderings(model, 1, device=x.device, generator=generator)[0] if ordering is None else ordering
    if (ordering := as_tensor(drawn)).ndim != 1:
        raise ValueError(f"ordering: expected one for all rows, found an array of shape {tuple(ordering.shape)}")
    return as_ordering(model, x, ordering)


def _most_certain_first(model: ConditionalModel, x: Tensor) -> Completed:
    """Fill the surest cell of each incomplete row, one pass a cell."""
    out, log_prob = x.clone(), torch.zeros(x.shape[0], dtype=torch.float64, device=x.device)
    for part in chunks(x.shape[0], bytes_per_row(model) + 24 * x.shape[1] * max(model.levels)):
        rows = torch.arange(part.start, part.stop, device=x.device)
        while len(rows := rows[out[rows].isnan().any(1)]):
            missing = out[rows].isnan()
            logits = model(out[rows], missing)[-1].double()
            certain, level = model.variables.level_probabilities(logits).max(-1)
            variable = certain.masked_fill(~missing, -1).argmax(1)
            best = level.gather(1, variable[:, None]).squeeze(1).to(out.dtype)
            out[rows, variable] = best
            log_prob[rows] += model.variables.log_prob(model.variables.scores(logits, variable), best, variable)
    return Completed(out, log_prob)


def _beam(model: ConditionalModel, x: Tensor, ordering: Tensor, width: int) -> Completed:
    """Return the best completion of incomplete rows, each along its own ordering with the missing cells last."""
    out, best = x.clone(), torch.zeros(x.shape[0], dtype=torch.float64, device=x.device)
    rows, place = torch.arange(x.shape[0], device=x.device), (~x.isnan()).sum(1)
    beams, log_prob = x.unsqueeze(1), best.unsqueeze(1)
    while len(rows):
        beams, log_prob = _extended(model, beams, log_prob, ordering[rows, place], width)
        place = place + 1
        done = place == x.shape[1]
        out[rows[done]], best[rows[done]] = beams[done, 0], log_prob[done, 0]
        rows, place, beams, log_prob = (each[~done] for each in (rows, place, beams, log_prob))
    return Completed(out, best)


def _extended(
    model: ConditionalModel, beams: Tensor, log_prob: Tensor, variable: Tensor, width: int
) -> tuple[Float[Tensor, "B w D"], Float[Tensor, "B w"]]:
    """Return the best partial completions with one more variable, best first; absent levels are at -infinity."""
    n_rows, n_beams, n_variables = beams.shape
    shown = beams.flatten(0, 1)
    variables = variable.repeat_interleave(n_beams)
    scores = cell_scores(model, shown, shown.isnan(), variables)
    levels = model.variables.level_log_probs(scores, variables).unflatten(0, (n_rows, n_beams))
    n_levels = levels.shape[2]
    best, place = (log_prob.unsqueeze(2) + levels).flatten(1).topk(min(width, n_beams * n_levels), dim=1)
    extended = beams.gather(1, (place // n_levels).unsqueeze(2).expand(-1, -1, n_variables))
    level = (place % n_levels).unsqueeze(2).to(extended.dtype)
    return extended.scatter_(2, variable[:, None, None].expand(-1, extended.shape[1], 1), level), best
