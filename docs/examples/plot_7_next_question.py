"""
Ask the next question
=====================

Sixty-four squares hide a digit. Each question uncovers one of them. Which should it be?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import nadek

pictures = load_digits()
digits = (pictures.data > 7).astype(int)
model = nadek.NADEk(max_iter=20, training={"width": 128}, random_state=0).fit(digits[:1500])
digit = digits[1700].astype(float)

# %%
# ``suggest_next`` gives the expected information of each missing cell about all others, in
# nats. The best square is uncovered, and the model is asked again.


def uncovered(choose, n_questions=12):
    """Uncover squares one after the other; return what is known after each of them."""
    row, known = np.full((1, 64), np.nan), []
    for _ in range(n_questions):
        square = choose(row)
        row[0, square] = digit[square]
        known.append(row.copy())
    return known


best = uncovered(lambda row: np.nanargmax(model.suggest_next(row)[0]))
rng = np.random.default_rng(0)
by_chance = uncovered(lambda row: rng.choice(np.flatnonzero(np.isnan(row[0]))))

# %%
# What the model makes of the digit after some questions:

figure, every_axes = plt.subplots(2, 5, figsize=(8, 3.6), layout="constrained")
for line, known, name in zip(
    every_axes, (best, by_chance), ("best squares", "any squares"), strict=True
):
    for axes, n in zip(line, (1, 4, 8, 12), strict=False):
        guess = np.array(
            [p[0, 1] for p in model.predict_missing_proba(known[n - 1]).values()]
        )
        axes.imshow(guess.reshape(8, 8), cmap="Blues", vmin=0, vmax=1)
        squares = np.argwhere(~np.isnan(known[n - 1].reshape(8, 8)))
        axes.plot(squares[:, 1], squares[:, 0], ".", color="tab:orange")
        axes.set_title(f"{n} known", fontsize=9)
    line[4].imshow(digit.reshape(8, 8), cmap="Greys")
    line[4].set_title("the digit", fontsize=9)
    line[0].set_ylabel(name)
for axes in every_axes.flat:
    axes.set(xticks=[], yticks=[])
plt.show()
