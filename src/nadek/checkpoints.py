"""Models and unfinished trainings on disk: safetensors and JSON, never a pickle.

A model is a folder: ``model.safetensors`` (weights), ``config.json`` (structure; written last, so a folder that has
it is complete), ``schema.json`` (columns), ``metrics.json`` (how it was trained). The weights file knows the digest
of the structure, and ``config.json`` those of the weights file and of the columns: what was damaged or edited is not
loaded.
"""

import hashlib
import json
import math
import os
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from safetensors.torch import load as deserialise
from safetensors.torch import save as serialise
from torch import Tensor

from nadek import pretrained
from nadek.models.base import ConditionalModel
from nadek.models.model_config import AnyConfig, MemoryConfig
from nadek.models.registry import build, build_meta
from nadek.tabular.columns import Binary, Categorical, Column, bent, knots, n_levels
from nadek.tabular.schema import Schema
from nadek.training import TrainingState
from nadek.utils.atomic import damage_in, read_record, read_whole, replacing, sync
from nadek.utils.configs import convert, decode, difference, encode, is_whole

WEIGHTS, CONFIG, SCHEMA, METRICS = "model.safetensors", "config.json", "schema.json", "metrics.json"
FILES = (WEIGHTS, SCHEMA, METRICS, CONFIG)
"""Of a model, in the order in which they take their places."""
SMALLEST_BOUND = 2**16
"""Sizes up to this one are built, however few the weights are."""

UNFINISHED = "training.safetensors"
"""The state of an unfinished training, in the folder where the model will be."""

FORMAT = 1
READABLE = "content that this version can read"
LARGEST_HEADER = 2**24
"""Bytes of a weights file beside its numbers, at most."""

SAVED = "only what its config says can be saved: an IterativeNADE with a core of nadek.models.cores, or an ImageNetwork"


