"""What a processor is good at."""

from collections.abc import Callable

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
