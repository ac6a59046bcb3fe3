"""Inference: log-likelihoods, samples, imputations and other queries of a trained model."""

from nadek.inference.cells import Explanation, expected_information, explain_cells
from nadek.inference.chunk_sizes import cheapest_chunks, position_losses
from nadek.inference.closest import closest_distances
from nadek.inference.likelihood import DecodingOptions, estimate_log_prob, log_prob, reduce_orderings
from nadek.inference.map_search import beam, greedy
from nadek.inference.orderings import random_orderings
from nadek.inference.sampling import (
    Completed,
    impute,
    level_probabilities,
    missing_probabilities,
    reconstruction_probabilities,
    sample,
)
from nadek.inference.spread import image_distances, information_distances, spread_orderings
from nadek.inference.summary import Summary, summarise

__all__ = [
    "Completed",
    "DecodingOptions",
    "Explanation",
    "Summary",
    "beam",
    "cheapest_chunks",
    "closest_distances",
    "estimate_log_prob",
    "expected_information",
    "explain_cells",
    "greedy",
    "image_distances",
    "impute",
    "information_distances",
    "level_probabilities",
    "log_prob",
    "missing_probabilities",
    "position_losses",
    "random_orderings",
    "reconstruction_probabilities",
    "reduce_orderings",
    "sample",
    "spread_orderings",
    "summarise",
]
