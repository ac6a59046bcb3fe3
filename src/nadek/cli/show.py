"""``nadek info``, ``nadek data`` and ``nadek draw``."""

import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from nadek import datasets
from nadek.checkpoints import SavedModel, holds_model, load_saved, load_state
from nadek.cli.arguments import (
    DataDir,
    DeviceOption,
    Json,
    ModelArgument,
    Quiet,
    Seed,
    SplitOption,
    option,
    pick_device,
    some_folder,
)
from nadek.cli.column_lines import schema_lines
from nadek.cli.console import say, show_json, show_line, show_table
from nadek.cli.progress import rows_progress
from nadek.models.iterative_nade import IterativeNADE
from nadek.runs.data import read_model_rows
from nadek.training import Epoch
from nadek.training.state import read_history
from nadek.utils.configs import encode


def info(
    model: ModelArgument,
    *,
    as_json: Json = False,
    card: Annotated[bool, option("--card", "Print a model card: the README of a folder to share.")] = False,
) -> None:
    """Show a model and its training.

    Of a training that is under way, or was stopped, it shows the last epoch that was kept.

    Example: [bold]nadek info model[/]
    """
    if not holds_model(model) and (unfinished := load_state(model)) is not None:
        _show_unfinished(model, read_history(unfinished[0].info), as_json=as_json)
        return
    saved = load_saved(model)
    facts: dict[str, Any] = {
        "parameters": sum(p.numel() for p in saved.model.parameters()),
        "model": encode(saved.model.config),
        "schema": encode(saved.schema),
        "metrics": {key: value for key, value in saved.metrics.items() if key != "history"},
    }
    if as_json:
        show_json(facts)
        return
    rows = _about(saved, facts)
    if card:
        lines = [f"| {_as_markdown(label)} | {_as_markdown(text)} |" for label, text in rows]
        title = _as_markdown(model.name)
        is_for_estimators = isinstance(saved.model.base_model, IterativeNADE) and saved.model.config.ordering is None
        load = "NADEk.load" if is_for_estimators else "load"
        show_line(CARD.format(title=title, load=load, name=model.name, facts="\n".join(lines)))
        return
    show_table(str(model), ["", ""], [list(map(escape, row)) for row in rows])


CARD = """\
---
library_name: nadek
tags: [density-estimation, imputation, tabular]
---

# {title}

A density model of rows, made with nadek. It scores, samples and completes rows.

    model = nadek.{load}("{name}")

|  |  |
| --- | --- |
{facts}

To be added by hand: where the rows come from, whom they leave out, what the model is for, and the license.
"""
"""Model card in the form of the hubs: facts as YAML, then Markdown."""


def _as_markdown(text: str) -> str:
    """Return a text as Markdown that shows it as it is, in one line."""
    return re.sub(r"[\\`*\[<&|~#]|\b_|_\b", r"\\\g<0>", " ".join(text.splitlines()))


def _about(saved: SavedModel, facts: dict[str, Any]) -> list[list[str]]:
    config = saved.model.config
    rows = [
        ["variables", f"{config.n_variables:,}"],
        ["parameters", f"{facts['parameters']:,}"],
        *_structure(facts["model"]),
        ["steps", str(config.steps)],
        ["orderings", "every one" if config.ordering is None else "one, fixed"],
    ]
    rows += map(list, schema_lines(saved.schema))
    for key in ("epochs", "seconds", "best_validation", "diverged", "rows", "skipped_rows", "commit"):
        if (value := saved.metrics.get(key)) not in (None, False):
            text = f"{value:.2f}" if isinstance(value, float) else str(value)
            rows.append([f"training: {key.replace('_', ' ')}", text])
    return rows


def _show_unfinished(model: Path, history: Sequence[Epoch], *, as_json: bool) -> None:
    if as_json:
        show_json({"unfinished": True, **(asdict(history[-1]) if history else {})})
        return
    last = str(history[-1]) if history else "none yet"
    rows = [["training", "not finished: nadek fit --resume goes on"], ["last epoch", last]]
    show_table(str(model), ["", ""], rows)


def data(
    *,
    fetch: Annotated[str | None, option("--fetch", "Download this set from its public home.")] = None,
    data_dir: DataDir = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """List the known data sets, check or download them.

    Example: [bold]nadek data --fetch mnist --data-dir data[/]
    """
    if fetch is not None:
        if data_dir is None:
            raise ValueError("--fetch needs a folder to put the set into: --data-dir DIR (or NADEK_DATA)")
        data_dir.mkdir(parents=True, exist_ok=True)
        with rows_progress(f"fetching {fetch}", quiet=quiet) as progress:
            path = datasets.fetch(fetch, data_dir, progress=lambda done, total: progress(done, total or done))
        say(f"{fetch}: {path}", quiet=quiet)
        return
    checked = [datasets.check(name, data_dir) for name in datasets.names()]
    sets = [(status.source, status.state, status.path and str(status.path)) for status in checked]
    if as_json:
        keys = ("state", "rows", "variables", "path")
        show_json({s.name: dict(zip(keys, (state, s.rows, s.dim, path), strict=True)) for s, state, path in sets})
        return
    rows = [[s.name, s.title, str(s.dim), " / ".join(f"{n:,}" for n in s.rows), state] for s, state, _ in sets]
    show_table("known data sets", ["name", "what it is", "variables", "train / valid / test", "state"], rows)


def draw(
    model: ModelArgument,
    data: Annotated[str | None, typer.Argument(help="Rows for the picture of inpainting.")] = None,
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", parser=some_folder, metavar="<path>", help="Folder for the pictures.")
    ] = Path("pictures"),
    hidden: Annotated[float, typer.Option("--hidden", min=0.0, max=1.0, help="Part of the cells to hide.")] = 0.5,
    split: SplitOption = None,
    data_dir: DataDir = None,
    seed: Seed = 0,
    device: DeviceOption = "auto",
    quiet: Quiet = False,
) -> None:
    """Draw samples, filters, training curves and inpainting.

    A picture that a model does not allow is left out. Older pictures in the folder are replaced.

    Example: [bold]nadek draw model mnist -o pictures[/]
    """
    from nadek.figures.model_card import draw_model, why_rows_are_not_drawn  # on use, as Matplotlib takes its time

    saved = load_saved(model, device=pick_device(device))
    x = None if data is None else read_model_rows(saved, data, split=split, data_dir=data_dir).x
    for path in draw_model(saved, output, x, hidden=hidden, seed=seed):
        show_line(str(path))
    if data is not None and (reason := why_rows_are_not_drawn(saved)) is not None:
        say(f"{data}: not drawn: {reason}", quiet=quiet)


def _structure(model: dict[str, Any]) -> list[list[str]]:
    if model.get("kind") == "memory":
        missing = ", some with missing cells" if model["holes"] else ""
        return [*_structure(model["network"]), ["holds training rows", f"{model['n_rows']:,} different ones{missing}"]]
    if model.get("kind") == "images":
        options = {key: value for key, value in model.items() if key not in ("kind", "steps")}
        return [["network of images", ", ".join(f"{key} {value}" for key, value in options.items())]]
    return [
        ["core", ", ".join(f"{key} {value}" for key, value in model["core"].items())],
        ["missing cells start at", "the data mean" if model["fill"] == "mean" else "zero"],
        ["reads which cells are missing", "yes" if model["mask_input"] else "no"],
    ]
