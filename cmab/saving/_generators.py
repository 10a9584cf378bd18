"""Random generators in files: the bit generators of numpy, by name, with validated states."""

from __future__ import annotations

from typing import Any

import numpy as np

from cmab.arrays import AnyArray
from cmab.validation import integer, shown

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
#: Largest value of each number in a state. At a larger position, numpy would read beyond its tables.
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


#: Largest number of children and largest pool size of a seed sequence.
_MOST_CHILDREN, _LARGEST_POOL = 2**32 - 1, 2**20
_SEEDS = ("entropy", "spawn_key", "pool_size", "n_children_spawned")
#: The methods of a seed sequence that generate numbers and children.
_MAKES = ("generate_state", "spawn")
Position = dict[str, Any]


class _Seedless(np.random.bit_generator.ISeedSequence):
    """A seed sequence that cannot spawn, given to a generator saved without a seed sequence."""

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> AnyArray:
        """Return zeros, because the state of the generator replaces them."""
        return np.zeros(n_words, dtype)


def generator_state(rng: np.random.Generator) -> dict[str, Any]:
    """Return the state of a generator and its seed sequence for a file.

    Raises
    ------
    ValueError
        If the bit generator is not one of numpy.
    """
    state = rng.bit_generator.state
    if state.get("bit_generator") not in _KINDS:
        name = type(rng.bit_generator).__name__
        raise ValueError(
            f"rng must use a bit generator of numpy ({', '.join(_KINDS)}) to be saved, got {name}"
        )
    return {**state, "seed_seq": _seeds_of(rng.bit_generator.seed_seq)}


def position_of(rng: np.random.Generator) -> Position:
    """Return the state of a generator and its number of children, which change when it draws or spawns."""
    bits = rng.bit_generator
    spawned = getattr(bits.seed_seq, "n_children_spawned", 0)
    return {**bits.state, "spawned": spawned} if spawned else dict(bits.state)


def moved(rng: np.random.Generator, position: Position) -> np.random.Generator:
    """Return `rng` at a position.

    If the number of children differs, a new generator is returned, because numpy can only increase it.
    """
    state = dict(position)
    spawned, seeds = state.pop("spawned", 0), rng.bit_generator.seed_seq
    if isinstance(seeds, np.random.SeedSequence) and seeds.n_children_spawned != spawned:
        counted = np.random.SeedSequence(**{**seeds.state, "n_children_spawned": spawned})
        rng = np.random.Generator(type(rng.bit_generator)(counted))
    rng.bit_generator.state = state
    return rng


def check_position(position: object) -> None:
    """Raise ``ValueError`` unless a generator of numpy can be at this position."""
    name = _kind_of(position)
    if "spawned" in position:  # type: ignore[operator]
        state = dict(position)  # type: ignore[call-overload]
        integer("the number of spawned generators", state.pop("spawned"), 1, _MOST_CHILDREN)
        _check_state(name, state)
    else:
        _check_state(name, position)  # type: ignore[arg-type]


def generator_from(kept: object) -> np.random.Generator:
    """Return the generator that a file describes; raise ``ValueError`` if its state is invalid."""
    name = _kind_of(kept)
    state = dict(kept)  # type: ignore[call-overload]
    # Files of earlier versions lack the seed sequence, and any seed sequence works.
    seeds = _seeds_from(state.pop("seed_seq")) if "seed_seq" in state else np.random.SeedSequence(0)
    _check_state(name, state)
    bits = _KINDS[name](seeds)
    bits.state = state
    return np.random.Generator(bits)


def _kind_of(kept: object) -> str:
    name = kept.get("bit_generator") if isinstance(kept, dict) else None
    if not isinstance(name, str) or name not in _KINDS:
        raise ValueError(f"the generator must be one of {', '.join(_KINDS)}, got {shown(name)}")
    return name


