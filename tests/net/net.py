"""A net: digests of results, to show that a refactoring changes none. ``net.py OUT.json [--only GROUP,GROUP]``.

No import of nadek here: see api.py. An entry is {"kind": "numbers", sha, dtype, shape, some values} or text.
"""

import argparse
import contextlib
import copy
import csv
import gzip
import hashlib
import io
import json
import os
import pickle
import re
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["COLUMNS"] = "200"
os.environ["TERM"] = "dumb"
os.environ["NO_COLOR"] = "1"
for name in ("NADEK_DATA", "NADEK_TRACEBACK", "FORCE_COLOR"):
    os.environ.pop(name, None)

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
import polars as pl  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
import torch  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))
import api  # noqa: E402

torch.set_num_threads(1)
FOUND = {}
TIMES = {}
SOME = 12
TEXT = 6000


# ---------------------------------------------------------------- how results are told


def put(name, entry):
    if name in FOUND:
        raise AssertionError(f"two results called {name}")
    FOUND[name] = entry


def numbers(name, *arrays):
    """Arrays as one digest."""
    digest, values, shapes = hashlib.sha256(), [], []
    for one in arrays:
        if isinstance(one, torch.Tensor):
            one = one.detach().cpu()
            one = one.view(torch.int16).numpy() if one.dtype == torch.bfloat16 else one.numpy()
        one = np.ascontiguousarray(one)
        digest.update(f"{one.dtype} {one.shape}".encode())
        digest.update(one.tobytes())
        shapes.append(f"{one.dtype}{list(one.shape)}")
        flat = one.ravel().astype(np.float64)
        values.append(flat)
    flat = np.concatenate(values) if values else np.zeros(0)
    places = np.unique(np.linspace(0, max(0, len(flat) - 1), SOME).astype(int)) if len(flat) else []
    finite = flat[np.isfinite(flat)]
    shown = [*(flat[places].tolist() if len(flat) else []), float(finite.sum()), float(np.abs(finite).sum())]
    shown = [None if v != v else str(v) if np.isinf(v) else v for v in shown]  # JSON has neither
    shapes = shapes if len(shapes) <= 4 else [*shapes[:4], f"and {len(shapes) - 4} more"]
    put(name, {"kind": "numbers", "sha": digest.hexdigest(), "what": shapes, "values": shown})


def text(name, told):
    told = told if isinstance(told, str) else json.dumps(told, default=str, sort_keys=True, allow_nan=True)
    sha = hashlib.sha256(told.encode()).hexdigest()
    put(name, {"kind": "text", "sha": sha, "text": told if len(told) <= TEXT else told[:TEXT] + f"... {len(told)}"})


def weights(name, model):
    """All that a network is saved as, in order; the names by themselves, as these may be renamed."""
    state = model.state_dict()
    numbers(f"{name} weights", *state.values())
    text(f"{name} weights' names", " ".join(state))


def history(name, epochs):
    costs = [value for epoch in epochs for value in (*epoch["train"], *(epoch["validation"] or ()), epoch["best"])]
    numbers(f"{name} history", np.array([np.nan if v is None else v for v in costs], dtype=np.float64))
    text(f"{name} phases", [[epoch["epoch"], epoch["epochs"], epoch["phase"]] for epoch in epochs])


def anything(name, found):
    """Tables, arrays, dictionaries, lists of these, and all else as text."""
    if isinstance(found, torch.Tensor | np.ndarray):
        if isinstance(found, np.ndarray) and found.dtype == object:
            text(name, f"object {found.shape} " + repr([(type(v).__name__, str(v)) for v in found.ravel().tolist()]))
        elif isinstance(found, np.ndarray) and found.dtype.kind in "US":
            text(name, repr(found.tolist()))
        else:
            numbers(name, found)
    elif isinstance(found, float | int | np.generic) and not isinstance(found, bool):
        numbers(name, np.array(found))
    elif isinstance(found, pd.DataFrame):
        text(name, f"pandas {list(found.dtypes.astype(str).items())} index {found.index.tolist()[:5]}\n{frame(found)}")
    elif isinstance(found, pl.DataFrame):
        text(name, f"polars {list(found.schema.items())}\n{found.to_dict(as_series=False)}")
    elif isinstance(found, pa.Table):
        text(name, f"arrow {found.schema.to_string(show_schema_metadata=False)}\n{found.to_pydict()}")
    elif isinstance(found, dict):
        for key, value in found.items():
            anything(f"{name} [{key}]", value)
        text(f"{name} keys", repr(list(found)))
    elif isinstance(found, list | tuple) and any(
        isinstance(v, pd.DataFrame | pl.DataFrame | pa.Table | np.ndarray | torch.Tensor) for v in found
    ):
        for i, value in enumerate(found):
            anything(f"{name} [{i}]", value)
    else:
        text(name, found if isinstance(found, str) else repr(found))


def frame(table):
    return repr([[repr(v) for v in table.iloc[:, j].tolist()] for j in range(table.shape[1])])


@contextlib.contextmanager
def part(name):
    """One case: an error in it is told in its place, and all others go on."""
    started = time.monotonic()
    try:
        yield
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        told = traceback.format_exc()
        if os.environ.get("NET_STOP"):
            raise
        put(f"{name} BROKE", {"kind": "text", "sha": "", "text": f"{type(error).__name__}: {error}"})
        sys.stderr.write(f"--- {name} BROKE\n{told}\n")
    TIMES[name] = time.monotonic() - started


def refused(name, call):
    """The error that a call ends in."""
    try:
        call()
    except Exception as error:  # noqa: BLE001
        text(name, f"{type(error).__name__}: {error}")
    else:
        text(name, "no error")


def gen(seed=0):
    return torch.Generator().manual_seed(seed)


# ---------------------------------------------------------------- tiny data


