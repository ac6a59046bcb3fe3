"""Copy the model behind a record into the package, where anybody can use it without training.

    python paper/scripts/ship.py table2-best-of-ours-modern caltech101-unet

copies the trained model of that record from runs/ to src/nadek/pretrained/, without its history, which the record has.
--matrices bfloat16 makes the file half as large. The model card beside it (README.md) is written by hand.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import torch

from nadek.checkpoints import load_saved, save
from nadek.utils.atomic import read_record
from nadek_paper.workspace import RESULTS

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Copy the model, if it is the one that the record is about."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("record", help="name of a record in paper/results")
    parser.add_argument("name", help="name of the model in the package")
    parser.add_argument("--runs", type=Path, default=ROOT / "runs", help="folder of the trainings")
    parser.add_argument("--matrices", choices=("float32", "bfloat16"), default="float32", help="precision of the file")
    options = parser.parse_args()
    record, source = read_record(RESULTS / f"{options.record}.json"), options.runs / options.record
    saved = load_saved(source)
    for key in ("commit", "config", "seconds"):
        if record[key] != saved.metrics[key]:
            parser.error(f"the model in {source} is not the record's: {key} differs")
    metrics = {key: value for key, value in saved.metrics.items() if key != "history"} | {"record": options.record}
    folder = ROOT / "src" / "nadek" / "pretrained" / options.name
    for weight in saved.model.parameters():
        weight.data = weight.data.to(getattr(torch, options.matrices)) if weight.ndim >= 2 else weight.data
    save(folder, replace(saved, metrics=metrics))
    print(folder.relative_to(ROOT))


if __name__ == "__main__":
    main()
