"""Settings that need no tuning: the model and its training, chosen from the shape of the table.

All the numbers stand here. They were chosen on validation rows of real tables, not out of loyalty to the paper: a
residual core that carries its stream from step to step, and a network that is told which cells are missing.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import torch

from nadek.inference.orderings import Masks
from nadek.kernels.cpu import quick_in_bfloat16
from nadek.models import ModelConfig
from nadek.models.cores import ResidualConfig
from nadek.training import AdamW, Phase, TrainingConfig

Purpose = Literal["density", "imputation"]

STEPS = 3
WIDTH = 400
"""Units of the stream, for tables that can teach so many; see `_width`."""
BLOCKS = 2
WEIGHT_DECAY = 0.1
ROWS_SEEN, ROWS_FILLED = 1_500_000, 1_100_000
"""How many rows a run shall read, counted each time, within `FEWEST_EPOCHS` and `MOST_EPOCHS`; and one of `grown`,
which does with so many what the paper's masks took the former for."""
FEWEST_EPOCHS, MOST_EPOCHS = 10, 400
DROPOUT, SMALL_TABLE = 0.2, 5000
"""Part of the hidden units left out while training on tables of fewer rows: these can be learnt by heart."""
FINE, COARSE = (100, 2e-3), (300, 4e-3)
"""Rows a minibatch and learning rate. The coarse training takes half the time of the fine one and fills in cells as
well; the tails of the joint distribution, which the likelihood of rows hangs on, are learnt later."""
LARGE_TABLE = 100_000
"""From so many rows on the training is coarse whatever it is for."""
UNSEEN = 8192
"""Rows to learn from before the next validation, which reads thousands of rows itself, and a tenth of a run at most;
four times as many where it would be a tenth of the time of `grown`."""
PATIENCE = 0.2
"""Part of the epochs that may bring nothing better before a run is stopped."""
WIDE = 384
"""From this width on the products are large enough for bfloat16 to be the quicker, where the processor has it."""


def defaults(
    n_rows: int,
    levels: Sequence[int],
    *,
    ordinal: Sequence[int] = (),
    purpose: Purpose = "density",
    epochs: int | None = None,
    batch_size: int | None = None,
    steps: int | None = None,
    width: int | None = None,
    device: torch.device | str = "cpu",
) -> tuple[ModelConfig, TrainingConfig]:
    """A model and a training for a table.

    Args:
        n_rows: rows to learn from.
        levels: number of levels of each variable.
        ordinal: places of those variables whose levels have an order.
        purpose: what it is for: the likelihood of rows, or filling in cells. From `SMALL_TABLE` rows on the former
            hides cells as holes are for half of its training; the latter does for all of it, which is shorter, half
            with one step (`grown`).
        epochs: another number of passes over the rows; what hangs on it follows.
        batch_size: another number of rows a minibatch; what hangs on it follows.
        steps: another number of refining steps.
        width: another number of units of the stream.
        device: where it will be trained.

    Example:
        >>> model, training = defaults(500, (2,) * 16)
        >>> model.core.width, training.epochs, training.batch_size
        (176, 400, 100)
    """
    width = _width(n_rows, len(levels)) if width is None else width
    steps = STEPS if steps is None else steps
    dropout = DROPOUT if n_rows < SMALL_TABLE else 0.0
    model = ModelConfig(
        n_variables=len(levels),
        levels=None if set(levels) == {2} else tuple(levels),
        ordinal=tuple(ordinal) or None,
        core=ResidualConfig(width=width, blocks=BLOCKS, carry=True, activation="gelu", dropout=dropout),
        steps=steps,
        fill="zero",
        mask_input=True,
    )
    coarse = n_rows >= (SMALL_TABLE if purpose == "imputation" else LARGE_TABLE)
    usual_batch_size, learning_rate = COARSE if coarse else FINE
    batch_size = usual_batch_size if batch_size is None else batch_size
    quicker = coarse and purpose == "imputation"
    first_masks: Masks | None = "holes" if n_rows >= SMALL_TABLE else None
    if epochs is None:
        seen = ROWS_FILLED if quicker else ROWS_SEEN
        epochs = min(MOST_EPOCHS, max(FEWEST_EPOCHS, round(seen / n_rows)))
    between = 4 * UNSEEN if quicker else UNSEEN
    every = max(1, min(between // n_rows, epochs // 10))
    training = TrainingConfig(
        phases=grown(epochs, steps) if quicker else phases(epochs, steps, first_masks=first_masks),
        optimizer=AdamW(lr=learning_rate, weight_decay=WEIGHT_DECAY),
        batch_size=batch_size,
        precision="bfloat16" if width >= WIDE and quick_in_bfloat16(device) else "float32",
        patience=max(5, round(PATIENCE * epochs / every)),
        validate_every=every,
    )
    return model, training


def _width(n_rows: int, n_variables: int) -> int:
    """Narrower for few rows, which it would learn by heart, and for few variables; a multiple of 16."""
    width = min(WIDTH, 32 * n_variables, 8 * math.sqrt(n_rows))
    return max(16, 16 * int(width / 16))


def phases(epochs: int, steps: int, *, first_masks: Masks | None = None) -> tuple[Phase, ...]:
    """The usual schedule: half of the epochs on the costs of all steps, half on the last one's (all, of one step).

    Args:
        epochs: of both halves.
        steps: of the model.
        first_masks: what the first half hides, see `nadek.training.Phase`; the second hides what the paper does.
    """
    first = epochs // 2 if steps > 1 or first_masks is not None else 0
    last = Phase(objective="last_step", epochs=epochs - first)
    return (Phase(objective="all_steps", epochs=first, masks=first_masks), last) if first else (last,)


def grown(epochs: int, steps: int) -> tuple[Phase, ...]:
    """The schedule for filling in: half of the epochs with one step, half with all, on the last one's costs of holes.

    Of three steps it takes two thirds of the time, and where it was tried it lost a hundredth of the log-loss at most.
    What is hidden as holes are won one to four hundredths.
    """
    first = epochs // 2 if steps > 1 else 0
    last = Phase(epochs=epochs - first, masks="holes")
    return (replace(last, epochs=first, steps=1), last) if first else (last,)
