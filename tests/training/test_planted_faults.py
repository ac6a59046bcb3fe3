"""A test must be able to fail: mistakes that others have made, planted into a copy, break the tests named for them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

WEIGHT = "weight: Tensor = n_observed / n_hidden.to(dtype)"
COST = "variables.costs(logits, "
STATE = "self.variables.probabilities(logits[-1])"
FAULTS = {
    "loss weight D/(D-d+2)": (
        ("inference/mask_distribution.py", WEIGHT, WEIGHT.replace("n_hidden", "(n_hidden + 1)")),
        "expected_cost_is_mean_log_prob",
    ),
    "loss weight D/(D-d)": (
        ("inference/mask_distribution.py", WEIGHT, WEIGHT.replace("n_hidden", "(n_hidden - 1).clamp(min=1)")),
        "expected_cost_is_mean_log_prob",
    ),
    "double sigmoid": (
        ("inference/order_agnostic.py", COST, COST.replace("logits, ", "logits.sigmoid(), ")),
        "expected_cost_is_mean_log_prob",
    ),
    "a missing bit leaks after step 1": (
        ("models/iterative_nade.py", STATE, f"{STATE} + 0.1 * x.double().mean()"),
        "a_missing_value_is_never_read",
    ),
    "mask term not updated in the incremental decoder": (
        ("inference/decoders/incremental.py", "total -= A.sum(0)", "_ = A.sum(0)"),
        "paths_agree",
    ),
    "fill not taken back in the incremental decoder": (
        ("inference/decoders/incremental.py", "add_(self.guess, -filled, columns)", "pass"),
        "paths_agree",
    ),
    "sample permuted once too often": (
        ("inference/decoding.py", "Decoded(decoded.values[:, back]", "Decoded(decoded.values[:, back][:, back]"),
        "samples_follow_one_ordering or keep_the_evidence",
    ),
    "one step too many": (
        ("models/iterative_nade.py", "self.steps if steps is None", "self.steps + 1 if steps is None"),
        "equal_to_a_numpy_reference",
    ),
    "one step too many in the incremental decoder": (
        ("inference/decoders/incremental.py", "for _ in range(self.steps - 1)", "for _ in range(self.steps)"),
        "paths_agree",
    ),
    "log-probabilities averaged over orderings": (
        (
            "inference/likelihood.py",
            "log_probs.logsumexp(dim=0) - math.log(log_probs.shape[0])",
            "log_probs.mean(dim=0)",
        ),
        "mixture_sums_to_one",
    ),
    "mask of the wrong polarity": (
        ("inference/orderings.py", "return rank >= position", "return rank < position"),
        "probabilities_sum_to_one or equal_to_a_numpy_reference",
    ),
    "a level of the wrong variable in the incremental decoder": (
        (
            "models/mixed_variables.py",
            "index_select(-1, place)",
            "index_select(-1, place.roll(1))",
        ),
        "paths_agree",
    ),
    "levels that a variable lacks take part in its softmax": (
        ("models/mixed_variables.py", "return chosen.masked_fill(self.absent[variable], -torch.inf)", "return chosen"),
        "probabilities_sum_to_one",
    ),
    "pretraining leaves out the first step": (
        (
            "inference/order_agnostic.py",
            'return costs.mean() if objective == "all_steps"',
            "return costs[1:].mean() if True",
        ),
        "pretraining_cost_averages_steps",
    ),
}


QUERY_FAULTS = {
    "a marginal goes on through what is missing": (
        ("inference/decoding.py", "stop = given.shape[1] if stop is None else stop", "stop = given.shape[1]"),
        "marginals_are_sums",
    ),
    "a cell is explained by itself": (
        ("inference/cell_scores.py", "values[r], unknown | itself, j", "values[r], unknown, j"),
        "cell_given_others",
    ),
    "answers weigh the same, however probable": (
        ("inference/information_gain.py", "weight[:, None, None] * then", "then"),
        "information_equals_brute_force",
    ),
    "a beam forgets what it has reached": (
        ("inference/map_search.py", "(log_prob.unsqueeze(2) + levels)", "(levels)"),
        "completion_log_prob",
    ),
}
TOGETHER_FAULTS = {
    "what a row knows is predicted again": (
        ("inference/decoders/ragged.py", "self.missing[:, columns] *= hidden", "pass"),
        "ragged_rows or ragged_decoder",
    ),
    "columns that a row never sees are left out": (
        ("inference/decoders/ragged.py", "min(position, self.all_seen)", "position"),
        "ragged_rows or ragged_decoder",
    ),
    "rows pass for alike whatever they were told": (
        ("inference/prefix_sharing.py", "(MAX_LEVELS + 1) + code)", "(MAX_LEVELS + 1))"),
        "ragged_rows or ragged_decoder",
    ),
    "a chunk sees its own beginning": (
        ("inference/score_rows.py", "(position - position % decoding.chunk)", "position"),
        "chunked_probabilities",
    ),
}
NEIGHBOUR_FAULTS = {
    "the gradient of levels in an order is not shared": (
        ("training/preconditioning.py", "model.ordinal_kernel.multiply(gradient, dim=dim)", "pass"),
        "steps_equal_those_of_shared_parameters",
    ),
}
MEMORY_FAULTS = {
    "rows that do not know a cell have a word in it": (
        ("models/memory.py", "if stored.observed is None else weight @ stored.observed", ""),
        "prediction_equals_formula",
    ),
    "the trust is learnt from cells that were shown": (
        (
            "training/fit_memory.py",
            "targets = validation.missing if",
            "targets = torch.ones_like(validation.missing) if",
        ),
        "gain_equals_difference_of_costs",
    ),
}
ALL_FAULTS = FAULTS | QUERY_FAULTS | TOGETHER_FAULTS | NEIGHBOUR_FAULTS | MEMORY_FAULTS
TESTS = (
    dict.fromkeys(FAULTS, "models/test_contract.py")
    | dict.fromkeys(QUERY_FAULTS, "inference/test_queries.py")
    | dict.fromkeys(TOGETHER_FAULTS, "inference/test_decoding.py")
    | dict.fromkeys(NEIGHBOUR_FAULTS, "models/test_ordinal_kernel.py")
    | dict.fromkeys(MEMORY_FAULTS, "models/test_memory.py")
)


@pytest.mark.slow
@pytest.mark.parametrize("fault", TESTS)
def test_planted_fault_is_caught(fault, tmp_path):
    (file, right, wrong), caught_by = ALL_FAULTS[fault]
    shutil.copytree(ROOT / "src" / "nadek", tmp_path / "nadek")
    text = (tmp_path / "nadek" / file).read_text()
    assert text.count(right) == 1
    (tmp_path / "nadek" / file).write_text(text.replace(right, wrong))
    run = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-k", caught_by]
    done = subprocess.run(
        [*run, str(ROOT / "tests" / TESTS[fault])],
        env={**os.environ, "PYTHONPATH": str(tmp_path), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout  # 1: tests failed; 5 would mean that none was found
    assert "FAILED" in done.stdout
    assert not re.search(r"(Name|Type|Index|Runtime|Value|Attribute)Error", done.stdout.splitlines()[-2]), done.stdout


@pytest.mark.slow
def test_without_a_fault_the_same_run_passes(tmp_path):
    """The runs above fail for their fault and not for the copy."""
    shutil.copytree(ROOT / "src" / "nadek", tmp_path / "nadek")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-k", "paths_agree", str(ROOT / "tests" / "models/test_contract.py")],
        env={**os.environ, "PYTHONPATH": str(tmp_path), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
