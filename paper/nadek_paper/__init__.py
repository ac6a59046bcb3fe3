"""The paper of NADE-k, reproduced: its rows, grids, RBMs, figures and report."""
