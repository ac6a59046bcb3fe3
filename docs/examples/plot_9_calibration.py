"""
Are the probabilities right?
============================

What is predicted with a probability of 70 % should come true seven times out of ten.
Half of the wines, which the model has not seen, show whether they do.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

import nadek
from nadek.estimators.displays import CalibrationDisplay

wines = load_wine(as_frame=True).data
for name in wines.columns[::2]:  # every other column in words
    wines[name] = pd.qcut(wines[name], 3, labels=["low", "middle", "high"])
train, test = train_test_split(wines, random_state=0, test_size=0.5)
model = nadek.NADEk(max_iter=100, random_state=0).fit(train)

# %%
# Each cell is guessed from the others of its row. For words the picture shows how often a
# guess is right. For numbers it shows how many lie below a quantile.

CalibrationDisplay.from_estimator(model, test)
plt.show()
