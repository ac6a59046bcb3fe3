"""Orderings that spread out.

Each variable is as far as possible from those before it. Near variables tell each other: given its neighbours a pixel
is nearly certain. Along a random ordering some neighbours come late by chance, and a network has learnt to ask what
lies between. An ordering that spreads out asks for the rough picture first, and its consecutive variables are nearly
independent: it suits ``chunk``. The orderings are those of farthest-point sampling (Gonzalez 1985; Eldar et al. 1997).
"""

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from nadek.inference.check_inputs import as_count
from nadek.inference.decoders.chunking import chunks
from nadek.models.codes import check_tensor, split_missing
from nadek.models.variables import Knots


def spread_orderings(
    n: int, distances: Float[Tensor, "D D"], *, generator: torch.Generator | None = None
) -> Int[Tensor, "n D"]:
    """Draw ``n`` orderings that spread out.

    The first variable is drawn. Each next one is as far as possible from the nearest of those visited; among equals it
    is drawn.

    Args:
        n: number of orderings.
        distances: of each pair of variables, such as `image_distances` and `information_distances`.
        generator: source of randomness, on the device of ``distances``.

    Returns:
        The variables in the order in which they are visited, [n, D].

    Raises:
        TypeError: on distances that are no tensor, and a number of orderings that is no whole number.
        ValueError: on distances that are no square table of finite numbers.

    Example:
        >>> spread_orderings(2, image_distances((1, 3)), generator=torch.Generator().manual_seed(0)).tolist()
        [[1, 0, 2], [2, 0, 1]]
    """
    n = as_count("n", n)
    _check_distances(distances)
    n_variables, lines = len(distances), torch.arange(n, device=distances.device)
    orderings = torch.empty(n, n_variables, dtype=torch.long, device=distances.device)
    nearest = distances.new_full((n, n_variables), torch.inf)  # of those visited; less than any distance once visited
    for position in range(n_variables):
        farthest = nearest == nearest.amax(1, keepdim=True)
        keys = torch.rand(nearest.shape, device=nearest.device, generator=generator)
        visited = keys.masked_fill_(~farthest, -1).argmax(1)
        orderings[:, position] = visited
        nearest = nearest.minimum(distances[visited])
        nearest[lines, visited] = -torch.inf
    return orderings


def image_distances(image_shape: tuple[int, int]) -> Float[Tensor, "D D"]:
    """Return the Euclidean distances of pixels.

    Args:
        image_shape: height and width; row by row, the pixels are the variables.

    Raises:
        ValueError: on a shape without pixels.

    Example:
        >>> image_distances((2, 2))[0]
        tensor([0.0000, 1.0000, 1.0000, 1.4142], dtype=torch.float64)
    """
    if len(image_shape) != 2 or min(image_shape) < 1:
        raise ValueError(f"image_shape: expected height and width, found {image_shape}")
    height, width = image_shape
    place = torch.cartesian_prod(torch.arange(height), torch.arange(width)).double().view(-1, 2)
    return (place.unsqueeze(1) - place).square().sum(2).sqrt()  # equal ones are equal to the bit


def information_distances(
    x: Shaped[Tensor, "N D"], levels: tuple[int, ...] | None = None, knots: Knots = None
) -> Float[Tensor, "D D"]:
    """Return distances by mutual information.

    The distance of two variables is 1 - I(a; b) / H(a, b), by the frequencies in the rows that have both cells. It is 0
    for variables that tell each other, 1 for independent ones and where no row has both.

    Args:
        x: codes, NaN for a missing value; a number counts as its nearest knot.
        levels: number of levels of each variable; None for two each.
        knots: tells which variables are continuous, see `nadek.models.variables`.

    Returns:
        float64, [D, D].

    Raises:
        TypeError: if x is no tensor.
        ValueError: on values that are no codes, and a wrong number of levels.

    Example:
        >>> x = torch.tensor([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]])
        >>> information_distances(x)[0]
        tensor([0., 0., 1.], dtype=torch.float64)
    """
    check_tensor(x)
    if x.ndim != 2 or (levels is not None and len(levels) != x.shape[1]):
        expected = "expected rows of codes, with a number of levels for each column"
        raise ValueError(f"x: {expected}; found an array of shape {tuple(x.shape)} and levels {levels}")
    n_levels = torch.tensor(levels or (2,) * x.shape[1], device=x.device)
    values, missing = split_missing(x, levels, knots)
    values = values.round() if values.is_floating_point() else values
    variable = torch.arange(x.shape[1], device=x.device).repeat_interleave(n_levels)
    level = torch.arange(len(variable), device=x.device) - (n_levels.cumsum(0) - n_levels)[variable]
    belongs = torch.nn.functional.one_hot(variable, x.shape[1]).double()  # a level to its variable
    joint = belongs.new_zeros(len(variable), len(variable))
    for rows in chunks(len(x), 16 * len(variable)):
        here = (values[rows][:, variable] == level) & ~missing[rows][:, variable]
        joint += here.float().t() @ here.float()  # counts of pairs of levels, exact below 2^24 rows
    return _distances(joint, belongs)


def _distances(joint: Float[Tensor, "L L"], belongs: Float[Tensor, "L D"]) -> Float[Tensor, "D D"]:
    """Return distances from counts of pairs."""
    one = joint @ belongs  # of a level, among the rows that have the other variable, too
    total = belongs.t() @ one
    total_or_one = total.clamp(min=1)

    def entropy(sums: Tensor) -> Float[Tensor, "D D"]:  # from sums of n log n
        return total_or_one.log() - sums / total_or_one

    both = entropy(belongs.t() @ torch.xlogy(joint, joint) @ belongs)
    single = entropy(belongs.t() @ torch.xlogy(one, one))
    shared = (single + single.t() - both) / torch.where(both > 0, both, 1)
    distances = (1 - torch.where(both > 1e-12, shared, 0)).clamp(0, 1).fill_diagonal_(0)
    return (distances + distances.t()) / 2  # the products round


def _check_distances(distances: Tensor) -> None:
    check_tensor(distances, "distances")
    expected = "distances: expected a square table of finite numbers, one for each pair of variables"
    if distances.ndim != 2 or distances.shape[0] != distances.shape[1] or not distances.is_floating_point():
        raise ValueError(f"{expected}; found an array of shape {tuple(distances.shape)} and type {distances.dtype}")
    if not (finite := distances.isfinite()).all():
        a, b = (~finite).nonzero()[0].tolist()
        raise ValueError(f"{expected}; found {distances[a, b].item()} for variables {a} and {b}")
