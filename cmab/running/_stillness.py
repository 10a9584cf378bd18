"""Whether an environment is after its rounds what it was before them."""

from __future__ import annotations

import io
import pickle
import warnings
import zlib
from collections.abc import Mapping
from functools import cached_property
from types import CellType, FunctionType, GeneratorType, MethodType
from typing import Any

import numpy as np

from cmab.environment import Environment
from cmab.oracle import Oracle

_OURS = ("cmab", "oracles", "instances")
_DEEP = 6  # objects within objects
_MANY = 1_000  # entries of a list that are looked at one by one


class Stillness:
    """What an environment keeps, remembered so that a change shows.

    One that counts its rounds, or has a generator of its own, would give other numbers to the second
    replication than to the first, and thus other ones for another number of workers. What is only filled is
    taken for a cache, on the environment and on what it holds: attributes that are new or were None, keys
    that a dict did not have, and ``cached_property``; what a ``__getstate__`` leaves out is not looked at.
    Functions count with what they close over. What lies outside the object, such as numpy's global
    generator and the variables of a module, cannot be seen here.

    Parameters
    ----------
    environment : Environment
        Whom to watch. Those of this library do not change, and are not looked at.
    """

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._known: dict[str, Any] | None = None if _is_ours(environment) else self._look()

    def check(self, t: int) -> None:
        """Raise ``ValueError`` if something has changed in the rounds up to `t`."""
        if self._known is None:
            return
        present = self._look()
        for name, before in self._known.items():
            if not _only_filled(before, present.get(name)):
                raise ValueError(
                    f"environment must not change while it is played, for replications would depend on each"
                    f" other, but by round {t} its attribute {name!r} has changed. Make of what is random or"
                    " moves a function of the round's generator; keep caches by functools.cached_property,"
                    " in a dict that only grows, or out of __getstate__"
                )
        self._known = present

    def _look(self) -> dict[str, Any]:
        """Return a digest of each attribute, its own or of its class; None where it is None."""
        kept: dict[str, Any] = {}
        for cls in reversed(type(self._environment).__mro__):
            # A counter may be an attribute of the class. Functions and
            # properties change nothing by themselves.
            if cls.__module__.split(".")[0] not in (*_OURS, "builtins", "abc"):
                kept |= {n: v for n, v in vars(cls).items() if n[:2] != "__" and not hasattr(v, "__get__")}
        kept.pop("_abc_impl", None)
        kept |= _without_caches(self._environment, _state_of(self._environment))
        return {name: self._parts(value) for name, value in kept.items()}

    def _parts(self, value: Any, within: tuple[int, ...] = ()) -> Any:
        """Return a tree of dicts and tuples: what may be filled in place stands in a dict, or is None."""
        if value is None:
            return None
        # Parts may refer to the whole, or to each other in a ring: a place on the way up tells that.
        if value is self._environment:
            return "itself"
        if id(value) in within:
            return "again", len(within) - within.index(id(value))
        # Chains of objects have no end for Python's stack: what lies deeper is told by its pickle.
        parts = _parts_of(value) if len(within) < _DEEP else None
        if parts is None:
            return self._digest(value)
        within = (*within, id(value))
        if isinstance(parts, dict):
            # A dict's new entries may be a cache's, so it stays a dict, in which `_only_filled` allows them.
            return {self._digest(key): self._parts(entry, within) for key, entry in parts.items()}
        return type(value).__name__, *(self._parts(entry, within) for entry in parts)

    def _digest(self, value: Any) -> Any:
        if type(value) in (bool, int, float, str):
            return repr(value)
        buffer = io.BytesIO()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of iterators, whose pickles Python 3.14 will have no more
                _Digester(buffer, self._environment).dump(value)
        except Exception:  # of things that no file can hold, and of __reduce__ of others
            return type(value).__qualname__, id(value)
        return buffer.getvalue()


