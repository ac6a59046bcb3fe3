"""The demonstration: train NADE-k on scikit-learn's digits, compare it with simpler models, draw pictures."""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from baselines import ChowLiuTree, IndependentBernoulli

from nadek.checkpoints import SavedModel
from nadek.figures.model_card import draw_model
from nadek.runs.data import open_data
from nadek.runs.evaluate import evaluate
from nadek.runs.recipe import make_recipe, merge, phases
from nadek.runs.train import train
from nadek.training import Epoch

EPOCHS = 200

NADE_K: dict[str, Any] = {
    "model": {"steps": 5, "core": {"kind": "deep", "hidden": [200, 200]}},
    "training": {
        "phases": phases(EPOCHS, 5),
        "optimizer": {"kind": "adamw", "lr": 2e-3, "weight_decay": 0.1},
        "ema_decay": 0.99,
    },
}
NADE: dict[str, Any] = {
    "model": {
        "steps": 1,
        "fill": "zero",
        "core": {"kind": "deep", "hidden": [200], "activation": "sigmoid"},
        "ordering": list(range(64)),
    },
    "training": {
        "phases": [{"objective": "fixed_order", "epochs": 60}],
        "optimizer": {"kind": "adamw", "lr": 2e-3, "weight_decay": 0.1},
        "ema_decay": 0.99,
    },
}


@dataclass(frozen=True)
class Demo:
    """Results of the demonstration: rows of (model, mean test log-likelihood, standard error), and its files."""

    rows: list[tuple[str, float, float]]
    record: dict[str, Any]
    files: list[Path]


def demo(
    folder: Path, *, seed: int = 0, epochs: int | None = None, on_epoch: Callable[[str, Epoch], None] | None = None
) -> Demo:
    """Train, compare and draw.

    Args:
        folder: where models and pictures go; what is there is replaced.
        seed: of everything random.
        epochs: of each training, for a quicker look.
        on_epoch: called with the model's name and the epoch after each one.
    """
    started = time.monotonic()
    held = open_data("digits", split="test").x
    rows = _baselines(open_data("digits", split="train").x.numpy(), held.numpy())
    single = _trained("NADE, fixed order", NADE, folder / "nade", seed, epochs, on_epoch)
    fixed = evaluate(single, held, orderings=1, seed=seed)
    rows.append(("NADE, fixed order, one hidden layer", fixed["test_log_likelihood"], fixed["standard_error"]))
    saved = _trained("NADE-5, two hidden layers", NADE_K, folder / "nade-5", seed, epochs, on_epoch)
    record = evaluate(saved, held, orderings=32, seed=seed)
    rows.append(("NADE-5, any one ordering (mean of 32)", record["test_log_likelihood"], record["standard_error"]))
    rows.append(("NADE-5, mixture of 32 orderings", record["ensemble"], record["ensemble_standard_error"]))
    files = draw_model(saved, folder, held, seed=seed)
    about = {"data": "digits", "table": [list(row) for row in rows], "seconds_total": time.monotonic() - started}
    return Demo(rows, {**about, **record}, files)


def _baselines(train_x: np.ndarray, test_x: np.ndarray) -> list[tuple[str, float, float]]:
    """Two models that need no network."""
    models: dict[str, IndependentBernoulli | ChowLiuTree] = {
        "independent pixels (Bernoulli)": IndependentBernoulli.fit(train_x),
        "Chow-Liu tree": ChowLiuTree.fit(train_x),
    }
    scores = {name: model.log_prob(test_x) for name, model in models.items()}
    return [(name, float(s.mean()), float(s.std(ddof=1) / len(s) ** 0.5)) for name, s in scores.items()]


def _trained(
    name: str,
    options: dict[str, Any],
    folder: Path,
    seed: int,
    epochs: int | None,
    on_epoch: Callable[[str, Epoch], None] | None,
) -> SavedModel:
    """One model of the demonstration."""
    source, held_out = open_data("digits", split="train"), open_data("digits", split="valid")
    if epochs is not None:
        short = [
            {**phase, "epochs": max(1, epochs // len(options["training"]["phases"]))}
            for phase in options["training"]["phases"]
        ]
        options = {**options, "training": {**options["training"], "phases": short}}
    recipe = make_recipe(merge(options, {"seed": seed, "training": {"seed": seed}}), n_variables=source.x.shape[1])
    after_epoch = None if on_epoch is None else (lambda epoch: on_epoch(name, epoch))
    return train(recipe, folder, source, held_out, on_epoch=after_epoch)


def main() -> None:
    """Run the demonstration and print its results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=Path("runs/demo"), help="folder for models and pictures")
    parser.add_argument("--epochs", type=int, help="fewer epochs, for a quick look")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print the record only")
    options = parser.parse_args()

    def report(name: str, epoch: Epoch) -> None:
        if not options.json and (epoch.epoch % 20 == 0 or epoch.epoch == epoch.epochs):
            print(f"{name}: {epoch}")

    if not options.json:
        print("A network learns 1,197 handwritten digits of 8 x 8 pixels, tells how likely unseen digits are,")
        print("fills in missing pixels and writes digits of its own.")
    result = demo(options.output, seed=options.seed, epochs=options.epochs, on_epoch=report)
    if options.json:
        print(json.dumps(result.record, indent=2))
        return
    print("\nlog-likelihood of 300 unseen digits (higher is better)")
    print(f"{'model':<40}{'nats a digit':>14}{'standard error':>16}")
    for name, mean, error in result.rows:
        print(f"{name:<40}{mean:>14.2f}{error:>16.2f}")
    print("\npictures:", *(f"  {path}" for path in result.files), sep="\n")


if __name__ == "__main__":
    main()
