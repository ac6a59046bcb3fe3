"""A NumPy NADE-k written straight from the paper's equations: one row, one mask, no batching, no tricks."""

import itertools

import numpy as np

ACTIVATIONS = {"tanh": np.tanh, "sigmoid": lambda a: 1 / (1 + np.exp(-a)), "relu": lambda a: np.maximum(a, 0)}


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def parameters(model):
    """Every parameter and buffer of a torch model as NumPy arrays."""
    return {name: value.detach().numpy() for name, value in model.state_dict().items()}


def reconstructions(model, x, missing):
    """v<0>, v<1>, ..., v<k> of one row (Eq. v0, iter_h, iter_v), for a Deep core."""
    p, config = parameters(model), model.config
    phi = ACTIVATIONS[config.core.activation]
    V = p["W"].T if config.tied else p["V"]
    m = missing.astype(float)
    observed = np.where(missing, 0.0, x)  # what is missing is never read
    v = m * p["fill"] + (1 - m) * observed
    states = [v]
    for _ in range(config.steps):
        a = p["W"] @ v + p["c"]
        if config.mask_input:
            a = a + p["A"] @ m
        h = phi(a)
        for layer in range(len(config.core.hidden) - 1):
            h = phi(p[f"core.layers.{layer}.weight"] @ h + p[f"core.layers.{layer}.bias"])
        v = m * sigmoid(V @ h + p["b"]) + (1 - m) * observed
        states.append(v)
    return states


def log_prob(model, x, ordering):
    """Log p(x | o) = sum over d of log p(x_{o_d} | x_{o_<d}) (Eq. joint_given_ordering)."""
    total, missing = 0.0, np.ones(len(x), dtype=bool)
    for variable in ordering:
        p = reconstructions(model, x, missing)[-1][variable]
        total += np.log(p if x[variable] == 1 else 1 - p)
        missing[variable] = False
    return total


def all_rows(n_variables):
    """Every binary vector of a length [2^D, D]."""
    return np.array(list(itertools.product([0, 1], repeat=n_variables)))
