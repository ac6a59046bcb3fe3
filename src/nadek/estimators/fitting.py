"""From codes to a trained network: settings, rows held out, training, and what is told of it."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.random import RandomState

from nadek.models import IterativeNADE, ModelConfig
from nadek.models.base import ConditionalModel
from nadek.models.cores import ResidualConfig
from nadek.training import (
    AdamW,
    Epoch,
    Rows,
    TrainingConfig,
    add_memory,
    data_mean,
    fit,
    isolated,
    needed_rows,
    prepare,
)
from nadek.training.defaults import Purpose, defaults

WHOLE = ("max_iter", "n_iter_no_change", "batch_size", "steps", "width", "blocks")
ENOUGH = 50
"""Rows held out from which on it is tried whether a memory is worth having."""
FRACTIONS = ("dropout", "learning_rate", "weight_decay")


@dataclass(frozen=True)
class Learnt:
    """A trained network and how its training went."""

    network: ConditionalModel
    history: list[Epoch]
    held_out: Int[np.ndarray, " V"]
    """Indices of the rows that were not trained on."""
    split_seed: int
    """Which rows these are, of a table of so many."""


@isolated(dtype=torch.float32)
def learn(
    codes: Float[np.ndarray, "N D"],
    levels: Sequence[int],
    *,
    ordinal: Sequence[int],
    validation: Float[np.ndarray, "V D"] | None = None,
    purpose: Purpose,
    options: Mapping[str, Any],
    labels: Sequence[str],
    device: torch.device,
    rng: RandomState,
    before: ConditionalModel | None = None,
    split_seed: int | None = None,
) -> Learnt:
    """Train a network on the rows of a table.

    Args:
        codes: codes and NaN for missing; rows without any value are left out.
        levels: number of levels of each variable.
        ordinal: places of those variables whose levels have an order.
        validation: codes of other rows to choose the best epoch by; held out of ``codes`` when None.
        purpose: what it is for.
        options: the options of the estimator, by name.
        labels: what messages call the columns.
        device: where to train.
        rng: source of the split, the initial weights and the training.
        before: a network to go on from instead of a fresh one.
        split_seed: that of ``before``, so that what it was trained on is not held out now.

    Raises:
        ValueError: on no rows, on a column without any value, on options that do not fit ``before``, and where a memory
            is asked for that there are no rows to learn the use of.
    """
    seeds = [int(seed) for seed in rng.randint(np.iinfo(np.int32).max, size=3)]
    split_seed = seeds[0] if split_seed is None else split_seed
    fraction = options["validation_fraction"] if options["early_stopping"] and validation is None else 0.0
    train, held_out = split(codes, fraction, np.random.default_rng(split_seed))
    chosen_by = codes[held_out] if validation is None else validation
    shape = (max(1, len(train)), levels)
    model, training = settle(options, *shape, ordinal=ordinal, purpose=purpose, device=device, seed=seeds[1])
    x = torch.from_numpy(codes)
    ready = partial(prepare, levels=levels, columns=labels, device=device)
    rows, others = ready(x[train]), ready(torch.from_numpy(chosen_by), training=False) if len(chosen_by) else None
    if before is None:
        generator = torch.Generator().manual_seed(seeds[2])
        network = IterativeNADE(model, data_mean(x[train], levels), generator=generator).to(device)
    else:
        network = _going_on(before.base_model, options).to(device)
        training = replace(training, phases=tuple(replace(phase, steps=None) for phase in training.phases))
    verbose = int(options["verbose"])
    history = fit(network, rows, others, config=training, trained=before is not None, on_epoch=reporter(verbose))
    wanted = options.get("memory", False)
    kept = network if wanted is False else _remembering(network, rows, others, wanted, verbose, seeds[2])
    return Learnt(kept, history, held_out, split_seed)


def split(
    codes: Float[np.ndarray, "N D"], fraction: float, rng: np.random.Generator
) -> tuple[Int[np.ndarray, " T"], Int[np.ndarray, " V"]]:
    """Rows to learn from and rows to hold out; each column keeps a value among the former.

    Args:
        codes: codes and NaN for missing; rows without any value are in neither part.
        fraction: of the rows to hold out; none are where too few would be left.
        rng: source of the choice.
    """
    observed = ~np.isnan(codes)
    rows = rng.permutation(np.flatnonzero(observed.any(1)))
    n_held_out = int(np.ceil(fraction * len(rows)))
    if n_held_out >= len(rows):
        n_held_out = 0
    held_out, train = rows[:n_held_out], rows[n_held_out:]
    needed = needed_rows(torch.from_numpy(observed), torch.from_numpy(held_out)).numpy()
    return np.sort(np.concatenate([train, held_out[needed]])), np.sort(held_out[~needed])


def settle(
    options: Mapping[str, Any],
    n_rows: int,
    levels: Sequence[int],
    *,
    ordinal: Sequence[int],
    purpose: Purpose,
    device: torch.device,
    seed: int,
) -> tuple[ModelConfig, TrainingConfig]:
    """Model and training: the defaults for the table, and over them what the options say.

    Args:
        options: the options of the estimator, by name; "auto" leaves the default.
        n_rows: rows to learn from.
        levels: number of levels of each variable.
        ordinal: places of those variables whose levels have an order.
        purpose: what it is for.
        device: where it will be trained.
        seed: of the training.
    """
    said = _said(options)
    model, training = defaults(
        n_rows,
        levels,
        ordinal=ordinal,
        purpose=purpose,
        epochs=said.get("max_iter"),
        batch_size=said.get("batch_size"),
        steps=said.get("steps"),
        width=said.get("width"),
        device=device,
    )
    assert isinstance(model.core, ResidualConfig)
    assert isinstance(training.optimizer, AdamW)
    core = replace(model.core, **{name: said[name] for name in ("blocks", "dropout") if name in said})
    rates = {"lr": "learning_rate", "weight_decay": "weight_decay"}
    optimizer = replace(training.optimizer, **{field: said[name] for field, name in rates.items() if name in said})
    patience = said.get("n_iter_no_change", training.patience) if options["early_stopping"] else None
    ways = {"patience": patience, "missing": options["missing"], "seed": seed}
    return replace(model, core=core), replace(training, optimizer=optimizer, **ways)


def reporter(verbose: int) -> Callable[[Epoch], None]:
    """What is called after each epoch: writes its costs (2), those of about ten epochs in all (1), or nothing."""

    def report(epoch: Epoch) -> None:
        every = max(1, epoch.epochs // 10) if verbose == 1 else 1
        if verbose > 0 and (epoch.epoch % every == 0 or epoch.epoch == epoch.epochs):
            sys.stdout.write(f"[nadek] {epoch}\n")

    return report


def check_going_on(found: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Refuse to go on with a network that was fitted by other options than are now asked for.

    Args:
        found: what the options were, as far as that is known.
        asked: what they are.

    Raises:
        ValueError: names the first one that differs.
    """
    for name, value in found.items():
        if asked[name] != value:
            raise ValueError(
                f"warm_start goes on with the fitted network: {name} is {value!r} in it, found {name}={asked[name]!r}"
            )


