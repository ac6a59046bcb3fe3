"""Variables, and the columns they take in a model.

A row is a vector of D codes, one a variable: 0 to levels - 1. A variable of two levels is *binary*: one column, whose
logit is that of level 1. Any other is *categorical*: one column a level (one-hot), with a softmax over their logits;
its columns are masked together. Where every variable is binary, C = D, and the columns are the codes.

The layers above speak of variables, and call a `Variables` where columns matter:

- ``encode``, ``expand``: codes and masks as columns;
- ``probabilities``, ``level_probabilities``, ``costs``, ``cross_entropy``, ``mix_logits``: all variables at once, from
  the logits of all columns;
- ``scores``, ``log_prob``, ``level_log_probs``, ``sample``: one variable a row, as decoding visits it;
- ``permute``, ``column_order``, ``first_column``, ``scores_at``, ``probabilities_from``, ``mix_scores``, and ``places``
  of ``encode`` and ``expand``: consecutive variables of a decoder that permuted the columns.
"""

from collections.abc import Sequence

from jaxtyping import Bool, Shaped
from torch import Tensor

from nadek.models.binary_variables import BinaryVariables
from nadek.models.mixed_variables import MixedVariables

Variables = BinaryVariables | MixedVariables


def variables_of(levels: Sequence[int]) -> Variables:
    """Return the variables with these numbers of levels.

    Example:
        >>> variables_of((2, 2)).n_columns, variables_of((2, 3, 1)).n_columns
        (2, 5)
    """
    return BinaryVariables(len(levels)) if set(levels) == {2} else MixedVariables(levels)


def masked_columns(columns: Shaped[Tensor, "*batch C"], hidden: Bool[Tensor, "*batch C"]) -> Shaped[Tensor, "*batch C"]:
    """Return columns with 0 where hidden, NaN too."""
    # a product is many times faster than masked_fill, but keeps NaN
    return columns.masked_fill(hidden, 0) if columns.is_floating_point() else columns * ~hidden
