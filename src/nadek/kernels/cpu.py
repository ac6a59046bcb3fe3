"""What a processor is good at, and what its memory needs."""

from collections.abc import Callable
from functools import cache

import torch


def quick_in_bfloat16(device: torch.device | str) -> bool:
    """Whether the processor multiplies bfloat16 itself, and so quicker than float32; others take several times longer.

    Example:
        >>> isinstance(quick_in_bfloat16("cpu"), bool)
        True
    """
    if torch.device(device).type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    ask: Callable[[], dict[str, object]] = getattr(torch.cpu, "get_capabilities", dict)  # older ones cannot tell
    capabilities = ask()
    return any(capabilities.get(name) for name in ("amx_bf16", "avx512_bf16", "bf16"))


@cache
def keep_freed_memory() -> None:
    """Have the C library keep memory that is freed, where it would give it back and fetch it anew, page by page.

    A walk makes and frees tensors of some MiB at every position. glibc gives what is free at the end of the heap back
    to the system as soon as it is more than a threshold, twice the largest block that was ever freed (up to 32 MiB; see
    mallopt(3)), and the faults of fetching the pages again can take a third of a walk's time. Freeing one large block
    raises the threshold to 64 MiB; it is never written to, so it takes no memory. Other libraries don't care.
    """
    torch.empty(2**25 - 2**16, dtype=torch.uint8)
