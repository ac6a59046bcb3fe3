"""What else a trained model can be asked: parts of rows, likely completions, and which question to ask next."""

from nadek.inference.cell_scores import Explanation, cell_log_probs, explain_cells
from nadek.inference.information_gain import expected_information
from nadek.inference.map_search import beam, best_of, greedy
from nadek.inference.marginals import conditional_log_probs, marginal_log_probs
from nadek.inference.sampling import Completed

__all__ = [
    "Completed",
    "Explanation",
    "beam",
    "best_of",
    "cell_log_probs",
    "conditional_log_probs",
    "expected_information",
    "explain_cells",
    "greedy",
    "marginal_log_probs",
]
