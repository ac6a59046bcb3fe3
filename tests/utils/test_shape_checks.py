"""The checks of shapes that run in all tests: wrong shapes are noticed after right ones, too."""

import pytest
import torch
from beartype import beartype
from jaxtyping import Float, TypeCheckError
from torch import Tensor

from support.shape_checks import checked

X, Y = torch.ones(3, 2), torch.ones(2)
OF_ARGUMENTS = [(torch.mv, X, torch.ones(3)), (torch.mv, X[0], Y), (torch.mv, X.long(), Y)]
OF_RESULTS = [(answer, X, Y) for answer in (lambda x, y: x, lambda x, y: x[:, 0].long(), lambda x, y: None)]


@checked(typechecker=beartype)
def applied(function: object, x: Float[Tensor, "B D"], y: Float[Tensor, " D"]) -> Float[Tensor, " B"]:
    """Return f(x, y)."""
    return function(x, y)


@pytest.mark.parametrize("wrong", OF_ARGUMENTS + OF_RESULTS)
def test_wrong_shapes_are_noticed_after_right_ones(wrong):
    for right in (torch.mv, lambda x, y: x @ y):
        assert applied(right, X, Y).shape == (3,)
    for _ in range(2):
        with pytest.raises(TypeCheckError):
            applied(*wrong)
