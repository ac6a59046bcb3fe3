"""Hide half of the pixels of 1,000 MNIST test digits, fill them in with `nadek impute`, and record the result.

    python paper/scripts/impute_mnist.py runs/foundation-mnist

needs the data folder in NADEK_DATA. Writes paper/results/foundation-impute.json.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from nadek.datasets import load
from nadek.runs.data import open_table
from nadek.runs.provenance import provenance
from nadek.tabular.writing import writing
from nadek_paper.workspace import RESULTS

N_ROWS, HIDDEN = 1000, 0.5


def main(model: str) -> None:
    """Run the command on files, as a user would."""
    rng = np.random.default_rng(0)
    mnist = load("mnist")
    x = mnist.test[rng.permutation(len(mnist.test))[:N_ROWS]].astype(np.float32)
    given = np.where(rng.random(x.shape) < HIDDEN, np.nan, x)
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder) / "given.csv", Path(folder) / "filled.csv"
        with writing(source) as writer:
            writer.write(given, columns=mnist.columns)
        started = time.monotonic()
        subprocess.run(["nadek", "impute", model, source, "-o", output], check=True)
        seconds = time.monotonic() - started
        table = open_table(str(output))
        values = np.column_stack([table.column(j) for j in range(len(table.cells))])
    missing = np.isnan(given)
    record = {
        "rows": N_ROWS,
        "hidden": float(missing.mean()),
        "seconds": seconds,
        "observed_changed": int((values != x)[~missing].sum()),
        "still_missing": int(np.isnan(values).sum()),
        "columns_kept": table.columns == mnist.columns,
        "accuracy_of_draws": float((values == x)[missing].mean()),
        **provenance(),
    }
    text = json.dumps(record, indent=2)
    (RESULTS / "foundation-impute.json").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main(sys.argv[1])
