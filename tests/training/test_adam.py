"""Our step and average against those of torch.optim, to the bit; and that a fit does without the compiler."""

import subprocess
import sys

import pytest
import torch
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from nadek.models import nade_k
from nadek.training.optimizer_steps import FusedAdamW
from nadek.training.state import WeightAverage

FIT = """
import sys, numpy as np, nadek
nadek.NADEkImputer(max_iter=2, memory=True).fit(np.random.default_rng(0).integers(0, 2, (80, 3)).astype(float))
print(sorted({"torch._dynamo", "sympy"} & set(sys.modules)))
"""


def model():
    return nade_k(4, hidden=(5, 3), generator=torch.Generator().manual_seed(0))


def groups(network):
    parameters = list(network.parameters())
    return [{"params": parameters[::2], "weight_decay": 0.1}, {"params": parameters[1::2], "weight_decay": 0.0}]


def train(network, optimizer, average):
    for step in range(5):
        for group in optimizer.param_groups:
            group["lr"] = 0.01 / (1 + step)
        optimizer.zero_grad()
        for index, parameter in enumerate(network.parameters()):
            if (step + index) % 3:  # some have no gradient
                parameter.grad = torch.sin(parameter.detach() * (1 + step) + index)
        optimizer.step()
        (average.update if isinstance(average, WeightAverage) else lambda: average.update_parameters(network))()


@pytest.mark.parametrize("decay", [0.5, 0.9])
def test_steps_and_averages_equal_torch(decay):
    ours, theirs = model(), model()
    average = WeightAverage(ours, decay)
    expected = AveragedModel(theirs, multi_avg_fn=get_ema_multi_avg_fn(decay))
    train(ours, FusedAdamW(groups(ours), lr=0.01, fused=True), average)
    train(theirs, torch.optim.AdamW(groups(theirs), lr=0.01, fused=True), expected)
    assert all(map(torch.equal, ours.parameters(), theirs.parameters()))
    state = expected.state_dict()
    assert average.state_dict().keys() == state.keys()
    assert all(torch.equal(value, state[name]) for name, value in average.state_dict().items())


def test_averages_have_the_present_buffers():
    average = WeightAverage(source := nade_k(3, hidden=(4,)), 0.9)
    source.fill += 1
    assert torch.equal(average.current().fill, source.fill)


def test_fit_imports_no_compiler():
    result = subprocess.run([sys.executable, "-c", FIT], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
