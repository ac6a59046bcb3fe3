"""
Draws, not means
================

An imputed mean is the best guess of a single cell. A table of best guesses is too smooth,
though: its columns vary too little and depend on each other too much. A draw keeps the
variation, and several draws show what is not known.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

import nadek

flowers = load_iris(as_frame=True).data
flowers.columns = ["sepal length", "sepal width", "petal length", "petal width"]
hidden = np.zeros(flowers.shape, dtype=bool)
hidden[:, 1] = np.random.default_rng(0).random(len(flowers)) < 0.6
incomplete = flowers.mask(hidden)

imputer = nadek.NADEkImputer(n_imputations=20, max_iter=150, random_state=0).fit(incomplete)
means = imputer.transform(incomplete)
draws = imputer.transform_multiple(incomplete)

# %%
# Three of five sepal widths are hidden. The spread of the column, in centimetres:

for name, table in (
    ("true values", flowers),
    ("filled with means", means),
    ("filled with one draw", draws[0]),
):
    print(f"{name}: {table['sepal width'].std():.2f}")

# %%
# Twenty draws for each of fifteen flowers show how far a width is known:

rows = np.flatnonzero(hidden[:, 1])[::6][:15]
figure, axes = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
for place, row in enumerate(rows):
    widths = [table["sepal width"].iloc[row] for table in draws]
    axes.plot([place] * len(widths), widths, "o", color="tab:blue", alpha=0.3)
    axes.plot(place, means["sepal width"].iloc[row], "_", color="tab:blue", markersize=16)
    axes.plot(place, flowers["sepal width"].iloc[row], "x", color="black")
axes.set(
    xlabel="flower",
    ylabel="sepal width (cm)",
    title="draws (dots), mean (line), hidden value (cross)",
)
plt.show()
