"""From the codes of a table to a trained network: hold out rows, choose the recipe, train."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.random import RandomState
from torch import Tensor

from nadek.estimators.options import TRAINING, random_seed
from nadek.models.base import ConditionalModel
from nadek.models.evaluation import isolated
from nadek.models.iterative_nade import IterativeNADE
from nadek.models.memory import MemoryModel
from nadek.tabular.columns import Column, knots, n_levels, ordinal
from nadek.training import Epoch, FittedTable, Recipe, fit_table, needed_rows, prepare
from nadek.training.defaults import Purpose, defaults

EXACT_COST = 1e6
"""Multiplications of one network call up to which answers are computed in float64: such a small network waits for the
interpreter anyway. Above it answers are float32 with float64 sums, and rows differ by some 1e-6 nats."""


@isolated(dtype=torch.float32)
def fit_codes(
    codes: Float[np.ndarray, "N D"],
    columns: Sequence[Column],
    *,
    labels: Sequence[str],
    validation: Float[np.ndarray, "V D"] | None,
    weights: Float[np.ndarray, " N"] | None,
    purpose: Purpose,
    options: Mapping[str, Any],
    device: torch.device,
    rng: RandomState,
    network: ConditionalModel | None,
    split_seed: int | None,
) -> tuple[FittedTable, Int[np.ndarray, " H"], int]:
    """Train a network on the rows of a table; return the rows held out, too, and the seed that chose them.

    Codes are NaN where missing; rows without any value are left out. Without validation codes some rows are held out.
    ``network`` is a trained one to go on from, whose rows were split by ``split_seed``.
    """
    seeds = [random_seed(rng) for _ in range(3)]
    fraction = options["validation_fraction"] if options["early_stopping"] and validation is None else 0.0
    split_seed = seeds[0] if split_seed is None else split_seed
    train, held_out = split_rows(codes, fraction, split_seed, weights)
    others = codes[held_out] if validation is None else validation
    recipe = recipe_for(options, max(1, len(train)), columns, purpose=purpose)
    recipe = replace(recipe, seed=seeds[2], training=replace(recipe.training, seed=seeds[1]))
    recipe, start = (recipe, None) if network is None else _going_on(recipe, network.base_model, options)
    x, x_val = torch.from_numpy(codes[train]), torch.from_numpy(others) if len(others) else None
    model = recipe.model
    ready = partial(prepare, levels=model.levels, knots=model.knots, columns=labels, device=device)
    rows, validation_rows = ready(x), None if x_val is None else ready(x_val, training=False)
    if weights is not None:
        rows = rows._replace(weights=_factors(weights[train], device))
        if validation is None and validation_rows is not None:
            validation_rows = validation_rows._replace(weights=_factors(weights[held_out], device))
    fitted = fit_table(
        recipe,
        rows,
        validation_rows,
        start=start,
        optional_memory=options.get("memory", False) == "auto",
        on_epoch=partial(report, int(options["verbose"])),
    )
    if options["verbose"] and fitted.gain is not None:
        decision = "" if fitted.gain.is_worth_it or options["memory"] is True else ": left out"
        costs = f"validation {fitted.gain.before:.3f} without, {fitted.gain.after:.3f} with it"
        sys.stdout.write(f"[nadek] memory of {fitted.n_remembered:,} rows  {costs}{decision}\n")
    return fitted, held_out, split_seed


def _factors(weights: Float[np.ndarray, " N"], device: torch.device) -> Float[Tensor, " N"]:
    """Return weights that are 1 on average."""
    shares = weights / weights.max()  # sums of the largest floats are infinite
    return torch.from_numpy(shares / shares.mean()).to(device, torch.float32)


def split_rows(
    codes: Float[np.ndarray, "N D"], fraction: float, seed: int, weights: Float[np.ndarray, " N"] | None
) -> tuple[Int[np.ndarray, " T"], Int[np.ndarray, " V"]]:
    """Choose rows to train on and to hold out; each column keeps a training value.

    Of rows that count differently, as large a part of the heavy ones is held out as of the light ones.
    """
    observed = ~np.isnan(codes)
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(observed.any(1)))
    n_held_out = int(np.ceil(fraction * len(rows)))
    if n_held_out >= len(rows):
        n_held_out = 0
    places = np.arange(n_held_out)
    if weights is not None and weights.min() < weights.max():
        rows = rows[weights[rows].argsort(kind="stable")]
        places = (2 * places + 1) * len(rows) // (2 * n_held_out)
    held_out, train = rows[places], np.delete(rows, places)
    needed = needed_rows(torch.from_numpy(observed), torch.from_numpy(held_out)).numpy()
    return np.sort(np.concatenate([train, held_out[needed]])), np.sort(held_out[~needed])


def recipe_for(options: Mapping[str, Any], n_rows: int, columns: Sequence[Column], *, purpose: Purpose) -> Recipe:
    """Return the defaults for a table, with the options set over them."""
    given = [(name, options[name]) for name in ("max_iter", "missing", *TRAINING)]
    chosen = {name: np.asarray(one).item() for name, one in given if one != "auto"}  # JSON holds none of NumPy
    model, training = defaults(
        n_rows,
        [n_levels(column) for column in columns],
        ordinal=ordinal(columns),
        knots=knots(columns),
        purpose=purpose,
        effort=options["effort"],
        epochs=chosen.get("max_iter"),
        batch_size=chosen.get("batch_size"),
        steps=chosen.get("steps"),
        width=chosen.get("width"),
    )

    def changed(config: Any, **names: str) -> Any:  # noqa: ANN401 - any dataclass; of each field its option
        pairs = {field: (getattr(config, field), chosen[name]) for field, name in names.items() if name in chosen}
        return replace(config, **{f: new if None in (old, new) else type(old)(new) for f, (old, new) in pairs.items()})

    model = replace(model, core=changed(model.core, blocks="blocks", dropout="dropout"))
    optimizer = changed(training.optimizer, lr="learning_rate", weight_decay="weight_decay")
    training = replace(changed(training, missing="missing", patience="n_iter_no_change"), optimizer=optimizer)
    if not options["early_stopping"]:
        training = replace(training, patience=None)
    return Recipe(model=model, training=training, memory=options.get("memory", False) is not False)


def report(verbose: int, epoch: Epoch) -> None:
    """Write an epoch: each (2), ten epochs in all (1), or none."""
    every = max(1, epoch.epochs // 10) if verbose == 1 else 1
    if verbose > 0 and (epoch.epoch % every == 0 or epoch.epoch == epoch.epochs):
        sys.stdout.write(f"[nadek] {epoch}\n")


def check_unchanged(fitted: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Refuse options other than those of the network."""
    for name, value in fitted.items():
        if options[name] != value:
            raise ValueError(
                f"warm_start goes on with the fitted network: {name} is {value!r} in it, found {name}={options[name]!r}"
            )


