"""The only file of the net that knows nadek's names: change the imports and the few lines of glue here after a move.

net.py calls nothing of nadek's but what stands in this file. What a function is called here never changes.
"""

import io
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict
from pathlib import Path
from unittest import mock

import torch

# ---------------------------------------------------------------- imports: the only ones
import nadek
from nadek import (
    NADEk,
    NADEkImputer,
    NADEkOutlierDetector,
    impute,
    load,
    missing_probabilities,
    nade,
    nade_k,
    nade_mask,
    orderless_nade,
    prepare,
    random_orderings,
    residual_nade_k,
    sample,
    save,
    summarise,
)
from nadek import fit as _fit
from nadek.estimators.options import TRAINING
from nadek.checkpoints import SavedModel, Schema, load_saved
from nadek.cli import main as _main
from nadek import log_prob as _log_prob
from nadek.inference import (
    beam,
    estimate_log_prob,
    expected_information,
    explain_cells,
    greedy,
    level_probabilities,
    reconstruction_probabilities,
    reduce_orderings,
)
from nadek.inference.decoders import chunking
from nadek.inference.orderings import as_orderings
from nadek.models import ImageConfig, ImageNetwork, IterativeNADE, ModelConfig, begin_as_rbm, dbm_like, from_rbm
from nadek.models.cores import AlternatingConfig, DeepConfig, ResidualConfig
from nadek.models.memory import MemoryModel
from nadek.tabular.columns import Binary, Categorical, Numeric, Ordinal
from nadek.training import AdaDelta, AdamW, Muon, Phase, TrainingConfig, data_mean
from nadek.training import add_memory as _add_memory
from nadek.utils.configs import encode
from nadek_paper.cli import main as _paper_main
from nadek_paper.figures import draw_picture, read_pictures
from nadek_paper.grids.grid import read_grid
from nadek_paper.grids.study import grid_study
from nadek_paper.meanfield import meanfield_study
from nadek_paper.rbm import RBM, AISConfig, RBMConfig, fit_rbm, log_partition
from nadek_paper.report import markdown_table, summary, write_report
from nadek_paper.rows import read_row
from nadek_paper.steps_at_test import log_probs_by_steps
from nadek_paper.studies import Study, run_study
from nadek_paper.table3 import read_spreads, spreads_table as _spreads_table
from nadek_paper.table_study import row_job
from nadek_paper.workspace import Workspace

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
from baselines import ChowLiuTree, IndependentBernoulli  # noqa: E402
from digits import demo as _demo  # noqa: E402

PATHS = ("plain", "positions", "fast")
"""What the ways to score are called in the net."""
DECODERS = {"plain": "full", "positions": "batched", "fast": "incremental"}

OPTIMIZERS = {"adamw": AdamW, "muon": Muon, "adadelta": AdaDelta}
CORES = {"deep": DeepConfig, "alternating": AlternatingConfig, "residual": ResidualConfig}


def where():
    return nadek.__file__


def core(kind, **options):
    return CORES[kind](**options)


def log_prob(model, x, ordering=None, path="auto", n_bytes=chunking.MAX_BYTES, **options):
    with mock.patch.object(chunking, "MAX_BYTES", n_bytes):
        return _log_prob(model, x, ordering=ordering, decoder=DECODERS.get(path, path), **options)


def log_probs(model, x, orderings, **options):
    return _log_prob(model, x, orderings=orderings, **options)


def each_log_prob(model, x, orderings, generator=None):
    orderings = as_orderings(model, orderings, device=x.device, generator=generator)
    return [_log_prob(model, x, ordering=ordering) for ordering in orderings]


def mixture_log_prob(table):
    return reduce_orderings(table, "mixture")


marginal_log_probs = log_probs


def conditional_log_probs(model, x, given, orderings, **options):
    return _log_prob(model, x, given=given, orderings=orderings, **options)


def cell_log_probs(model, x):
    return explain_cells(model, x).log_prob


