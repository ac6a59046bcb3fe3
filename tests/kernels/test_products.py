"""Products by oneDNN against PyTorch's own, in every way that they are asked for."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations, prune

from nadek.inference.decoders.incremental import IncrementalDecoder, sigmoid_core
from nadek.inference.likelihood import log_prob
from nadek.kernels import linear as products
from nadek.kernels.cpu import has_fast_bfloat16
from nadek.kernels.linear import ACTIVATIONS, BLOCK, MIN_PRODUCT, activate, add_product, affine, prepack_weight
from nadek.models import IterativeNADE, ModelConfig, nade_k
from nadek.models.cores import AlternatingConfig, DeepConfig, ResidualConfig

ROWS, WIDE, NARROW = 512, 160, 128  # just large enough to be worth it
DTYPES = [torch.float32, *([torch.bfloat16] if has_fast_bfloat16("cpu") else [])]
TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 2e-2}
SERVED = pytest.mark.skipif(not products._fuses(torch.float32), reason="this PyTorch comes without oneDNN")


@pytest.fixture
def parts():
    """x, weight and bias, of lively sums."""
    generator = torch.Generator().manual_seed(0)
    x, weight = torch.randn(ROWS, WIDE, generator=generator), torch.randn(NARROW, WIDE, generator=generator)
    return x, weight / WIDE**0.5, torch.randn(NARROW, generator=generator)


@pytest.fixture
def called(monkeypatch):
    """How often oneDNN was asked."""
    calls, ask = [], products._oneDNN

    def count():
        calls.append(1)
        return ask()

    for dtype in (torch.float32, torch.bfloat16, torch.float64):
        products._fuses(dtype)  # looked up once
    monkeypatch.setattr(products, "_oneDNN", count)
    return calls


def close(found, expected, dtype):
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=TOLERANCE[dtype])


@SERVED
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("activation", [None, *ACTIVATIONS])
def test_affine_equals_plain_products(activation, dtype, parts, called):
    phi = (lambda u: u) if activation is None else ACTIVATIONS[activation]
    x, weight, bias = (part.to(dtype) for part in parts)
    with torch.no_grad():
        for one in (weight, weight.t().contiguous().t()):
            for d in (bias, None):
                expected = F.linear(x.double(), weight.double(), None if d is None else d.double())
                close(affine(x, one, d, activation), phi(expected), dtype)
        batched = affine(x.view(4, -1, WIDE), weight, bias, activation)
        assert torch.equal(batched.flatten(0, 1), affine(x, weight, bias, activation))
    assert len(called) == 6


@pytest.mark.parametrize("dtype", DTYPES)
def test_add_product_adds_to_base(dtype, parts):
    x, weight, base = parts[0].to(dtype), parts[1].t().to(dtype), torch.randn(ROWS, NARROW).to(dtype)
    kept = base.clone()
    with torch.no_grad():
        close(add_product(base, x, weight.t()), base.double() + x.double() @ weight.double(), dtype)
        part = base.double() + x[:, 32:].double() @ weight[32:].double()
        close(add_product(base, x[:, 32:], weight[32:].t()), part, dtype)
    assert torch.equal(base, kept)


@SERVED
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [ROWS, 7])
def test_prepacked_weights_keep_products(rows, dtype, parts):
    x, weight, bias = (part.to(dtype) for part in parts)
    x, base = x[:rows], torch.randn(rows, NARROW).to(dtype)
    with torch.no_grad():
        for one in (weight, weight.t().contiguous().t()):
            laid_out = prepack_weight(one, ROWS)
            assert laid_out.is_mkldnn
            expected = x.double() @ weight.double().t()
            close(affine(x, laid_out, bias, "tanh"), (expected + bias.double()).tanh(), dtype)
            close(add_product(base, x, laid_out), expected + base.double(), dtype)


def test_prepack_only_where_onednn_serves(parts):
    _, weight, _ = parts
    with torch.no_grad():
        assert prepack_weight(weight, ROWS // 2) is weight  # too small to pay
        assert prepack_weight(weight.double(), ROWS).dtype == torch.float64
    assert prepack_weight(weight, ROWS) is weight  # someone may want its gradient


@pytest.mark.parametrize("dtype", [*DTYPES, torch.float64])
@pytest.mark.parametrize("n", [3, 200])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activate_is_the_non_linearity(name, n, dtype):
    u = torch.linspace(-30, 30, n * 100, dtype=dtype).view(n, -1)
    expected = ACTIVATIONS[name](u.double())
    with torch.no_grad():
        torch.testing.assert_close(
            activate(name, u.clone()).double(), expected, rtol=TOLERANCE.get(dtype, 1e-12), atol=1e-6
        )
    assert activate(name, u).dtype == dtype


@SERVED
def test_onednn_serves_large_float32_only(parts, called):
    x, weight, bias = parts
    weight.requires_grad_()
    affine(x, weight, bias, "tanh").sum().backward()
    assert weight.grad is not None
    with torch.no_grad():
        affine(*(part.double() for part in parts))
        affine(x[:100], weight)  # too small
        with torch.autocast("cpu", torch.bfloat16):
            assert affine(x, weight).dtype == torch.bfloat16
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(torch.backends.mkldnn, "enabled", False)
            affine(x, weight)
        assert not called
        affine(x, weight)
        assert called


@SERVED
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"core": DeepConfig(hidden=(256, 128), activation="sigmoid")},
        {"core": ResidualConfig(width=256)},
        {"core": AlternatingConfig(hidden=(256, 128))},
        {"mask_input": True},
        {"levels": (2, 3) * 20},
        {"steps": 1},
    ],
)
@pytest.mark.slow
def test_fused_products_keep_likelihoods(options, called):
    generator = torch.Generator().manual_seed(1)
    levels = options.get("levels", (2,) * 40)
    usual = {"n_variables": 40, "steps": 3, "core": DeepConfig(hidden=(256,))}
    model = IterativeNADE(ModelConfig(**usual | options), generator=generator)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn(parameter.shape, generator=generator)
    x = torch.rand(1000, 40, generator=generator)
    x = (x * torch.tensor(levels)).floor()
    ordering = torch.randperm(40, generator=generator)
    found = log_prob(model, x, ordering=ordering)
    asked, expected = len(called), log_prob(model.double(), x.double(), ordering=ordering, decoder="full")
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-3)
    assert (asked > 0) == (model.steps > 1)
    assert len(called) == asked
    fast = IncrementalDecoder(model.float(), ordering, len(x))
    assert fast.block == (BLOCK if 1000 * model.W.numel() >= MIN_PRODUCT else 1)


def test_sigmoid_core_equals_tanh_core():
    core = DeepConfig(hidden=(6, 5, 4), dropout=0.3).build().double().eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in core.parameters():
            parameter.normal_(generator=generator)
        u = torch.randn(3, 6, dtype=torch.float64, generator=generator)
        twin = sigmoid_core(core)
        torch.testing.assert_close(2 * twin(2 * u)[0] - 1, core(u)[0], rtol=0, atol=1e-12)
    assert core.activation == "tanh"
    assert sigmoid_core(core.train()) is None  # it would drop units, which the twin cannot
    assert sigmoid_core(DeepConfig(hidden=(6,), activation="relu").build()) is None
    assert sigmoid_core(AlternatingConfig(hidden=(6, 5)).build()) is None


@pytest.mark.parametrize("decoder", ["incremental", "full", "batched"])
def test_autocast_does_not_change_likelihoods(decoder):
    generator = torch.Generator().manual_seed(0)
    model, ordering = nade_k(12, hidden=(30,), generator=generator), torch.randperm(12, generator=generator)
    x = torch.randint(0, 2, (20, 12), generator=generator)
    expected = log_prob(model, x, ordering=ordering, decoder=decoder)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(log_prob(model, x, ordering=ordering, decoder=decoder), expected)


def shared_weight(core):
    core.layers[1].weight = core.layers[0].weight


def shared_bias(core):
    core.layers[1].bias = core.layers[0].bias


def normalised(core):
    parametrizations.weight_norm(core.layers[0], "weight")


def pruned(core):
    prune.l1_unstructured(core.layers[0], "weight", 0.5)


def hooked(core):
    core.register_forward_hook(lambda core, u, out: (out[0] * (torch.arange(WIDE) > 0), out[1]))


@pytest.mark.parametrize("change", [shared_weight, shared_bias, normalised, pruned, hooked])
def test_modified_cores_keep_likelihoods(change):
    generator = torch.Generator().manual_seed(0)
    model = nade_k(9, hidden=(WIDE, WIDE, WIDE), steps=2, generator=generator).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn(parameter.shape, generator=generator)
    change(model.core)
    assert_alike(model, generator)


def assert_alike(model, generator):
    """Both decoders score alike."""
    x, ordering = torch.randint(0, 2, (ROWS, 9), generator=generator), torch.randperm(9, generator=generator)
    found, expected = (log_prob(model, x, ordering=ordering, decoder=decoder) for decoder in ("incremental", "full"))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-4)


class OwnCore(nn.Module):
    """A core of a user's own, which calls its layer."""

    n_in = n_out = WIDE

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(WIDE, WIDE)

    def forward(self, u, state=None, *, generator=None):
        """The layer's sums of tanh units."""
        return self.layer(torch.tanh(u)), state


def own_core(model):
    model.core = OwnCore()


def own_layer(model):
    model.core.blocks[1].norm = nn.Sequential(nn.LayerNorm(WIDE), nn.Linear(WIDE, WIDE))


def own_block(model):
    model.core.blocks[1].forward = lambda stream, *, generator=None: -stream


@SERVED
@pytest.mark.parametrize("change", [own_core, own_layer, own_block])
def test_foreign_cores_score_alike(change):
    generator = torch.Generator().manual_seed(0)
    config = ModelConfig(n_variables=9, core=ResidualConfig(width=WIDE), steps=2)
    model = IterativeNADE(config, generator=generator).eval()
    change(model)
    assert_alike(model, generator)
