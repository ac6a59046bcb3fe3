"""Configs to dictionaries and back, strictly."""

import copy
import dataclasses
import json
import tomllib
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pytest

from nadek.models import ModelConfig
from nadek.models.cores import AlternatingConfig, DeepConfig, ResidualConfig
from nadek.runs.recipe import make_recipe
from nadek.tabular.columns import Binary, Categorical, Numeric
from nadek.tabular.schema import Schema
from nadek.training import AdaDelta, AdamW, Muon, Phase, Recipe, TrainingConfig
from nadek.utils.configs import convert_options, decode, difference, encode

CONFIGS = [
    DeepConfig(),
    DeepConfig(hidden=(3,), activation="relu", dropout=0.25),
    AlternatingConfig(hidden=(4, 3), tied=False),
    ResidualConfig(width=7, blocks=3, carry=False),
    AdamW(lr=1e-5, weight_decay=0.1),
    AdaDelta(epsilon=1e-7),
    Muon(lr=0.02, momentum=0.9),
    Phase(objective="all_steps", epochs=3, fresh=True),
    TrainingConfig(),
    TrainingConfig(optimizer=Muon(), ema_decay=0.0, patience=4, precision="bfloat16", missing="complete", seed=9),
    TrainingConfig(optimizer=AdaDelta(), phases=(Phase(epochs=1), Phase(epochs=2, fresh=True))),
    ModelConfig(n_variables=5),
    ModelConfig(n_variables=3, core=ResidualConfig(), ordering=(2, 0, 1), init_std=0.01, mask_input=True, fill="zero"),
    ModelConfig(n_variables=5, core=AlternatingConfig(), tied=True),
    Schema(),
    Schema(columns=("a", 'b "quoted"', "ü"), image_shape=(1, 3)),
    Schema(
        columns=("a", "b", "c", "d"),
        kinds=(
            Binary(),
            Binary(levels=(False, True)),
            Categorical(levels=("x", "ü", '"')),
            Numeric(edges=(1e-300, 0.1), means=(0.0, 0.5, 1.0), low=0.0, high=1.0, integer=False),
        ),
        dropped=("id",),
    ),
    Recipe(model=ModelConfig(n_variables=2), training=TrainingConfig(optimizer=Muon()), seed=3, notes="why"),
]
every_config = pytest.mark.parametrize("config", CONFIGS, ids=lambda config: type(config).__name__)


def toml(values):
    """A dictionary as TOML, inline tables and all."""
    if isinstance(values, dict):
        return "{" + ", ".join(f"{key} = {toml(value)}" for key, value in values.items()) + "}"
    if isinstance(values, list):
        return "[" + ", ".join(toml(value) for value in values) + "]"
    return json.dumps(values)  # numbers, booleans and strings are written alike


@every_config
def test_a_config_comes_back(config):
    as_json = json.loads(json.dumps(encode(config)))
    as_toml = tomllib.loads("\n".join(f"{key} = {toml(value)}" for key, value in encode(config).items()))
    assert decode(type(config), as_json) == decode(type(config), as_toml) == config


@every_config
def test_omitted_option_takes_its_default(config):
    """None can only be said by leaving out, so it must be the default wherever it is allowed."""
    for field in dataclasses.fields(config):
        if getattr(config, field.name) is None:
            assert field.default is None


def test_integer_is_accepted_for_float():
    config = decode(AdamW, {"lr": 1})
    assert config.lr == 1.0
    assert type(config.lr) is float
    assert decode(ModelConfig, {"n_variables": 2, "init_std": None}).init_std is None


@dataclass(frozen=True, kw_only=True)
class Strict:
    """One option of every plain kind."""

    whole: int = 0
    real: float = 0.0
    word: str = ""
    flag: bool = False
    scalar: str | int | float | bool = 0
    two: tuple[int, float] = (0, 0.0)
    any_: tuple[int | str, ...] = ()


