"""
Orderings and ensembles
=======================

A model is one distribution for each ordering of the columns. Their mixture, the ensemble,
is never worse than the mean of their log-likelihoods.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_digits

import nadek
from nadek.inference import reduce_orderings

digits = (load_digits().data > 7).astype(int)
rows, unseen = digits[:1200], digits[1737:]
model = nadek.NADEk(max_iter=15, training={"width": 128}, random_state=0).fit(rows)

# %%
# The log-likelihood of each unseen digit under each of 16 random orderings, in nats:

log_p = nadek.log_prob(
    model.network_,
    torch.tensor(unseen),
    orderings=16,
    generator=torch.Generator().manual_seed(0),
)
summary = nadek.summarise(log_p)
print(f"mean over orderings {summary.mean:.2f}, ensemble {summary.ensemble:.2f}")
print(f"standard error over rows {summary.standard_error:.2f}")

# %%
# Every dot is one ordering. Most of the gain of mixing comes with the first few.

numbers = [1, 2, 4, 8, 16]
ensembles = [float(reduce_orderings(log_p[:n], "mixture").mean()) for n in numbers]
figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
axes.plot(np.ones(16), log_p.mean(1), ".", color="grey", alpha=0.5, label="one ordering")
axes.plot(numbers, ensembles, "o-", label="ensemble")
axes.set_xscale("log", base=2)
axes.set(
    xlabel="orderings",
    ylabel="log-likelihood (nats a row)",
    xticks=numbers,
    xticklabels=numbers,
)
axes.legend(frameon=False)
plt.show()
