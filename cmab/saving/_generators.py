"""Random generators in files: numpy's own, by name, in states that they can have."""

from __future__ import annotations

from typing import Any

import numpy as np

_KINDS = {
    kind.__name__: kind
    for kind in (
        np.random.PCG64,
        np.random.PCG64DXSM,
        np.random.MT19937,
        np.random.Philox,
        np.random.SFC64,
    )
}
#: Largest value of each number in a state; numpy itself reads beyond its tables at a larger position.
_LARGEST = {
    ("PCG64", "state"): 2**128 - 1,
    ("PCG64", "inc"): 2**128 - 1,
    ("PCG64DXSM", "state"): 2**128 - 1,
    ("PCG64DXSM", "inc"): 2**128 - 1,
    ("MT19937", "pos"): 624,
    ("MT19937", "key"): 2**32 - 1,
    ("Philox", "buffer_pos"): 4,
}
_FLAGS = {"has_uint32": 1, "uinteger": 2**32 - 1}


def generator_state(rng: np.random.Generator) -> dict[str, Any]:
    """Return the state of a generator for a file; raises ``ValueError`` if it is none of numpy's."""
    state = rng.bit_generator.state
    if state.get("bit_generator") not in _KINDS:
        name = type(rng.bit_generator).__name__
        raise ValueError(
            f"rng must use a bit generator of numpy ({', '.join(_KINDS)}) to be saved, got {name}"
        )
    return dict(state)


def generator_from(state: object) -> np.random.Generator:
    """Return the generator that a file describes; raises ``ValueError`` unless it could be in that state."""
    name = state.get("bit_generator") if isinstance(state, dict) else None
    if not isinstance(name, str) or name not in _KINDS:
        raise ValueError(f"the generator must be one of {', '.join(_KINDS)}, got {name!r}")
    # Any seed will do: its state is the form to compare with, and is replaced.
    bits = _KINDS[name](0)
    checked = _checked(name, "rng", state, bits.state)
    # An even increment, or a table of zeros, yields the same number for ever, and rejection never ends.
    if name.startswith("PCG64") and checked["state"]["inc"] % 2 == 0:
        raise ValueError("the increment of PCG64 must be odd, got an even one")
    if name == "MT19937" and not checked["state"]["key"][1:].any() and checked["state"]["key"][0] < 2**31:
        raise ValueError("the table of MT19937 must not be zero")
    bits.state = checked
    return np.random.Generator(bits)


def _checked(kind: str, name: str, value: Any, fresh: Any) -> Any:
    """Return `value` in the form of `fresh`, a state of the same kind of generator."""
    if isinstance(fresh, dict):
        if not isinstance(value, dict) or set(value) != set(fresh):
            raise ValueError(f"{name} of {kind} must have the entries {', '.join(fresh)}, got {value!r:.60}")
        return {key: _checked(kind, key, value[key], fresh[key]) for key in fresh}
    # The name of the kind, which was compared before.
    if isinstance(fresh, str):
        return fresh
    largest = _LARGEST.get((kind, name), _FLAGS.get(name, 2**64 - 1))
    entries = value if isinstance(fresh, np.ndarray) else [value]
    if not isinstance(entries, list) or len(entries) != np.size(fresh):
        raise ValueError(f"{name} of {kind} must hold {np.size(fresh)} integers, got {value!r:.60}")
    for entry in entries:
        if not isinstance(entry, int) or isinstance(entry, bool) or not 0 <= entry <= largest:
            raise ValueError(f"{name} of {kind} must hold integers in [0, {largest}], got {entry!r:.60}")
    return np.array(entries, fresh.dtype) if isinstance(fresh, np.ndarray) else entries[0]