@pytest.mark.parametrize("value", [1, 1.0, True, "1", 0.1])
def test_union_values_keep_their_type(value):
    actual = decode(Strict, json.loads(json.dumps({"scalar": value, "any_": ["1", 1]})))
    assert actual.scalar == value
    assert type(actual.scalar) is type(value)
    assert actual.any_ == ("1", 1)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"whole": 1.5}, "here.whole: expected a whole number, found 1.5"),
        ({"whole": True}, "here.whole: expected a whole number, found True"),
        ({"real": "1.0"}, "here.real: expected a number, found '1.0'"),
        ({"flag": 1}, "here.flag: expected true or false, found 1"),
        ({"flag": None}, "here.flag: expected true or false, found None"),
        ({"scalar": None}, "here.scalar: expected a text or a whole number or a number or true or false, found None"),
        ({"scalar": [1]}, "here.scalar: expected a text or a whole number or a number or true or false, found [1]"),
        ({"two": [1]}, "here.two: expected a list of 2, found [1]"),
        ({"two": [1, "a"]}, "here.two[1]: expected a number, found 'a'"),
        ({"any_": ["a", 0.5]}, "here.any_[1]: expected a whole number or a text, found 0.5"),
        ({"any_": [True]}, "here.any_[0]: expected a whole number or a text, found True"),
        ({"hole": 1}, "unknown option here.hole; did you mean whole?"),
        ({"zzz": 1}, "unknown option here.zzz; known are any_, flag, real, scalar, two, whole, word"),
        ([], "here: expected a table of options, found []"),
        (5, "here: expected a table of options, found 5"),
    ],
)
def test_values_of_wrong_type_are_refused(values, message):
    with pytest.raises(ValueError, match="here") as error:
        decode(Strict, values, where="here")
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ({"kind": "cyclic"}, "schema.kinds[0].kind: expected one of binary, categorical, ordinal, numeric, found 'cy"),
        ({"kind": "binary", "levels": [0, 0]}, "schema.kinds[0]: levels: expected each once, found (0, 0)"),
        (
            {"kind": "binary", "levels": [0, None]},
            "schema.kinds[0].levels[1]: expected a text or a whole number or a number or true or false, ",
        ),
        ({"kind": "categorical"}, "option schema.kinds[0].levels is missing"),
    ],
)
def test_wrong_column_kind_is_named(kind, message):
    with pytest.raises(ValueError, match=r".") as error:
        decode(Schema, {"kinds": [kind]}, where="schema")
    assert str(error.value).startswith(message)


def wrong(**options):
    """What is said of a recipe for three variables."""
    with pytest.raises(ValueError, match=r".") as error:
        make_recipe(options, n_variables=3)
    return str(error.value)


@pytest.mark.parametrize(
    ("model", "error"),
    [
        ({"stepz": 2}, "unknown option model.stepz; did you mean steps?"),
        ({"hidden": [8]}, "unknown option model.hidden; did you mean model.core.hidden?"),
        ({"steps": 0}, "model: steps: expected at least 1, found 0"),
        ({"steps": 2.0}, "model.steps: expected a whole number, found 2.0"),
        ({"fill": "median"}, "model.fill: expected one of 'mean', 'zero', found 'median'"),
        ({"ordering": [0, "x", 2]}, "model.ordering[1]: expected a whole number, found 'x'"),
        ({"core": 3}, "model.core: expected a table of options, found 3"),
        ({"core": {"kind": "shallow"}}, "model.core.kind: expected one of deep, alternating, residual, found 'shallo"),
        ({"core": {"hidden": []}}, "model.core: hidden layers need at least one layer of at least one unit, found ()"),
        ({"core": {"kind": "residual", "hidden": [3]}}, "unknown option model.core.hidden; "),
        ({"n_variables": 4}, "the recipe is for 4 variables, the data have 3"),
    ],
)
def test_wrong_model_option_is_named(model, error):
    assert wrong(model=model).startswith(error)


@pytest.mark.parametrize(
    ("training", "error"),
    [
        ({"epoch": 3}, "unknown option training.epoch; "),
        ({"phases": [{"epochs": 1}, {"epochs": 0}]}, "training.phases[1]: epochs: expected at least 1, found 0"),
        ({"phases": [{"objective": "first_step"}]}, "training.phases[0].objective: expected one of 'last_step', "),
        ({"optimizer": {"kind": "adam"}}, "training.optimizer.kind: expected one of adamw, muon, adadelta, found"),
        ({"ema_decay": 1}, "training: ema_decay: expected at least 0 and below 1, found 1.0"),
    ],
)
def test_wrong_training_option_is_named(training, error):
    assert wrong(training=training).startswith(error)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"modle": {}}, "unknown option modle; did you mean model?"),
        ({"lr": 0.1}, "unknown option lr; did you mean training.optimizer.lr?"),
        ({"dropout": 0.1}, "unknown option dropout; did you mean model.dropout or model.core.dropout?"),
        # it stands in a list
        (
            {"objective": "x"},
            "unknown option objective; known are memory, model, notes, seed, start, teacher, training",
        ),
        ({"training": 3}, "training: expected a table of options, found 3"),
        ({"seed": "one"}, "seed: expected a whole number, found 'one'"),
    ],
)
def test_wrong_recipe_option_is_named(options, error):
    assert wrong(**options) == error


