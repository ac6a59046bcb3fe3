"""Pictures of data, models and training, as Matplotlib figures that `save` writes to a file.

Every function takes arrays or plain records and returns a `matplotlib.figure.Figure`; none touches pyplot or its
global state. Images are rows of D values in row-major order, and show 1 as ink and 0 as paper.
"""

from matplotlib.figure import Figure

from nadek.figures.charts import training_curves
from nadek.figures.images import filters, inpainting, samples
from nadek.figures.style import save

__all__ = ["Figure", "filters", "inpainting", "samples", "save", "training_curves"]
