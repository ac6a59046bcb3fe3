"""A test must be able to fail: mistakes that others have made, planted into a copy, break the tests named for them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FAULTS = {
    "models/test_contract.py": {
        "loss weight D/(D-d+2)": (
            "inference/order_agnostic.py",
            "weight: Tensor = n_observed / n_hidden.to(dtype)",
            "weight: Tensor = n_observed / (n_hidden + 1).to(dtype)",
            "expected_cost_is_mean_log_prob",
        ),
        "loss weight D/(D-d)": (
            "inference/order_agnostic.py",
            "weight: Tensor = n_observed / n_hidden.to(dtype)",
            "weight: Tensor = n_observed / (n_hidden - 1).clamp(min=1).to(dtype)",
            "expected_cost_is_mean_log_prob",
        ),
        "double sigmoid": (
            "inference/order_agnostic.py",
            "variables.costs(logits, ",
            "variables.costs(logits.sigmoid(), ",
            "expected_cost_is_mean_log_prob",
        ),
        "a missing bit leaks after step 1": (
            "models/iterative_nade.py",
            "plain_steps(self.step, ",
            "plain_steps(lambda i, p, *o: self.step(i, p + (p.ndim > 1) * 0.1 * x.double().mean(), *o), ",
            "a_missing_value_is_never_read",
        ),
        "mask term not updated in the incremental decoder": (
            "inference/decoders/incremental.py",
            "total -= A.sum(0)",
            "_ = A.sum(0)",
            "decoders_agree",
        ),
        "fill not taken back in the incremental decoder": (
            "inference/decoders/incremental.py",
            "add_(self.guess, -filled, columns)",
            "pass",
            "decoders_agree",
        ),
        "sample permuted once too often": (
            "inference/decoding.py",
            "decoded.values.gather(1, back)",
            "decoded.values.gather(1, back).gather(1, back)",
            "samples_follow_one_ordering or keep_the_evidence",
        ),
        "one step too many": (
            "models/iterative_nade.py",
            "self.steps if steps is None",
            "self.steps + 1 if steps is None",
            "equal_to_a_numpy_reference",
        ),
        "one step too many in the incremental decoder": (
            "inference/decoders/incremental.py",
            "for _ in range(self.steps - 1)",
            "for _ in range(self.steps)",
            "decoders_agree",
        ),
        "log-probabilities averaged over orderings": (
            "inference/likelihood.py",
            "log_probs.logsumexp(dim=0) - math.log(log_probs.shape[0])",
            "log_probs.mean(dim=0)",
            "mixture_sums_to_one",
        ),
        "mask of the wrong polarity": (
            "inference/orderings.py",
            "return rank >= position",
            "return rank < position",
            "probabilities_sum_to_one or equal_to_a_numpy_reference",
        ),
        "a level of the wrong variable in the incremental decoder": (
            "models/variables.py",
            "index_select(-1, place)",
            "index_select(-1, place.roll(1))",
            "decoders_agree",
        ),
        "levels that a variable lacks take part in its softmax": (
            "models/variables.py",
            "return chosen.masked_fill(self.absent[variable], -torch.inf)",
            "return chosen",
            "probabilities_sum_to_one",
        ),
        "pretraining leaves out the first step": (
            "inference/order_agnostic.py",
            'return costs.mean() if objective == "all_steps"',
            "return costs[1:].mean() if True",
            "pretraining_cost_averages_steps",
        ),
    },
    "inference/test_queries.py": {
        "a marginal goes on through what is missing": (
            "inference/decoding.py",
            "stop = given.shape[1] if stop is None else stop",
            "stop = given.shape[1]",
            "marginals_are_sums",
        ),
        "a cell is explained by itself": (
            "inference/cells.py",
            "values[r], unknown | itself, j",
            "values[r], unknown, j",
            "cell_given_others",
        ),
        "answers weigh the same, however probable": (
            "inference/cells.py",
            "weight[:, None, None] * then",
            "then",
            "information_equals_brute_force",
        ),
        "a beam forgets what it has reached": (
            "inference/map_search.py",
            "(log_prob.unsqueeze(2) + levels)",
            "(levels)",
            "completion_log_prob",
        ),
    },
    "inference/test_decoding.py": {
        "what a row knows is predicted again": (
            "inference/decoders/incremental.py",
            "self.missing[:, columns] *= hidden",
            "pass",
            "ragged_rows or ragged_decoder",
        ),
        "columns that a row never sees are left out": (
            "inference/decoders/incremental.py",
            "min(position, self.all_seen)",
            "position",
            "ragged_rows or ragged_decoder",
        ),
        "rows pass for alike whatever they were told": (
            "inference/decoding.py",
            "(MAX_LEVELS + 1) + code)",
            "(MAX_LEVELS + 1))",
            "ragged_rows or ragged_decoder",
        ),
        "a chunk sees its own beginning": (
            "inference/score_rows.py",
            "(position - position % decoding.chunk)",
            "position",
            "chunked_probabilities",
        ),
    },
    "models/test_ordinal_kernel.py": {
        "the gradient of levels in an order is not shared": (
            "training/preconditioning.py",
            "model.ordinal_kernel.multiply(gradient, dim=dim)",
            "pass",
            "steps_equal_those_of_shared_parameters",
        ),
    },
    "models/test_memory.py": {
        "rows that do not know a cell have a word in it": (
            "models/memory.py",
            "if stored.observed is None else weight @ stored.observed",
            "",
            "prediction_equals_formula",
        ),
        "the trust is learnt from cells that were shown": (
            "training/fit_memory.py",
            "targets = validation.missing if",
            "targets = torch.ones_like(validation.missing) if",
            "gain_equals_difference_of_costs",
        ),
    },
}
"""Of each file of tests: the fault, its place, the right text and the wrong one, and the tests that catch it."""


def run_tests(folder, file, selection):
    """Run tests on a copy of the package, in a process of its own."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-k", selection]
    environment = {**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
    command.append(str(ROOT / "tests" / file))
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize(("file", "fault"), [(file, fault) for file, faults in FAULTS.items() for fault in faults])
def test_planted_fault_is_caught(file, fault, tmp_path):
    place, right, wrong, caught_by = FAULTS[file][fault]
    shutil.copytree(ROOT / "src" / "nadek", tmp_path / "nadek")
    text = (tmp_path / "nadek" / place).read_text()
    (tmp_path / "nadek" / place).write_text(text.replace(right, wrong))
    done = run_tests(tmp_path, file, caught_by)
    assert done.returncode == 1, done.stdout  # 1: tests failed; 5 would mean that none was found
    assert "FAILED" in done.stdout
    assert not re.search(r"(Name|Type|Index|Runtime|Value|Attribute)Error", done.stdout.splitlines()[-2]), done.stdout


def test_faults_fit_the_source():
    places = [place for faults in FAULTS.values() for place in faults.values()]
    assert [place for place in places if (ROOT / "src/nadek" / place[0]).read_text().count(place[1]) != 1] == []


@pytest.mark.slow
def test_unchanged_copy_passes(tmp_path):
    """The runs above fail for their fault and not for the copy."""
    shutil.copytree(ROOT / "src" / "nadek", tmp_path / "nadek")
    done = run_tests(tmp_path, "models/test_contract.py", "decoders_agree")
    assert done.returncode == 0, done.stdout
