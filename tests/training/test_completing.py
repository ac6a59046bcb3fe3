"""Learning from holes that follow from other columns, against the distribution that the rows came from."""

import pytest
import torch

from nadek.inference.likelihood import log_prob
from nadek.models import residual_nade_k
from nadek.training import AdamW, Phase, TrainingConfig, fit, prepare
from nadek.training.stochastic_em import completion_epochs, draw_missing_values
from reference import all_rows
from support.optimizers import following

D, N = 3, 3000
TABLE = torch.tensor([0.20, 0.02, 0.05, 0.23, 0.03, 0.17, 0.24, 0.06])
"""p of the eight rows, in this order: columns that depend on one another."""
ROWS = torch.from_numpy(all_rows((2,) * D)).float()


def drawn(n, seed):
    generator = torch.Generator().manual_seed(seed)
    return ROWS[torch.multinomial(TABLE, n, replacement=True, generator=generator)]


def with_holes(x, seed):
    """Where the first column is 1, seven in ten cells of the others are missing."""
    hidden = torch.rand(x.shape, generator=torch.Generator().manual_seed(seed)) < 0.7
    hidden &= x[:, :1] == 1
    hidden[:, 0] = False
    return x.masked_fill(hidden, torch.nan)


def model(seed=0):
    return residual_nade_k(D, width=64, blocks=1, steps=1, generator=torch.Generator().manual_seed(seed))


def config(**options):
    usual = {"phases": (Phase(epochs=100),), "optimizer": AdamW(lr=0.02, weight_decay=0.0), "batch_size": 100}
    return TrainingConfig(**usual | options)


def divergence(network):
    """KL from the table to the model in nats, exactly; the mean over all orderings."""
    orderings = torch.tensor([[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]])
    log_q = torch.stack([log_prob(network, ROWS, ordering=ordering) for ordering in orderings])
    return float((TABLE.double() * (TABLE.double().log() - log_q)).sum(1).mean())


@pytest.mark.slow
def test_stochastic_em_learns_the_distribution():
    divergences = {}
    for missing in ("use", "complete"):
        network, valid = model(), prepare(with_holes(drawn(1000, 2), 3))
        fit(network, prepare(with_holes(drawn(N, 0), 1)), valid, config=config(missing=missing))
        divergences[missing] = divergence(network)
    assert divergences["complete"] < 0.01
    assert divergences["use"] > 0.1


@pytest.mark.parametrize("n_variables", [5, 200])
def test_only_missing_cells_are_drawn(n_variables):
    network = residual_nade_k(n_variables, width=4, blocks=1, steps=2, generator=torch.Generator().manual_seed(0))
    generator = torch.Generator().manual_seed(1)
    x = (torch.rand(30, n_variables, generator=generator) < 0.5).float()
    holed = x.masked_fill(torch.rand(x.shape, generator=generator) < 0.5, torch.nan)
    rows = prepare(holed)
    first, second = (draw_missing_values(network, rows, generator) for _ in range(2))
    assert first.observed is None
    assert torch.equal(first.values[rows.observed], rows.values[rows.observed])
    assert not torch.equal(first.values, second.values)
    assert draw_missing_values(network, first, generator) is first


def test_patience_waits_until_rows_were_completed():
    rows = prepare(with_holes(drawn(50, 0), 1))
    standing = config(missing="complete", patience=2, optimizer=AdamW(lr=0.0), phases=(Phase(epochs=20),))
    assert len(fit(model(), rows, rows, config=standing)) == completion_epochs(20).start + 2
    leaving_out = config(patience=2, optimizer=AdamW(lr=0.0), phases=(Phase(epochs=20),))
    assert len(fit(model(), rows, rows, config=leaving_out)) == 3


@pytest.mark.parametrize("ema_decay", [0.0, 0.9])
def test_completion_continues_from_best_weights(ema_decay):
    rows, valid = prepare(with_holes(drawn(500, 0), 1)), prepare(with_holes(drawn(500, 2), 3))
    states = []
    # learns for a quarter of the run, and then destroys what was learnt until rows are completed
    rate = following(lambda progress: 0.01 if progress < 0.25 else 1.0 if progress < 0.5 else 0.0, base=AdamW)
    wandering = config(missing="complete", optimizer=rate, phases=(Phase(epochs=12),), ema_decay=ema_decay)
    network = model()
    history = fit(network, rows, valid, config=wandering, save_state=states.append, save_every=0.0)
    assert min(history[:6], key=lambda epoch: epoch.validation[-1]).epoch <= 3
    kept = states[6].tensors  # before the seventh epoch
    assert all(torch.allclose(kept[f"best.{name}"], value) for name, value in network.state_dict().items())
    assert not torch.allclose(kept["model.W"], network.W)
    assert history[6].validation[-1] == pytest.approx(history[6].best, abs=1e-6)  # the best ones, on the new rows
    assert history[6].best != history[5].best


@pytest.mark.parametrize(
    ("epochs", "which"), [(1, []), (2, [1]), (3, [1]), (12, [6, 11]), (98, [49, 56, 63, 70, 77, 84, 91])]
)
def test_second_half_of_run_is_completed(epochs, which):
    assert list(completion_epochs(epochs)) == which


@pytest.mark.slow
def test_trained_model_completes_from_first_epoch():
    """A warm start would unlearn otherwise what completing brought."""
    rows, after = prepare(with_holes(drawn(N, 0), 1)), {}
    network = model()
    fit(network, rows, config=config(missing="complete"))
    learnt = {name: value.clone() for name, value in network.state_dict().items()}
    for trained in (True, False):
        network.load_state_dict(learnt)
        fit(network, rows, config=config(missing="complete", phases=(Phase(epochs=4),)), trained=trained)
        after[trained] = divergence(network)
    assert after[True] < 0.01 < after[False]
