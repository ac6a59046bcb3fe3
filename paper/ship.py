"""Put the model behind a record of a table into the package, where anybody can use it without training.

    python experiments/ship.py table2-best-of-ours-modern caltech101-unet

copies the trained model of that record from runs/ to src/nadek/pretrained/, without the history of its training,
which the
record keeps; --matrices bfloat16 makes the file half as large. The model card beside it (README.md) is written by hand;
its numbers come from the record.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import torch

from nadek.checkpoints import load_saved, save
from nadek.runs.records import read_record

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Copy it, if it is the model that the record is about."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("record", help="name of a record in experiments/results")
    parser.add_argument("name", help="what the model shall be called")
    parser.add_argument("--runs", type=Path, default=ROOT / "runs", help="where models are trained")
    parser.add_argument("--matrices", choices=("float32", "bfloat16"), default="float32", help="what they are kept in")
    options = parser.parse_args()
    record = read_record(ROOT / "experiments" / "results" / f"{options.record}.json")
    saved = load_saved(options.runs / options.record)
    for key in ("commit", "config", "seconds"):
        if record[key] != saved.metrics[key]:
            parser.error(f"the model in {options.runs / options.record} is not the record's: {key} differs")
    metrics = {key: value for key, value in saved.metrics.items() if key != "history"} | {"record": options.record}
    folder = ROOT / "src" / "nadek" / "pretrained" / options.name
    save(folder, replace(saved, metrics=metrics), matrices=getattr(torch, options.matrices))
    size = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
    print(f"{folder.relative_to(ROOT)}: {size:.1f} MB")


if __name__ == "__main__":
    main()
