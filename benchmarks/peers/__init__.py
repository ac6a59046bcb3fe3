"""Adapters of other imputers, all with the same two methods.

A peer has `fit(train, valid, levels)` and `probabilities(x)`. Codes are float64 [N, D] with NaN for missing, `levels`
is the number of levels of each column, and the result is [N, D, L], of which only the hidden cells are read. `methods`
lists them all.
"""