def _check_state(name: str, state: dict[str, Any]) -> None:
    """Raise ``ValueError`` unless a bit generator can be in this state."""
    _check_entry(name, "rng", state, _LIMITS[name])
    # With an even increment, or a table of zeros, rejection sampling may never end.
    if name.startswith("PCG64") and state["state"]["inc"] % 2 == 0:
        raise ValueError("the increment of PCG64 must be odd, got an even one")
    if name == "MT19937" and not any(state["state"]["key"][1:]) and state["state"]["key"][0] < 2**31:
        raise ValueError("the table of MT19937 must not be all zeros")


def _seeds_of(seeds: Any) -> dict[str, Any] | None:
    """Return a seed sequence for a file, or None if the generator does not have one of numpy."""
    own = np.random.SeedSequence
    if not isinstance(seeds, own) or any(
        getattr(type(seeds), part) is not getattr(own, part) for part in _MAKES
    ):
        return None
    kept: dict[str, Any] = dict(seeds.state)
    return kept | {name: _words_of(kept[name]) for name in ("entropy", "spawn_key")}


def _words_of(entropy: Any) -> int | list[int]:
    """Return entropy as one integer or a flat list of integers that give the same words in numpy."""
    if isinstance(entropy, str):  # numpy accepts strings in lists
        return int(entropy, 16 if entropy.startswith("0x") else 10)
    if np.ndim(np.asarray(entropy, object)) == 0:
        return int(entropy)
    parts = map(_words_of, entropy)
    return [word for part in parts for word in (part if isinstance(part, list) else [part])]


def _seeds_from(kept: Any) -> Any:
    """Return the seed sequence that a file describes."""
    if kept is None:
        return _Seedless()
    if not isinstance(kept, dict) or set(kept) != set(_SEEDS):
        raise ValueError(f"seed_seq must have the entries {', '.join(_SEEDS)}, got {shown(kept)}")
    entropy, key = kept["entropy"], kept["spawn_key"]
    words = [*(entropy if type(entropy) is list else [entropy]), *(key if type(key) is list else [-1])]
    # Integers may exceed 64 bits: fresh entropy has 128 bits.
    if not all(type(word) is int and word >= 0 for word in words):
        raise ValueError(
            f"entropy and spawn_key of seed_seq must be nonnegative integers, got {shown(words)}"
        )
    integer("pool_size of seed_seq", kept["pool_size"], 4, _LARGEST_POOL)
    integer("n_children_spawned of seed_seq", kept["n_children_spawned"], 0, _MOST_CHILDREN)
    return np.random.SeedSequence(**{**kept, "spawn_key": tuple(key)})


def _check_entry(kind: str, name: str, value: Any, limit: Any) -> None:
    """Raise ``ValueError`` if `value` violates `limit`. Comparing types is fast, as journals need it."""
    if type(limit) is int:
        if type(value) is not int or not 0 <= value <= limit:
            raise ValueError(f"{name} of {kind} must be an integer in [0, {limit}], got {shown(value)}")
    elif type(limit) is dict:
        if type(value) is not dict or value.keys() != limit.keys():
            raise ValueError(f"{name} of {kind} must have the entries {', '.join(limit)}, got {shown(value)}")
        for key, part in limit.items():
            entry = value[key]
            if type(part) is int and type(entry) is int and 0 <= entry <= part:
                continue
            _check_entry(kind, key, entry, part)
    elif type(limit) is tuple:
        size, largest = limit
        if type(value) is not list or len(value) != size or set(map(type, value)) != {int}:
            raise ValueError(f"{name} of {kind} must hold {size} integers, got {shown(value)}")
        if min(value) < 0 or max(value) > largest:
            raise ValueError(f"{name} of {kind} must hold integers in [0, {largest}], got {shown(value)}")


def _limits(kind: str, name: str, fresh: Any) -> Any:
    """Return the largest value of each integer in a state, and (size, largest value) of each array."""
    if isinstance(fresh, dict):
        return {key: _limits(kind, key, part) for key, part in fresh.items()}
    largest = _LARGEST.get((kind, name), _FLAGS.get(name, 2**64 - 1))
    if isinstance(fresh, np.ndarray):
        return fresh.size, largest
    return None if isinstance(fresh, str) else largest  # the name of the bit generator is checked before


_LIMITS = {name: _limits(name, "rng", kind(0).state) for name, kind in _KINDS.items()}
