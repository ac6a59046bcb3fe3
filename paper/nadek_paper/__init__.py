"""The paper of NADE-k, reproduced: its tables, grids, RBMs, figures and report."""
