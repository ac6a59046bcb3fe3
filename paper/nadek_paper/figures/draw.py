"""Draw a picture: the PNG, and the record of the numbers behind it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from nadek import figures
from nadek.checkpoints import weights_digest
from nadek.runs.provenance import provenance
from nadek.utils.configs import encode
from nadek_paper.figures import config, images
from nadek_paper.figures.charts import Points, curves, grid_lines, steps_at_test
from nadek_paper.figures.references import find
from nadek_paper.figures.structures import structures
from nadek_paper.studies import write_record
from nadek_paper.workspace import Workspace

DRAWN_BY: dict[type, Callable[[Any, Any], tuple[Points, figures.Figure]]] = {
    config.Curves: curves,
    config.GridLines: grid_lines,
    config.Structures: lambda shows, workspace: ([], structures()),
    # of a model
    config.StepsAtTest: steps_at_test,
    config.Reconstructions: images.reconstructions,
    config.Samples: images.samples,
    config.Filters: images.filters,
}


def draw_picture(picture: config.Picture, workspace: Workspace) -> Path:
    """Draw a picture from trained models and records, and write the numbers behind it.

    The picture goes to ``NAME.png`` in the folder of pictures, the record to ``figures-NAME.json``.
    """
    shows, path = picture.shows, workspace.picture(picture.name)
    reference = find(shows.model, workspace) if isinstance(shows, config.OfModel) else None
    points, figure = DRAWN_BY[type(shows)](shows, reference or workspace)
    record = {
        "figure": picture.name,
        "title": picture.title,
        "quick": workspace.quick,
        "shows": encode(shows),
        "models": {reference.name: weights_digest(reference.training.folder)} if reference else {},
        "evaluation": provenance(workspace.device),
        "points": points,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    figures.save(figure, path)
    write_record(workspace.record(f"figures-{picture.name}"), record, lines="points")
    return path