def network(n_variables, mean=None, seed=0, **options):
    """The paper's network by its config."""
    generator = torch.Generator().manual_seed(seed)
    return IterativeNADE(ModelConfig(n_variables=n_variables, **options), mean, generator=generator)


def preset(name, n_variables, mean=None, seed=0, **options):
    presets = {
        "nade_k": nade_k, "nade_mask": nade_mask, "orderless_nade": orderless_nade, "nade": nade,
        "dbm_like": dbm_like, "residual_nade_k": residual_nade_k,
    }  # fmt: skip
    return presets[name](n_variables, mean=mean, generator=torch.Generator().manual_seed(seed), **options)


def image_network(mean=None, seed=0, **options):
    return ImageNetwork(ImageConfig(**options), mean, generator=torch.Generator().manual_seed(seed))


def with_memory(model, rows, known=None, seen=None, **options):
    return MemoryModel(model, rows, known, seen, **options)


def set_memory(model, trust, decay):
    model.trust.copy_(torch.tensor(trust))
    model.decay.fill_(decay)


def rbm_network(W, b, c, steps, fill=None):
    return from_rbm(W, b, c, steps=steps, fill=fill)


def begin_as(model, W, b, c, mean=None):
    begin_as_rbm(model, W, b, c, mean=mean)


def rows(x, levels=None, training=True):
    """What training takes."""
    return prepare(x, levels=levels, training=training)


def training(phases=None, optimizer=None, **options):
    """A TrainingConfig: phases as dictionaries, the optimizer as (name, options)."""
    if phases is not None:
        options["phases"] = tuple(Phase(**phase) for phase in phases)
    if optimizer is not None:
        name, told = optimizer
        options["optimizer"] = OPTIMIZERS[name](**told)
    return TrainingConfig(**options)


def fit(model, train, validation, config, **options):
    """Returns the history as dictionaries without seconds."""
    history = _fit(model, train, validation, config=config, **options)
    return [without_seconds(asdict(epoch)) for epoch in history]


def without_seconds(epoch):
    return {key: value for key, value in epoch.items() if key != "seconds"}


def remember(model, train, others, seed=0):
    """Returns the model with its memory and (cost before, cost after, error)."""
    kept, gain = _add_memory(model, train, others, generator=torch.Generator().manual_seed(seed))
    return kept, (gain.before, gain.after, gain.error)


def completed(found):
    """Rows and log-probabilities of `greedy` and its like."""
    return found.x, found.log_prob


def explained(found):
    return found.log_prob, found.expected, found.surprise


def forward(model, x, missing, **options):
    return model(x, missing, **options)


def config_of(model):
    return encode(model.config)


def save_model(folder, model, columns=None, kinds=None, image_shape=None):
    kinds = None if kinds is None else tuple(_kind(*kind) for kind in kinds)
    save(folder, SavedModel(model, Schema(columns=columns, kinds=kinds, image_shape=image_shape)))


def _kind(name, **options):
    return {"binary": Binary, "categorical": Categorical, "ordinal": Ordinal, "numeric": Numeric}[name](**options)


def load_model(folder):
    return load(folder)


def load_everything(folder):
    saved = load_saved(folder)
    return saved.model, encode(saved.schema), saved.metrics


# ---------------------------------------------------------------- RBM


def rbm(W, b, c):
    return RBM(W, b, c)


def train_rbm(x, **options):
    """(W, b, c) of the average, the chains, and how far mean field moved a cell in each epoch."""
    moved = []
    state = fit_rbm(x, RBMConfig(**options), on_epoch=lambda _, far: moved.append(far))
    machine = state.average
    return machine, (machine.W, machine.b, machine.c), state.chains, moved


def rbm_partition(machine, mean, **options):
    found = log_partition(machine, mean, AISConfig(**options))
    return found.value, found.error


