"""The walk: the one loop behind scoring, sampling, conditioning and imputing.

Visit the variables in the ordering: get the scores of the next one from a path (`nadek.inference.decoders`), choose
its value (the given one, or a draw where none is given), reveal it.
"""

from collections.abc import Callable
from numbers import Number
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from nadek.inference.decoders import ALL, FullDecoder, Path, shared_path
from nadek.inference.missing_patterns import check_own, shared_stages
from nadek.inference.orderings import Orderings, are_permutations, as_tensor, random_orderings
from nadek.inference.prefix_sharing import Alike
from nadek.models.base import ConditionalModel
from nadek.utils.configs import is_whole

Draw = Callable[[Tensor], Tensor]
"""Chooses codes [...] from scores (see `nadek.models.variables`)."""


class Walked(NamedTuple):
    """What a walk leaves behind, in visiting order."""

    values: Float[Tensor, "B D"]
    """The given and the chosen values."""
    log_probs: Float[Tensor, "B D"]
    """float64, nats: ``log p(value i | values before i)``; 0 for what was not visited."""


@torch.no_grad()
def walk(
    path: Path,
    given: Shaped[Tensor, "B D"],
    *,
    start: int = 0,
    stop: int | None = None,
    stage: Shaped[Tensor, "B D"] | None = None,
    draw: Draw | None = None,
    chunk: int = 1,
) -> Walked:
    """Visit every variable once.

    Args:
        path: where the scores come from.
        given: the codes **in visiting order**; NaN asks for a draw.
        start: number of variables that are taken as given without asking for their scores.
        stop: number of variables after which the walk ends; what comes later is not looked at. None: all.
        stage: for rows that differ, **in visiting order**: 0 where a row is given a value from the beginning, 1 where
            it visits the variable, 2 where it never learns it. From ``start`` to ``stop`` is everything visited.
        draw: how to choose the values that are not given; None when all are.
        chunk: so many variables are visited at once, each given only what was revealed before the first of them:
            quicker, and another distribution (of independent variables within a chunk).

    Returns:
        The values and their conditional log-probabilities, in visiting order.

    Raises:
        ValueError: on choices from probabilities that are no numbers.
    """
    values = given.double()
    log_probs = torch.zeros(given.shape, dtype=torch.float64, device=given.device)
    stop = given.shape[1] if stop is None else stop
    alike = Alike(len(given), told_apart=not path.shared, device=given.device)

    def reveal(positions: slice, told: Tensor | None) -> None:
        path.reveal(positions, values[:, positions], told)
        alike.tell(values[:, positions], told)

    if stage is not None:
        reveal(slice(0, given.shape[1]), stage == 0)
    elif start > 0:
        reveal(slice(0, start), None)
    for first in range(start, stop, chunk):
        positions = slice(first, min(first + chunk, stop))
        told = None if stage is None else stage[:, positions] == 1
        rows = None if told is None else told.any(1).nonzero().squeeze(1)
        if rows is not None and len(rows) == 0:
            continue
        different, back = alike.states(rows)
        here = ALL if rows is None else rows
        scores = path.scores(positions, different).double()[back]
        value = values[here, positions]
        if draw is not None:
            value = torch.where(value.isnan(), draw(scores), value)
            values[here, positions] = value
        log_p = path.variables.log_prob(scores, value)
        log_probs[here, positions] = log_p if told is None else log_p.masked_fill(~told[here], 0)
        if positions.stop < stop:
            reveal(positions, told)
    if draw is not None and log_probs.isnan().any():  # at the end, where it holds up no position
        raise ValueError("nothing can be drawn from this model: expected probabilities, found NaN; its weights are bad")
    return Walked(values, log_probs)


