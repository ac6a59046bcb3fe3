"""Hide half of the pixels of 1,000 MNIST test digits, fill them in with `nadek impute`, check, and leave a record.

    python experiments/impute_mnist.py runs/foundation-mnist

needs the data folder in NADEK_DATA. Writes experiments/results/foundation-impute.json.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from nadek.datasets import load
from nadek.runs.data import open_data
from nadek.runs.provenance import provenance
from nadek.tabular.files import write_table

N_ROWS, HIDDEN = 1000, 0.5
RECORD = Path(__file__).parent / "results" / "foundation-impute.json"


def main(model: str) -> None:
    """Run the command as a user would, on files."""
    rng = np.random.default_rng(0)
    mnist = load("mnist")
    x = mnist.test[rng.permutation(len(mnist.test))[:N_ROWS]].astype(np.float32)
    holes = np.where(rng.random(x.shape) < HIDDEN, np.nan, x)
    with tempfile.TemporaryDirectory() as folder:
        given, filled = Path(folder) / "given.csv", Path(folder) / "filled.csv"
        write_table(given, holes, columns=mnist.columns)
        started = time.monotonic()
        subprocess.run(["nadek", "impute", model, given, "-o", filled], check=True)
        seconds = time.monotonic() - started
        table = open_data(str(filled))
    missing, values = np.isnan(holes), table.x.numpy()
    record = {
        "rows": N_ROWS,
        "hidden": float(missing.mean()),
        "seconds": seconds,
        "observed_changed": int((values != x)[~missing].sum()),
        "still_missing": int(np.isnan(values).sum()),
        "columns_kept": table.schema.columns == mnist.columns,
        "accuracy_of_draws": float((values == x)[missing].mean()),
        **provenance(),
    }
    RECORD.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(record, indent=2))


if __name__ == "__main__":
    main(sys.argv[1])
