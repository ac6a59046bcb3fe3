"""Provenance of a result: versions, commit, hardware."""

import os
import platform
import subprocess
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import torch


def provenance(device: torch.device | str = "cpu") -> dict[str, Any]:
    """Return versions, commit of the source tree (None outside one) and hardware."""
    packages, device = ("nade-k", "torch", "numpy"), torch.device(device)
    return {
        "versions": {"python": platform.python_version(), **{name: metadata.version(name) for name in packages}},
        "commit": _commit(),
        "hardware": {
            "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
            "processor": _processor(),
            "cores": os.cpu_count(),
            "threads": torch.get_num_threads(),
        },
    }


def _commit() -> str | None:
    """Return the commit of this file, with a + if the source tree has changed since.

    None where git does not track the file: installed packages often lie within another repository.
    """
    here = Path(__file__).parent
    ask = partial(subprocess.run, cwd=here, capture_output=True, text=True, check=True)
    try:
        ask(["git", "ls-files", "--error-unmatch", "--", Path(__file__).name])
        commit = ask(["git", "rev-parse", "HEAD"]).stdout.strip()
        changes = ask(["git", "status", "--porcelain", "--", "."]).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{commit}+" if changes else str(commit)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
