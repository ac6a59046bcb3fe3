"""One loop for every study: train a job's model, score it, write its record."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from nadek.inference.decoders.chunking import Progress as Progress
from nadek.runs.provenance import provenance
from nadek.training import Epoch
from nadek.utils.atomic import finite, read_record, replacing
from nadek_paper.workspace import Workspace

Record = dict[str, Any]
OnEpoch = Callable[[Epoch], None] | None


@dataclass(frozen=True, kw_only=True)
class Job:
    """One model of a study: its training, its scores, its part of a record.

    ``train`` is given ``force`` and ``on_epoch``, ``score`` the model, ``force`` and ``progress``: what is finished is
    not done again. ``write`` is for a job with a place of its own.
    """

    name: str
    train: Callable[..., Any]
    score: Callable[..., Any]
    write: Callable[[Any], Any] = lambda results: results
    is_done: Callable[[], bool] = lambda: False


@dataclass(frozen=True, kw_only=True)
class Study:
    """Several jobs and the record of their results.

    ``finish`` makes the record of the results by name; a terminal shows its ``lines`` below ``columns``.
    ``skipped`` is row -> reason why it is no job.
    """

    title: str
    columns: Sequence[str]
    lines: Callable[[Record], list[list[str]]]
    jobs: Sequence[Job]
    finish: Callable[[Record], Record] = lambda results: results
    skipped: Mapping[str, str] = field(default_factory=dict)


class Watcher:
    """Follows a study; this one shows nothing."""

    def on_job(self, job: Job, number: int, total: int) -> None:
        """Follow the next job, counted from 1."""

    def on_epoch(self, epoch: Epoch) -> None:
        """Follow an epoch of a training."""

    def on_rows(self, done: int, total: int) -> None:
        """Follow the scoring."""


def run_study(study: Study, *, force: bool = False, watcher: Watcher | None = None) -> Record:
    """Train and score every job of a study, and return its record.

    What is finished is not done again; what was interrupted goes on.
    """
    watcher, results = watcher or Watcher(), {}
    for number, job in enumerate(study.jobs, 1):
        if not force and job.is_done():
            continue
        watcher.on_job(job, number, len(study.jobs))
        model = job.train(force=force, on_epoch=watcher.on_epoch)
        results[job.name] = job.write(job.score(model, force=force, progress=watcher.on_rows))
    return study.finish(results)


def write_record(path: Path, record: dict[str, Any], *, lines: str) -> None:
    """Write a record whole; NaN becomes null.

    The entry ``lines``, a list or a dictionary, is written last, one line an item.
    """
    content = finite(record)
    entries = content.pop(lines)
    if isinstance(entries, dict):
        opening, closing = "{}"
        written = [f"    {json.dumps(key)}: {json.dumps(entry)}" for key, entry in entries.items()]
    else:
        opening, closing = "[]"
        written = [f"    {json.dumps(entry)}" for entry in entries]
    text = json.dumps(content, indent=2, allow_nan=False).removesuffix("\n}")
    text += f',\n  "{lines}": {opening}\n' + ",\n".join(written) + f"\n  {closing}\n}}\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as stream:
        stream.write(text.encode())


def write_whole(workspace: Workspace, name: str, content: Record, *, lines: str) -> Record:
    """Write the record of a study that is run as a whole, and return it as it is read."""
    path = workspace.record(name)
    about = {"quick": workspace.quick, "evaluation": provenance(workspace.device)}
    write_record(path, {**about, **content}, lines=lines)
    return read_record(path)


def digest_of(options: bytes, *tensors: Tensor) -> str:
    """Return a digest of options, and of the shapes and values of tensors."""
    digest = hashlib.sha256(options)
    for tensor in tensors:
        digest.update(str(tuple(tensor.shape)).encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def scored_once(path: Path, digest: str, about: Record, score: Callable[[], Record], *, force: bool) -> Record:
    """Return a row's record: the one at a path, if it has this digest, or a new one."""
    record = read_record(path) if path.is_file() and not force else {}
    return {**record, **about} if record.get("digest") == digest else {**about, **score()}


def write_changed(path: Path, record: Record) -> Record:
    """Write a record with a curve, unless the file holds the same, and return it as it is read."""
    if not path.is_file() or read_record(path) != record:
        write_record(path, record, lines="curve")
    return read_record(path)
