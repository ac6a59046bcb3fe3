"""Cases of damaged input by kind and seed: model folders, unfinished trainings, tables of every form.

`prepared` writes a case into a folder and returns what to do with it. That works, or ends in our error: one line that
names the file, or a row or column of it. Everything else is raised.
"""

import gzip
import io
import json
import os
import random
import shutil
import subprocess
import time
import warnings
from contextlib import suppress
from functools import partial, reduce
from operator import getitem
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from nadek import NADEk, NADEkImputer, NADEkOutlierDetector
from nadek.checkpoints import SavedModel, load_saved, load_state, save
from nadek.models.model_config import ImageConfig
from nadek.models.unet import ImageNetwork
from nadek.runs.data import Stream, open_training
from nadek.tabular.schema import Schema
from support.command import nadek
from support.damage import (
    FRAME,
    JSON_FILES,
    WHOLE,
    bitten,
    damaged,
    header,
    npy,
    npz,
    parquet,
    places_in,
    reseal,
    reseal_state,
)
from support.shapes import SHAPES
from support.tables import read_file

MODELS = ("fit", "memory", "imputer", "density", "detector", "images")
ESTIMATORS = {"imputer": NADEkImputer, "density": NADEk, "detector": NADEkOutlierDetector}
KINDS = ("model", "state", "table")
FIT = ("--hidden", "6", "--steps", "2", "--epochs", "3", "--save-every", "0", "--device", "cpu", "-q")
NEW = pd.DataFrame({"a": [1.5, None], "b": [None, "x"], "c": [True, None]})
VERBS = ("impute", "score", "explain", "complete", "suggest", "info", "sample")
USES = ("load", "load", *["estimator"] * 5, *VERBS)
"""Of models: those of estimators have most to read."""
ODD_WORDS = (
    '"|,,|;;|\t|\0|\r|\n\n|\ufeff| |sep=;|1e999|nan|NaN|None|-0|0x1|1_0|1,5|planted.pandas|{0.__class__}|../planted'
    "|=1+1|\ud800|99999999999999999999|1e-320|inf|é|2020-01-01|True"
)
SPELLINGS = (*ODD_WORDS.split("|"), "9" * 5000, "x" * 5000)
TYPES = (pa.list_(pa.int8()), pa.date32(), pa.decimal128(30, 3), pa.binary(), pa.null(), pa.float16(), pa.uint64())


class Bases:
    """Folders before any damage, made once."""

    def __init__(self, folder):
        self.folder, self.csv = folder, folder / "table.csv"
        if not folder.exists():
            folder.mkdir()
            self.csv.write_bytes(WHOLE[".csv"])
            for name in (*MODELS, "state"):
                self.make(name, folder / name)
        self.saved = load_saved(folder / "fit")

    def make(self, name, folder):
        """Save a model, or stop a training."""
        if name in ESTIMATORS:
            options = {"max_iter": 1, "training": {"width": 6, "steps": 2}, "random_state": 0}
            table = FRAME if name == "imputer" else FRAME[["a"]].to_numpy() if name == "density" else FRAME.dropna()
            ESTIMATORS[name](**options).fit(table).save(folder)
        elif name == "images":
            network = ImageNetwork(ImageConfig(image_shape=(2, 3), channels=(3, 4), dense=5))
            save(folder, SavedModel(network, Schema(image_shape=(2, 3)), {"epochs": 1}))
        elif name == "state":
            with mock.patch("nadek.runs.train.save", side_effect=OSError("stopped")):
                nadek("fit", self.csv, *FIT, "-o", folder)
        else:
            assert nadek("fit", self.csv, *FIT, *(["--memory"] if name == "memory" else []), "-o", folder).code == 0


def ours(action, *names):
    """Do something that works, or ends in an error of ours; return its message."""
    try:
        action()
    except (ValueError, OSError) as error:
        message = f"{error}"
        if "\n" in message or not any(str(name) in message for name in names):
            raise
        return message
    return ""


def verb(*arguments):
    """Run a verb, which works or ends in one line; any other error is raised."""
    result = nadek(*arguments)
    if result.code not in (0, 1) or (result.code and not result.err.splitlines()[-1].startswith("nadek: ")):
        raise AssertionError(f"{arguments}: {result}")
    return result.err.strip() if result.code else ""


def intact(kind, bases, folder):
    """Do what is done with each case of a kind, with whole files."""
    chance = random.Random(0)
    if kind == "table":
        for suffix, content in WHOLE.items():
            (folder / f"t{suffix}").write_bytes(content)
            for name in VERBS[:5]:
                use_table(folder / f"t{suffix}", bases, name, chance)
    for base in MODELS if kind == "model" else ():
        for name in USES:
            use_model(bases.folder / base, base, bases, name, folder)
    if kind == "state":
        shutil.copytree(bases.folder / "state", folder / "state")
        use_state(folder / "state", bases)


