"""
Watch a digit appear
====================

The network of the paper fills in missing pixels step by step: each step reads the guess of
the last one. This is the trained model ``mnist-nade5-2hl``, which comes with the package.
"""

import matplotlib.pyplot as plt
import torch

import nadek
from nadek.inference import reconstruction_probabilities

model = nadek.load("mnist-nade5-2hl")
generator = torch.Generator().manual_seed(4)
digits = nadek.sample(model, 6, orderings=1, generator=generator)

# %%
# These six digits are draws of the model. Seven of ten pixels are hidden, and pale below.
# The guesses are the probability of ink, before the first step and after each of five. The
# last column is one joint draw of the hidden pixels.

missing = torch.rand(digits.shape, generator=generator) < 0.7
given = digits.float().masked_fill(missing, torch.nan)
guesses = reconstruction_probabilities(model, given)
completed = nadek.impute(model, given, generator=generator).float()
stages = [stage.numpy() for stage in (digits.float(), given, *guesses, completed)]
names = ["digit", "given", *(f"step {step}" for step in range(len(guesses))), "a draw"]

figure, every_axes = plt.subplots(6, len(stages), figsize=(9, 6), layout="constrained")
ink = plt.get_cmap("Greys").with_extremes(bad="lightblue")
for column, stage, name in zip(every_axes.T, stages, names, strict=True):
    column[0].set_title(name, fontsize=9)
    for axes, picture in zip(column, stage, strict=True):
        axes.imshow(picture.reshape(28, 28), cmap=ink, vmin=0, vmax=1)
        axes.set(xticks=[], yticks=[])
plt.show()
