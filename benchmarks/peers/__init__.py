"""Other ways to fill in missing cells, each a small adapter with the same face, which nothing here imports nadek for.

A peer has `fit(train, valid, levels)` and `probabilities(x)`; codes are float64 [N, D] with NaN for missing, `levels`
the number of levels of each column, and the answer is [N, D, L], where only the hidden cells are read. `methods` lists
them all. Those whose libraries need an environment of their own are worked by `remote`.
"""
