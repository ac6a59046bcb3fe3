"""Hidden Chow-Liu tree of SPFlow, fitted by expectation maximisation."""

import copy

import numpy as np
import torch
from numpy.typing import NDArray
from spflow.learn import expectation_maximization, expectation_maximization_batched
from spflow.modules.sums import Sum
from spflow.zoo.hclt import learn_hclt_categorical

from peers.marginals import conditionals

Array = NDArray[np.float64]


class HiddenTree:
    """Hidden Chow-Liu tree.

    Args:
        states: hidden states a column.
        epochs: of EM at most.
        batch: rows a step of EM, until the validation rows stop gaining; then all rows are one step.
    """

    def __init__(self, states: int, epochs: int = 40, batch: int = 500) -> None:
        self.states, self.epochs, self.batch = states, epochs, batch

    def fit(self, train: Array, valid: Array, levels: tuple[int, ...]) -> None:
        """Fit by EM; the validation rows choose the parameters."""
        torch.manual_seed(0)
        self.levels = levels
        rows = torch.tensor(train, dtype=torch.float32)
        # Also for two levels: the library's Bernoulli leaves become infinite where a state sees nothing but ones.
        self.model = learn_hclt_categorical(rows, num_hidden_cats=self.states, num_cats=max(levels), init="uniform")
        self._break_symmetry()
        best, best_state, whole = -np.inf, None, False
        for _ in range(self.epochs):
            if whole:
                expectation_maximization(self.model, rows, max_steps=1)
            else:
                expectation_maximization_batched(self.model, rows[torch.randperm(len(rows))].split(self.batch))
            gained = self.log_prob(valid).mean()
            if gained > best + 2e-3:
                best, best_state = gained, copy.deepcopy(self.model.state_dict())
            elif whole:
                break
            else:
                whole = True
                self.model.load_state_dict(best_state)
        self.model.load_state_dict(best_state)

    @torch.no_grad()
    def log_prob(self, x: Array) -> Array:
        """Return the log-probability of each row's observed cells, in nats."""
        rows = torch.tensor(x, dtype=torch.float32)
        return torch.cat([self.model.log_likelihood(part).flatten() for part in rows.split(2000)]).double().numpy()

    def probabilities(self, x: Array) -> Array:
        """Return the conditionals of the missing cells."""
        return conditionals(self.log_prob, x, self.levels)

    def _break_symmetry(self) -> None:
        """Start with hidden states that mostly persist along the tree.

        EM never leaves the uniform start of the library.
        """
        for module in self.model.modules():
            if isinstance(module, Sum):
                _, states, following, _ = module.weights.shape
                if states == following:
                    weights = 0.2 * torch.rand(module.weights.shape) / states
                    weights += 0.8 * torch.eye(states).reshape(1, states, states, 1)
                    module.weights = weights / weights.sum(1, keepdim=True)
