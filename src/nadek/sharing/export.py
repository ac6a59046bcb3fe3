"""Networks as files of ONNX.

What travels is one conditional pass: codes and a mask of any number of rows in, the logits after every step out.
Sampling and exact likelihoods are loops around it.
"""

import json
import logging
import warnings
from copy import deepcopy
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from nadek.checkpoints import SavedModel
from nadek.tabular.columns import level_names
from nadek.utils.atomic import replacing


class _Pass(nn.ModuleList):
    """One conditional pass as a function of tensors."""

    def forward(self, x: Float[Tensor, "B D"], missing: Bool[Tensor, "B D"]) -> Float[Tensor, "k B C"]:
        # with one more axis, and where gradients are recorded, every model computes by plain products, for any B
        return torch.stack(self[0](x.unsqueeze(1), missing.unsqueeze(1))).squeeze(2)


def export_onnx(saved: SavedModel, path: Path | str) -> torch.export.ExportedProgram:
    """Write one conditional pass, in float32, as a file of ONNX.

    Its inputs are codes ``x`` [B, D] and a mask ``missing`` [B, D], True where missing, for any B. Its output are the
    ``logits`` [steps, B, C], as of `nadek.models.base.ConditionalModel`. Its metadata, each as JSON, are the ``levels``
    of the variables, the number of ``steps``, the ``fill`` of columns before the first step, the ``columns`` with their
    ``values`` and the ``image_shape`` (null where there are none), and the ``opset``.

    Args:
        saved: the model with its columns.
        path: of the file; one that is there is replaced.

    Returns:
        The same as a program of torch.export.

    Raises:
        ModuleNotFoundError: without the packages of the extra ``onnx``.
        OSError: where the file cannot be written.

    Example:
        >>> from nadek.checkpoints import load_saved
        >>> program = export_onnx(load_saved("mnist-nade5-2hl"), "digits.onnx")  # doctest: +SKIP
        >>> Path("digits.onnx").stat().st_size > 1_000_000  # doctest: +SKIP
        True
    """
    if find_spec("onnxscript") is None:
        raise ModuleNotFoundError("a file of ONNX needs the extra onnx: pip install 'nade-k[onnx]'")
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # it warns of libraries that nobody needs here
    network = _Pass([deepcopy(saved.model).float().cpu().eval()])
    x, batch = torch.zeros(2, saved.model.n_variables), {0: torch.export.Dim("batch")}
    names: dict[str, Any] = {"input_names": ["x", "missing"], "output_names": ["logits"]}
    with warnings.catch_warnings(action="ignore"), torch.enable_grad():  # PyTorch warns of itself
        exported = torch.onnx.export(network, (x, x == 0), dynamic_shapes=(batch, batch), **names, verbose=False)
    assert exported is not None
    assert exported.exported_program is not None
    facts = {**describe(saved), "opset": exported.model.opset_imports[""]}
    exported.model.metadata_props.update({name: json.dumps(fact) for name, fact in facts.items()})
    with replacing(path) as stream:
        stream.write(exported.model_proto.SerializeToString())
    return exported.exported_program


def describe(saved: SavedModel) -> dict[str, Any]:
    """Return facts about a model, see `export_onnx`."""
    schema, model = saved.schema, saved.model
    return {
        "levels": model.levels,
        "steps": model.steps,
        "fill": model.fill.tolist(),
        "columns": schema.columns,
        "values": schema.kinds and [level_names(kind) for kind in schema.kinds],
        "image_shape": schema.image_shape,
    }
