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
from nadek.estimators.displays import InformationDisplay

wine = load_wine(as_frame=True)
wines = wine.data.assign(maker=np.array(["A", "B", "C"])[wine.target])
model = nadek.NADEk(max_iter=100, random_state=0).fit(wines)

# %%
# For every pair of columns this is the expected information in nats, where nothing else is
# known. The uncertainty of a column itself is left out.

display = InformationDisplay.from_estimator(model)
plt.show()

# %%

tells = pd.DataFrame(display.information, display.names, display.names)
print(tells["maker"].sort_values(ascending=False).head(3))
