"""Make a picture: the PNG, and the record of what is behind it."""

from __future__ import annotations

from pathlib import Path

from nadek import figures
from nadek.runs.provenance import provenance
from nadek.runs.records import write_record
from nadek.utils.configs import encode
from nadek_paper.figures.charts import Points, curves, grid_lines, steps_at_test
from nadek_paper.figures.config import (
    Curves,
    Filters,
    GridLines,
    Picture,
    Reconstructions,
    Samples,
    StepsAtTest,
    Structures,
)
from nadek_paper.figures.images import filters, reconstructions, samples
from nadek_paper.figures.references import find
from nadek_paper.figures.structures import structures
from nadek_paper.jobs import Workplace

NO_MODEL = Curves | GridLines | Structures
"""What is made from records, or from nothing."""


def make_picture(picture: Picture, place: Workplace) -> Path:
    """Draw a picture from trained models and records, and leave a record of the numbers behind it.

    The picture goes to ``docs/pictures/NAME.png`` and the record to ``experiments/results/figures-NAME.json``.

    Raises:
        FileNotFoundError: if the models or records that it needs are not there; says how to make them.
        ValueError: if they are not what the picture expects.
    """
    points, figure = _drawn(picture, place)
    shows = picture.shows
    record = {
        "figure": picture.name,
        "title": picture.title,
        "quick": place.quick,
        "shows": encode(shows),
        "models": {} if isinstance(shows, NO_MODEL) else {shows.model: _weights(picture, place)},
        "evaluation": provenance(place.device),
        "points": points,
    }
    path = place.picture(picture.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    figures.save(figure, path)
    write_record(place.record(f"figures-{picture.name}"), record, lines="points")
    return path


def _drawn(picture: Picture, place: Workplace) -> tuple[Points, figures.Figure]:
    shows = picture.shows
    match shows:
        case Curves():
            return curves(shows, place)
        case GridLines():
            return grid_lines(shows, place)
        case StepsAtTest():
            return steps_at_test(shows, place)
        case Reconstructions():
            return reconstructions(shows, place)
        case Samples():
            return samples(shows, place)
        case Filters():
            return filters(shows, place)
        case Structures():
            return [], structures()


def _weights(picture: Picture, place: Workplace) -> str:
    """The digest of the weights that were used."""
    shows = picture.shows
    assert not isinstance(shows, NO_MODEL)
    return find(shows.model, shows.recipe, place).job.digest