def walk_together(
    model: ConditionalModel,
    x: Shaped[Tensor, "B D"],
    ordering: Int[Tensor, " D"],
    stage: Shaped[Tensor, "B D"],
    *,
    draw: Draw | None = None,
    chunk: int = 1,
    dtype: torch.dtype | None = None,
) -> Walked:
    """Walk rows along one ordering, each as far as it goes: what it is given first, then what it visits.

    Rows of one pattern thus have one ordering. Rows of different patterns have different ones, in which what they
    visit has the same relative order.

    Args:
        model: any conditional network.
        x: codes; NaN asks for a draw.
        ordering: the shared ordering, one that the model can follow in these stages.
        stage: 0 for cells that are given, 1 for those to visit, 2 for those never seen.
        draw: see `walk`, as ``chunk``.
        chunk: how many variables of the ordering to visit at once.
        dtype: of the matrix products; the model's own when None.

    Returns:
        Values and log-probabilities, **in the order of the columns of** ``x``.
    """
    ordering, start, stop = shared_stages(ordering, stage)
    given, stage = x[:, ordering], stage[:, ordering]
    differing = None if (stage == stage[:1]).all() else stage
    path = shared_path(model, ordering, len(x), stage=differing, dtype=dtype)
    walked = walk(path, given, start=start, stop=stop, stage=differing, draw=draw, chunk=chunk)
    back = ordering.argsort()
    return Walked(walked.values[:, back], walked.log_probs[:, back])


def walk_apart(
    model: ConditionalModel,
    x: Shaped[Tensor, "B D"],
    ordering: Int[Tensor, "B D"],
    stage: Shaped[Tensor, "B D"],
    *,
    draw: Draw | None = None,
    chunk: int = 1,
) -> Walked:
    """The same along an ordering of its own for every row, on the plain path."""
    path, given = FullDecoder(model, ordering), x.gather(1, ordering)
    walked = walk(path, given, stage=stage.gather(1, ordering), draw=draw, chunk=chunk)
    back = ordering.argsort(1)
    return Walked(walked.values.gather(1, back), walked.log_probs.gather(1, back))


def as_count(name: str, count: Any, *, of: str = "") -> int:  # noqa: ANN401 - whatever a user gave
    """A whole number of at least 1.

    Args:
        name: of the option, for the message.
        count: what was given for it.
        of: what is counted, where the name does not tell.

    Raises:
        TypeError: on what is no whole number; true and false are none.
        ValueError: on one below 1.
    """
    if not is_whole(count):
        raise TypeError(f"{name}: expected a whole number, found {count!r}")
    if count < 1:
        raise ValueError(f"{name}: expected at least 1{of}, found {count}")
    return int(count)


def check_chunk(chunk: Any) -> None:  # noqa: ANN401 - whatever a user gave
    """Refuse a number of variables to visit at once that is none."""
    as_count("chunk", chunk, of=" variable at once")


def as_orderings(
    model: ConditionalModel,
    orderings: Orderings | int,
    *,
    device: torch.device | str | None = None,
    generator: torch.Generator | None = None,
) -> Int[Tensor, "O D"]:
    """The given orderings, or so many drawn ones; a fixed-order model has only its own.

    Raises:
        TypeError: if what is given is neither a whole number nor numbers.
        ValueError: if there is to be no ordering, or what is given is none, or another than a fixed-order model's own.
    """
    if not isinstance(orderings, Number):
        given = _permutations(as_tensor(orderings, "orderings").to(device), model.n_variables)
        check_own(model, given, "orderings")
        return given
    count = as_count("orderings", orderings)
    if model.own_ordering is not None:
        return model.own_ordering.unsqueeze(0).to(device)
    return random_orderings(count, model.n_variables, device=device, generator=generator)


def _permutations(orderings: Shaped[Tensor, "..."], n_variables: int) -> Int[Tensor, "O D"]:
    """The same orderings, if that is what they are."""
    fits = orderings.ndim == 2 and len(orderings) > 0 and orderings.shape[1] == n_variables
    if not fits or not are_permutations(orderings):
        raise ValueError(
            f"orderings: expected permutations of 0..{n_variables - 1}, at least one of them, each a row,"
            f" found an array of shape {tuple(orderings.shape)} and type {orderings.dtype}"
        )
    return orderings.long()
