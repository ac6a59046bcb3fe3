"""The network's parts, the paper's models as settings of it, and the package's public face."""

import subprocess
import sys

import numpy as np
import pytest
import torch

import nadek
from nadek.inference import log_prob
from nadek.inference.sampling import reconstruction_probabilities
from nadek.inference.spread import information_distances
from nadek.models import IterativeNADE, ModelConfig, dbm_like
from nadek.models.cores import AlternatingConfig, DeepConfig, ResidualConfig
from nadek.models.variables import variables_of
from nadek.training import prepare
from zoo import ZOO, build


def test_presets_are_settings_of_one_network():
    settings = {
        name: (model.config.steps, model.config.fill, model.A is not None, model.V is None, model.config.ordering)
        for name, model in {
            "nade_k": nadek.nade_k(3, hidden=(2,)),
            "nade_mask": nadek.nade_mask(3, hidden=(2,)),
            "orderless": nadek.orderless_nade(3, hidden=(2,)),
            "nade": nadek.nade(3, hidden=2),
            "dbm_like": dbm_like(3, hidden=(2, 2)),
        }.items()
    }
    assert settings == {
        "nade_k": (5, "mean", False, False, None),
        "nade_mask": (1, "zero", True, False, None),
        "orderless": (1, "zero", False, False, None),
        "nade": (1, "zero", False, False, (0, 1, 2)),
        "dbm_like": (5, "mean", False, True, None),
    }


def test_bias_starts_at_clamped_mean():
    mean = torch.tensor([0.25, 0.0, 1.0, float("nan")])
    model = nadek.nade_k(4, hidden=(3,), mean=mean)
    np.testing.assert_allclose(model.b.detach()[0], np.log(0.25 / 0.75), rtol=1e-6)
    np.testing.assert_allclose(model.b.detach()[1:3], [np.log(1e-4 / (1 - 1e-4)), np.log((1 - 1e-4) / 1e-4)], rtol=1e-3)
    assert model.b[3] == 0
    assert model.fill.tolist() == [0.25, 0.0, 1.0, 0.5]


def test_bias_starts_at_level_frequencies():
    config = ModelConfig(n_variables=2, levels=(2, 3), core=DeepConfig(hidden=(3,)))
    model = IterativeNADE(config, torch.tensor([0.25, 0.5, 0.3, 0.2]), generator=torch.Generator().manual_seed(0))
    p = model.variables.level_probabilities(model.b.detach())
    torch.testing.assert_close(p, torch.tensor([[0.75, 0.25, 0.0], [0.5, 0.3, 0.2]]))


def test_initial_weights_have_requested_scale():
    generator = torch.Generator().manual_seed(0)
    model = nadek.nade_k(400, hidden=(300,), generator=generator)
    assert model.W.std().item() == pytest.approx(400**-0.5, rel=0.02)
    config = ModelConfig(n_variables=400, core=DeepConfig(hidden=(300,)), init_std=0.01)
    assert IterativeNADE(config, generator=generator).V.std().item() == pytest.approx(0.01, rel=0.02)


def test_alternating_core_is_dbm_mean_field(generator):
    """h1 reads v and the previous h2, h2 reads the new h1, v reads h1; every weight is used both ways."""
    model = dbm_like(5, hidden=(4, 3), steps=3, generator=generator).double().eval()
    W, U, d = (t.detach().numpy() for t in (model.W, model.core.up[0].weight, model.core.up[0].bias))
    b, c, fill = (t.detach().numpy() for t in (model.b, model.c, model.fill))
    x, missing = np.array([1.0, 0, 1, 0, 0]), np.array([True, False, False, True, True])
    v, h2 = np.where(missing, fill, x), np.zeros(3)
    for _ in range(3):
        h1 = np.tanh(W @ v + U.T @ h2 + c)
        h2 = np.tanh(U @ h1 + d)
        v = np.where(missing, 1 / (1 + np.exp(-(W.T @ h1 + b))), x)
    states = reconstruction_probabilities(model, torch.tensor(x)[None], torch.tensor(missing)[None])
    np.testing.assert_allclose(states[-1, 0].numpy(), v, atol=1e-12)


def test_residual_core_carries_stream_if_requested(generator):
    u = torch.randn(2, 4, generator=generator)
    for carry in (True, False):
        core = ResidualConfig(width=4, blocks=1, carry=carry).build()
        for parameter in core.parameters():
            torch.nn.init.normal_(parameter, generator=generator)
        _, state = core(u.clone(), None)
        assert (state is not None) == carry
        if carry:
            shifted, _ = core(u.clone() - state[0], state)  # the carried stream is added to what comes in
            torch.testing.assert_close(shifted, core(u.clone(), None)[0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ModelConfig(n_variables=0), "n_variables: expected at least 1, found 0"),
        (lambda: ModelConfig(n_variables=2, steps=2.5), "steps: expected a whole number, found 2.5"),
        (lambda: ModelConfig(n_variables=2, init_std=-0.1), "init_std: expected a number of at least 0, found -0.1"),
        (lambda: ModelConfig(n_variables=2, fill="noise"), "fill: expected one of 'mean', 'zero'"),
        (lambda: ModelConfig(n_variables=2, ordering=(0, 0)), "ordering: expected each of 0..1 once"),
        (lambda: DeepConfig(dropout=1.0), "dropout: expected at least 0 and below 1, found 1.0"),
        (lambda: DeepConfig(activation="swish"), "activation: expected one of 'tanh', 'sigmoid'"),
        (lambda: AlternatingConfig(hidden=(3,)), "at least two hidden layers"),
        (lambda: ResidualConfig(blocks=0), "blocks: expected at least 1, found 0"),
        (
            lambda: IterativeNADE(ModelConfig(n_variables=2, core=DeepConfig(hidden=(3, 4)), tied=True)),
            "tied weights need",
        ),
    ],
)
def test_impossible_structures_are_refused(make, message):
    with pytest.raises((ValueError, TypeError)) as caught:
        make()
    assert message in str(caught.value) or "Type" in type(caught.value).__name__  # the tests' shape hook comes first