class _Digester(pickle.Pickler):
    """Writes what things are made of; nobody reads it, so what has no parts is told by its address."""

    def __init__(self, file: io.BytesIO, environment: Environment) -> None:
        super().__init__(file, protocol=5)
        self._environment = environment

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, type) and value.__module__ == "builtins":
            return NotImplemented
        if isinstance(value, type) or value is self._environment or _is_fixed(value):
            return int, (id(value),)
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            # Not the numbers themselves: this is asked of arrays of any size.
            return tuple, (
                (value.dtype.str, value.shape, zlib.crc32(np.ascontiguousarray(value).data.cast("B"))),
            )
        if _is_graph(value):
            return tuple, ((id(value), value.number_of_nodes(), value.number_of_edges()),)
        try:
            reduced = value.__reduce_ex__(4)
        except Exception:  # locks, files, generators
            return int, (id(value),)
        if isinstance(reduced, str):
            return int, (id(value),)
        if len(reduced) > 2 and isinstance(reduced[2], dict):
            return (*reduced[:2], _without_caches(value, reduced[2]), *reduced[3:])
        return reduced


def _only_filled(before: Any, now: Any) -> bool:
    """Return whether what was there before is there still; what was None, and new keys, are a cache's."""
    if before is None:
        return True
    if isinstance(before, dict) and isinstance(now, dict):
        return all(key in now and _only_filled(entry, now[key]) for key, entry in before.items())
    if isinstance(before, tuple) and isinstance(now, tuple):
        return len(before) == len(now) and all(map(_only_filled, before, now))
    return bool(before == now)


def _parts_of(value: Any) -> dict[Any, Any] | list[Any] | None:
    """Return what a thing of Python is made of, or None where its pickle tells."""
    if isinstance(value, FunctionType):
        # What it closes over may be counted up by it, as what is written on it.
        cells = value.__closure__ or ()
        return [value.__code__, vars(value), *(cell.cell_contents for cell in cells if _is_full(cell))]
    if isinstance(value, MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, GeneratorType):
        frame = value.gi_frame
        return [] if frame is None else [frame.f_lasti, dict(frame.f_locals)]
    if isinstance(value, dict):
        return {**value, **({"__dict__": vars(value)} if getattr(value, "__dict__", None) else {})}
    if type(value) in (list, tuple):
        return list(value) if len(value) <= _MANY else None
    if isinstance(value, type) or not hasattr(value, "__dict__") or _is_fixed(value) or _is_graph(value):
        return None
    try:
        made, arguments, state, *items = value.__reduce_ex__(4)
    except Exception:  # locks, files, what goes by its name
        return None
    if not isinstance(state, dict) or any(entries is not None for entries in items):
        return None
    return _without_caches(value, state) | {"__reduce__": [made, *arguments]}


def _is_fixed(value: object) -> bool:
    """Return whether a thing is one of this library's that does not change."""
    return isinstance(value, Oracle | Environment) and _is_ours(value)


def _is_graph(value: object) -> bool:
    return hasattr(value, "number_of_edges") and hasattr(value, "number_of_nodes")


def _is_full(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:  # of a name that is not assigned yet
        return False


def _state_of(owner: Any) -> Mapping[str, Any]:
    """Return the attributes, less those that the class leaves out of its pickles."""
    try:
        state = owner.__getstate__()
    except Exception:  # one that cannot be pickled on purpose
        state = vars(owner)
    if isinstance(state, tuple) and len(state) == 2:  # with __slots__
        state = {name: value for part in state if isinstance(part, dict) for name, value in part.items()}
    return state if isinstance(state, dict) else {"__getstate__": state}


def _without_caches(owner: object, state: Mapping[str, Any]) -> dict[str, Any]:
    cls = type(owner)
    return {n: v for n, v in state.items() if not isinstance(getattr(cls, str(n), None), cached_property)}


def _is_ours(value: object) -> bool:
    return type(value).__module__.split(".")[0] in _OURS
