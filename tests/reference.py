"""A NumPy NADE-k written straight from the paper's equations: one row, one mask, no batching, no tricks.

Equation numbers are those of the paper: Raiko, Yao, Cho and Bengio (2014).
"""

import itertools

import numpy as np

ACTIVATIONS = {"tanh": np.tanh, "sigmoid": lambda a: 1 / (1 + np.exp(-a)), "relu": lambda a: np.maximum(a, 0)}


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def parameters(model):
    """Every parameter and buffer of a torch model as NumPy arrays."""
    return {name: value.detach().numpy() for name, value in model.state_dict().items()}


def columns_of(levels):
    """The columns of each variable: one of a binary variable, one a level of any other."""
    ends = np.cumsum([1 if n == 2 else n for n in levels])
    return [list(range(end - (1 if n == 2 else n), end)) for n, end in zip(levels, ends, strict=True)]


def one_hot(levels, x):
    """The columns that stand for the codes of a row."""
    shown = [[value] if n == 2 else np.eye(n)[int(value)] for n, value in zip(levels, x, strict=True)]
    return np.concatenate(shown).astype(float)


def level_log_probs(levels, logits):
    """For each variable the log-probabilities of its levels, from the logits of all columns."""
    result = []
    for n, columns in zip(levels, columns_of(levels), strict=True):
        scores = np.array([0.0, logits[columns[0]]]) if n == 2 else logits[columns]
        result.append(scores - np.logaddexp.reduce(scores))
    return result


def column_probabilities(levels, logits):
    """What each column is on average."""
    return np.exp(np.concatenate([p[1:] if len(p) == 2 else p for p in level_log_probs(levels, logits)]))


def reconstructions(model, x, missing):
    """v<0>, v<1>, ..., v<k> of one row, column by column (Eq. 5 to 7), for a Deep core, with its confidence."""
    return [v for v, _ in _steps(model, x, missing)]


def _steps(model, x, missing):
    """What is shown after each step, with its logits."""
    p, config = parameters(model), model.config
    phi = ACTIVATIONS[config.core.activation]
    V = p["W"].T if config.tied else p["V"]
    m = np.concatenate([[float(hidden)] * len(c) for hidden, c in zip(missing, columns_of(model.levels), strict=True)])
    observed = one_hot(model.levels, np.where(missing, 0.0, x))  # what is missing is never read
    guess, is_guessed = first_guess(model, p, observed, missing)
    first = np.where(is_guessed, column_probabilities(model.levels, p["b"] + guess), p["fill"])
    v = m * first + (1 - m) * observed
    factor = confidence(p["confidence.log_factor"], 1 - np.mean(missing)) if config.confidence else 1.0
    shown = [(v, None)]
    for _ in range(config.steps):
        a = p["W"] @ v + p["c"]
        if config.mask_input:
            a = a + p["A"] @ missing.astype(float)
        h = phi(a)
        for layer in range(len(config.core.hidden) - 1):
            h = phi(p[f"core.layers.{layer}.weight"] @ h + p[f"core.layers.{layer}.bias"])
        logits = V @ h + p["b"] + guess
        v = m * column_probabilities(model.levels, logits) + (1 - m) * observed
        answer = factor * logits  # the next step reads v as it is
        shown.append((m * column_probabilities(model.levels, answer) + (1 - m) * observed, answer))
    return shown


def first_guess(model, p, observed, missing):
    """What a factor analysis adds to the logits of variables, and whose columns these are."""
    guess, is_guessed = np.zeros(len(observed)), np.zeros(len(observed), dtype=bool)
    if not model.config.factors:
        return guess, is_guessed
    rank, p = model.config.factors, {k.removeprefix("first_guess."): v for k, v in p.items()}
    shown = ~np.asarray(missing)
    columns = np.concatenate([[hidden] * len(c) for hidden, c in zip(missing, columns_of(model.levels), strict=True)])
    total = np.where(columns, 0, observed) @ p["column_sums"] - p["variable_sums"][shown].sum(0)
    covariance = np.linalg.inv(np.eye(rank) + p["precisions"][shown].sum(0).reshape(rank, rank))
    order, trust, number_trust = set(model.config.ordinal), model.config.category_trust or 0, model.config.number_trust
    part = 1 if number_trust is None else number_trust
    guesses = []
    for j, n in enumerate(model.levels):
        place = columns_of(model.levels)[j]
        guesses += [(place, n)] if j in order and n > 2 else [([column], n == 2) for column in place]
    for loading, mean, alone, (place, n) in zip(p["loadings"], p["mean"], p["variance"], guesses, strict=True):
        centre = mean + loading @ covariance @ total
        if len(place) > 1:
            given = alone - loading @ loading + loading @ covariance @ loading
            level = p["level"][place]
            sharpness = part / (given + 0.1) + (1 - part) / (alone + 0.1)
            guess[place] = sharpness * (level * centre - level**2 / 2)
        else:
            share = np.clip(mean, 1e-3, 1 - 1e-3)
            centre = np.clip(centre, 0.1 * share, 1 - 0.1 * (1 - share))
            guess[place] = np.log(centre / (1 - centre)) if n else trust * np.log(centre)
        guess[place] -= p["alone"][place]
        is_guessed[place] = True
    return guess, is_guessed


def confidence(log_factor, part):
    """The factor on logits where this part is given: the exponential of straight lines between the knots."""
    return np.exp(np.interp(part, np.linspace(0, 1, len(log_factor)), log_factor))


def log_prob(model, x, ordering):
    """Log p(x | o) = sum over d of log p(x_{o_d} | x_{o_<d}) (Eq. 2)."""
    total, missing = 0.0, np.ones(len(x), dtype=bool)
    for variable in ordering:
        _, logits = _steps(model, x, missing)[-1]
        total += level_log_probs(model.levels, logits)[variable][int(x[variable])]
        missing[variable] = False
    return total


def all_rows(levels):
    """Every row of codes [N, D]."""
    return np.array(list(itertools.product(*(range(n) for n in levels))))
