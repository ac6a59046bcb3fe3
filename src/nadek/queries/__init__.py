"""What else a trained model can be asked: parts of rows, likely completions, and which question to ask next."""

from nadek.queries.completion import beam, best_of, greedy
from nadek.queries.explanation import Explanation, cell_log_probs, explain_cells
from nadek.queries.marginal import conditional_log_probs, marginal_log_probs
from nadek.queries.questions import expected_information
from nadek.sampling import Completed

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
