"""
Find odd cells
==============

Six cells of a table get a wrong value: one that is usual in its column, but does not fit
the rest of its row.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

import nadek

wines = load_wine(as_frame=True).data
rng = np.random.default_rng(3)
rows, columns = rng.choice(len(wines), 6, replace=False), [0, 5, 6, 9, 11, 12]
wrong = wines.copy()
for row, column in zip(rows, columns, strict=True):
    values = wines.iloc[:, column]
    far = values.max() if wines.iloc[row, column] < values.median() else values.min()
    wrong.iloc[row, column] = far

detector = nadek.NADEkOutlierDetector(max_iter=100, random_state=0).fit(wrong)
surprise = detector.explain(wrong)

# %%
# ``explain`` gives the surprise of each cell, given all others of its row. These are the
# ten most surprising cells of the whole table, and whether their values were changed:

changed = {
    (int(row), wines.columns[column]) for row, column in zip(rows, columns, strict=True)
}
for (row, column), nats in surprise.stack().nlargest(10).items():
    what = "changed" if (row, column) in changed else "measured"
    print(f"{nats:.1f} nats: row {row}, {column}, {what}")

# %%
# The six rows; a cross marks the cell that was changed.

figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
picture = axes.imshow(surprise.loc[rows], cmap="magma_r", aspect="auto")
axes.plot(columns, range(6), "x", color="deepskyblue", markersize=10, markeredgewidth=2)
axes.set_xticks(range(wines.shape[1]), wines.columns, rotation=45, ha="right", fontsize=8)
axes.set_yticks(range(6), [f"row {row}" for row in rows])
figure.colorbar(picture, label="surprise (nats)")
plt.show()
