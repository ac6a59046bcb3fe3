"""What the options of the estimators may be. They are checked when `fit` is called, as scikit-learn asks for."""

import math
import numbers
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch

from nadek.utils.configs import is_whole

if TYPE_CHECKING:
    Whole = int | Literal["auto"]
    Number = float | Literal["auto"]
    Fraction = float | Literal["auto"]
    Patience = int | Literal["auto"] | None
    Switch = bool
    MaybeSwitch = bool | Literal["auto"]
    Count = int
    Share = float
    Choice = str
    DeviceName = str | torch.device
    Randomness = int | np.random.RandomState | None
else:  # a constructor stores whatever it is given, also where the tests check types
    Whole = Number = Fraction = Patience = Switch = MaybeSwitch = Count = Share = Choice = Any
    DeviceName = Randomness = Any


def check_whole(name: str, value: object, *, least: int = 1, also: Sequence[object] = ()) -> None:
    """Refuse what is no whole number of at least ``least``, and none of the words in ``also``.

    Raises:
        ValueError: says what was expected and what was found.
    """
    if _is_among(value, also):
        return
    if not is_whole(value) or value < least:
        raise ValueError(f"{name}: expected a whole number of at least {least}{_or(also)}, found {value!r}")


def check_number(
    name: str,
    value: object,
    *,
    least: float = 0.0,
    below: float = math.inf,
    most: float = math.inf,
    positive: bool = False,
    also: Sequence[object] = (),
) -> None:
    """Refuse what is no number in [least, below), at most ``most``, and none of the words in ``also``.

    Args:
        name: the option.
        value: what it was set to.
        least: the smallest number permitted; not itself where ``positive``.
        below: what it must be below.
        most: the largest number permitted.
        positive: whether ``least`` itself is refused.
        also: words permitted besides.

    Raises:
        ValueError: says what was expected and what was found.
    """
    if _is_among(value, also):
        return
    if isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_):
        number = float(value)
        if (least < number if positive else least <= number) and number < below and number <= most:
            return
    start = f"above {least:g}" if positive else f"of at least {least:g}"
    end = f" and below {below:g}" if below < math.inf else f" and at most {most:g}" if most < math.inf else ""
    raise ValueError(f"{name}: expected a number {start}{end}{_or(also)}, found {value!r}")


def check_choice(name: str, value: object, choices: Sequence[object]) -> None:
    """Refuse what is none of the choices.

    Raises:
        ValueError: lists them.
    """
    if not _is_among(value, choices):
        raise ValueError(f"{name}: expected one of {', '.join(map(repr, choices))}, found {value!r}")


def pick_device(device: DeviceName) -> torch.device:
    """The device to work on: ``"auto"`` is a GPU where there is one.

    Raises:
        ValueError: if it is none that PyTorch knows, or is not there.
    """
    there = torch.cuda.is_available()
    if isinstance(device, str) and device == "auto":
        return torch.device("cuda" if there else "cpu")
    try:
        picked = torch.device(device)
    except (RuntimeError, TypeError):
        raise ValueError(f"device: expected 'auto', or a name such as 'cpu' or 'cuda', found {device!r}") from None
    if picked.type == "cuda" and not there:
        raise ValueError(f"device: PyTorch finds no CUDA device on this machine, found {device!r}; use 'auto' or 'cpu'")
    try:
        torch.empty(0, device=picked).cpu()
    except (RuntimeError, AssertionError, NotImplementedError):
        raise ValueError(f"device: PyTorch cannot work on {device!r} on this machine; use 'auto' or 'cpu'") from None
    return picked


def _is_among(value: object, words: Sequence[object]) -> bool:
    """Whether a value is one of the words; arrays and the like are none, and NumPy's booleans are Python's."""
    value = bool(value) if isinstance(value, np.bool_) else value
    return any(value is word or (isinstance(value, str) and value == word) for word in words)


def _or(also: Sequence[object]) -> str:
    return "".join(f" or {word!r}" for word in also)
