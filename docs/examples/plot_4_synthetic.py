"""
Make new rows
=============

A model of irises draws flowers that nobody measured.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

import nadek

iris = load_iris(as_frame=True)
flowers = iris.data.assign(species=iris.target_names[iris.target])
flowers.columns = ["sepal length", "sepal width", "petal length", "petal width", "species"]

model = nadek.NADEk(max_iter=200, random_state=0).fit(flowers)
new = model.sample(150, random_state=0)
print(new.head())

# %%
# New rows have the columns, types and dependences of the table.

figure, every_axes = plt.subplots(
    1, 2, figsize=(8, 3.6), sharex=True, sharey=True, layout="constrained"
)
for axes, table, title in zip(
    every_axes, (flowers, new), ("measured", "drawn"), strict=True
):
    for species, part in table.groupby("species"):
        axes.scatter(
            part["sepal length"], part["petal length"], s=14, alpha=0.7, label=species
        )
    axes.set(xlabel="sepal length (cm)", title=title)
every_axes[0].set_ylabel("petal length (cm)")
every_axes[0].legend(frameon=False)
plt.show()
