"""Facts about the processor and its memory."""

from collections.abc import Callable
from functools import cache

import torch


def has_fast_bfloat16(device: torch.device | str) -> bool:
    """Return True if bfloat16 is faster than float32.

    Other processors emulate it, which takes several times longer.

    Example:
        >>> isinstance(has_fast_bfloat16("cpu"), bool)
        True
    """
    if torch.device(device).type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    get_capabilities: Callable[[], dict[str, object]] = getattr(torch.cpu, "get_capabilities", dict)  # new in PyTorch
    capabilities = get_capabilities()
    return any(capabilities.get(name) for name in ("amx_bf16", "avx512_bf16", "bf16"))


@cache
def keep_freed_memory() -> None:
    """Make the C library keep the memory it frees.

    Decoding makes and frees tensors of some MiB at every position. glibc returns free memory at the end of the heap to
    the system above a threshold: twice the largest block ever freed, at most 32 MiB (see mallopt(3)). Fetching the
    pages again can take a third of the time of decoding. Freeing one large block raises the threshold to 64 MiB. The
    block is never written to, so it takes no memory. Other C libraries are not affected.
    """
    torch.empty(2**25 - 2**16, dtype=torch.uint8)
