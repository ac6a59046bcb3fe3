"""Learning from a teacher: its expectations stand for what hidden cells hold."""

import pytest
import torch

import reference
from nadek.checkpoints import SavedModel, load, load_saved, save
from nadek.inference.likelihood import log_prob
from nadek.inference.order_agnostic import MaskDistribution, step_costs
from nadek.inference.orderings import random_orderings
from nadek.models import IterativeNADE, ModelConfig, nade, nade_k
from nadek.runs.data import CodedTable
from nadek.runs.train import train
from nadek.tabular.columns import Categorical, Numeric
from nadek.tabular.schema import Schema
from nadek.training import AdamW, Phase, Recipe, TrainingConfig, fit, prepare
from support.command import ok
from support.models import same, seeded
from zoo import ZOO, build

D = 6
STUDENTS = [name for name in ZOO if "fixed-order" not in name]
FIXED = (Phase(objective="fixed_order", epochs=1),)


def small(seed, hidden=(8,), **options):
    return nade_k(D, hidden=hidden, steps=2, generator=seeded(seed), **options)


def bits(n, seed):
    return (torch.rand(n, D, generator=seeded(seed)) < 0.4).float()


def config(**options):
    usual = {"phases": (Phase(objective="all_steps", epochs=2), Phase(epochs=2)), "optimizer": AdamW(lr=0.02)}
    return TrainingConfig(**usual | {"batch_size": 15, "seed": 5} | options)


@pytest.fixture(scope="module")
def teacher():
    """A lively network of six bits, on disk too."""
    return build("nade-2 3hl", D, seed=3, noise=1.0).float()


@pytest.fixture(scope="module")
def folder(teacher, tmp_path_factory):
    where = tmp_path_factory.mktemp("teacher") / "model"
    save(where, SavedModel(teacher, Schema(), {}))
    return where


@pytest.mark.parametrize("tilt", [0.0, 0.5])
@pytest.mark.parametrize("name", STUDENTS)
def test_cost_is_expectation_under_teacher(name, tilt, generator):
    """Every value that the hidden cells could take, weighed by how likely the teacher takes them to be."""
    model, other = build(name, 4, seed=0), build(name, 4, seed=1)
    levels = model.levels
    rows = torch.from_numpy(reference.all_rows(levels))
    x = rows[torch.randint(len(rows), (12,), generator=generator)]
    missing, observed = torch.rand(12, 4, generator=generator) < 0.6, torch.rand(12, 4, generator=generator) < 0.8
    missing[:, 1], observed[:, 1] = True, True
    missing |= ~observed
    taught = other(x, missing)[-1]
    chances = other.variables.level_probabilities(taught)
    expected = torch.zeros(model.steps, 12, dtype=torch.float64)
    for row in rows:  # its missing cells stand for theirs
        held = torch.where(missing, row, x)
        chance = torch.where(missing, chances.gather(-1, held.long().unsqueeze(-1)).squeeze(-1), 1.0).prod(1)
        # rows that put the same into these cells stand for one and the same table row
        again = torch.stack([(rows == row)[:, cells].all(1).sum() for cells in missing])
        expected += chance / again * step_costs(model, held, missing, observed, masks=MaskDistribution(tilt=tilt))
    costs = step_costs(model, x, missing, observed, masks=MaskDistribution(tilt=tilt), teacher_logits=taught)
    torch.testing.assert_close(costs, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.slow
def test_teacher_helps_with_few_rows(teacher):
    every = torch.from_numpy(reference.all_rows((2,) * D)).float()
    orderings = random_orderings(4, D, generator=seeded(7))
    truth = log_prob(teacher, every, orderings=orderings).exp().mean(0)
    x = every[truth.multinomial(60, replacement=True, generator=seeded(1))]

    def distance(taught):
        """Kullback-Leibler divergence of the teacher's distribution from the student's."""
        student = small(0, hidden=(32,))
        phases = (Phase(epochs=150),)
        fit(student, prepare(x), config=config(phases=phases), teacher=teacher if taught else None)
        return float((truth * (truth.log() - log_prob(student, every, orderings=orderings).exp().mean(0).log())).sum())

    assert distance(taught=True) < 0.4 * distance(taught=False)


def test_teacher_is_evaluated_and_unchanged(teacher):
    before = {name: value.clone() for name, value in teacher.state_dict().items()}
    modes = set()
    with teacher.register_forward_pre_hook(lambda module, _: modes.add(module.training)):
        fit(small(1), prepare(bits(40, 1)), config=config(), teacher=teacher.train())
    assert modes == {False}
    assert teacher.training
    assert same(before, teacher.state_dict())
    assert all(parameter.grad is None for parameter in teacher.parameters())


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.usefixtures("has_bfloat16")
def test_resumed_training_with_teacher_is_identical(teacher, precision):
    states = []
    rows, held_out, run = prepare(bits(40, 1)), prepare(bits(20, 2), training=False), config(precision=precision)
    whole = small(0)
    history = fit(whole, rows, held_out, config=run, teacher=teacher, save_state=states.append, save_every=0.0)
    for state in states:
        resumed = small(1)
        again = fit(resumed, rows, held_out, config=run, teacher=teacher, resume=state)
        assert [epoch.train for epoch in again] == [epoch.train for epoch in history]
        assert same(whole.state_dict(), resumed.state_dict())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nade_k(5, hidden=(4,)), "6 variables of 2 levels as in the model, found 5 variables of 2 levels"),
        (
            lambda: IterativeNADE(ModelConfig(n_variables=D, levels=(2, 3, 2, 2, 2, 2))),
            "6 variables of 2 levels as in the model, found 6 variables of 2 to 3 levels",
        ),
        (
            lambda: IterativeNADE(ModelConfig(n_variables=D, levels=(2,) * D, knots=((), *(None,) * (D - 1)))),
            "the same knots of numbers as in the model, found others",
        ),
        (lambda: nade(D, hidden=4), "a model of every ordering, found one that knows one ordering only"),
    ],
)
def test_a_teacher_must_fit(make, message):
    with pytest.raises(ValueError, match=f"teacher: expected {message}"):
        fit(small(0), prepare(bits(20, 1)), config=config(), teacher=make())


