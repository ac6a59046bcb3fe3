"""Draw docs/pictures/calibration.png from the record of the imputation benchmark.

python benchmarks/imputation_picture.py
"""

import argparse
import json
from pathlib import Path

from common import RESULTS

from nadek import figures

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "calibration.png"
PERCENT = "30"
METHODS = ("nadek", "hidden-tree", "neighbours", "ridge", "missforest")
"""Most used and strongest methods, the first in colour."""


def main() -> None:
    """Read the record and draw."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    results = json.loads((RESULTS / "imputation.json").read_text(encoding="utf-8"))["results"]
    panels = {
        name: {by[PERCENT][m]["title"]: by[PERCENT][m]["reliability"] for m in METHODS if m in by[PERCENT]}
        for name, by in results.items()
        if PERCENT in by
    }
    print(figures.save(figures.reliability(panels), PICTURE))


if __name__ == "__main__":
    main()