def binary(n, D, seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    factors = rng.random((n, 3)) < [0.3, 0.5, 0.7]
    which, flip = np.arange(D) % 3, np.linspace(0.05, 0.35, D)
    x = (factors[:, which] ^ (rng.random((n, D)) < flip)).astype(np.float64)
    x[rng.random(x.shape) < missing] = np.nan
    if missing:
        x[:, 0] = np.nan_to_num(x[:, 0])
    return torch.from_numpy(x)


LEVELS = (2, 3, 2, 5, 8, 4, 2, 1, 3, 6)
ORDERED = (3, 4, 9)


def mixed(n, levels=LEVELS, seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    hidden = rng.random((n, 1))
    noise = rng.normal(0, 0.15, (n, len(levels)))
    x = np.floor(np.clip(hidden + noise, 0, 0.999) * np.array(levels))
    x[rng.random(x.shape) < missing] = np.nan
    if missing:
        x[:, 0] = np.nan_to_num(x[:, 0])
    return torch.from_numpy(x)


B, BV, BT = binary(160, 12, 1), binary(40, 12, 2), binary(24, 12, 3)
H, HV, HT = binary(160, 12, 4, 0.25), binary(40, 12, 5, 0.2), binary(24, 12, 6, 0.4)
M, MV, MT = mixed(160, seed=1), mixed(40, seed=2), mixed(24, seed=3)
MH, MHV, MHT = mixed(160, seed=4, missing=0.25), mixed(40, seed=5, missing=0.2), mixed(24, seed=6, missing=0.4)
PIX, PIXV, PIXT = binary(120, 24, 7), binary(30, 24, 8), binary(12, 24, 9)
TWO = [{"objective": "all_steps", "epochs": 1}, {"objective": "last_step", "epochs": 2}]
ADAM = ("adamw", {"lr": 0.01, "weight_decay": 0.05})


# ---------------------------------------------------------------- 1. trainings

TRAINED = {}


def trainings():
    mean = api.data_mean(B)
    meanH = api.data_mean(H)
    meanM = api.data_mean(M, LEVELS)
    meanMH = api.data_mean(MH, LEVELS)
    numbers("data_mean", mean, meanH, meanM, meanMH)
    order = torch.randperm(12, generator=gen(5)).tolist()

    def case(name, make, train=B, valid=BV, levels=None, dtype=None, keep=True, **config):
        with part(f"fit/{name}"):
            model = make()
            if dtype is not None:
                model = model.to(dtype)
            numbers(f"fit/{name} begins", *model.state_dict().values())
            options = {k: config.pop(k) for k in ("teacher", "trained") if k in config}
            config.setdefault("phases", TWO)
            config.setdefault("optimizer", ADAM)
            config.setdefault("batch_size", 32)
            config.setdefault("seed", 11)
            told = api.fit(
                model,
                api.rows(train, levels),
                None if valid is None else api.rows(valid, levels, training=False),
                api.training(**config),
                **options,
            )
            weights(f"fit/{name}", model)
            history(f"fit/{name}", told)
            text(f"fit/{name} config", api.config_of(model))
            if keep:
                TRAINED[name] = model
            return model

    deep = lambda *hidden, **o: api.core("deep", hidden=hidden, **o)  # noqa: E731
    fixed = [{"objective": "fixed_order", "epochs": 3}]
    holes = [{"objective": "all_steps", "epochs": 1, "masks": "holes"}, {"epochs": 2, "masks": "holes"}]
    net = lambda **o: lambda: api.network(12, mean, **o)  # noqa: E731
    mix = lambda **o: lambda: api.network(10, meanM, levels=LEVELS, **o)  # noqa: E731

    # cores
    case("deep1", lambda: api.preset("nade_k", 12, mean, hidden=(16,), steps=3))
    case("deep2", lambda: api.preset("nade_k", 12, mean, hidden=(16, 14), steps=3))
    case("deep3 relu", net(core=deep(10, 9, 8, activation="relu"), steps=2))
    case("deep1 gelu", net(core=deep(10, activation="gelu"), steps=2))
    case("deep1 sigmoid tied", net(core=deep(10, activation="sigmoid"), steps=3, tied=True))
    case("alternating tied", lambda: api.preset("dbm_like", 12, mean, hidden=(12, 10, 8), steps=3))
    case("alternating untied", lambda: api.preset("dbm_like", 12, mean, hidden=(12, 10), steps=3, tied=False))
    case("alternating dropout", net(core=api.core("alternating", hidden=(10, 8), dropout=0.2), steps=2))
    case("residual", lambda: api.preset("residual_nade_k", 12, mean, width=16, blocks=2, steps=3))
    case("residual uncarried", net(core=api.core("residual", width=16, blocks=1, carry=False), steps=2))
    case(
        "residual dropout",
        net(core=api.core("residual", width=16, blocks=2, dropout=0.2), steps=3, fill="zero", mask_input=True),
    )
    case("mask input of three steps", net(core=deep(12), steps=3, mask_input=True))
    case("init_std", net(core=deep(12), steps=2, init_std=0.01))
    # the paper's relatives
    case("nade", lambda: api.preset("nade", 12, mean, hidden=10, ordering=order), phases=fixed)
    case("nade in order", lambda: api.preset("nade", 12, mean, hidden=10), phases=fixed)
    case("nade stride", lambda: api.preset("nade", 12, mean, hidden=10, ordering=order), phases=fixed, stride=3)
    case(
        "nade mask stride",
        net(core=deep(8), steps=1, fill="zero", mask_input=True, ordering=tuple(order)),
        phases=fixed,
        stride=2,
    )
    case("nade of two steps", net(core=deep(8, 7), steps=2, ordering=tuple(order)), phases=fixed)
    case(
        "nade of levels",
        mix(core=deep(8), steps=1, fill="zero", ordering=(4, 3, 2, 1, 0, 9, 8, 7, 6, 5)),
        M,
        MV,
        LEVELS,
        phases=fixed,
    )
    case("orderless", lambda: api.preset("orderless_nade", 12, mean, hidden=(14,)))
    case("nade_mask", lambda: api.preset("nade_mask", 12, mean, hidden=(14, 12)))
    # objectives and masks
    five = net(core=deep(14), steps=5)
    case("all_steps", five, phases=[{"objective": "all_steps", "epochs": 3}])
    case("last_step", five, phases=[{"objective": "last_step", "epochs": 3}])
    case("few steps first", five, phases=[{"objective": "all_steps", "epochs": 1, "steps": 1}, {"epochs": 2}])
    case("fresh", five, phases=[{"objective": "all_steps", "epochs": 2}, {"epochs": 2, "fresh": True}])
    case("masks holes", five, phases=holes)
    case("masks holes first", five, phases=[{"objective": "all_steps", "epochs": 2, "masks": "holes"}, {"epochs": 2}])
    case("not stratified", five, stratified=False)
    case("tilt", five, tilt=0.5)
    case("dropout", net(core=deep(16, 12, dropout=0.3), steps=3))
    case("l2", five, l2=0.01)
    case("recompute", five, recompute=True)
    case("recompute dropout", net(core=deep(16, 12, dropout=0.3), steps=3), recompute=True)
    case("recompute residual", net(core=api.core("residual", width=16, blocks=1, dropout=0.1), steps=3), recompute=True)
    case("centred", five, centred=True)
    case("centred mask", net(core=deep(14), steps=2, mask_input=True), centred=True)
    case("centred levels", mix(core=deep(12), steps=2), M, MV, LEVELS, centred=True)
    case("ema", five, ema_decay=0.9)
    case("no ema", five, ema_decay=0.0)
    case(
        "patience",
        five,
        phases=[{"epochs": 8}],
        patience=1,
        optimizer=("muon", {"lr": 1.0}),
        validate_every=1,
    )
    case("validate every", five, phases=[{"epochs": 4}], validate_every=2)
    case("no validation", five, valid=None)
    case("mirror", net(core=deep(14), steps=2), mirror=(3, 4))
    case("mirror holes", net(core=deep(14), steps=2), H, HV, mirror=(3, 4))
    case("float64", five, dtype=torch.float64)
    case("float64 residual", net(core=api.core("residual", width=12, blocks=1), steps=2), dtype=torch.float64)
    case("bfloat16", five, precision="bfloat16")
    case("bfloat16 residual", net(core=api.core("residual", width=16, blocks=1), steps=2), precision="bfloat16")
    case("bfloat16 levels", mix(core=deep(12), steps=2, ordinal=ORDERED), M, MV, LEVELS, precision="bfloat16")
    # optimizers
    for name, options in {
        "adamw": {"lr": 0.01, "weight_decay": 0.1, "warmup": 0.1, "final": 0.05},
        "muon": {"lr": 0.02},
        "adadelta": {"lr": 1.0, "epsilon": 1e-6},
    }.items():
        case(f"optimizer {name}", net(core=deep(14, 12), steps=2), optimizer=(name, options))
    case(
        "muon residual levels",
        mix(core=api.core("residual", width=16, blocks=1), steps=2, ordinal=ORDERED),
        M,
        MV,
        LEVELS,
        optimizer=("muon", {"lr": 0.02}),
    )
    case(
        "adadelta paper",
        net(core=deep(14, 12), steps=3, init_std=0.01),
        optimizer=("adadelta", {}),
        l2=0.0001,
        phases=[{"objective": "all_steps", "epochs": 2}, {"epochs": 2, "fresh": True}],
    )
    # tables
    case("levels", mix(core=deep(14), steps=3), M, MV, LEVELS)
    case("levels mask", mix(core=deep(14, 10), steps=2, mask_input=True, fill="zero"), M, MV, LEVELS)
    case("ordinal", mix(core=deep(14), steps=3, ordinal=ORDERED), M, MV, LEVELS)
    case(
        "ordinal residual",
        mix(core=api.core("residual", width=16, blocks=1), steps=3, fill="zero", mask_input=True, ordinal=ORDERED),
        M,
        MV,
        LEVELS,
    )
    case("holes", lambda: api.network(12, meanH, core=deep(14), steps=3), H, HV)
    case(
        "holes of levels",
        lambda: api.network(
            10,
            meanMH,
            levels=LEVELS,
            core=api.core("residual", width=16, blocks=1, dropout=0.1),
            steps=3,
            fill="zero",
            mask_input=True,
            ordinal=ORDERED,
        ),
        MH,
        MHV,
        LEVELS,
        phases=holes,
    )
    case(
        "complete",
        lambda: api.network(12, meanH, core=deep(14), steps=2),
        H,
        HV,
        missing="complete",
        phases=[{"objective": "all_steps", "epochs": 2}, {"epochs": 3}],
    )
    case(
        "complete levels",
        lambda: api.network(10, meanMH, levels=LEVELS, core=deep(12), steps=2, ordinal=ORDERED),
        MH,
        MHV,
        LEVELS,
        missing="complete",
        phases=[{"objective": "all_steps", "epochs": 2}, {"epochs": 2}],
    )
    case(
        "complete trained",
        lambda: api.network(12, meanH, core=deep(14), steps=2),
        H,
        HV,
        missing="complete",
        trained=True,
        phases=[{"epochs": 2}],
    )
    case("trained", lambda: api.network(12, mean, core=deep(14), steps=2), trained=True, optimizer=("adadelta", {"lr": 2.0}))
    # images
    meanP = api.data_mean(PIX)
    unet = dict(image_shape=(4, 6), channels=(4, 6), dense=5)
    case("unet", lambda: api.image_network(meanP, **unet), PIX, PIXV)
    case(
        "unet two steps dropout",
        lambda: api.image_network(meanP, **{**unet, "dense": 0}, steps=2, dropout=0.2, blocks=2),
        PIX,
        PIXV,
        mirror=(4, 6),
    )
    case(
        "unet recompute muon",
        lambda: api.image_network(meanP, **unet, steps=2),
        PIX,
        PIXV,
        recompute=True,
        optimizer=("muon", {}),
    )
    case("unet bfloat16", lambda: api.image_network(meanP, **unet), PIX, PIXV, precision="bfloat16")
    case("unet padded", lambda: api.image_network(mean, image_shape=(3, 4), channels=(3, 4, 5), dense=4))
    case("unet fixed order", lambda: api.image_network(mean, image_shape=(3, 4), channels=(3, 4), dense=4), H, HV)
    # teachers
    case("taught", net(core=deep(12), steps=2), teacher=TRAINED["deep2"])
    case("taught holes", net(core=deep(12), steps=2), H, HV, teacher=TRAINED["deep2"])
    case("taught levels", mix(core=deep(12), steps=2), M, MV, LEVELS, teacher=TRAINED["ordinal residual"])
    case(
        "taught by unet",
        lambda: api.preset("nade_k", 24, meanP, hidden=(12,), steps=2),
        PIX,
        PIXV,
        teacher=TRAINED["unet"],
    )
    case(
        "unet taught mirror",
        lambda: api.image_network(meanP, **unet),
        PIX,
        PIXV,
        teacher=TRAINED["unet"],
        mirror=(4, 6),
    )

    # memory
    with part("memory"):
        for name, of, x, other, levels in (
            ("memory", "deep2", B, BV, None),
            ("memory holes", "holes", H, HV, None),
            ("memory levels", "ordinal", M, MV, LEVELS),
            ("memory levels holes", "holes of levels", MH, MHV, LEVELS),
            ("memory unet", "unet", PIX, PIXV, None),
        ):
            model, gain = api.remember(TRAINED[of], api.rows(x, levels), api.rows(other, levels, training=False), 3)
            weights(name, model)
            numbers(f"{name} gain", np.array(gain))
            text(f"{name} config", api.config_of(model))
            TRAINED[name] = model
        baskets = binary(14, 12, 77)
        for name, flip in (("seldom", 0.0), ("at times", 0.02), ("often", 0.15)):
            noise = torch.rand(200, 12, generator=gen(8)) < flip
            x = (baskets[torch.randint(14, (200,), generator=gen(7))].bool() ^ noise).double()
            model, gain = api.remember(
                api.preset("nade_k", 12, mean, hidden=(8,), steps=2),
                api.rows(x[:140]),
                api.rows(x[140:], training=False),
                4,
            )
            weights(f"memory of baskets that differ {name}", model)
            numbers(f"memory of baskets that differ {name} gain", np.array(gain))
        again = api.with_memory(
            api.preset("nade_k", 12, mean, hidden=(8,), steps=2),
            B[:9].to(torch.uint8),
            seen=torch.arange(1, 10),
            decay=1.5,
            trust=(0.5, 0.4),
        )
        api.fit(again, api.rows(B), api.rows(BV), api.training(phases=TWO, optimizer=ADAM, batch_size=32))
        weights("memory trained", again)
        TRAINED["memory trained"] = again

    # resumed
    with part("resume"):
        for name, make, x, v, config in (
            ("deep", net(core=deep(12, dropout=0.2), steps=2), B, BV, {}),
            ("muon", net(core=deep(12, 10), steps=2), B, BV, {"optimizer": ("muon", {})}),
            ("complete", net(core=deep(12), steps=2), H, HV, {"missing": "complete"}),
        ):
            states = []
            config = api.training(
                **{
                    "phases": [{"objective": "all_steps", "epochs": 2}, {"epochs": 2}],
                    "optimizer": ADAM,
                    "batch_size": 32,
                    **config,
                }
            )
            whole = make()
            api.fit(whole, api.rows(x), api.rows(v), config, save_state=states.append, save_every=0.0)
            weights(f"resume {name} whole", whole)
            text(f"resume {name} states' names", [" ".join(state.tensors) for state in states])
            numbers(f"resume {name} states", *[value for state in states for value in state.tensors.values()])
            for i in (1, 3):
                again = make()
                history(f"resume {name} from {i}", api.fit(again, api.rows(x), api.rows(v), config, resume=states[i]))
                weights(f"resume {name} from {i}", again)

    # RBMs
    with part("rbm"):
        for name, options in (
            ("pcd", {}),
            ("cd", {"chains": "data", "gibbs_steps": 3, "l2": 0.001, "momentum": 0.0, "ema_decay": 0.9}),
        ):
            machine, parameters, chains, moved = api.train_rbm(
                B, hidden=10, epochs=3, batch_size=32, lr=0.1, seed=3, **options
            )
            numbers(f"rbm {name}", *parameters)
            numbers(f"rbm {name} chains", chains)
            numbers(f"rbm {name} moved", np.array(moved))
            numbers(
                f"rbm {name} partition",
                np.array(api.rbm_partition(machine, B.mean(0), chains=50, temperatures=60, seed=2)),
            )
            numbers(f"rbm {name} exact", np.array(api.rbm_exact_partition(machine)))
            numbers(f"rbm {name} weight", machine.log_weight(BT))
        W, b, c = parameters
        TRAINED["from rbm"] = api.rbm_network(W, b, c, 3)
        TRAINED["from rbm, mean"] = api.rbm_network(W, b, c, 2, fill=mean)
        for name in ("from rbm", "from rbm, mean"):
            weights(name, TRAINED[name])
        for name, model in {
            "sigmoid": api.network(12, mean, core=deep(10, activation="sigmoid"), steps=2),
            "tanh": api.network(12, mean, core=deep(10, 10, 10), steps=2),
            "mask": api.network(12, mean, core=deep(10), steps=1, fill="zero", mask_input=True),
            "tied": api.network(12, mean, core=deep(10, activation="sigmoid"), steps=2, tied=True),
        }.items():
            api.begin_as(model, W, b, c, mean=mean if name == "mask" else None)
            weights(f"begins as rbm {name}", model)
            case(f"after rbm {name}", lambda model=model: model, optimizer=("adamw", {"lr": 0.001}))

    with part("fit errors"):
        small = lambda: api.network(12, mean, core=deep(4), steps=2)  # noqa: E731
        ready = api.rows(B)
        refused("error: width", lambda: api.fit(small(), api.rows(PIX), None, api.training()))
        refused("error: fixed order", lambda: api.fit(small(), ready, None, api.training(phases=fixed)))
        refused("error: teacher", lambda: api.fit(small(), ready, None, api.training(), teacher=TRAINED["unet"]))
        refused("error: codes", lambda: api.rows(B * 2))
        refused("error: empty column", lambda: api.rows(B.masked_fill(torch.arange(12) == 3, torch.nan)))
        refused("error: no rows", lambda: api.rows(torch.full((3, 12), torch.nan)))
        refused("error: core", lambda: deep(0))
        refused("error: activation", lambda: deep(3, activation="swish"))
        refused("error: optimizer", lambda: api.training(optimizer=("adamw", {"lr": -1.0})))
        refused("error: phases", lambda: api.training(phases=[]))
        refused(
            "error: diverged",
            lambda: api.fit(small(), ready, None, api.training(optimizer=("adadelta", {"lr": 1e30}), phases=[{"epochs": 3}])),
        )


# ---------------------------------------------------------------- 2. answers

ASKED = {
    "deep1": (BT, HT), "deep2": (BT, HT), "deep3 relu": (BT, HT), "deep1 sigmoid tied": (BT, HT), "alternating tied": (BT, HT),
    "alternating untied": (BT, HT), "residual": (BT, HT), "residual uncarried": (BT, HT), "residual dropout": (BT, HT),
    "nade": (BT, None), "nade of levels": (MT, None), "orderless": (BT, HT), "nade_mask": (BT, HT), "float64": (BT, HT), "bfloat16": (BT, HT), "levels": (MT, MHT),
    "levels mask": (MT, MHT), "ordinal": (MT, MHT), "ordinal residual": (MT, MHT), "holes of levels": (MT, MHT), "complete": (BT, HT),
    "unet": (PIXT, None), "unet two steps dropout": (PIXT, None), "unet padded": (BT, HT), "memory": (BT, HT), "memory holes": (BT, HT), "memory levels": (MT, MHT),
    "memory levels holes": (MT, MHT), "memory unet": (PIXT, None), "from rbm": (BT, HT),
}  # fmt: skip


def answers():
    for name, (x, holes) in ASKED.items():
        with part(f"ask/{name}"):
            ask(f"ask/{name}", TRAINED[name], x, holes)
    with part("ask/large"):
        large()
    with part("ask/hooked"):
        for name, x, holes in (("deep2", BT, HT), ("memory", BT, HT), ("ordinal", MT, MHT)):
            model, order = copy.deepcopy(TRAINED[name]), torch.arange(x.shape[1])
            model.register_forward_hook(lambda module, _, out: [one + 0.01 for one in out])
            numbers(f"ask/hooked {name}", api.log_prob(model, x.float(), order))
            numbers(f"ask/hooked {name} impute", api.impute(model, holes.float(), generator=gen(1)))
            numbers(f"ask/hooked {name} marginal", api.marginal_log_probs(model, holes.float(), 2, generator=gen(1)))


def ask(name, model, x, holes):
    D = x.shape[1]
    x = x.to(torch.float32)
    own = model.config.ordering
    if holes is None:
        drop = torch.rand(x.shape, generator=gen(3)) < 0.4
        if own is not None:  # what is missing must come last
            drop = torch.zeros_like(drop)
            for i in range(len(x)):
                drop[i, list(own[D - i % 5 :]) if i % 5 else []] = True
        holes = x.masked_fill(drop, torch.nan)
    holes = holes.to(torch.float32)
    one = torch.tensor(own) if own is not None else torch.randperm(D, generator=gen(1))
    each = (
        one.expand(len(x), -1)
        if own is not None
        else torch.stack([torch.randperm(D, generator=gen(i)) for i in range(len(x))])
    )
    missing = holes.isnan()
    numbers(f"{name} forward", *api.forward(model, holes.nan_to_num(0), missing))
    numbers(f"{name} log_prob", api.log_prob(model, x, one))
    for path in api.PATHS:
        try:
            numbers(f"{name} log_prob {path}", api.log_prob(model, x, one, path=path))
        except ValueError as error:
            text(f"{name} log_prob {path}", str(error))
    numbers(f"{name} log_prob of few", api.log_prob(model, x[:2], one))
    numbers(f"{name} log_prob each its own", api.log_prob(model, x, each))
    numbers(f"{name} log_prob chunk", api.log_prob(model, x, one, chunk=3))
    numbers(f"{name} log_prob little memory", api.log_prob(model, x, one, n_bytes=20_000))
    if model.b.dtype == torch.float32:
        numbers(f"{name} log_prob bfloat16", api.log_prob(model, x, one, dtype=torch.bfloat16))
    table = api.log_probs(model, x, 4, generator=gen(2))
    numbers(f"{name} log_probs", table)
    numbers(f"{name} mixture", api.mixture_log_prob(table))
    text(f"{name} summary", repr(api.summarise(table)))
    numbers(f"{name} each_log_prob", *api.each_log_prob(model, x, 3, generator=gen(4)))
    numbers(f"{name} sample", api.sample(model, 20, generator=gen(5)))
    numbers(f"{name} sample of few orderings", api.sample(model, 20, orderings=3, generator=gen(5)))
    numbers(f"{name} sample chunk", api.sample(model, 20, chunk=4, generator=gen(5)))
    numbers(f"{name} impute", api.impute(model, holes, generator=gen(6)))
    numbers(f"{name} impute apart", api.impute(model, holes, share=False, generator=gen(6)))
    numbers(f"{name} impute chunk", api.impute(model, holes, chunk=3, generator=gen(6)))
    numbers(f"{name} impute alike", api.impute(model, holes[[0, 0, 1, 1, 1, 2]], generator=gen(7)))
    numbers(f"{name} marginal", api.marginal_log_probs(model, holes, 3, generator=gen(8)))
    numbers(f"{name} marginal of few", api.marginal_log_probs(model, holes[:2], 3, generator=gen(8)))
    for method, call in {
        "greedy": lambda: api.greedy(model, holes, generator=gen(9)),
        "beam": lambda: api.beam(model, holes, width=4, generator=gen(9)),
    }.items():
        numbers(f"{name} {method}", *api.completed(call()))
    states = [*api.reconstruction_probabilities(model, holes)]
    numbers(f"{name} reconstruction", *states)
    numbers(f"{name} reconstruction longer", api.reconstruction_probabilities(model, x, missing, steps=4))
    if own is not None:
        refused(f"{name} error: estimate", lambda: api.estimate_log_prob(model, x))
        refused(
            f"{name} error: pattern", lambda: api.impute(model, x.masked_fill(torch.arange(D) == own[0], torch.nan))
        )
        refused(f"{name} error: probabilities", lambda: api.missing_probabilities(model, holes))
        refused(f"{name} error: information", lambda: api.expected_information(model, holes))
        return
    given = torch.arange(D) % 3 == 0
    numbers(f"{name} estimate", api.estimate_log_prob(model, x, n_masks=3, generator=gen(10)))
    numbers(f"{name} conditional", api.conditional_log_probs(model, holes, given, 3, generator=gen(8)))
    numbers(f"{name} conditional of few", api.conditional_log_probs(model, holes[:2], given, 3, generator=gen(8)))
    numbers(f"{name} cells", api.cell_log_probs(model, holes))
    numbers(f"{name} explain", *api.explained(api.explain_cells(model, holes)))
    numbers(f"{name} missing_probabilities", api.missing_probabilities(model, holes))
    numbers(f"{name} level_probabilities", api.level_probabilities(model, holes))
    numbers(f"{name} certain", *api.completed(api.greedy(model, holes, most_certain_first=True)))
    numbers(f"{name} greedy along", *api.completed(api.greedy(model, holes, ordering=one)))
    numbers(f"{name} information", api.expected_information(model, holes[:8]))
    target = torch.zeros(D, dtype=torch.bool)
    target[[1, 2, 4]] = True
    some = holes[(holes.isnan() & target).any(1)][:6]
    numbers(f"{name} information about", api.expected_information(model, some, target))
    refused(f"{name} error: no ordering", lambda: api.log_prob(model, x))
    refused(f"{name} error: codes", lambda: api.log_prob(model, x + 100, one))


def large():
    """Products large enough for the quick ways."""
    D, x = 48, binary(1500, 48, 21).float()
    mean = api.data_mean(x)
    holes = x.masked_fill(torch.rand(x.shape, generator=gen(1)) < 0.5, torch.nan)
    for name, model in {
        "deep2": api.preset("nade_k", D, mean, hidden=(160, 160), steps=3),
        "residual": api.preset("residual_nade_k", D, mean, width=160, blocks=1, steps=2),
        "alternating": api.preset("dbm_like", D, mean, hidden=(160, 160), steps=2, tied=False),
    }.items():
        with torch.no_grad():
            for parameter in model.parameters():
                parameter += 0.05 * torch.randn(parameter.shape, generator=gen(3))
        order = torch.randperm(D, generator=gen(2))
        numbers(f"large/{name} log_prob", api.log_prob(model, x, order))
        numbers(f"large/{name} log_prob bfloat16", api.log_prob(model, x, order, dtype=torch.bfloat16))
        numbers(f"large/{name} impute", api.impute(model, holes, generator=gen(4)))
        numbers(f"large/{name} marginal", api.marginal_log_probs(model, holes[:600], 1, generator=gen(4)))
        numbers(f"large/{name} sample", api.sample(model, 1000, orderings=1, generator=gen(5)))
        api.fit(
            model,
            api.rows(x),
            None,
            api.training(phases=[{"objective": "all_steps", "epochs": 1}], batch_size=300, precision="bfloat16"),
        )
        weights(f"large/{name} trained in bfloat16", model)


# ---------------------------------------------------------------- 3. estimators


def people(n, seed=0, missing=0.12):
    rng = np.random.default_rng(seed)
    smokes = rng.random(n) < 0.35
    table = pd.DataFrame(
        {
            "smokes": np.where(smokes, "yes", "no"),
            "coughs": rng.random(n) < np.where(smokes, 0.7, 0.1),
            "town": rng.choice(["Bern", "Genf", "Ulm"], n, p=[0.5, 0.3, 0.2]),
            "age": (rng.integers(18, 90, n) + smokes * 5).astype(float),
            "weight": np.round(rng.normal(70, 12, n), 1),
            "ill": smokes.astype(float),
            "stage": rng.choice(["low", "mid", "high"], n),
            "visits": rng.poisson(2, n).astype(float),
        }
    )
    return table.mask(rng.random(table.shape) < missing)


def as_pandas(table):
    made = table.copy()
    made["coughs"] = made["coughs"].astype("boolean")
    made["town"] = made["town"].astype("category")
    made["stage"] = pd.Categorical(made["stage"], categories=["low", "mid", "high"], ordered=True)
    made["visits"] = made["visits"].astype("Int64")
    made["weight"] = made["weight"].astype("float32")
    return made


def as_polars(table):
    made = pl.from_pandas(table)
    return made.with_columns(
        pl.col("stage").cast(pl.Enum(["low", "mid", "high"])), pl.col("town").cast(pl.Categorical), pl.col("visits").cast(pl.Int32), pl.col("coughs").cast(pl.Boolean),
    )  # fmt: skip


SMALL = {"max_iter": 3, "width": 16, "blocks": 1, "steps": 2, "random_state": 0}


def estimators():
    plain, asked = people(150, 1), people(16, 2, 0.3)
    arrays = (mixed(150, (2, 3, 2, 5, 7), 31, 0.15).numpy(), mixed(16, (2, 3, 2, 5, 7), 32, 0.35).numpy())
    tables = {
        "numpy": arrays,
        "float32": tuple(np.round(one, 1).astype(np.float32) for one in arrays),
        "binary": (binary(150, 8, 33, 0.1).numpy(), binary(16, 8, 34, 0.3).numpy()),
        "pandas": (as_pandas(plain), as_pandas(asked)),
        "plain pandas": (plain, asked),
        "polars": (as_polars(plain), as_polars(asked)),
        "arrow": (
            pa.Table.from_pandas(as_pandas(plain), preserve_index=False),
            pa.Table.from_pandas(as_pandas(asked), preserve_index=False),
        ),
    }
    more = {"visits": {"numeric_features": ["visits"]}}
    for name, (train, test) in tables.items():
        named = "pandas" in name or name in ("polars", "arrow")
        options = {**SMALL, **(more["visits"] if named else {})}
        density(f"density/{name}", train, test, options, named)
        imputer(f"imputer/{name}", train, test, options)
        outliers(f"outliers/{name}", train, test, options)
    variants(tables)


def learnt(name, model):
    weights(name, api.network_of(model))
    history(name, api.history_of(model))
    text(f"{name} columns", api.column_kinds(model))


def round_trip(name, kind, model, test, call):
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        told = {}
        for file in sorted((Path(folder) / "model").iterdir()):
            told[file.name] = file.stat().st_size if file.suffix == ".safetensors" else None
            if file.suffix == ".json":
                text(f"{name} saved {file.name}", clean(json.loads(file.read_text())))
        text(f"{name} saved files", told)
        again = api.load_estimator(kind, Path(folder) / "model")
        anything(f"{name} loaded", call(again, test))
        text(f"{name} loaded options", repr(again))


def density(name, train, test, options, named):
    with part(name):
        model = api.estimator("density", n_orderings=4, **options).fit(train)
        learnt(name, model)
        numbers(f"{name} orderings", model.orderings_)
        anything(f"{name} levels", model.levels_)
        numbers(f"{name} score_samples", model.score_samples(test))
        anything(f"{name} score", model.score(test))
        anything(f"{name} names", getattr(model, "feature_names_in_", model.n_features_in_))
        D = model.n_features_in_
        order = [str(c) for c in model.feature_names_in_][::-1] if named else list(range(D))[::-1]
        numbers(f"{name} log_prob", model.log_prob(test, ordering=order))
        numbers(f"{name} conditional", model.conditional_log_prob(test, given=order[:2]))
        numbers(f"{name} spread", model.ordering_spread(test))
        anything(f"{name} sample", model.sample(12, random_state=1))
        anything(f"{name} sample_conditional", model.sample_conditional(test, 2, random_state=2))
        anything(f"{name} predict_missing_proba", model.predict_missing_proba(test))
        for method in ("beam", "greedy", "certain"):
            whole, log_p = model.complete(test, method=method, n_tries=4)
            anything(f"{name} complete {method}", whole)
            numbers(f"{name} complete {method} log_prob", log_p)
        numbers(f"{name} complete along", model.complete(test, ordering=order, n_tries=3)[1])
        numbers(f"{name} suggest", model.suggest_next(test))
        refused(f"{name} error: target", lambda: model.suggest_next(test, target=order[:2]))
        if isinstance(test, pd.DataFrame | np.ndarray):
            unknown = pd.DataFrame(test).isna().to_numpy()[:, -2:].any(1)
            numbers(f"{name} suggest about", model.suggest_next(test[unknown], target=order[:2]))
        numbers(f"{name} pickled", pickle.loads(pickle.dumps(model)).score_samples(test))
        round_trip(name, "density", model, test, lambda m, t: [m.score_samples(t), m.ordering_spread(t)])
        refused(f"{name} error: width", lambda: model.score_samples(np.zeros((2, 2))))


def imputer(name, train, test, options):
    with part(name):
        model = api.estimator("imputer", n_imputations=2, memory=False, **options).fit(train)
        learnt(name, model)
        for strategy in ("mean", "median", "mode", "sample"):
            model.set_params(strategy=strategy)
            anything(f"{name} {strategy}", model.transform(test))
        anything(f"{name} multiple", model.transform_multiple(test, random_state=4))
        anything(f"{name} multiple by itself", model.transform_multiple(test))
        anything(f"{name} predict_missing_proba", model.predict_missing_proba(test))
        anything(f"{name} names out", model.get_feature_names_out())
        model.set_params(strategy="mean")
        round_trip(name, "imputer", model, test, lambda m, t: [m.transform(t)])


def outliers(name, train, test, options):
    with part(name):
        model = api.estimator("outliers", n_orderings=3, **options).fit(train)
        learnt(name, model)
        anything(f"{name} offset", model.offset_)
        numbers(f"{name} score_samples", model.score_samples(test))
        numbers(f"{name} decision", model.decision_function(test))
        numbers(f"{name} predict", model.predict(test))
        numbers(f"{name} explain", model.explain(test))
        round_trip(name, "outliers", model, test, lambda m, t: [m.score_samples(t), m.predict(t)])


def variants(tables):
    train, test = tables["plain pandas"]
    arrays, ask_arrays = tables["numpy"]
    visits = {"numeric_features": ["visits"]}

    def one(name, kind, x, t, call, fit=None, **options):
        with part(f"variant/{name}"), warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model = api.estimator(kind, **{**SMALL, **options}).fit(x, **(fit or {}))
            learnt(f"variant/{name}", model)
            anything(f"variant/{name}", call(model, t))
            text(f"variant/{name} warnings", [str(one.message) for one in told if one.category is UserWarning])
            return model

    scored = lambda m, t: [m.score_samples(t)]  # noqa: E731
    filled = lambda m, t: [m.transform(t)]  # noqa: E731
    one("memory", "imputer", train, test, filled, memory=True, **visits)
    one("memory auto", "imputer", pd.concat([people(40, 5)] * 14), test, filled, memory="auto", **visits)
    one(
        "density memory",
        "density",
        train,
        test,
        lambda m, t: [m.score_samples(t), m.sample(5, random_state=1)],
        memory=True,
        n_orderings=3,
        **visits,
    )
    one(
        "defaults",
        "imputer",
        people(60, 6),
        test,
        filled,
        width="auto",
        blocks="auto",
        steps="auto",
        max_iter=12,
        **visits,
    )
    one(
        "density defaults",
        "density",
        people(60, 6),
        test,
        scored,
        width="auto",
        blocks="auto",
        steps="auto",
        max_iter=12,
        n_orderings=2,
        **visits,
    )
    one("complete", "density", train, test, scored, missing="complete", max_iter=5, n_orderings=2, **visits)
    one("bins", "density", train, test, scored, n_bins=4, n_orderings=2, **visits)
    one(
        "categories",
        "density",
        arrays,
        ask_arrays,
        scored,
        categorical_features=[1, 3],
        numeric_features=[4],
        n_orderings=2,
    )
    one(
        "mask of features",
        "imputer",
        arrays,
        ask_arrays,
        filled,
        categorical_features=[False, True, False, False, False],
    )
    one("no stopping", "density", train, test, scored, early_stopping=False, n_orderings=2, **visits)
    one("wide", "density", train, test, scored, width=400, blocks=2, steps=3, max_iter=1, n_orderings=2, **visits)
    one(
        "wide imputer",
        "imputer",
        train,
        test,
        lambda m, t: [m.transform(t), m.set_params(strategy="sample").transform(t)],
        width=400,
        blocks=2,
        steps=3,
        max_iter=1,
        **visits,
    )
    one(
        "wide outliers",
        "outliers",
        train,
        test,
        lambda m, t: [m.score_samples(t), m.explain(t)],
        width=400,
        blocks=2,
        steps=3,
        max_iter=1,
        **visits,
    )
    one(
        "options",
        "density",
        train,
        test,
        scored,
        dropout=0.1,
        learning_rate=0.01,
        weight_decay=0.0,
        batch_size=40,
        validation_fraction=0.2,
        n_iter_no_change=1,
        n_orderings=2,
        **visits,
    )
    one("X_val", "density", train, test, scored, fit={"X_val": people(30, 8)}, n_orderings=2, **visits)
    one(
        "contamination",
        "outliers",
        train,
        test,
        lambda m, t: [m.predict(t), m.score_samples(t)],
        contamination=0.2,
        **visits,
    )
    one(
        "many held out",
        "outliers",
        people(400, 9),
        test,
        lambda m, t: [m.predict(t), m.score_samples(t), m.offset_],
        validation_fraction=0.3,
        **visits,
    )
    one(
        "indicator",
        "imputer",
        train,
        test,
        lambda m, t: [m.transform(t), m.get_feature_names_out()],
        add_indicator=True,
        **visits,
    )
    one("indicator array", "imputer", arrays, ask_arrays, filled, add_indicator=True)
    empty = train.assign(nothing=np.nan)
    one("empty", "imputer", empty, test.assign(nothing=np.nan), filled, **visits)
    one("empty kept", "imputer", empty, test.assign(nothing=np.nan), filled, keep_empty_features=True, **visits)
    one("output pandas", "imputer", arrays, ask_arrays, lambda m, t: [m.set_output(transform="pandas").transform(t)])
    one("output polars", "imputer", train, test, lambda m, t: [m.set_output(transform="polars").transform(t)], **visits)
    one(
        "list of rows",
        "density",
        [[0, "a"], [1, "b"], [1, None], [0, "a"]] * 12,
        [[None, "a"], [1, "b"]],
        scored,
        n_orderings=2,
    )
    one("verbose", "density", arrays, ask_arrays, scored, n_orderings=2)
    with part("variant/warm start"):
        model = api.estimator("density", **SMALL, n_orderings=2, warm_start=True, **visits).fit(train)
        model.fit(train)
        learnt("variant/warm start", model)
        numbers("variant/warm start score", model.score_samples(test))
        refused("variant/warm start error", lambda: model.set_params(width=32).fit(train))
    with part("variant/said"):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            api.estimator("imputer", **SMALL, verbose=2, memory=True, **visits).fit(train)
        text("variant/said", said.getvalue())
    with part("variant/errors"):
        fit = lambda x, kind="density", **o: lambda: api.estimator(kind, **{**SMALL, **o}).fit(x)  # noqa: E731
        refused("estimator error: infinite", fit(np.array([[1.0, np.inf], [0, 1]])))
        refused("estimator error: empty", fit(train.assign(nothing=np.nan)))
        refused("estimator error: all missing", fit(np.full((3, 2), np.nan), "imputer"))
        refused("estimator error: option", fit(train, steps=0))
        refused("estimator error: missing", fit(train, missing="drop"))
        refused("estimator error: strategy", fit(train, "imputer", strategy="most"))
        refused("estimator error: column", fit(train, numeric_features=["nobody"]))
        refused("estimator error: contamination", fit(train, "outliers", contamination=0.7))
        refused("estimator error: mixed", fit(pd.DataFrame({"a": [1, "x", 2.5], "b": [1, 0, 1]})))
        refused("estimator error: dates", fit(pd.DataFrame({"a": pd.to_timedelta(["3 days"] * 3), "b": [1, 0, 1]})))
        refused("estimator error: not fitted", lambda: api.estimator("density").score_samples(arrays))
        model = api.estimator("density", **SMALL, n_orderings=2, **visits).fit(train)
        refused("estimator error: unseen", lambda: model.score_samples(test.assign(town="Rome")))
        refused("estimator error: order of columns", lambda: model.score_samples(test[test.columns[::-1]]))
        refused("estimator error: method", lambda: model.complete(test, method="best"))
        refused("estimator error: ordering", lambda: model.log_prob(test, ordering=["age"]))
        refused("estimator error: no folder", lambda: api.load_estimator("density", "/nowhere"))


# ---------------------------------------------------------------- what changes from run to run

DROPPED = {
    "seconds",
    "seconds_total",
    "commit",
    "versions",
    "hardware",
    "version",
    "when",
    "date",
    "time",
    "host",
    "python",
    "torch",
    "dirty",
    "origins",
    "origin",
}


def clean(told):
    """A record without times and versions."""
    if isinstance(told, dict):
        return {key: clean(value) for key, value in told.items() if key not in DROPPED}
    return [clean(value) for value in told] if isinstance(told, list) else told


# ---------------------------------------------------------------- 4. the command line


def plain_text(told):
    """What a command says, without times, places and the widths of tables."""
    told = re.sub(r"epochs in [\d,.]+ s", "epochs in T s", told)
    told = "\n".join(
        line for line in told.splitlines() if "training: seconds" not in line and "training: commit" not in line
    )
    told = re.sub(r"[─━]+", "─", re.sub(r"[ \t]+", " ", told))
    return told.replace(os.getcwd(), "HERE").replace(os.path.realpath(os.getcwd()), "HERE")


def told_json(told):
    try:
        return json.dumps(clean(json.loads(told)), sort_keys=True)
    except ValueError:
        return None


def file(name, path):
    """What a file holds."""
    path = Path(path)
    if not path.exists():
        text(name, "not there")
    elif path.is_dir():
        text(name, sorted(str(one.relative_to(path)) for one in path.rglob("*")))
    elif path.suffix in (".png", ".svg", ".pdf"):
        text(name, f"a picture {path.stat().st_size > 0}")
    elif path.suffix == ".parquet":
        table = pq.read_table(path)
        metadata = {k.decode(): v.decode() for k, v in (table.schema.metadata or {}).items()}
        if "pandas" in metadata:
            metadata["pandas"] = {
                k: v for k, v in json.loads(metadata["pandas"]).items() if "version" not in k and k != "creator"
            }
        text(name, f"{table.schema.to_string(show_schema_metadata=False)}\n{metadata}\n{table.to_pydict()}")
    elif path.suffix == ".npz":
        with np.load(path) as arrays:
            text(f"{name} arrays", list(arrays))
            for key in arrays:
                anything(f"{name} {key}", arrays[key])
    elif path.suffix == ".npy":
        anything(name, np.load(path))
    elif path.suffix == ".json":
        text(name, told_json(path.read_text()) or path.read_text())
    else:
        content = path.read_bytes()
        content = gzip.decompress(content) if path.suffix == ".gz" else content
        text(name, content.decode("utf-8", "backslashreplace"))


def cli(name, *arguments, files=(), call=None):
    """Run a command; its exit code, what it says, and the files it leaves."""
    with part(f"cli/{name}"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code, out, err = (call or api.run_cli)(arguments)
        text(f"cli/{name} code", str(code))
        text(f"cli/{name} out", told_json(out) or plain_text(out))
        text(f"cli/{name} err", plain_text(err))
        for one in files:
            file(f"cli/{name} file {one}", one)
        return code


def model_folder(name, folder):
    with part(f"cli/{name} folder"):
        model, schema, metrics = api.load_everything(folder)
        weights(f"cli/{name} model", model)
        text(f"cli/{name} config", api.config_of(model))
        text(f"cli/{name} schema", schema)
        metrics = clean(metrics)
        history(f"cli/{name} model", metrics.pop("history"))
        text(f"cli/{name} metrics", metrics)
        text(f"cli/{name} files", sorted(one.name for one in Path(folder).iterdir()))


def spelled(table, seed=0, na=("",), header=True, delimiter=",", comma=False, words=("yes", "no")):
    """A data frame as CSV, by hand; what is missing in various words."""
    rng = np.random.default_rng(seed)

    def cell(value):
        if pd.isna(value):
            return na[rng.integers(len(na))]
        if isinstance(value, bool | np.bool_):
            return words[0] if value else words[1]
        if isinstance(value, float):
            shown = str(int(value)) if value == int(value) else repr(value)
            return shown.replace(".", ",") if comma else shown
        return str(value)

    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
    if header:
        writer.writerow(table.columns)
    for row in table.itertuples(index=False):
        writer.writerow([cell(value) for value in row])
    return stream.getvalue()


def write_tables():
    names = ["age", "b,c", "ü", "d", "e", "f"]
    bits = {
        part_: binary(n, 6, seed, miss).numpy()
        for part_, n, seed, miss in (("train", 120, 41, 0.15), ("whole", 20, 42, 0.0), ("holes", 20, 43, 0.3))
    }
    as_frame = lambda x: pd.DataFrame(x, columns=names)  # noqa: E731
    all_of_them = (
        people(130, 51).assign(id=lambda t: np.arange(len(t)) * 3 + np.arange(len(t)) % 2 + 1000),
        people(18, 52, 0.0).assign(id=lambda t: np.arange(len(t)) + 5000),
        people(18, 53, 0.3).assign(id=lambda t: np.arange(len(t)) * 3 + np.arange(len(t)) % 2 + 7000),
    )
    mixed_up = dict(zip(("train", "whole", "holes"), all_of_them, strict=True))
    for which, x in bits.items():
        Path(f"bits-{which}.csv").write_text(spelled(as_frame(x)))
        Path(f"nohead-{which}.csv").write_text(spelled(as_frame(x), header=False, na=("", "NA")))
        tf = as_frame(x).astype("boolean").astype(object)
        Path(f"tf-{which}.csv").write_bytes(
            b"\xef\xbb\xbf"
            + spelled(tf, words=("True", "false"), na=("null", "", "None")).replace("\n", "\r\n").encode()
        )
        np.savez(f"bits-{which}.npz", values=x.astype(np.float32), columns=np.array(names))
        np.save(f"bits-{which}.npy", x)
        if not np.isnan(x).any():
            Path(f"bits-{which}.amat").write_text("\n".join(" ".join(str(int(v)) for v in row) for row in x) + "\n")
    full = binary(120, 6, 41).numpy()
    Path("bits-full.amat").write_text("\n".join(" ".join(str(int(v)) for v in row) for row in full) + "\n")
    Path("bits-full.amat.gz").write_bytes(gzip.compress(Path("bits-full.amat").read_bytes(), mtime=0))
    for which, table in mixed_up.items():
        spellings = ("", "NA", "n/a", "NaN", "null", "?", "refused")
        Path(f"people-{which}.csv").write_text(spelled(table, 3, na=spellings))
        Path(f"people-{which}.csv.gz").write_bytes(gzip.compress(spelled(table).encode(), mtime=0))
        Path(f"semi-{which}.csv").write_text(
            spelled(table.drop(columns="id"), delimiter=";", comma=True, na=("", "-"), words=("wahr", "falsch"))
        )
        Path(f"tab-{which}.csv").write_text(spelled(table[["smokes", "town", "stage", "coughs"]], delimiter="\t"))
        typed = as_pandas(table.drop(columns="id")).set_index(pd.Index(table["id"], name="id"))
        arrow = pa.Table.from_pandas(typed)
        decimals = pa.array([None if pd.isna(v) else round(v, 1) for v in table["weight"]], pa.float64()).cast(
            pa.decimal128(6, 1)
        )
        arrow = arrow.set_column(arrow.schema.get_field_index("weight"), "weight", decimals)
        arrow = arrow.set_column(
            arrow.schema.get_field_index("ill"),
            "ill",
            pa.array([None if pd.isna(v) else int(v) for v in table["ill"]], pa.int8()),
        )
        pq.write_table(arrow, f"people-{which}.parquet")
        bare = arrow.replace_schema_metadata(None)
        bare = bare.append_column(
            "likes", pa.array(["tea" if i % 3 else None for i in range(len(bare))]).dictionary_encode()
        )
        bare = bare.append_column("flag", pa.array([i % 4 == 0 for i in range(len(bare))]))
        pq.write_table(bare, f"arrow-{which}.parquet")
        words = table[["smokes", "town", "stage"]].assign(
            answer=np.where(table["visits"].fillna(0) > 2, "None", "much, more"), quote='say "so"'
        )
        words.loc[words.index[::3], "quote"] = "line\nbreak"
        Path(f"words-{which}.csv").write_text(spelled(words))
        numbers_ = table[["age", "weight", "visits"]].to_numpy()
        np.save(f"numbers-{which}.npy", numbers_)
        pixels = binary(len(table), 24, 61 + len(which), 0.0 if which != "holes" else 0.3).numpy()
        np.savez(f"pixels-{which}.npz", values=pixels)


FIT = ("--hidden", "8", "--steps", "2", "--epochs", "2")
TOLD = (
    "--numeric",
    "age,visits",
    "--ordinal",
    "stage=low,mid,high",
    "--drop",
    "id",
    "--missing",
    "?",
    "--missing",
    "refused",
)


def command_line():
    write_tables()
    cases = {
        "bits": ("csv", FIT), "nohead": ("csv", FIT), "tf": ("csv", FIT), "bits-npz": ("npz", FIT), "bits-npy": ("npy", FIT),
        "people": ("csv", (*TOLD, "--epochs", "3", "--set", "model.core.width=16")), "people-gz": ("csv.gz", (*FIT, "--numeric", "age", "--numeric", "visits,weight", "--drop", "id")),
        "semi": ("csv", (*FIT, "--numeric", "age,visits", "--missing=-", "--categorical", "stage")),
        "tab": ("csv", (*FIT, "--ordinal", "stage=low,mid,high")),
        "people-parquet": ("parquet", (*FIT, "--numeric", "age,visits")),
        "arrow": ("parquet", (*FIT, "--numeric", "age,visits", "--drop", "flag", "--categorical", "ill")),
        "words": ("csv", (*FIT, "--keep", "None")),
        "numbers": ("npy", (*FIT, "--numeric", "1,3")),
        "pixels": ("npz", ("--set", "model.kind=images", "--set", "model.channels=[3,4]", "--set", "model.dense=4", "--set", "model.image_shape=[4,6]", "--epochs", "2")),
        "remembers": ("csv", (*FIT, "--memory")),
    }  # fmt: skip
    for name, (suffix, options) in cases.items():
        base = {"remembers": "bits"}.get(name, name.split("-")[0])
        train, whole, holes = (f"{base}-{which}.{suffix}" for which in ("train", "whole", "holes"))
        if cli(f"{name} fit", "fit", train, "-o", f"m-{name}", *options):
            continue
        model_folder(name, f"m-{name}")
        verbs(name, f"m-{name}", whole, holes, suffix)
    more_fits()
    mistakes()
    for verb in (
        "",
        "fit",
        "evaluate",
        "score",
        "explain",
        "sample",
        "impute",
        "complete",
        "suggest",
        "draw",
        "info",
        "data",
        "demo",
        "reproduce",
        "report",
    ):
        cli(f"help {verb}", *([verb] if verb else []), "--help")
    cli("data", "data")
    cli("data json", "data", "--json")


def verbs(name, model, whole, holes, suffix):
    out = f"out-{name}.{suffix}"
    text_too = "csv" if suffix in ("npy", "npz") else suffix
    cli(f"{name} score", "score", model, holes, "--orderings", "3")
    cli(
        f"{name} score file",
        "score",
        model,
        holes,
        "--orderings",
        "2",
        "--seed",
        "5",
        "-o",
        f"s-{out}",
        files=[f"s-{out}"],
    )
    cli(f"{name} evaluate", "evaluate", model, whole, "--orderings", "3")
    cli(
        f"{name} evaluate json",
        "evaluate",
        model,
        whole,
        "--orderings",
        "3",
        "--rows",
        "9",
        "--json",
        "-o",
        f"e-{name}.json",
        files=[f"e-{name}.json"],
    )
    cli(f"{name} explain", "explain", model, holes, "--top", "2")
    cli(
        f"{name} explain row",
        "explain",
        model,
        holes,
        "--row",
        "4",
        "-o",
        f"x-{name}.{text_too}",
        files=[f"x-{name}.{text_too}"],
    )
    cli(f"{name} impute", "impute", model, holes)
    cli(f"{name} impute file", "impute", model, holes, "--seed", "2", "-o", f"i-{out}", files=[f"i-{out}"])
    cli(f"{name} impute parquet", "impute", model, holes, "-o", f"i-{name}.x.parquet", files=[f"i-{name}.x.parquet"])
    cli(f"{name} impute npz", "impute", model, holes, "-o", f"i-{name}.x.npz", files=[f"i-{name}.x.npz"])
    cli(f"{name} probabilities", "impute", model, holes, "--probabilities")
    cli(f"{name} probabilities file", "impute", model, holes, "--probabilities", "-o", f"p-{out}", files=[f"p-{out}"])
    for method in ("greedy", "certain-first", "beam"):
        cli(f"{name} complete {method}", "complete", model, holes, "--method", method, "--width", "3")
    cli(
        f"{name} complete file",
        "complete",
        model,
        holes,
        "--width",
        "3",
        "--log-probability",
        "-o",
        f"c-{out}",
        files=[f"c-{out}"],
    )
    cli(f"{name} suggest", "suggest", model, holes)
    cli(f"{name} sample", "sample", model, "-n", "6")
    cli(
        f"{name} sample file",
        "sample",
        model,
        "-n",
        "8",
        "--orderings",
        "2",
        "--seed",
        "3",
        "-o",
        f"d-{out}",
        files=[f"d-{out}"],
    )
    cli(f"{name} sample amat", "sample", model, "-n", "4", "-o", f"d-{name}.x.amat", files=[f"d-{name}.x.amat"])
    cli(f"{name} sample png", "sample", model, "-n", "4", "-o", f"d-{name}.png", files=[f"d-{name}.png"])
    cli(f"{name} info", "info", model)
    cli(f"{name} info json", "info", model, "--json")
    if name in ("bits", "people", "pixels", "remembers"):
        cli(f"{name} draw", "draw", model, whole, "-o", f"pictures-{name}", files=[f"pictures-{name}"])


RECIPE = """
seed = 3
notes = "ours"
[model]
steps = 3
core = { kind = "residual", width = 8, blocks = 1 }
[training]
seed = 4
ema_decay = 0.5
l2 = 0.001
phases = [{ objective = "all_steps", epochs = 2 }, { epochs = 1 }]
optimizer = { kind = "muon", lr = 0.01 }
"""


def more_fits():
    Path("recipe.toml").write_text(RECIPE)

    def fit(name, *arguments, **options):
        if not cli(f"fits {name}", "fit", *arguments, "-o", f"f-{name}", **options):
            model_folder(f"fits {name}", f"f-{name}")

    fit("recipe", "bits-train.csv", "--config", "recipe.toml")
    fit(
        "over recipe",
        "bits-train.csv",
        "--config",
        "recipe.toml",
        "--steps",
        "2",
        "--lr",
        "0.05",
        "--batch-size",
        "50",
        "--seed",
        "9",
        "--epochs",
        "3",
    )
    fit("defaults", "bits-train.csv", "--epochs", "4")
    fit("default people", "people-train.csv", *TOLD, "--epochs", "2")
    fit("validation", "bits-train.csv", *FIT, "--validation", "bits-whole.csv")
    fit("fraction", "bits-train.csv", *FIT, "--validation-fraction", "0.3", "--seed", "4")
    fit("no validation", "bits-train.csv", *FIT, "--validation-fraction", "0")
    fit("json", "bits-train.csv", *FIT, "--json", "--quiet")
    fit(
        "one ordering",
        "bits-full.amat",
        "--hidden",
        "6",
        "--steps",
        "1",
        "--epochs",
        "2",
        "--set",
        "model.ordering=[5,4,3,2,1,0]",
        "--set",
        "model.fill=zero",
    )
    fit("amat gz", "bits-full.amat.gz", *FIT, "--validation", "bits-whole.amat", "--set", "training.patience=1")
    fit("start", "bits-train.csv", *FIT, "--set", "start=m-bits")
    fit("teacher", "bits-train.csv", *FIT, "--set", "teacher=m-bits")
    fit("complete", "bits-train.csv", *FIT[:-1], "4", "--set", "training.missing=complete")
    fit("bfloat16", "bits-train.csv", *FIT, "--set", "training.precision=bfloat16")
    fit("not ordinal", "people-train.csv", *TOLD, *FIT, "--set", "model.ordinal=[]")
    fit("known set", "digits", *FIT, "--seed", "2")
    fit("force", "bits-train.csv", *FIT, "--seed", "8", "--force")
    cli("fits again", "fit", "bits-train.csv", "-o", "f-force", *FIT)
    cli("fits finished", "fit", "bits-train.csv", "-o", "f-force", *FIT, "--seed", "8", "--resume")
    cli("fits other finished", "fit", "bits-train.csv", "-o", "f-force", *FIT, "--seed", "7", "--resume")
    stopped = ("fit", "bits-train.csv", "-o", "f-stopped", *FIT[:-1], "4", "--save-every", "0")
    cli("fits stopped", *stopped, call=lambda arguments: api.run_cli_stopped(arguments, 2), files=["f-stopped"])
    cli("fits stopped info", "info", "f-stopped")
    cli("fits stopped other", *stopped, "--seed", "3", "--resume")
    cli("fits without resume", *stopped)
    fit("resumed", *stopped[1:2], *FIT[:-1], "4")
    if not cli("fits goes on", *stopped, "--resume"):
        model_folder("fits goes on", "f-stopped")
    cli("known set evaluate", "evaluate", "f-known set", "digits", "--orderings", "2", "--split", "valid")
    cli("known set sample", "sample", "f-known set", "-n", "5", "-o", "digits.npz", files=["digits.npz"])
    cli("known set draw", "draw", "f-known set", "digits", "-o", "pictures-digits", files=["pictures-digits"])
    with part("cli/estimators read folders"):
        for kind in ("density", "imputer"):
            model = api.load_estimator(kind, "m-people")
            table = pd.read_csv("people-holes.csv", na_values=["?", "refused", "n/a", "NaN"])
            found = model.score_samples(table) if kind == "density" else model.transform(table)
            anything(f"cli/estimators read folders {kind}", found)
    with part("cli/folders of estimators"):
        for kind, verb in (("density", "score"), ("imputer", "impute")):
            api.estimator(kind, **SMALL, numeric_features=["visits"]).fit(people(80, 1)).save(f"e-{kind}")
            people(9, 3, 0.3).to_csv(f"e-{kind}.csv", index=False)
            cli(f"folder of an estimator {kind}", verb, f"e-{kind}", f"e-{kind}.csv")
            cli(f"folder of an estimator {kind} info", "info", f"e-{kind}")


def mistakes():
    Path("bad-cell.csv").write_text("a,b\n0,1\n1,0\n1,x\n" + "0,1\n" * 20)
    Path("ragged.csv").write_text("a,b\n0,1\n1\n")
    Path("twice.csv").write_text("a,a\n0,1\n1,0\n")
    Path("empty.csv").write_text("")
    Path("only-header.csv").write_text("a,b\n")
    Path("nothing.csv").write_text("a,b\n0,\n1,\n0,\n")
    Path("whole-numbers.csv").write_text("a,b\n" + "".join(f"{i % 7},{i % 2}\n" for i in range(40)))
    Path("dates.csv").write_text("when,b\n" + "".join(f"2020-01-{i:02d},{i % 2}\n" for i in range(1, 30)))
    Path("other-columns.csv").write_text("x,y\n0,1\n")
    Path("unseen.csv").write_text(Path("people-whole.csv").read_text().replace("Bern", "Rome"))
    Path("damaged").mkdir()
    for one in Path("m-bits").iterdir():
        content = bytearray(one.read_bytes())
        if one.suffix == ".safetensors":
            content[-1] ^= 1
        Path("damaged", one.name).write_bytes(content)
    Path("bad.toml").write_text("[model]\nstpes = 2\n")
    Path("no.toml").write_text("[model\n")
    for name, *arguments in (
        ("no verb", "fly"),
        ("no option", "fit", "bits-train.csv", "-o", "x", "--hiden", "3"),
        ("no output", "fit", "bits-train.csv"),
        ("no file", "fit", "none.csv", "-o", "x"),
        ("no model", "score", "none", "bits-train.csv"),
        ("bad cell", "fit", "bad-cell.csv", "-o", "x", *FIT),
        ("bad cell of a known column", "fit", "bad-cell.csv", "-o", "x", *FIT, "--numeric", "b"),
        ("ragged", "fit", "ragged.csv", "-o", "x"),
        ("twice", "fit", "twice.csv", "-o", "x"),
        ("empty", "fit", "empty.csv", "-o", "x"),
        ("only header", "fit", "only-header.csv", "-o", "x"),
        ("empty column", "fit", "nothing.csv", "-o", "x", *FIT),
        ("undecided", "fit", "whole-numbers.csv", "-o", "x", *FIT),
        ("undecided people", "fit", "people-train.csv", "-o", "x", *FIT),
        ("dates", "fit", "dates.csv", "-o", "x", *FIT),
        ("no such column", "fit", "bits-train.csv", "-o", "x", *FIT, "--drop", "nobody"),
        ("two sorts", "fit", "whole-numbers.csv", "-o", "x", *FIT, "--numeric", "a", "--categorical", "a"),
        ("levels", "fit", "people-train.csv", "-o", "x", *TOLD[:2], "--ordinal", "stage=low,high", *TOLD[4:]),
        ("suffix", "fit", "bits-train.xlsx", "-o", "x"),
        ("hidden", "fit", "bits-train.csv", "-o", "x", "--hidden", "a"),
        ("set", "fit", "bits-train.csv", "-o", "x", "--set", "model.stpes=2"),
        ("set nothing", "fit", "bits-train.csv", "-o", "x", "--set", "model.steps"),
        ("set a word", "fit", "bits-train.csv", "-o", "x", "--set", "model.steps=many"),
        ("recipe", "fit", "bits-train.csv", "-o", "x", "--config", "bad.toml"),
        ("recipe that is none", "fit", "bits-train.csv", "-o", "x", "--config", "no.toml"),
        ("diverged", "fit", "bits-train.csv", "-o", "x", *FIT, "--lr", "1e9", "--set", "training.optimizer.kind=adadelta"),
        ("start", "fit", "bits-train.csv", "-o", "x", *FIT, "--set", "start=m-people"),
        ("memory without rows", "fit", "bits-train.csv", "-o", "x", *FIT, "--memory", "--validation-fraction", "0"),
        ("images of words", "fit", "people-train.csv", "-o", "x", *TOLD, "--set", "model.kind=images", "--set", "model.image_shape=[2,4]"),
        ("other columns", "score", "m-bits", "other-columns.csv"),
        ("unseen word", "score", "m-people", "unseen.csv"),
        ("holes", "evaluate", "m-bits", "bits-holes.csv"),
        ("words as numbers", "impute", "m-people", "people-holes.csv", "-o", "x.npy"),
        ("output exists", "sample", "m-bits", "-o", "recipe.toml"),
        ("output is there", "score", "m-bits", "bits-holes.csv", "-o", "s-out-bits.csv"),
        ("no folder", "score", "m-bits", "bits-holes.csv", "-o", "none/x.csv"),
        ("whole", "suggest", "m-bits", "bits-whole.csv"),
        ("target", "suggest", "m-bits", "bits-holes.csv", "--target", "town"),
        ("targets", "suggest", "m-bits", "bits-holes.csv", "--target", 'e,"b,c"'),
        ("orderings", "score", "m-bits", "bits-holes.csv", "--orderings", "0"),
        ("pictures of no image", "sample", "m-bits", "-o", "x.png"),
        ("damaged", "score", "damaged", "bits-holes.csv"),
        ("device", "score", "m-bits", "bits-holes.csv", "--device", "cuda"),
        ("data dir", "evaluate", "m-bits", "mnist"),
        ("no table", "reproduce", "table9"),
        ("missing words", "fit", "people-train.csv", "-o", "x", *TOLD, *FIT, "--missing", "town=Bern", "--keep", "n/a"),
    ):  # fmt: skip
        if name == "device" and torch.cuda.is_available():
            continue
        cli(f"mistake: {name}", *arguments)
    text("cli/mistakes leave", sorted(one.name for one in Path().iterdir() if one.name.startswith("x")))


# ---------------------------------------------------------------- 4b. tables of many sorts, most of them wrong


def many(*rows, n=12):
    """A CSV with its first rows, and further ones, so that there is something to learn from."""
    return "\n".join([*rows, *(f"{i % 2},{(i // 2) % 2}" for i in range(n))]) + "\n"


BYTES = {
    "plain": many("a,b"), "blank lines": many("a,b", "", "0,1", "", ""), "one column": "a\n" + "0\n1\n" * 8, "one column with holes": 'a\n0\n""\n1\n' * 1 + "0\n1\n" * 8,
    "spaces": many(" a , b ", " 0 , 1 "), "quoted": many('"a","b"', '"0","1"'), "true late": many("a,b", n=40) + "true,1\n", "floats of 0 and 1": many("a,b", "0.0,1.0", "1e0,0"),
    "signs": many("a,b", "+1,-0"), "tabs": "a\tb\n" + "0\t1\n1\t0\n" * 6, "pipes": "a|b\n" + "0|1\n1|0\n" * 6, "sep line": "sep=;\na;b\n" + "0;1\n1;0\n" * 6, "sep line comma": "sep=;\na;b\n" + "0,5;1\n1,25;0\n" * 6,
    "semicolons with commas in cells": "a;b\n" + "x,y;1\nz;0\n" * 6, "thousands": "a;b\n" + "1.234,5;1\n2.345,75;0\n3,5;1\n" * 4, "cr": many("a,b").replace("\n", "\r"), "crlf": many("a,b").replace("\n", "\r\n"),
    "no line end": many("a,b").rstrip("\n"), "header of numbers": many("0,1"), "header from 1": "1,2,3\n" + "0,1,0\n1,0,1\n" * 6, "pandas' index": ",0,1\n" + "".join(f"{i},{i % 2},{i % 3 % 2}\n" for i in range(20)),
    "words in first row": "yes,no\n" + "yes,no\nno,yes\n" * 6, "newline in a name": '"a\nb",c\n' + "0,1\n1,0\n" * 6, "nameless": ",b\n" + "0,1\n1,0\n" * 6, "twice": "a,a\n" + "0,1\n" * 4, "three cells": many("a,b", "0,1,1"), "one cell": many("a,b", "0"),
    "open quote": many("a,b", '"0,1'), "open quote at the end": many("a,b") + '0,"1\n', "quote within": "a,b\n" + 'it"s,1\nfine,0\n' * 6, "not utf8": b"a,b\n\xff,1\n0,1\n", "latin in words": "a,b\nZürich,1\nBern,0\n".encode("latin-1") * 1, "nul": b"a,b\n0\x00,1\n1,0\n",
    "inf": many("a,b", "inf,1"), "inf of numbers": "a,b\n" + "".join(f"{i}.5,{i % 2}\n" for i in range(12)) + "inf,1\n", "huge": "a,b\n" + "".join(f"1e{300 + i % 9},{i % 2}\n" for i in range(12)), "too large": "a,b\n" + "".join(f"{2**60 + i},{i % 2}\n" for i in range(12)),
    "hex": many("a,b", "0x1,1"), "percent": "a,b\n" + "10%,1\n20%,0\n" * 6, "leading zeros": "a,b\n" + "007,1\n012,0\n" * 6, "decimals": "a,b\n" + "".join(f"{i % 7 / 4},{i % 2}\n" for i in range(20)), "negative": "a,b\n" + "".join(f"-{i % 7}.5,{i % 2}\n" for i in range(20)),
    "constant": "a,b\n" + "1,0\n1,1\n" * 6, "constant word": "a,b\n" + "x,0\nx,1\n" * 6, "constant number": "a,b\n" + "7.5,0\n7.5,1\n" * 6, "all missing": "a,b\n" + ",\n" * 6, "rows of nothing": many("a,b", ",", ",", "0,"), "ids": "a,b\n" + "".join(f"u{i},{i % 2}\n" for i in range(60)),
    "texts": "a,b\n" + "".join(f"text {i % 30},{i % 2}\n" for i in range(60)), "ticks": "a,b\n" + "x,0\n,1\n" * 10, "bools mixed": "a,b\n" + "true,0\nyes,1\n" * 6, "yes no cases": "a,b\n" + "Yes,0\nno,1\nYES,1\n" * 6, "one and two": "a,b\n" + "1,0\n2,1\n" * 6,
    "nan words": "a,b\n" + "nan,0\nNone,1\n1,0\n0,1\n-,1\n" * 4, "none and words": "a,b\n" + "None,0\nsome,1\nmuch,1\n" * 6, "words and numbers": "a,b\n" + "1,0\nx,1\n2,0\n" * 6, "empty": "", "bom only": b"\xef\xbb\xbf", "newlines": "\n\n\n", "wide header": "a,b,c\n0,1\n",
}  # fmt: skip


def sorts_of_tables():
    short = ("--hidden", "3", "--steps", "1", "--epochs", "1", "--validation-fraction", "0")

    def fit(name, path, *options):
        out = f"t-{name}".replace(" ", "-").replace("'", "")
        if not cli(f"table: {name}", "fit", path, "-o", out, *short, *options):
            cli(f"table: {name} score", "score", out, path, "--orderings", "1")
            cli(f"table: {name} impute", "impute", out, path)
            cli(f"table: {name} sample", "sample", out, "-n", "3")

    for name, content in BYTES.items():
        path = f"{name}.csv".replace(" ", "-").replace("'", "")
        Path(path).write_bytes(content if isinstance(content, bytes) else content.encode())
        fit(name, path)
    for name, column, *options in (
        ("thousands", None, "--numeric", "a"), ("decimals", None, "--categorical", "a"), ("percent", None, "--categorical", "a"), ("ids", None, "--categorical", "a"), ("ids", None, "--drop", "a"), ("ticks", None, "--keep", "x"),
        ("words and numbers", None, "--categorical", "a"), ("words and numbers", None, "--numeric", "a", "--missing", "x"), ("none and words", None, "--keep", "None"), ("one and two", None, "--categorical", "a"), ("one and two", None, "--numeric", "a"), ("one and two", None, "--missing", "a=2"),
        ("leading zeros", None, "--categorical", "a"), ("yes no cases", None, "--ordinal", "a=no,Yes,YES"), ("yes no cases", None, "--ordinal", "a"), ("plain", None, "--numeric", "a"), ("plain", None, "--ordinal", "a=1,0"), ("plain", None, "--missing", "a="), ("plain", None, "--missing", "c=3"), ("plain", None, "--drop", "a,b"),
        ("nameless", None, "--drop", ""), ("negative", None, "--missing=-0.5"), ("too large", None, "--numeric", "a"), ("inf of numbers", None, "--missing", "inf"), ("texts", None, "--categorical", "a"), ("constant number", None, "--numeric", "a"),
    ):  # fmt: skip
        fit(f"{name} {' '.join(options)}".replace("=", "-"), f"{name}.csv".replace(" ", "-"), *options)
    arrays = {
        "floats": np.array([[0.0, 1.5], [1, np.nan]] * 8), "ints": np.array([[0, 7], [1, 3]] * 8), "bools": np.array([[True, False], [False, False]] * 8), "three axes": np.zeros((2, 2, 2)), "one axis": np.zeros(4), "no rows": np.zeros((0, 3)),
        "no columns": np.zeros((3, 0)), "infinite": np.array([[0.0, np.inf]] * 3), "words": np.array([["a", "b"], ["b", "a"]] * 8), "objects": np.array([["a", 1]] * 3, dtype=object), "complex": np.zeros((2, 2), dtype=complex), "big endian": np.array([[0, 1], [1, 0]] * 8, dtype=">f4"),
        "halves": np.array([[0, 1], [1, 0]] * 8, dtype=np.float16), "bytes": np.array([[0, 1], [1, 0]] * 8, dtype=np.uint8),
    }  # fmt: skip
    for name, x in arrays.items():
        path = f"array-{name.replace(' ', '-')}.npy"
        np.save(path, x, allow_pickle=True)
        fit(f"array {name}", path)
    np.savez("two.npz", a=arrays["ints"], b=arrays["ints"])
    np.savez("names.npz", values=arrays["bytes"], columns=np.array(["a"]))
    np.savez("named.npz", values=arrays["bytes"], columns=np.array(["a", "b"]))
    np.savez("any.npz", whatever=arrays["bytes"])
    Path("broken.npz").write_bytes(Path("two.npz").read_bytes()[:200])
    Path("broken.parquet").write_bytes(b"PAR1")
    Path("broken.csv.gz").write_bytes(b"\x1f\x8b\x08\x00broken")
    Path("bad.amat").write_text("0 1\n1 2\n")
    Path("ragged.amat").write_text("0 1\n1\n")
    Path("text.amat").write_text("zero one\n")
    Path("folder.csv").mkdir()
    for path in (
        "two.npz",
        "names.npz",
        "named.npz",
        "any.npz",
        "broken.npz",
        "broken.parquet",
        "broken.csv.gz",
        "bad.amat",
        "ragged.amat",
        "text.amat",
        "folder.csv",
    ):
        fit(f"file {path}", path)
    n = 12
    columns = {
        "bool": pa.array([True, False, None] * 4), "int8": pa.array([0, 1, None] * 4, pa.int8()), "uint64": pa.array([0, 1, 1] * 4, pa.uint64()), "large ints": pa.array([2**60 + i for i in range(n)]), "float16": pa.array(np.array([0.5, 1, 2] * 4, np.float16)), "float32": pa.array([0.1, 0.2, None] * 4, pa.float32()),
        "decimal": pa.array([1, 2, None] * 4, pa.decimal128(10, 3)), "words": pa.array(["x", "y", None] * 4), "large words": pa.array(["x", "y", None] * 4, pa.large_string()), "dictionary": pa.array(["x", "y", None] * 4).dictionary_encode(), "dictionary of ints": pa.array([3, 4, None] * 4).dictionary_encode(),
        "date": pa.array([0, 1, 2] * 4, pa.date32()), "time": pa.array([0, 1, 2] * 4, pa.timestamp("s")), "list": pa.array([[1], [2], None] * 4), "binary": pa.array([b"x", b"y", None] * 4), "null": pa.nulls(n), "empty words": pa.array(["", "y", " "] * 4), "nan": pa.array([float("nan"), 1.0, 0.0] * 4),
        "string view": pa.array(["x", "y", None] * 4).cast(pa.string_view()), "ints of words": pa.array(["1", "0", None] * 4), "inf": pa.array([float("inf"), 1.0, 0.0] * 4),
    }  # fmt: skip
    for name, column in columns.items():
        path = f"column-{name.replace(' ', '-')}.parquet"
        pq.write_table(pa.table({"a": column, "b": pa.array([0, 1] * 6)}), path)
        fit(f"column {name}", path)
        with part(f"table: column {name} in an estimator"):
            table = pq.read_table(path)
            for kind in ("arrow", "pandas", "polars"):
                X = table if kind == "arrow" else table.to_pandas() if kind == "pandas" else pl.from_arrow(table)
                try:
                    model = api.estimator("imputer", **{**SMALL, "max_iter": 1, "width": 4}, memory=False).fit(X)
                    anything(f"table: column {name} of {kind}", model.transform(X))
                except Exception as error:  # noqa: BLE001
                    text(f"table: column {name} of {kind}", f"{type(error).__name__}: {error}")
    for setting in (
        "model.core.hidden=[]", "model.core.hidden=8", "model.core.kind=deeep", "model.core.activation=swish", "model.core.dropout=1.5", "model.n_variables=3", "model.steps=0", "model.fill=zeros", "model.ordering=[0,0]", "model.levels=[2]", "model.ordinal=[9]", "model.init_std=-1", "model.tied=maybe", "model=3",
        "training.batch_size=0", "training.l2=-1", "training.tilt=1", "training.ema_decay=2", "training.seed=-1", "training.precision=float16", "training.missing=drop", "training.patience=0", "training.mirror=[2,3]", "training.stride=0", "training.optimizer.kind=adam", "training.optimizer.lr=fast", "training.optimizer=3",
        "training.phases=[]", "training.phases=[{epochs=0}]", "training.phases=[{objective=\"none\"}]", "training.phases=[{epochs=1,steps=1}]", "training.phases=[{masks=\"all\"}]", "training.phases=[{objective=\"fixed_order\"}]", "seed=x", "memory=maybe", "start=nowhere", "teacher=nowhere", "nobody=1", "training.centred=true", "training.recompute=true",
    ):  # fmt: skip
        cli(
            f"set: {setting}",
            "fit",
            "plain.csv",
            "-o",
            f"set-{hash_of(setting)}",
            "--steps",
            "1",
            "--validation-fraction",
            "0",
            "--set",
            setting,
            *(("--epochs", "1") if "phases" not in setting else ()),
            *(() if "core" in setting or setting == "model=3" else ("--hidden", "3")),
        )


def hash_of(told):
    return hashlib.sha256(told.encode()).hexdigest()[:8]


# ---------------------------------------------------------------- 5. the paper

ROW = """
title = "NADE-2"
data = "digits"
paper = -20.5
paper_ensemble = -19.25
orderings = 2
ensemble_orderings = 3
ensemble_rows = 10
notes = ["smaller"]
[model]
n_variables = 64
steps = 2
core = { kind = "deep", hidden = [8] }
[recipes.modern.training]
ema_decay = 0.9
phases = [{ objective = "all_steps", epochs = 1 }, { epochs = 1 }]
[recipes.paper]
seed = 3
model = { init_std = 0.01 }
[recipes.paper.training]
phases = [{ epochs = 1 }]
optimizer = { kind = "adadelta" }
[recipes.taught]
teacher = "runs/table1-one-modern"
[recipes.taught.training]
phases = [{ epochs = 1 }]
"""
MACHINE = """
title = "RBM"
data = "digits"
paper = -30.0
notes = ["small"]
[rbm.training]
hidden = 8
epochs = 3
lr = 0.1
ema_decay = 0.9
[rbm.choice]
every = 2
annealing = { temperatures = 20 }
[rbm.annealing]
chains = 50
temperatures = 40
"""
BEGINS = """
title = "Begins"
data = "digits"
orderings = 2
[model]
n_variables = 64
steps = 2
core = { kind = "deep", hidden = [8] }
[recipes.modern]
start = "table1/rbm"
[recipes.modern.training]
ema_decay = 0.0
phases = [{ epochs = 1 }]
"""
STUDY = """
title = "Turned"
rbms = ["table1/rbm"]
steps = [1, 3]
masks = 2
[recipe.model]
steps = 2
[recipe.training]
ema_decay = 0.9
phases = [{ epochs = 1 }]
"""
GRID = """
title = "Which?"
seeds = [0]
keep = true
[options.training]
ema_decay = 0.9
[sets.digits]
label = "digits"
data = "digits"
n_variables = 64
epochs = 1
orderings = 2
rows = 30
train_rows = 100
parameters = 1_500
[axes.core.deep]
label = "1 layer"
model = { core = { kind = "deep", hidden = [1] } }
[axes.core.block]
label = "1 block"
model = { core = { kind = "residual", blocks = 1 } }
[axes.k.k1]
label = "k = 1"
model = { steps = 1 }
[axes.k.long]
label = "k = 1, twice as long"
longer = 2
model = { steps = 1 }
[axes.k.k2]
label = "k = 2"
model = { steps = 2 }
"""
SPREADS = """
title = "Spreads"
table = "table1"
[[rows]]
row = "one"
mean = -20.5
over_orderings = 2.0
over_rows = 5.0
"""
FIGURES = {
    "curves": 'kind = "curves"\nmodels = ["table1/one", "which/digits-deep-k1-s0"]\nlabels = ["a", "b"]',
    "grid": 'kind = "grid"\ngrid = "which"\nalong = ["k1", "k2"]\nlevel = ["long"]',
    "steps": 'kind = "test_steps"\nmodel = "table1/one"\nsteps = 4\nmasks = 2\nrows = 30',
    "cells": 'kind = "reconstructions"\nmodel = "table1/one"\nsteps = 3\nhidden = [0.25, 0.5]',
    "samples": 'kind = "samples"\nmodel = "which/digits-deep-k2-s0"\nnumber = 6',
    "filters": 'kind = "filters"\nmodel = "table1/one"\nside = "decoder"\nnumber = 5',
    "structures": 'kind = "structures"',
}


def paper():
    for name, told in {
        "table1/one.toml": ROW,
        "table1/rbm.toml": MACHINE,
        "table1/begins.toml": BEGINS,
        "table1/turned.toml": ROW.replace("NADE-2", "In turn")
        .replace("[model]", "in_turn = true\n[model]", 1)
        .replace("[recipes.taught]", "[recipes.none]")
        .split("[recipes.paper]")[0]
        .replace("orderings = 2", 'orderings = 2\nscoring_dtype = "bfloat16"', 1),
        "table1/cited.toml": 'title = "Cited"\ndata = "digits"\npaper = -30\ncited = true\n',
        "meanfield.toml": STUDY,
        "grids/which.toml": GRID,
        "table3.toml": SPREADS,
        **{f"figures/{name}.toml": f'title = "{name}"\n[shows]\n{told}\n' for name, told in FIGURES.items()},
    }.items():
        path = Path("experiments", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(told)
    for name, kind in (
        ("one", "modern"),
        ("one", "paper"),
        ("one", "taught"),
        ("rbm", "modern"),
        ("begins", "modern"),
        ("turned", "modern"),
    ):
        with part(f"paper/{name} {kind}"):
            record_of(f"paper/{name} {kind}", api.run_row(f"experiments/table1/{name}.toml", kind, "."))
    with part("paper/again"):
        record_of("paper/again", api.run_row("experiments/table1/one.toml", "modern", "."))
    with part("paper/quick"):
        record_of("paper/quick", api.run_row("experiments/table1/one.toml", "paper", ".", quick=True))
    with part("paper/grid"):
        record_of("paper/grid", api.run_grid_of("experiments/grids/which.toml", "."))
    with part("paper/meanfield"):
        record_of("paper/meanfield", api.run_meanfield_of("experiments/meanfield.toml", "."))
    with part("paper/figures"):
        text("paper/figures", api.pictures("."))
    with part("paper/tables"):
        text(
            "paper/table",
            api.rows_table(
                ".", [f"experiments/table1/{name}.toml" for name in ("one", "rbm", "begins", "turned", "cited")]
            ),
        )
        text("paper/spreads", api.spreads_table(".", "experiments/table3.toml"))
        record_of("paper/summary", api.tables_summary("."))
        Path("page.md").write_text("# Results\n\n<!-- generated: table1 -->\n<!-- /generated -->\n")
        api.report(".", "page.md")
        text("paper/page", re.sub(r"\d+ s\b", "T s", Path("page.md").read_text()))
    for path in sorted(Path("experiments/results").glob("*.json")):
        with part(f"paper/results/{path.name}"):
            record_of(f"paper/results/{path.name}", json.loads(path.read_text()))
    for path in sorted(Path("runs").rglob("*.safetensors")):
        with part(f"paper/{path}"):
            from safetensors.torch import load_file

            state = load_file(path)
            numbers(f"paper/{path}", *[state[key] for key in sorted(state)])
    text(
        "paper/files",
        sorted(
            str(path)
            for path in [
                *Path("runs").rglob("*"),
                *Path("pictures").rglob("*"),
                *Path("experiments/results").rglob("*"),
            ]
        ),
    )
    cli("reproduce", "reproduce", "table1", "--row", "one")
    cli("reproduce json", "reproduce", "table1", "--row", "rbm", "--json")
    cli("reproduce all", "reproduce", "table1")
    cli("reproduce grid", "reproduce", "which", "--row", "digits-deep-*", "--json")
    cli("reproduce meanfield", "reproduce", "meanfield")
    cli("reproduce spreads", "reproduce", "table3")
    cli("reproduce figures", "reproduce", "figures", "--row", "steps", "--pictures", "pictures")
    cli("report", "report", "--docs", "page.md")
    with part("paper/by steps"):
        numbers("paper/by steps", api.by_steps(api.preset("nade_k", 12, hidden=(8,), steps=2), BT, 4, 3))
    with part("paper/baselines"):
        for name, kind in api.BASELINES.items():
            numbers(f"paper/baseline {name}", kind.fit(B.numpy()).log_prob(BT.numpy()))
    with part("paper/demo"):
        text("paper/demo", api.run_demo("demo", 1))
        file("paper/demo files", "demo")


def record_of(name, record):
    """A record: its numbers as one digest each, without times."""
    record = clean(record)
    found = []

    def walk(value, path):
        if isinstance(value, dict):
            for key in sorted(value):
                walk(value[key], f"{path}.{key}")
        elif isinstance(value, list):
            for i, one in enumerate(value):
                walk(one, f"{path}[{i}]")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found.append(float(value))

    walk(record, "")
    numbers(f"{name} numbers", np.array(found))
    text(f"{name} record", record)


GROUPS = {
    "trainings": trainings,
    "answers": answers,
    "estimators": estimators,
    "cli": command_line,
    "tables": sorts_of_tables,
    "paper": paper,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--only", help="groups, with commas between them (answers need trainings)")
    told = parser.parse_args()
    out = Path(told.out).absolute()
    started = time.monotonic()
    sys.stderr.write(f"{api.where()}\n")
    wanted = list(GROUPS) if told.only is None else told.only.split(",")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in wanted:
            begun = time.monotonic()
            with part(name):
                GROUPS[name]()
            sys.stderr.write(f"{name}: {time.monotonic() - begun:.0f} s, {len(FOUND)} results so far\n")
        os.chdir("/")
    out.write_text(json.dumps(FOUND, indent=0, sort_keys=True) + "\n")
    broke = [name for name in FOUND if name.endswith("BROKE")]
    sys.stderr.write(f"{len(FOUND)} results in {time.monotonic() - started:.0f} s; broke: {broke or 'none'}\n")
    slow = sorted(TIMES.items(), key=lambda item: -item[1])[:12]
    sys.stderr.write("slowest: " + ", ".join(f"{name} {seconds:.1f}" for name, seconds in slow) + "\n")


if __name__ == "__main__":
    main()