def _said(options: Mapping[str, Any]) -> dict[str, Any]:
    """What the options say besides "auto", as Python's own numbers, which JSON can hold."""
    said: dict[str, Any] = {}
    for names, kind in ((WHOLE, int), (FRACTIONS, float)):
        for name in names:
            value = options[name]
            if not isinstance(value, str):
                said[name] = None if value is None else kind(value)
    return said


def _remembering(
    network: IterativeNADE,
    rows: Rows,
    others: Rows | None,
    wanted: bool | str,  # noqa: FBT001
    verbose: int,
    seed: int,
) -> ConditionalModel:
    """The network with a memory, where that is wanted, or ("auto") worth having; else as it is."""
    if others is None and wanted != "auto":
        raise ValueError(
            "memory=True: expected rows to learn from how far it can be trusted, found none: give some as X_val, or"
            " leave early_stopping on, which holds some out (a validation_fraction of a table that is large enough)"
        )
    if others is None or (wanted == "auto" and len(others.values) < ENOUGH):
        return network
    generator = torch.Generator(rows.values.device).manual_seed(seed)
    model, gain = add_memory(network, rows, others, generator=generator)
    kept = wanted != "auto" or gain.is_worth_it
    if verbose > 0:
        told = f"validation {gain.before:.3f} without, {gain.after:.3f} with it{'' if kept else ': left out'}"
        sys.stdout.write(f"[nadek] memory of {model.config.n_rows:,} rows  {told}\n")
    return model if kept else network


def _going_on(before: ConditionalModel, options: Mapping[str, Any]) -> IterativeNADE:
    """A copy of a network, which must be what the options now ask for."""
    assert isinstance(before, IterativeNADE)
    core = before.config.core
    found = {"steps": before.steps} | {name: getattr(core, name, None) for name in ("width", "blocks", "dropout")}
    check_going_on(found, {name: found[name] if options[name] == "auto" else options[name] for name in found})
    network = IterativeNADE(before.config, generator=torch.Generator())  # in float32, which training is
    network.load_state_dict(before.state_dict())
    return network
