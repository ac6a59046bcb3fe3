"""What tests of models share: generators, every model by kind, and frequencies of what is drawn."""

import numpy as np
import pytest
import torch
from scipy import stats

from reference import all_rows
from zoo import WITH_COLUMNS, ZOO

every_model = pytest.mark.parametrize("name", list(ZOO))
with_columns = pytest.mark.parametrize("name", WITH_COLUMNS)
any_order = pytest.mark.parametrize("name", [name for name in ZOO if "fixed-order" not in name])


def seeded(seed=0):
    """A generator of its own."""
    return torch.Generator().manual_seed(seed)


def close(found, expected, atol=1e-11):
    torch.testing.assert_close(found, expected, rtol=0, atol=atol, equal_nan=True)


def same(one, other):
    """True for the same tensors by name, to the bit."""
    return one.keys() == other.keys() and all(torch.equal(value, other[name]) for name, value in one.items())


def rows(model):
    """Every row there is."""
    return torch.from_numpy(all_rows(model.levels)).double()


def frequencies(model, drawn):
    """How often each row of the enumeration was drawn."""
    code = np.ravel_multi_index(tuple(drawn.long().t().numpy()), model.levels)
    return np.bincount(code, minlength=int(np.prod(model.levels)))


def p_value(counts, probabilities):
    """The chi-square test of counts against exact probabilities, which need not sum to one."""
    p = np.asarray(probabilities)
    return stats.chisquare(counts, p / p.sum() * counts.sum()).pvalue
