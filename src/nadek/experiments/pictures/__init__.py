"""The paper's figures: what each shows, and how it is made from our models and records."""

from nadek.experiments.pictures.config import Picture, read_picture, read_pictures
from nadek.experiments.pictures.make import make_picture
from nadek.experiments.pictures.references import Reference, find

__all__ = ["Picture", "Reference", "find", "make_picture", "read_picture", "read_pictures"]
