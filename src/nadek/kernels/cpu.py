"""Facts about processors and their memory."""

from collections.abc import Callable
from functools import cache

import torch


def pick_device(device: torch.device | str) -> torch.device:
    """Return the device; ``"auto"`` prefers a GPU."""
    if isinstance(device, str) and device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        torch.empty(0, device=device).cpu()
        return torch.device(device)
    except (RuntimeError, TypeError, AssertionError, NotImplementedError):
        expected = "'auto', 'cpu' or another device that this machine has"
        raise ValueError(f"device: expected {expected}, found {device!r}") from None


def has_fast_bfloat16(device: torch.device | str) -> bool:
    """Return True if bfloat16 is faster than float32; other processors emulate it slowly."""
    if torch.device(device).type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    get_capabilities: Callable[[], dict[str, object]] = getattr(torch.cpu, "get_capabilities", dict)  # new in PyTorch
    capabilities = get_capabilities()
    return any(capabilities.get(name) for name in ("amx_bf16", "avx512_bf16", "bf16"))


def whole_vectors(n: int) -> int:
    """Round numbers of floats up to whole vector registers."""
    size = 16 if "AVX512" in torch.backends.cpu.get_cpu_capability() else 8
    return -(-n // size) * size


@cache
def keep_freed_memory() -> None:
    """Make glibc keep the memory it frees: fetching pages again takes up to a third of decoding.

    It returns memory above twice the largest block ever freed (mallopt(3)). This frees one of 32 MiB, never written to,
    so that the threshold rises to 64 MiB. Other C libraries are not affected.
    """
    torch.empty(2**25 - 2**16, dtype=torch.uint8)