@dataclass(frozen=True, kw_only=True)
class Built(Strict):
    """Options that are converted while it is built."""

    way: Literal["up", "down"] = "up"
    by: Literal["hand", "foot"] | None = None
    core: DeepConfig | ResidualConfig | None = None

    def __post_init__(self) -> None:
        convert_options(self)


def test_options_are_converted_as_those_of_files():
    built = Built(
        whole=np.int64(2),
        real=1,
        flag=np.True_,
        two=[3, np.float32(0.5)],
        by="foot",
        core={"kind": "deep", "hidden": [3]},
    )
    assert built == Built(whole=2, real=1.0, flag=True, two=(3, 0.5), by="foot", core=DeepConfig(hidden=(3,)))
    assert [type(value) for value in (built.whole, built.real, built.flag, *built.two)] == [
        int,
        float,
        bool,
        int,
        float,
    ]
    assert hash(built) == hash(dataclasses.replace(built))
    assert Built(two=np.array([3, 4])).two == (3, 4.0)


def test_known_classes_are_named():
    with pytest.raises(ValueError, match=r"found AlternatingConfig\(.*\); known are DeepConfig, ResidualConfig$"):
        Built(core=AlternatingConfig())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"way": "sideways"}, "way: expected one of 'up', 'down', found 'sideways'"),
        ({"by": "eye"}, "by: expected one of 'hand', 'foot', found 'eye'"),
        ({"way": None}, "way: expected one of 'up', 'down', found None"),
        ({"whole": 2.0}, "whole: expected a whole number, found 2.0"),
        ({"real": "a"}, "real: expected a number, found 'a'"),
        ({"flag": "yes"}, "flag: expected true or false, found 'yes'"),
        ({"word": 1}, "word: expected a text, found 1"),
        ({"two": 5}, "two: expected a list, found 5"),
        ({"core": "deep"}, "core: expected a table of options, found 'deep'"),
        ({"core": {"kind": "shallow"}}, "core.kind: expected one of deep, residual, found 'shallow'"),
        ({"core": AlternatingConfig()}, "core: expected a table of options, found AlternatingConfig("),
    ],
)
def test_options_of_another_type_are_refused(options, message):
    with pytest.raises(ValueError, match=r".") as error:
        Built(**options)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("config", [one for one in CONFIGS if not isinstance(one, Schema)])
def test_configs_that_users_build_convert_their_options(config):
    for field in dataclasses.fields(config):
        twin = copy.copy(config)  # without __init__, whose types the tests check
        object.__setattr__(twin, field.name, object())
        with pytest.raises(ValueError, match=rf"^{field.name}: expected .*, found <object"):
            twin.__post_init__()


@pytest.mark.parametrize(
    ("change", "actual"),
    [
        ({}, None),
        ({"steps": 3}, ("steps", 2, 3)),
        ({"core": DeepConfig(hidden=(4,))}, ("core.hidden", [3], [4])),
        ({"core": ResidualConfig(width=4)}, ("core.kind", "deep", "residual")),
        ({"ordering": (1, 0)}, ("ordering", None, [1, 0])),
    ],
)
def test_the_first_option_that_differs(change, actual):
    config = ModelConfig(n_variables=2, core=DeepConfig(hidden=(3,)), steps=2)
    other = encode(dataclasses.replace(config, **change))
    assert difference(encode(config), other) == actual
    assert difference(other, encode(config)) == (actual and (actual[0], actual[2], actual[1]))


def test_numpy_numbers_are_encoded_as_python():
    @dataclass(frozen=True)
    class Measured:
        widths: tuple[int, ...]
        rate: float

    error = encode(Measured(widths=(np.int64(8),), rate=np.float32(0.5)))
    assert json.loads(json.dumps(error)) == error == {"widths": [8], "rate": 0.5}