@dataclass(frozen=True)
class SavedModel:
    """Content of a model folder; see the example of `nadek.save`.

    Attributes:
        model: the network.
        schema: the columns of its table.
        metrics: of its training, as JSON knows them.
    """

    model: ConditionalModel
    schema: Schema
    metrics: dict[str, Any] = field(default_factory=dict)

    @property
    def kinds(self) -> tuple[Column, ...]:
        """Types of the columns, also where the schema has none."""
        if self.schema.kinds is not None:
            return self.schema.kinds
        return tuple(Binary() if n == 2 else Categorical(levels=tuple(range(n))) for n in self.model.levels)

    @property
    def bent_kinds(self) -> tuple[Column, ...]:
        """`kinds` with the bends of the network."""
        return bent(self.kinds, self.model.variables.bends)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the columns in messages and options."""
        return self.schema.labels(self.model.n_variables)


def save(folder: str | os.PathLike[str], saved: SavedModel) -> None:
    """Write a model folder, replacing an older model.

    All bytes are on the disk before the first file is replaced, and ``config.json`` is replaced last. What stops the
    replacing itself, such as files of another user or Ctrl-C, leaves no model.

    Args:
        folder: where to.
        saved: the model and what is to be known of it.

    Raises:
        FileExistsError: where there is a file, or a folder with a ``config.json`` of something else.
        OSError: where the folder cannot be written to, or has no space.
        TypeError: on what is no `SavedModel`, on metrics that JSON does not know, and on a model that would not come
            back as what it is.
        ValueError: on weights that are not finite. In all these cases the folder is left as it was, unless files were
            being replaced.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from nadek import nade_k
        >>> with TemporaryDirectory() as folder:
        ...     save(folder, SavedModel(nade_k(2, hidden=(4,)), Schema(columns=("smokes", "coughs"))))
        ...     load_saved(folder).schema.columns
        ('smokes', 'coughs')
    """
    if not isinstance(saved, SavedModel):
        message = f"expected a nadek.SavedModel, found {type(saved).__name__}"
        raise TypeError(f"{message}: SavedModel(network, Schema()) makes one; an estimator has its own save")
    folder = Path(folder)
    model = getattr(saved.model, "_orig_mod", saved.model)  # what torch.compile was given
    structure = _structure_of(model)
    columns, metrics = encode(saved.schema), _as_json(saved.metrics)
    tensors = model.state_dict()
    _check_finite("the model", tensors)
    check_place(folder)
    weights = _serialised(tensors, {"config_sha256": _digest_of(structure)})
    digests = {"weights_sha256": hashlib.sha256(weights).hexdigest(), "schema_sha256": _digest_of(columns)}
    config = {"format": FORMAT, "model": structure, **digests}
    contents = {WEIGHTS: weights, SCHEMA: _as_json(columns), METRICS: metrics, CONFIG: _as_json(config)}
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        # the files take their places in the reverse order of this, weights first
        for name, content in reversed(contents.items()):
            stream = stack.enter_context(replacing(folder / name))
            stream.write(content)
            sync(stream)
        (folder / CONFIG).resolve().unlink(missing_ok=True)  # from here until the end this is no model


def load(folder: str | os.PathLike[str], *, device: torch.device | str = "cpu") -> ConditionalModel:
    """Load a model in eval mode.

    Args:
        folder: where it was saved, or the name of a model that comes with the package (see `nadek.pretrained`).
        device: where it shall live.

    Returns:
        The network; `load_saved` also returns its columns and metrics.

    Raises:
        FileNotFoundError: if there is no such folder.
        ValueError: if it is no model, or was damaged or edited; says what and where.

    Example:
        >>> load("mnist-nade5-2hl").n_variables
        784
    """
    return load_saved(folder, device=device).model


def load_saved(folder: str | os.PathLike[str], *, device: torch.device | str = "cpu") -> SavedModel:
    """Return a saved model with columns and metrics.

    Arguments and errors are those of `load`.

    Example:
        >>> load_saved("mnist-nade5-2hl").schema.image_shape
        (28, 28)
    """
    folder = pretrained.find(Path(folder))
    config = _read_config(folder)
    for name in FILES:
        if not (folder / name).exists():
            raise ValueError(f"{folder} is not a whole model: {name} is missing")
    with damage_in(folder / CONFIG, READABLE):
        _check_sizes(folder, config["model"])
        structure: AnyConfig = convert(AnyConfig, config["model"], "model")
        expected = build_meta(structure).state_dict()
    with damage_in(folder / SCHEMA, READABLE):
        columns = read_record(folder / SCHEMA)
        schema = decode(Schema, columns, where="schema")
        _check_schema(folder / SCHEMA, schema, structure)
    with damage_in(folder / WEIGHTS, READABLE):
        tensors, metadata = _read_weights(folder / WEIGHTS, config, expected)
        if isinstance(structure, MemoryConfig):
            _check_memory(structure, tensors)
    if metadata.get("config_sha256") != _digest_of(config["model"]):
        changed = "was changed since it was saved: it is not what the weights were trained as"
        raise ValueError(f"{folder / CONFIG} {changed}")
    if "schema_sha256" in config and config["schema_sha256"] != _digest_of(columns):
        raise ValueError(f"{folder / SCHEMA} was changed since it was saved: its columns are not what was learnt")
    metrics = read_record(folder / METRICS)
    model = build(structure, generator=torch.Generator())
    # to the dtype of its vectors: matrices may have been rounded more coarsely
    model.to(next(value.dtype for name, value in tensors.items() if name.rpartition(".")[2] == "b"))
    model.load_state_dict(tensors)
    return SavedModel(model.eval().to(device), schema, metrics)


def save_state(folder: str | os.PathLike[str], state: TrainingState, **info: Any) -> None:  # noqa: ANN401 - JSON
    """Save an unfinished training, with JSON for later checks."""
    metadata = {"state": json.dumps(state.info), "info": json.dumps(info)}
    metadata["sha256"] = _digest_of_state(state.tensors, metadata)
    content = _serialised(state.tensors, metadata)
    Path(folder).mkdir(parents=True, exist_ok=True)  # as in `save`: it may have been removed since
    with replacing(Path(folder) / UNFINISHED) as stream:
        stream.write(content)


def load_state(folder: str | os.PathLike[str]) -> tuple[TrainingState, dict[str, Any]] | None:
    """Load an unfinished training and its info, or None.

    A damaged file is a ValueError.
    """
    path = Path(folder) / UNFINISHED
    if not path.exists():
        return None
    tensors, metadata = _tensors_in(read_whole(path), path)
    if not {"state", "info", "sha256"} <= metadata.keys():
        raise ValueError(f"{path} is no state of an unfinished training")
    if metadata.pop("sha256") != _digest_of_state(tensors, metadata):
        raise ValueError(f"{path} was damaged since it was saved: its sha256 differs")
    with damage_in(path, "a state of an unfinished training"):
        state, info = (convert(dict, json.loads(metadata[key]), key) for key in ("state", "info"))
    return TrainingState(tensors, state), info


def forget_state(folder: Path) -> None:
    """Remove the state of a training that is finished."""
    (folder / UNFINISHED).unlink(missing_ok=True)


def holds_model(folder: Path) -> bool:
    """Return True if a folder holds a model."""
    return (folder / CONFIG).is_file()


def check_place(folder: Path) -> None:
    """Refuse to replace a file, or a foreign ``config.json`` (FileExistsError)."""
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{folder} is a file; a model is a folder")
    path = folder / CONFIG
    if not path.is_file():
        return
    try:
        config = read_record(path)
    except ValueError:
        config = {}
    if "weights_sha256" not in config:
        raise FileExistsError(f"{path} is not of a nadek model, and would be replaced; choose another folder for it")


def holds_state(folder: Path) -> bool:
    """Return True if a folder holds an unfinished training."""
    return (folder / UNFINISHED).is_file()


def weights_digest(folder: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of weights that a config names."""
    return str(_read_config(pretrained.find(Path(folder)))["weights_sha256"])