def _going_on(
    recipe: Recipe, network: ConditionalModel, options: Mapping[str, Any]
) -> tuple[Recipe, Callable[[ConditionalModel], object]]:
    """Return the recipe for training a network further, and what writes its weights."""
    assert isinstance(network, IterativeNADE)
    core = network.config.core
    fitted = {"steps": network.steps} | {name: getattr(core, name, None) for name in ("width", "blocks", "dropout")}
    check_unchanged(fitted, {name: fitted[name] if options[name] == "auto" else options[name] for name in fitted})
    phases = tuple(replace(phase, steps=None) for phase in recipe.training.phases)
    recipe = replace(recipe, model=network.config, training=replace(recipe.training, phases=phases))
    return recipe, lambda fresh: fresh.load_state_dict(network.state_dict())


def to_answer_dtype(network: ConditionalModel) -> ConditionalModel:
    """Return small networks in float64 (see `EXACT_COST`)."""
    alone = network.base_model
    assert isinstance(alone, IterativeNADE)
    hidden = sum(p.numel() for p in alone.core.parameters())
    memory = 2 * network.rows.numel() if isinstance(network, MemoryModel) else 0
    cost = network.steps * (hidden + 2 * alone.W.numel()) + memory
    exact = cost <= EXACT_COST and network.b.device.type in ("cpu", "cuda")
    return network.to(torch.float64) if exact else network
