"""The paper's figures: their options, and how they are made from our models and records."""

from nadek_paper.figures.config import Picture, read_pictures
from nadek_paper.figures.draw import draw_picture
from nadek_paper.figures.references import Reference, find

__all__ = ["Picture", "Reference", "draw_picture", "find", "read_pictures"]