def _read_config(folder: Path) -> dict[str, Any]:
    if not folder.exists():
        names = ", ".join(pretrained.names())
        raise FileNotFoundError(f"there is no model at {folder}; those that come with nadek: {names}")
    if not holds_model(folder):
        hint = "; its training is not finished: go on with nadek fit ... --resume" if holds_state(folder) else ""
        if str(folder) in pretrained.names():
            hint += "; it hides the model of this name that comes with nadek: rename it, or work in another folder"
        raise ValueError(f"{folder} is not a model folder: it has no {CONFIG}{hint}")
    config = read_record(folder / CONFIG)
    if (version := config.get("format")) != FORMAT:
        hint = "; a newer nadek reads it" if isinstance(version, int) and version > FORMAT else ""
        raise ValueError(f"{folder / CONFIG}: expected a nadek model of format {FORMAT}, found {version!r}{hint}")
    for key in ("model", "weights_sha256"):
        if key not in config:
            raise ValueError(f"{folder / CONFIG}: expected the key {key!r} of a nadek model, found none")
    return config


def _read_weights(
    path: Path, config: dict[str, Any], expected: dict[str, Tensor]
) -> tuple[dict[str, Tensor], dict[str, str]]:
    n_bytes = sum(8 * value.numel() for value in expected.values())
    content = read_whole(path, n_bytes + LARGEST_HEADER)
    if hashlib.sha256(content).hexdigest() != config["weights_sha256"]:
        raise ValueError(f"{path} was damaged or changed since it was saved: its sha256 differs")
    tensors, metadata = _tensors_in(content, path)
    if different := difference(_shapes(expected), _shapes(tensors)):
        name, wanted, actual = different
        raise ValueError(f"expected {wanted or 'nothing'} as {name}, found {actual or 'nothing'}")
    for name, value in expected.items():
        if value.is_floating_point() != tensors[name].is_floating_point():
            kind = "floats" if value.is_floating_point() else "whole numbers"
            raise ValueError(f"{path}: expected {kind} as {name}, found {tensors[name].dtype}")
    _check_finite(path, tensors)
    return tensors, metadata


def _check_memory(structure: MemoryConfig, tensors: dict[str, Tensor]) -> None:
    """Refuse stored rows of codes that their columns have not, and rows that were never counted."""
    rows, most = tensors["rows"].long(), torch.tensor(structure.levels or (2,) * structure.n_variables) - 1
    for row, column in ((rows < 0) | (rows > most)).nonzero()[:1].tolist():
        place = f"row {row + 1}, column {column + 1} of the memory"
        raise ValueError(f"{place}: expected a code from 0 to {most[column]}, found {rows[row, column]}")
    if (least := tensors["seen"].min()) < 1:
        raise ValueError(f"seen: expected each row of the memory to be counted, found {least} times")


