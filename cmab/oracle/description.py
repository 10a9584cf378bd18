"""What an oracle says of itself: its class, and the parameters that it was made with."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

# What an oracle is about: told first, and by its own description, which says how many arms there are.
_SUBJECTS = ("graph", "oracle")


def described(oracle: Any, **facts: Any) -> str:
    """Return ``Class(facts, parameters)``: the same text in every process, without addresses.

    Parameters of the constructor are told where the oracle keeps them under their names and they are not the
    defaults; numbers and names as they are, arrays as ``...``. Of `facts`, None hides a parameter.
    """
    kept = getattr(oracle, "__dict__", {})
    subjects, told = [], {name: value for name, value in facts.items() if value is not None}
    for name, parameter in inspect.signature(type(oracle)).parameters.items():
        if name in facts or kept.get(name) is None:
            continue
        if name in _SUBJECTS:
            subjects.append(_text(kept[name]))
        elif not (np.isscalar(kept[name]) and kept[name] == parameter.default):
            told[name] = kept[name]
    if not subjects:
        told = {"n_arms": oracle.n_arms} | told
    return f"{type(oracle).__name__}({', '.join([*subjects, *(f'{k}={_text(v)}' for k, v in told.items())])})"


def _text(value: Any) -> str:
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else repr(float(value))
    if isinstance(value, np.generic):
        return _text(value.item())
    if isinstance(value, np.ndarray | list | tuple | dict | set):
        return "..."
    if getattr(type(value), "__repr__", None) is object.__repr__:  # it would tell an address
        return type(value).__name__
    return str(getattr(value, "__name__", None) or repr(value))