def prepared(kind, seed, bases, folder):
    """Write the case of a kind and a seed into an empty folder; return what to do with it."""
    chance = random.Random(f"{kind} {seed}")
    if kind == "shape":
        path = SHAPES[seed // 2][1](folder)
        return partial(learn_from if seed % 2 else stream_from, path, bases)
    if kind == "probe":
        return PROBES[seed][1]
    if kind == "planted":
        return partial(sweep, shutil.copytree(bases.folder / "imputer", folder / "model") / JSON_FILES[seed])
    if kind == "table":
        suffix = chance.choice(tuple(WHOLE))
        path = folder / f"t{suffix}"
        path.write_bytes(damaged_table(suffix, chance))
        return partial(use_table, path, bases, chance.choice(VERBS[:5]), chance)
    base = "state" if kind == "state" else chance.choice(MODELS)
    shutil.copytree(bases.folder / base, folder / "model")
    if kind == "state":
        path = folder / "model" / "training.safetensors"
        path.write_bytes(bitten(path.read_bytes(), chance) if chance.random() < 0.2 else reseal_state(path, chance))
        return partial(use_state, folder / "model", bases)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        damage_model(folder / "model", chance)
    return partial(use_model, folder / "model", base, bases, chance.choice(USES), folder)


def damage_model(folder, chance):
    """Damage a file of a model; most often all digests are made to fit again."""
    name = chance.choice((*JSON_FILES, *JSON_FILES, "model.safetensors"))
    path = folder / name
    if name.endswith(".json"):
        path.write_bytes(damaged(path.read_bytes(), chance))
    else:
        content = path.read_bytes()
        path.write_bytes(bitten(content, chance, most=600 if chance.random() < 0.8 else None))
    if chance.random() < 0.8:
        reseal(folder)


def use_model(folder, base, bases, name, out):
    """Load a model, use it as an estimator, or give it to a verb: as `name` says."""
    if name == "load":
        return ours(partial(load_saved, folder), folder)
    if name != "estimator":
        rows = {"sample": ("-n", "2"), "info": ()}.get(name, (bases.csv,))
        output = () if name in ("info", "explain", "suggest") else ("-o", out / "out.csv")
        return verb(name, folder, *rows, *output)
    loaded = []
    answer = ours(lambda: loaded.append(ESTIMATORS.get(base, NADEkImputer).load(folder)), folder)
    if answer:
        return answer
    use = loaded[0].transform if hasattr(loaded[0], "transform") else loaded[0].score_samples
    try:  # messages of scikit-learn about other columns have several lines
        use([[1.5], [np.nan]] if base == "density" else NEW)
    except ValueError as error:
        return str(error)
    return ""


def use_state(folder, bases):
    answer = ours(partial(load_state, folder), folder)
    with mock.patch("nadek.runs.train.provenance", return_value={}):  # which asks git for the commit
        return verb("fit", bases.csv, *FIT, "-o", folder, "--resume") or answer


def damaged_table(suffix, chance):
    """A table with other bytes, outside or inside of what packs it, or with another description."""
    content, way = WHOLE[suffix], chance.random()
    if way < 0.3:
        return edited(content, chance)
    if suffix in (".csv", ".amat"):
        return spelt(content, chance)
    if suffix.endswith(".gz"):
        return gzip.compress(spelt(gzip.decompress(content), chance), mtime=0)
    if suffix == ".npy":
        return damaged_npy(chance)
    if suffix == ".npz":
        members = {"values.npy": npy(), "columns.npy": npy(np.array(list("ab")))}
        name = chance.choice((*members, "other.npy", "../planted.npy"))
        members[name] = damaged_npy(chance) if way < 0.8 else edited(members.get(name, npy()), chance)
        if way > 0.9:
            del members[chance.choice(tuple(members))]
        return npz(**members)
    if way < 0.6:
        described = json.dumps(json.loads(pa.Table.from_pandas(FRAME).schema.metadata[b"pandas"])).encode()
        return parquet(pandas=damaged(described, chance))
    return typed_parquet(chance)


def edited(content, chance):
    """Bytes that differ in some places."""
    for _ in range(chance.choice((1, 1, 2, 5))):
        content = bitten(content, chance) or b"x"
    return content


def spelt(content, chance):
    """Text with odd words, and with parts that come again or are gone."""
    for _ in range(chance.choice((1, 1, 2, 5))):
        start, end = sorted((chance.randrange(len(content) + 1), chance.randrange(len(content) + 1)))
        word = chance.choice(SPELLINGS).encode("utf-8", "surrogatepass")
        part = content[start:end]
        way = chance.randrange(5)
        middle = (word, part + word * chance.choice((1, 2, 50)), part * chance.choice((2, 9)), b"", word + part + word)
        content = content[:start] + middle[way] + content[end:]
        content = content[:200_000] or b"x"
    return content


def damaged_npy(chance):
    """An array with another header, or with odd types."""
    if chance.random() < 0.4:
        types = ("<f2", ">f8", "?", "<U3", "S3", "<M8[s]", "<c16", "i1", "<u8", "<i4,<f4", "<U0")
        shape = chance.choice(((2, 2), (4,), (1, 2, 2), (0, 2), (2, 0), ()))
        return npy(np.zeros(shape, chance.choice(types)))
    shape = chance.choice(("(2, 2)", "(2**40, 2)", f"({2**62}, 8)", "(-1, 2)", "(2, 2", "(True, 4)", "((2,), 2)", "()"))
    kind = chance.choice(("'<f8'", "'O'", "'<U0'", f"'<U{2**30}'", "[('a', '<f8')]", "'<f8", "7", "{}", "'|V8'"))
    order = chance.choice(("False", "True", "7", "[" * 300))
    return header(f"{{'descr': {kind}, 'fortran_order': {order}, 'shape': {shape}}}")


def typed_parquet(chance):
    """A Parquet file with columns of other types and names."""
    columns, names = [], chance.choice((["a", "b", "c"], ["a", "b", "b"], ["a", "", "\0"], ["c", "b", "a"]))
    for _ in names:
        kind = chance.choice((*TYPES, None, None))
        cells = FRAME[chance.choice("abc")]
        columns.append(pa.nulls(27, kind) if kind is not None else pa.array(cells, from_pandas=True).slice(0, 27))
        if chance.random() < 0.2:
            columns[-1] = columns[-1].dictionary_encode() if kind is None else columns[-1]
    stream = io.BytesIO()
    pq.write_table(pa.table(columns, names=names), stream, compression=chance.choice(("none", "snappy", "zstd")))
    return stream.getvalue()


def use_table(path, bases, name, chance):
    """Read a table whole, learn from it, and give it to a model or a verb."""

    def read():
        table = read_file(path)
        for j in range(len(table.cells)):
            table.column(j)

    answer = ours(read, path, "row", "column")
    answer = learn_from(path, bases) or answer
    if chance.random() < 0.5:
        return stream_from(path, bases, chance.choice((None, 1, 16))) or answer
    output = () if name in ("explain", "suggest") else ("-o", path.with_name("out.csv"))
    return verb(name, bases.folder / "fit", path, *output) or answer


def learn_from(path, bases):
    return ours(partial(open_training, str(path)), path, "row", "column")


def stream_from(path, bases, cells=2**20):
    stream = partial(Stream, bases.saved, str(path), cells=cells, unknown="missing")
    return ours(lambda: list(stream()), path, "row", "column")


def sweep(path):
    """Plant texts in place of each text of a JSON file, and load the model; a module of that name lies beside it."""
    (path.parents[1] / "planted").mkdir()
    for name in ("__init__.py", "pandas.py"):
        (path.parents[1] / "planted" / name).write_text("open('ran', 'w').close()")
    original, n_loads = json.loads(path.read_text()), 0
    for *parents, last in places_in(original)[1:]:
        for text in ("planted.pandas", "../planted", "{planted.__class__}"):
            content = json.loads(json.dumps(original))
            table = reduce(getitem, parents, content)
            if isinstance(table[last], str):
                table[last] = text
                path.write_text(json.dumps(content))
                ours(partial(NADEkImputer.load, path.parent), path.parent)
                n_loads += 1
    if (path.parents[1] / "ran").exists():
        raise AssertionError("a planted module ran")
    return str(n_loads)


def import_planted():
    with suppress(ImportError):
        __import__("planted")


def be_busy():
    end = time.process_time() + 2.1
    while time.process_time() < end:
        pass


PROBES = (
    ("traceback", lambda: {}["no such key"]),
    ("traceback", partial(ours, partial(int, "x"), "name of a file")),
    ("traceback", partial(os.kill, os.getpid(), 9)),
    ("touched", import_planted),
    ("touched", lambda: open("/etc/hostname", encoding="utf-8").close()),
    ("touched", lambda: str(os.listdir("/etc"))),
    ("touched", lambda: exec("1")),
    ("touched", lambda: str(subprocess.run(["true"], check=True))),
    ("memory", lambda: str(len(b"1" * 530 * 2**20))),
    ("seconds", be_busy),
)
"""Each limit, and what a file must not make happen."""

torch.set_num_threads(1)
warnings.simplefilter("ignore")