def _check_sizes(folder: Path, structure: Any) -> None:  # noqa: ANN401 - JSON
    """Refuse sizes that the weights cannot have, before anything of such a size is made."""
    most = max(SMALLEST_BOUND, (folder / WEIGHTS).stat().st_size)
    if isinstance(structure, dict | list):
        for value in structure.values() if isinstance(structure, dict) else structure:
            _check_sizes(folder, value)
    elif is_whole(structure) and structure > most:
        message = f"expected no number above {most:,}, as its weights are so small, found {structure}"
        raise ValueError(f"{folder / CONFIG}: {message}")


def _check_schema(path: Path, schema: Schema, structure: AnyConfig) -> None:
    n_variables = structure.n_variables
    for noun, values in (("columns", schema.columns), ("kinds of columns", schema.kinds), ("types", schema.types)):
        if values is not None and len(values) != n_variables:
            raise ValueError(f"{path}: expected {n_variables} {noun} as in the model, found {len(values)}")
    shape = schema.image_shape
    if shape is not None and (math.prod(shape) != n_variables or min(shape) < 1):
        raise ValueError(f"{path}: expected images of {n_variables} pixels, found image_shape {shape}")
    if schema.kinds is None:
        return
    if knots(schema.kinds) != structure.knots:
        raise ValueError(f"{path}: kinds: expected the knots of the model, {structure.knots}, found others")
    levels = structure.levels or (2,) * n_variables
    for column, (expected, actual) in enumerate(zip(levels, map(n_levels, schema.kinds), strict=True)):
        if expected != actual:
            raise ValueError(f"{path}: kinds[{column}]: expected {expected} levels as in the model, found {actual}")


def _structure_of(model: ConditionalModel) -> dict[str, Any]:
    """Return a config as JSON that builds it again."""
    config_class = type(model.config)
    if config_class not in get_args(AnyConfig):
        raise TypeError(f"{SAVED}; found {type(model).__name__} with a config of class {config_class.__name__}")
    structure = encode(model.config)
    try:
        twin = build_meta(convert(AnyConfig, structure, "model"))
    except ValueError as error:
        raise TypeError(f"{SAVED}; found another structure: {error}") from None
    both = [
        {name: type(part).__name__ for name, part in whole.named_modules()} | _shapes(whole.state_dict())
        for whole in (twin, model)
    ]
    if different := difference(*both):
        name, made, has = different
        part = f"{has or 'nothing'} as {name or 'the model'}"
        raise TypeError(f"{SAVED}; found {part}, which would come back as {made or 'nothing'}")
    return structure


def _shapes(tensors: dict[str, Tensor]) -> dict[str, str]:
    return {name: f"weights of shape {tuple(value.shape)}" for name, value in tensors.items()}


def _check_finite(where: Path | str, tensors: dict[str, Tensor]) -> None:
    for name, value in tensors.items():
        if not (finite := value.isfinite()).all():
            raise ValueError(f"{where}: expected finite weights, found {value[~finite][0].item()} in {name}")


def _serialised(tensors: dict[str, Tensor], metadata: dict[str, str]) -> bytes:
    return serialise({name: value.contiguous() for name, value in tensors.items()}, metadata)


def _tensors_in(content: bytes, path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    with damage_in(path, "a safetensors file"):
        tensors = deserialise(content)  # not `safe_open`, which opens a path twice: it may be replaced in between
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])  # eight bytes tell its length
    return tensors, header.get("__metadata__", {})


def _as_json(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, indent=2, default=_number) + "\n").encode()


def _number(value: Any) -> Any:  # noqa: ANN401 - whatever a user put there
    """Convert a NumPy number to one of Python."""
    return value.item() if isinstance(value, np.generic) else json.JSONEncoder().default(value)


def _digest_of_state(tensors: dict[str, Tensor], metadata: dict[str, str]) -> str:
    digest = hashlib.sha256(json.dumps(metadata, sort_keys=True).encode())
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(tensors[name].detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _digest_of(structure: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(structure, sort_keys=True).encode()).hexdigest()
