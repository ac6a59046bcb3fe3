"""Damaged files: whole ones of every form, and what can happen to them."""

import gzip
import hashlib
import io
import json
import struct
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from safetensors.torch import load, save

from nadek.checkpoints import _digest_of, _digest_of_state

FRAME = pd.DataFrame({"a": [1.5, None, 2.5] * 9, "b": ["x", "y", None] * 9, "c": [True, False, True] * 9})
JSON_FILES = ("config.json", "schema.json", "metrics.json")
TEXTS = ("", "x", "\ud800", "planted.pandas", "../planted", "{planted.__class__}", "/dev/zero", "float64", "a" * 3000)
NUMBERS = (True, 0, -1, 1, 3, 255, 257, 10**6, 2**31, 2**70, 0.5, 1e308, float("nan"), float("-inf"))
ODD = (None, *NUMBERS, *TEXTS, [], [[]], ["a", "a"], {}, {"kind": ["a"]}, {"kind": "memory"})


def edit(path, change):
    """Change a JSON file in place."""
    values = json.loads(path.read_text())
    change(values)
    path.write_text(json.dumps(values))


def seal(folder):
    """Make ``config.json`` vouch for whatever the weights file is now, as someone who edits both could."""
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    edit(folder / "config.json", lambda config: config.update(weights_sha256=digest))


def reseal(folder):
    """Make weights and config vouch for each other, where they can be read at all."""
    try:
        config, weights = json.loads((folder / "config.json").read_text()), folder / "model.safetensors"
        weights.write_bytes(save(load(weights.read_bytes()), {"config_sha256": _digest_of(config["model"])}))
        seal(folder)
    except Exception:  # damaged before
        return


def reseal_state(path, chance):
    """The bytes of an unfinished training with other entries or tensors, and the digest that fits these."""
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    tensors, metadata = load(content), json.loads(content[8:start])["__metadata__"]
    del metadata["sha256"]
    if chance.random() < 0.6:
        key = chance.choice(("state", "info"))
        metadata[key] = damaged(metadata[key].encode(), chance).decode(errors="replace")
    else:
        name = chance.choice(sorted(tensors))
        value = torch.atleast_1d(tensors.pop(name))
        others = (value.double(), value[:0].clone(), torch.full_like(value, -1), torch.ones(3), value.reshape(1, -1))
        if (way := chance.randrange(7)) < 5:
            tensors[name] = others[way].contiguous()
        elif way == 5:
            tensors[chance.choice(("optimizer.x", "optimizer.0", f"{name}.1", "average.n_averaged"))] = value
    metadata["sha256"] = _digest_of_state(tensors, metadata)
    return save(tensors, metadata)


def places_in(value, path=()):
    """All places in nested JSON."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in items for place in places_in(item, (*path, key)))]


def bitten(content, chance, most=None):
    """Bytes with some others, more or fewer, in one place."""
    cut = chance.randrange(most or len(content))
    return content[:cut] + chance.randbytes(chance.randrange(3)) + content[cut + chance.randrange(9) :]


def damaged(content, chance):
    """JSON with another value, or none, in one place; or other bytes."""
    try:
        values = json.loads(content)
        *parents, last = chance.choice(places_in(values)[1:])
    except (ValueError, IndexError):
        return bitten(content or b"x", chance)
    if chance.random() < 0.2:
        return bitten(content, chance)
    table = values
    for key in parents:
        table = table[key]
    if chance.random() < 0.2:
        del table[last]
    else:
        table[last] = chance.choice((*ODD, table[last] if isinstance(table[last], list) else [table[last]] * 2))
    return json.dumps(values).encode()


def parquet(**metadata):
    table = pa.Table.from_pandas(FRAME.set_index(pd.Index(range(5, 32))))
    if metadata:
        table = table.replace_schema_metadata({"pandas": metadata["pandas"]})
    stream = io.BytesIO()
    pq.write_table(table, stream)
    return stream.getvalue()


def npy(values=((1.5, 2.0), (3.0, 4.5))):
    stream = io.BytesIO()
    np.save(stream, values)
    return stream.getvalue()


def npz(**members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (members or {"values.npy": npy(), "columns.npy": npy(np.array(list("ab")))}).items():
            archive.writestr(name, content)
    return stream.getvalue()


def header(text):
    """The bytes of an npy file with this header."""
    data = text.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(data)) + data + bytes(64)


WHOLE = {
    ".csv": FRAME.to_csv(index=False).encode(),
    ".csv.gz": gzip.compress(FRAME.to_csv(index=False).encode()),
    ".parquet": parquet(),
    ".npy": npy(),
    ".npz": npz(),
    ".amat": b"0 1 1\n1 0 0\n" * 9,
    ".amat.gz": gzip.compress(b"0 1 1\n1 0 0\n" * 9),
}