COMPILED = """
import torch
from nadek import impute, log_prob, nade_k
x, network = (torch.rand(20, 5) < 0.5).double(), nade_k(5, hidden=(4,), steps=2).double()
models, seeded = (network, torch.compile(network, backend="eager")), lambda: torch.Generator().manual_seed(0)
torch.testing.assert_close(*(log_prob(model, x, orderings=2, generator=seeded()) for model in models))
assert torch.equal(*(impute(model, x.masked_fill(x == 1, torch.nan), generator=seeded()) for model in models))
"""


def test_compiled_models_are_decoded_as_they_are():
    # by itself, as the types that tests check know no compiled models
    done = subprocess.run([sys.executable, "-c", COMPILED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_booleans_are_codes_unless_numbers_are_asked_for():
    x = torch.tensor([[True, False], [False, False]])
    assert information_distances(x).shape == (2, 2)
    model = IterativeNADE(ModelConfig(n_variables=2, levels=(2, 4), knots=(None, ())))
    for use in (lambda: log_prob(model, x, orderings=2), lambda: prepare(x, levels=(2, 4), knots=(None, ()))):
        with pytest.raises(TypeError, match="expected numbers, as some variables are continuous, found booleans"):
            use()


@pytest.mark.slow
def test_package_import_is_light():
    code = (
        "import sys, nadek; lazy = {'NADEk', 'NADEkImputer', 'NADEkOutlierDetector'} & set(nadek.__all__);"
        "assert all(hasattr(nadek, name) for name in set(nadek.__all__) - lazy);"
        "heavy = {'matplotlib', 'sklearn', 'pyarrow', 'typer', 'rich', 'scipy'} & set(sys.modules);"
        "assert not heavy, heavy;"
        "assert all(hasattr(nadek, name) for name in lazy) and len(lazy) == 3"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def with_gradients(model, x, missing, **options):
    """The logits of all steps, and what every weight gets from them; each logit weighs differently."""
    model.zero_grad()
    logits = torch.stack(model(x, missing, **options))
    direction = torch.randn(logits.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    (logits * direction).sum().backward()
    return logits, {name: value.grad for name, value in model.named_parameters()}


def assert_same_gradients(found, expected):
    torch.testing.assert_close(found[0], expected[0], rtol=0, atol=1e-13)
    torch.testing.assert_close(found[1], expected[1], rtol=1e-12, atol=1e-12)


def half_known(model, generator):
    x = torch.randint(0, 2, (7, 9), generator=generator).double() % torch.tensor(model.levels)
    return x, torch.rand(7, 9, generator=generator) < 0.6


@pytest.mark.parametrize("name", [name for name in ZOO if build(name, 2).steps > 1])
@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_checkpointing_keeps_gradients(name, dropout, generator):
    model = build(name, 9).train()
    for part in model.modules():
        part.dropout = dropout
    x, missing = half_known(model, generator)
    sources = [torch.Generator().manual_seed(1) for _ in range(2)]
    kept, recomputed = (
        with_gradients(model, x, missing, recompute=recompute, generator=source)
        for recompute, source in zip((False, True), sources, strict=True)
    )
    assert_same_gradients(recomputed, kept)
    assert torch.equal(*(torch.rand(1, generator=source) for source in sources))


def test_checkpointing_repeats_dropout_without_generator():
    config = ModelConfig(n_variables=6, core=DeepConfig(hidden=(5,), dropout=0.5), steps=3)
    model = IterativeNADE(config, generator=torch.Generator().manual_seed(0))
    x, missing = torch.zeros(4, 6), torch.ones(4, 6, dtype=torch.bool)
    gradients = []
    for recompute in (False, True):
        with torch.random.fork_rng():
            torch.manual_seed(1)
            logits = model(x, missing, recompute=recompute)[-1]
        gradients += [torch.autograd.grad(logits.square().sum(), model.W)[0]]
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("levels", [(3, 2, 5), (2, 9, 1, 12, 2), (16, 2), (3, 70, 2, 1, 400, 90)])
@pytest.mark.parametrize("first", [0, 1, -1])
@pytest.mark.parametrize(("capability", "size"), [("AVX2", 8), ("AVX512", 16)])
def test_levels_fill_vector_registers(levels, first, capability, size, generator, monkeypatch):
    """The slow way is a softmax for each variable."""
    monkeypatch.setattr("torch.backends.cpu.get_cpu_capability", lambda: capability)
    variables, first = variables_of(levels), first % len(levels)
    h, V = torch.randn(20, 4, generator=generator), 3 * torch.randn(variables.n_columns, 4, generator=generator)
    start, b = variables.first_column(first), torch.randn(variables.n_columns, generator=generator)
    logits = (h.double() @ V.double().t() + b).split([1 if n == 2 else n for n in levels], 1)
    slow = [part.sigmoid() if n == 2 else part.softmax(1) for n, part in zip(levels, logits, strict=True)]
    for dtype, atol in ((torch.float32, 1e-6), (torch.float64, 1e-14)):
        p = variables.probabilities_from(h.to(dtype), V[start:].to(dtype), b[start:].to(dtype), first)
        torch.testing.assert_close(p.double(), torch.cat(slow[first:], 1), rtol=0, atol=atol)
    tables = [table for name, table in variables.named_buffers() if name.startswith("table_")]
    assert len(tables) == (3 if max(levels) == 400 else 1)
    assert all(table.shape[1] % size == 0 for table in tables)
