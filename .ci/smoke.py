"""Use the installed packages: every model and recipe that comes with them, both commands, an imputer."""

import subprocess
import sys
from pathlib import Path

import numpy as np

import nadek
from nadek import pretrained
from nadek_paper import workspace
from nadek_paper.rows import tables

CHECKOUT = Path(__file__).resolve().parents[1]
EDITABLE = (CHECKOUT / "src", CHECKOUT / "paper")


def main() -> None:
    """Fail where something is missing or does not work."""
    for file in (nadek.__file__, workspace.__file__):
        assert not any(map(Path(file).is_relative_to, EDITABLE)), f"{file} is not installed"
    assert {nadek.load(name).n_variables for name in pretrained.names()} == {784}
    assert {"table1", "table2"} <= set(tables(workspace.RECIPES))

    for module, option in (("nadek", "--version"), ("nadek", "--help"), ("nadek_paper", "--help")):
        command = [sys.executable, "-c", f"from {module}.cli import main; main()", option]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    generator = np.random.default_rng(0)
    table = generator.integers(0, 3, (200, 4)).astype(float)
    missing = generator.random(table.shape) < 0.1
    filled = nadek.NADEkImputer(random_state=0, max_iter=3).fit_transform(np.where(missing, np.nan, table))
    assert np.isfinite(filled).all()
    assert (filled[~missing] == table[~missing]).all()


if __name__ == "__main__":
    main()
