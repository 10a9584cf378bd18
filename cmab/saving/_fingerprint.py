"""Descriptions of policies as plain values, which can be stored and compared in another process."""

from __future__ import annotations

import dataclasses
import inspect
import math
import sys
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cached_property
from typing import Any

import numpy as np

from cmab.description import is_own
from cmab.oracle import Oracle
from cmab.saving._digest import short_hash, without_addresses

_DEEPEST = 8


def fingerprint(policy: Any) -> dict[str, Any]:
    """Return ``arms``, the base arms of the statistics, and ``policy``, the class with its parameters."""
    oracle = getattr(policy, "oracle", None)
    arms: dict[str, Any] = {"n_arms": int((oracle if oracle is not None else policy).n_arms)}
    if isinstance(oracle, Oracle):
        labels = oracle.labels(np.arange(oracle.n_choices))
        # A wrapper has the base arms of the oracle that it wraps.
        innermost = oracle
        while isinstance(behind := getattr(innermost, "oracle", None), Oracle):
            innermost = behind
        graph = getattr(innermost, "graph", None)
        edges = getattr(innermost, "edges", None)
        arms |= {
            "n_choices": int(oracle.n_choices),
            "labels": _hash_of_names(labels),
            "edges": None if edges is None else _hash_of_names(edges),
            "graph": None if graph is None else describe(graph),
        }
    return {"arms": arms, "policy": describe(policy)}


def describe(value: Any, depth: int = 0) -> Any:
    """Return a description of `value` as JSON values, which is equal in all processes for equal objects."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        # JSON cannot represent nan and inf.
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, np.generic):
        return describe(value.item(), depth)
    if isinstance(value, np.ndarray):
        return _array(value)
    if depth >= _DEEPEST:
        return type(value).__qualname__
    if isinstance(value, Mapping):
        pairs = [[_name(key), describe(entry, depth + 1)] for key, entry in value.items()]
        # Pairs, because keys may be no strings; sorted, because the order of insertion has no meaning.
        return sorted(pairs, key=lambda pair: str(pair[0]))
    if isinstance(value, Set):
        # The order of a set differs between processes.
        return sorted(_name(entry) for entry in value)
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        are_plain = set(map(type, value)) <= {str, int, bool, type(None)}
        parts = list(value) if are_plain else [describe(entry, depth + 1) for entry in value]
        # `differences` shows short sequences in full. Long sequences would hide the rest of the message.
        return parts if len(parts) <= 20 else short_hash(repr(parts).encode())
    if callable(value) and hasattr(value, "__qualname__"):
        return str(value.__qualname__)
    if hasattr(value, "nodes") and hasattr(value, "edges"):
        return short_hash(
            repr([[_name(node) for node in value.nodes], list(map(_name, value.edges))]).encode()
        )
    return _thing(value, depth)


def differences(kept: Any, present: Any, name: str = "") -> list[str]:
    """Return a list of the differences between two descriptions, as texts."""
    if isinstance(kept, dict) and isinstance(present, dict):
        keys = [*kept, *(key for key in present if key not in kept)]
        if "n_arms" in kept:  # files of earlier versions also have the clusters of arms that shared a counter
            keys = [key for key in keys if key != "clusters"]
        parts = (differences(kept.get(k), present.get(k), f"{name}.{k}" if name else k) for k in keys)
        return [text for part in parts for text in part]
    return [] if kept == present else [f"{name} {_short(kept)} in the file, {_short(present)} here"]


def _thing(value: Any, depth: int) -> Any:
    """Return the class name and the parameters of an object."""
    # Without the module, because a script that is imported later is no longer __main__.
    described = {"class": type(value).__name__}
    if isinstance(value, Oracle):
        # The standard properties of an oracle count, even if it does not keep its parameters.
        standard = ("n_arms", "alpha", "beta", "sense", "max_size")
        described |= {name: describe(getattr(value, name), depth + 1) for name in standard}
        described["repr"] = _name(value)
    if callable(getattr(value, "fit", None)):
        # Another version of the library may fit another model to the same data.
        described["library"] = library_of(value)
    for name, part in _parameters(value).items():
        # No learner depends on the clusters. Pickled copies of an oracle lack the graph of its constructor.
        if isinstance(value, Oracle) and (name == "clusters" or type(part).__name__ == "KeptGraph"):
            continue
        described[name.lstrip("_")] = describe(part, depth + 1)
    return described


def library_of(thing: object) -> str:
    """Return the package that defines the class of `thing`, with its version if it has one."""
    package = type(thing).__module__.partition(".")[0]
    version = getattr(sys.modules.get(package), "__version__", None)
    return package if version is None or is_own(type(thing)) else f"{package} {version}"


def _parameters(value: Any) -> dict[str, Any]:
    """Return the constructor arguments of `value` that it keeps as attributes.

    Other packages may store counters and caches in attributes, so the function takes only attributes with the
    name of a parameter of the constructor. Classes of this library exclude changing attributes from pickles.
    """
    if dataclasses.is_dataclass(value):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init}
    attributes = getattr(value, "__dict__", {})
    if is_own(type(value)):
        state = value.__getstate__()
        kept = state if isinstance(state, dict) else {}
        return {k: v for k, v in kept.items() if not _is_derived(type(value), k)}
    try:
        names = inspect.signature(type(value)).parameters
    except (TypeError, ValueError):
        names = {}  # type: ignore[assignment]
    found = {name: attributes.get(name, attributes.get(f"_{name}")) for name in names}
    return {name: part for name, part in found.items() if part is not None}


def _is_derived(cls: type, name: str) -> bool:
    """Return whether an attribute is a ``cached_property``."""
    return isinstance(inspect.getattr_static(cls, name, None), cached_property)


def _array(array: Any) -> Any:
    if array.size <= 8 and array.dtype.kind in "biuf":
        return describe(array.tolist())
    if array.dtype.kind == "O":
        return _hash_of_names(array.reshape(-1))
    # Normalise the byte order and the memory layout.
    plain = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<")))
    return f"{array.dtype.name}{list(array.shape)} {short_hash(plain.tobytes())}"


def _hash_of_names(labels: Iterable[Any]) -> str:
    return short_hash(repr(list(map(_name, labels))).encode())


def _name(label: Any) -> str:
    if type(label) is str and " at 0x" not in label:  # a text has no address, so the slow search is omitted
        return repr(label)
    return without_addresses(repr(label))


def _short(value: Any) -> str:
    text = str(value) if not isinstance(value, str) else value
    return text if len(text) <= 60 else text[:57] + "..."
