"""A row of the paper's tables in a folder of its own."""

from nadek_paper.jobs import Workplace

TOML = """
title = "NADE-2"
data = "digits"
paper = -20.5
paper_ensemble = -19.25
orderings = 3
ensemble_orderings = 4
ensemble_rows = 10
notes = ["smaller"]

[model]
n_variables = 64
steps = 2
core = { kind = "deep", hidden = [8] }

[recipes.modern.training]
ema_decay = 0.9
phases = [{ objective = "all_steps", epochs = 1 }, { epochs = 2 }]

[recipes.paper]
seed = 3
notes = "as it was"
model = { init_std = 0.01 }

[recipes.paper.training]
phases = [{ epochs = 1 }]
optimizer = { kind = "adadelta" }
"""


def write_row(folder, name="nade-2", text=TOML, table="table9"):
    """A row in the folder of tables."""
    path = folder / "experiments" / table / f"{name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def place_in(folder, *, quick=False):
    return Workplace(experiments=folder / "experiments", runs=folder / "runs", quick=quick)
