"""Default model and training, chosen from the shape of a table.

The numbers were chosen on validation rows of real tables: a residual core that carries its stream from step to step,
and a network that reads the mask.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from nadek.inference.order_agnostic import MaskLaw
from nadek.models import ModelConfig
from nadek.models.cores import ResidualConfig
from nadek.models.variables import Knots
from nadek.training import AdamW, Phase, TrainingConfig

Purpose = Literal["density", "imputation"]
Effort = Literal["quick", "default", "thorough"]

EFFORTS: dict[Effort, float] = {"quick": 1 / 3, "default": 1.0, "thorough": 3.0}
"""Factors on the length of training."""

STEPS, STEPS_OF_NUMBERS = 3, 2
"""Refining steps; imputation takes fewer in tables with numbers, whose first guess is good."""
FACTORS, MOST_FACTORS = 12, 64
"""Factors of the first guess, which tables with numbers have: half as many as ordered variables, from the first to the
second, and at most one for each feature. Hundreds of columns of which a few others tell each take many."""
NUMBER_TRUST = 0.75
"""Part of the sharpness of the guess at numbers that comes from the observed cells."""
CATEGORY_TRUST, SURE_ROWS = 0.5, 500
"""Factor on the logits of the guess at categories up to so many rows, beyond which it falls as one divided by them."""
WIDTH, A_COLUMN, A_VARIABLE, NARROW_VARIABLE = 400, 5, 32, 16
"""Most units of the stream, those for each column, beyond 64, and those for each variable; the last where imputation is
learnt from a small table without numbers. See `_width`."""
BLOCKS = 2
WEIGHT_DECAY, GUESS_DECAY, MOST_DECAY = 0.1, 800, 2.0
"""Weight decay; with a first guess, the second one divided by the rows, from the first to the third. More of it weakens
associations; categories lose by it."""
ROWS_DENSITY, ROWS_IMPUTATION = 1_500_000, 600_000
"""Rows that a run reads in all its epochs."""
ROWS_A_COLUMN = 10_000
"""Rows that imputation reads for each of many columns, up to twice `ROWS_IMPUTATION`."""
MIN_EPOCHS, MAX_EPOCHS = 10, 400
DROPOUT, SMALL_TABLE = 0.2, 5000
"""Dropout for tables of fewer rows, which a network could learn by heart."""
FINE, COARSE, IMPUTATION, COARSE_IMPUTATION = (100, 2e-3), (300, 4e-3), (200, 6e-3), (400, 8e-3)
"""Batch size and learning rate, for imputation coarse ones unless the table is small. A third of the passes imputes as
well; the likelihood of rows needs the tails of the joint distribution, which are learnt later."""
SMOOTHING = 1.0
"""Answers besides, one in all: a level that none of n answers had has 1 / (n + 1) divided by the number of levels."""
LARGE_TABLE = 100_000
"""From so many rows on a density is learnt from coarse batches."""
ROWS_BETWEEN = 8192
"""Rows read between validations, at most a tenth of a run; four times as many for imputation, which would spend a tenth
of its time on them, and half as many where they choose the length."""
ANNEAL, ANNEAL_LEVELS = (0.5, 2.0), 40
"""Least and most epochs of a falling rate, as part of those of the full rate, where validation chooses the length; as
many for so many levels, of which a variable has two where some are numbers."""
PATIENCE = 0.2
"""Patience of early stopping, as part of the epochs."""
BFLOAT16_WIDTH = 160
"""From this width on bfloat16 products are faster, where the processor has them."""


def defaults(
    n_rows: int,
    levels: Sequence[int],
    *,
    ordinal: Sequence[int] = (),
    knots: Knots = None,
    purpose: Purpose = "density",
    effort: Effort = "default",
    epochs: int | None = None,
    batch_size: int | None = None,
    steps: int | None = None,
    width: int | None = None,
) -> tuple[ModelConfig, TrainingConfig]:
    """Return the default model and training of a table.

    Args:
        n_rows: rows to learn from.
        levels: number of levels of each variable.
        ordinal: indices of the variables whose levels have an order.
        knots: tells which variables are continuous, see `nadek.models.variables`.
        purpose: "density" for the likelihood of rows, "imputation" for missing cells. From `SMALL_TABLE` rows on the
            first half of density training uses the law of missing cells, too, and the second half completes rows.
            Imputation is shorter.
        effort: "quick" trains a third as long, "thorough" three times as long, and large tables for imputation at the
            width of a density.
        epochs: number of epochs; None for the default, likewise below. For imputation in smaller tables validation
            chooses it.
        batch_size: rows a minibatch.
        steps: number of refining steps.
        width: units of the stream.

    Example:
        >>> model, training = defaults(500, (2,) * 16)
        >>> model.core.width, training.epochs, training.batch_size
        (144, 400, 100)
    """
    imputation, small = purpose == "imputation", n_rows < SMALL_TABLE
    if width is None:
        width = _width(n_rows, levels, knots, purpose, effort)
    if steps is None:
        steps = STEPS_OF_NUMBERS if imputation and knots else STEPS
    factors = _factors(levels, ordinal)
    model = ModelConfig(
        n_variables=len(levels),
        levels=None if set(levels) == {2} and knots is None else tuple(levels),
        ordinal=tuple(ordinal) or None,
        knots=None if knots is None else tuple(single if single is None else tuple(single) for single in knots),
        core=ResidualConfig(
            width=width, blocks=BLOCKS, carry=True, activation="gelu", dropout=DROPOUT if small else 0.0
        ),
        steps=steps,
        fill="zero",
        factors=factors,
        category_trust=round(CATEGORY_TRUST * min(1, SURE_ROWS / n_rows), 2) if factors else None,
        number_trust=NUMBER_TRUST if factors else None,
        mask_input=True,
    )
    usual_batch_size, learning_rate = _pace(n_rows, purpose)
    decay = WEIGHT_DECAY if factors is None else max(WEIGHT_DECAY, min(MOST_DECAY, GUESS_DECAY / n_rows))
    usual_epochs = _epochs(n_rows, len(levels), purpose, EFFORTS[effort])
    if imputation and small and epochs is None:
        n_levels = 2 * len(levels) if knots else sum(levels)
        training = _by_validation(n_rows, n_levels, usual_epochs, EFFORTS[effort])
    else:
        training = _fixed(n_rows, usual_epochs if epochs is None else epochs, steps, purpose)
    return model, replace(
        training,
        optimizer=AdamW(lr=learning_rate, weight_decay=decay),
        batch_size=usual_batch_size if batch_size is None else batch_size,
        precision="bfloat16" if width >= BFLOAT16_WIDTH else "float32",
        missing="use" if imputation else "complete",
        smoothing=SMOOTHING,
    )


def _factors(levels: Sequence[int], ordinal: Sequence[int]) -> int | None:
    """Return the number of factors of the first guess; None for no guess."""
    ordered = {j for j in ordinal if levels[j] > 2}
    n_features = sum(1 if j in ordered else max(1, n - 1) for j, n in enumerate(levels))
    return min(n_features, MOST_FACTORS, max(FACTORS, len(ordered) // 2)) if ordered else None


def _width(n_rows: int, levels: Sequence[int], knots: Knots, purpose: Purpose, effort: Effort) -> int:
    """Return the width, a multiple of 16: narrower for few rows, or few variables or columns with so many units each.

    A number counts as four levels, however many knots it has: they learn together.
    """
    imputation, small = purpose == "imputation", n_rows < SMALL_TABLE
    a_column, a_variable = A_COLUMN, A_VARIABLE
    if imputation and (small or effort != "thorough"):
        a_column = 1 if knots or not small else 2
    if imputation and small and not knots:
        a_variable = NARROW_VARIABLE
    kinds = zip(levels, knots or [None] * len(levels), strict=True)
    columns = sum(8 if single is not None else 1 if n == 2 else 2 * n for n, single in kinds)
    width = min(WIDTH, a_variable * len(levels), 8 * math.sqrt(n_rows), 64 + a_column * columns)
    return max(16, 16 * int(width / 16))


def _pace(n_rows: int, purpose: Purpose) -> tuple[int, float]:
    """Return batch size and learning rate."""
    if purpose == "imputation":
        return IMPUTATION if n_rows < SMALL_TABLE else COARSE_IMPUTATION
    batch_size, learning_rate = FINE if n_rows < LARGE_TABLE else COARSE
    n_batches = max(1, round(n_rows / batch_size))
    return math.ceil(n_rows / n_batches), learning_rate  # no small rest: a step takes as long with few rows


def _epochs(n_rows: int, n_variables: int, purpose: Purpose, length: float) -> int:
    """Return the usual number of epochs."""
    n_read = ROWS_DENSITY
    if purpose == "imputation":
        n_read = min(2 * ROWS_IMPUTATION, max(ROWS_IMPUTATION, ROWS_A_COLUMN * n_variables))
    most, least = round(length * MAX_EPOCHS), max(2, round(length * MIN_EPOCHS))
    return min(most, max(least, round(length * n_read / n_rows)))


def _fixed(n_rows: int, epochs: int, steps: int, purpose: Purpose) -> TrainingConfig:
    """Return phases of a given length.

    They count the cost after one step, then after all. The first phase costs a part of the time and, on validation
    rows, next to no quality. It takes half of the epochs with three steps, two thirds with two.
    """
    last_masks: MaskLaw | None = "holes" if purpose == "imputation" else None
    first_masks = last_masks if n_rows < SMALL_TABLE else "holes"
    first = 2 * epochs // (steps + 1) if steps > 1 else 0
    last = Phase(epochs=epochs - first, masks=last_masks)
    phases = (Phase(epochs=first, steps=1, masks=first_masks), last) if first else (last,)
    between = ROWS_BETWEEN * (4 if purpose == "imputation" else 1)
    return _validated(TrainingConfig(phases=phases), n_rows, epochs, between)


def _by_validation(n_rows: int, n_levels: int, epochs: int, length: float) -> TrainingConfig:
    """Return phases whose length validation chooses.

    They count the cost after one step at the full rate, then after all.
    """
    most = round(length * MAX_EPOCHS)
    anneal = min(ANNEAL[1], max(ANNEAL[0], n_levels / ANNEAL_LEVELS))
    falling = Phase(epochs=math.ceil(anneal * most), masks="holes")
    phases = (replace(falling, epochs=most, steps=1), falling)
    return _validated(TrainingConfig(phases=phases, anneal=anneal), n_rows, epochs, ROWS_BETWEEN // 2)


def _validated(training: TrainingConfig, n_rows: int, epochs: int, between: int) -> TrainingConfig:
    """Return a training with early stopping, and with validations so many rows apart."""
    every = max(1, min(between // n_rows, epochs // 10))
    return replace(training, validate_every=every, patience=max(5, round(PATIENCE * epochs / every)))
