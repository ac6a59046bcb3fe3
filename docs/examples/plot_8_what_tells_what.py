"""
Which column tells about which
==============================

How much does it help to know one column, if another is to be guessed? The model answers for
every pair.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_wine

import nadek

wine = load_wine(as_frame=True)
wines = wine.data.assign(maker=np.array(["A", "B", "C"])[wine.target])
model = nadek.NADEk(max_iter=100, random_state=0).fit(wines)

# %%
# A row in which nothing is known is asked what each column would tell about one target: the
# expected information in nats. The diagonal is the uncertainty of the column itself, and is
# left out.

nothing = wines[:1].mask(np.ones((1, wines.shape[1]), dtype=bool))
tells = pd.DataFrame(
    {name: model.suggest_next(nothing, target=[name]).iloc[0] for name in wines}
)
picture = tells.to_numpy().copy()
np.fill_diagonal(picture, np.nan)
print(tells["maker"].drop("maker").sort_values(ascending=False).head(3))

# %%

figure, axes = plt.subplots(figsize=(7, 6), layout="constrained")
image = axes.imshow(picture, cmap="viridis")
axes.set_xticks(range(len(tells)), tells.columns, rotation=45, ha="right", fontsize=8)
axes.set_yticks(range(len(tells)), tells.index, fontsize=8)
axes.set(xlabel="to be guessed", ylabel="known")
figure.colorbar(image, label="expected information (nats)")
plt.show()
