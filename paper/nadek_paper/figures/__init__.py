"""The paper's figures: what each shows, and how it is made from our models and records."""

from nadek_paper.figures.config import Picture, read_picture, read_pictures
from nadek_paper.figures.make import make_picture
from nadek_paper.figures.references import Reference, find

__all__ = ["Picture", "Reference", "find", "make_picture", "read_picture", "read_pictures"]
