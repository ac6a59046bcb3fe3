"""The paper's figures: their options, and how they are made from our models and records."""

from nadek_paper.figures.config import read_pictures
from nadek_paper.figures.draw import draw_picture

__all__ = ["draw_picture", "read_pictures"]