def test_unfit_students_are_refused(teacher):
    model = small(0)  # it would learn from what it changes, without dropout, and in eval mode
    with pytest.raises(ValueError, match="teacher: expected another network, found the model itself"):
        fit(model, prepare(bits(20, 1)), config=config(), teacher=model)
    with pytest.raises(ValueError, match="teacher: expected objectives over all orderings, found fixed_order"):
        fit(nade(D, hidden=4), prepare(bits(20, 1)), config=config(phases=FIXED), teacher=teacher)


# As a recipe


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "rows.csv"
    names = ",".join(f"q{j}" for j in range(D))
    path.write_text(names + "\n" + "".join(",".join(str(int(v)) for v in row) + "\n" for row in bits(60, 4)))
    return path


FIT = ("--hidden", "6", "--steps", "2", "--epochs", "2", "--quiet")


def test_command_line_takes_teacher_folder(table, folder, tmp_path):
    ok("fit", table, "-o", tmp_path / "taught", *FIT, "--set", f'teacher="{folder}"')
    ok("fit", table, "-o", tmp_path / "alone", *FIT)
    saved = load_saved(tmp_path / "taught")
    assert saved.metrics["config"]["teacher"] == str(folder)
    assert "teacher" not in load_saved(tmp_path / "alone").metrics["config"]
    assert not torch.equal(saved.model.state_dict()["W"], load(tmp_path / "alone").state_dict()["W"])


NAMES = tuple("abcdef")
WORDS = (Categorical(levels=("no", "yes")),) * D
AGES = tuple(Numeric(edges=(j + 20.0,), means=(0.0, j + 20.0), low=0.0, high=90.0, integer=True) for j in range(D))


@pytest.mark.parametrize(
    ("here", "there", "difference"),
    [
        ({"columns": NAMES}, {"columns": NAMES[::-1]}, "columns"),
        ({"columns": NAMES, "kinds": WORDS}, {"columns": NAMES, "kinds": AGES}, "kinds"),
        ({"kinds": AGES}, {"kinds": AGES[::-1]}, "kinds"),
        ({"columns": NAMES}, {"columns": NAMES, "kinds": WORDS}, None),
        ({}, {"columns": NAMES}, None),
    ],
)
def test_teacher_needs_same_columns(here, there, difference, teacher, tmp_path):
    """Codes that mean something else there would be learnt without a word."""
    save(tmp_path / "teacher", SavedModel(teacher, Schema(**there)))
    recipe = Recipe(model=small(0).config, training=config(), teacher=str(tmp_path / "teacher"))

    def run():
        return train(recipe, tmp_path / "model", CodedTable(bits(40, 1), Schema(**here)), None)

    if difference is None:
        assert run().metrics["epochs"] == 4
        return
    with pytest.raises(
        ValueError, match=rf"^teacher: expected a model of the same columns, found other {difference} in "
    ):
        run()
    assert not (tmp_path / "model").exists()