def rbm_exact_partition(machine):
    n = min(machine.W.shape)
    small = machine if machine.W.shape[1] == n else RBM(machine.W.t(), machine.c, machine.b)
    return small.log_weight(torch.arange(2**n)[:, None] >> torch.arange(n) & 1).logsumexp(0).item()


# ---------------------------------------------------------------- estimators

ESTIMATORS = {"density": NADEk, "imputer": NADEkImputer, "outliers": NADEkOutlierDetector}


def estimator(kind, **options):
    training = {name: options.pop(name) for name in list(options) if name in TRAINING}
    return ESTIMATORS[kind](**options, **({"training": training} if training else {}))


def load_estimator(kind, folder):
    return ESTIMATORS[kind].load(folder)


def network_of(estimator):
    return estimator.network_


def history_of(estimator):
    return [without_seconds(asdict(epoch)) for epoch in estimator.history_]


def column_kinds(estimator):
    return [None if column is None else encode(column) for column in estimator.columns_]


# ---------------------------------------------------------------- command line


PAPER_VERBS = ("reproduce", "report")
GRIDS = ("which",)


def run_cli(arguments):
    """(exit code, standard output, standard error) of a command, in this process."""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    arguments, main = [*map(str, arguments)], _main
    if arguments and arguments[0] in PAPER_VERBS:
        main = _paper_main
        verb = [] if arguments[0] == "reproduce" else ["report"]
        target = ["grids"] if arguments[1:2] and arguments[1] in GRIDS else []
        arguments = [*verb, *target, *arguments[1:], "--results", "experiments/results"]
    own = mock.patch.dict(os.environ, {"NADEK_PAPER_RECIPES": "experiments"})
    with own, redirect_stdout(out), redirect_stderr(err), mock.patch.object(sys, "argv", ["nadek", *arguments]):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    return code, out.getvalue(), err.getvalue()


# ---------------------------------------------------------------- the paper


def place(folder, quick=False):
    folder = Path(folder)
    recipes = folder / "experiments"
    folders = {"recipes": recipes, "results": recipes / "results", "runs": folder / "runs"}
    return Workspace(**folders, quick=quick, pictures=folder / "pictures")


def run_row(path, kind, folder, quick=False):
    row = read_row(Path(path))
    study = Study(title=row.title, columns=(), lines=lambda _: [], jobs=[row_job(row, kind, place(folder, quick))])
    return run_study(study)[row.name]


def run_grid_of(path, folder, only=None):
    return run_study(grid_study(read_grid(Path(path)), place(folder), only=only))


def run_meanfield_of(path, folder):
    return run_study(meanfield_study(place(folder)))


def rows_table(folder, paths):
    return markdown_table(place(folder), [read_row(Path(path)) for path in paths])


def spreads_table(folder, path):
    return _spreads_table(place(folder), read_spreads(place(folder)))


def tables_summary(folder):
    return summary(place(folder))


def report(folder, page):
    write_report(place(folder), Path(page))


def pictures(folder):
    """Names of the figures that were made."""
    made = []
    for picture in read_pictures(place(folder).recipes):
        draw_picture(picture, place(folder))
        made.append(picture.name)
    return made


def by_steps(model, x, steps, masks, seed=0):
    return log_probs_by_steps(model, x, steps=steps, masks=masks, generator=torch.Generator().manual_seed(seed))


def run_demo(folder, epochs):
    return _demo(Path(folder), epochs=epochs).rows


BASELINES = {"bernoulli": IndependentBernoulli, "chow-liu": ChowLiuTree}


def run_cli_stopped(arguments, epochs):
    """A `fit` whose user gives Ctrl-C after so many epochs."""
    from contextlib import contextmanager

    @contextmanager
    def stopping(**_):
        def update(epoch):
            if epoch.epoch >= epochs:
                raise KeyboardInterrupt

        yield update

    with mock.patch("nadek.cli.fit.epochs_progress", stopping):
        return run_cli(arguments)
