"""
Fill in a table
===============

A fifth of the cells of a table of wines is hidden. The imputer fills them in from the cells
that are left.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

import nadek
from nadek.estimators.displays import MissingDisplay

wines = load_wine(as_frame=True).data
hidden = np.random.default_rng(0).random(wines.shape) < 0.2
incomplete = wines.mask(hidden)
MissingDisplay.from_data(incomplete)
plt.show()

# %%
# It learns from the incomplete table itself:

imputer = nadek.NADEkImputer(max_iter=150, random_state=0).fit(incomplete)
filled = imputer.transform(incomplete)

# %%
# Observed cells stay what they are, and none is missing any more:

print((filled.to_numpy() == wines.to_numpy())[~hidden].all(), filled.isna().sum().sum())

# %%
# The hidden values beside what was filled in. Columns are scaled to a standard deviation of
# one. The mean of a column would lie on the line of zeros.

scaled, guesses = ((table - wines.mean()) / wines.std() for table in (wines, filled))
error = np.sqrt(np.mean((guesses - scaled).to_numpy()[hidden] ** 2))
figure, axes = plt.subplots(figsize=(4.5, 4.5), layout="constrained")
axes.scatter(scaled.to_numpy()[hidden], guesses.to_numpy()[hidden], s=12, alpha=0.6)
axes.axline((0, 0), slope=1, color="grey", linewidth=1)
axes.set(
    xlabel="hidden value",
    ylabel="filled in",
    title=f"error {error:.2f}; that of the mean is 1",
)
plt.show()
