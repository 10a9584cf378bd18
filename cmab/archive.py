"""Archives: a document and arrays in one ``.npz`` file without pickle, for sessions, snapshots and results.

A policy is not stored but described by its import path and its parameters, so that a reader can compare.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import math
import os
import re
import secrets
import zipfile
import zlib
from collections.abc import Mapping, Sequence, Set
from functools import cached_property
from operator import methodcaller
from pathlib import Path
from typing import Any

import numpy as np

from cmab.arrays import AnyArray
from cmab.oracle import Oracle
from cmab.validation import shown

_ATOMS = (type(None), bool, int, float, str)
#: Compression reduces the size at most by this factor. A file that declares a larger factor is invalid.
_WIDEST = 1100
#: The errors of numpy and zipfile for a damaged archive.
_DAMAGE = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError)
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
#: The properties of an oracle that count, even if it does not keep its parameters.
_STANDARD = ("n_arms", "n_choices", "alpha", "beta", "sense", "max_size")


def packed(document: Any, arrays: Mapping[str, AnyArray], *, compressed: bool = True) -> bytes:
    """Return the bytes of an archive with a document of JSON values and some arrays."""
    buffer = io.BytesIO()
    # The archive can only hold arrays, so the text is stored as an array of bytes.
    text = np.frombuffer(json.dumps(document, default=methodcaller("tolist")).encode(), np.uint8)
    (np.savez_compressed if compressed else np.savez)(buffer, allow_pickle=False, document=text, **arrays)
    return buffer.getvalue()


def unpacked(data: bytes, name: object = "the archive") -> tuple[Any, dict[str, AnyArray]]:
    """Return the document and the arrays of an archive.

    Raises
    ------
    ValueError
        If the bytes are no archive, or are damaged. The archive has a checksum of each part.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size > _WIDEST * len(data):
            raise ValueError(f"{size:,} unpacked bytes")
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
        return json.loads(arrays.pop("document").tobytes().decode()), arrays
    except (*_DAMAGE, ValueError, KeyError, EOFError, OSError) as error:
        raise ValueError(
            f"{name} must be a whole archive of cmab, got {shown(str(error))}; use the last valid copy"
        ) from None


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write `data` to `path` completely or not at all, and replace an existing file.

    If the process is killed, a temporary file may remain, whose name begins with a dot and ends with
    ``.part``.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name[:80]}.{secrets.token_hex(8)}.part")
    try:
        with temporary.open("xb") as file:
            if target.exists():
                temporary.chmod(target.stat().st_mode & 0o777)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def flattened(value: Any, name: str, arrays: dict[str, AnyArray]) -> Any:
    """Return a state as JSON values, and add its arrays to `arrays`.

    Raises
    ------
    ValueError
        If a part is neither a dataclass, an array, a list, a number nor a text.
    """
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        arrays[name] = value
        return {"array": name}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return {"fields": {one: flattened(getattr(value, one), f"{name}.{one}", arrays) for one in names}}
    if isinstance(value, list | tuple):
        parts = [flattened(part, f"{name}.{at}", arrays) for at, part in enumerate(value)]
        return {type(value).__name__: parts}
    value = value.item() if isinstance(value, np.generic) else value
    if type(value) not in _ATOMS:
        raise ValueError(f"{name} must be a dataclass, array, list, number or string, got {shown(value)}")
    return {"plain": value}


def filled(template: Any, node: Any, arrays: Mapping[str, AnyArray], name: str = "state") -> Any:
    """Return the state of `flattened` in the form of a fresh state; None in `template` accepts any value.

    Raises
    ------
    ValueError
        If a part is missing, or the state finds itself invalid (`check`).
    """
    (kind, content), *_ = node.items()
    if kind == "fields":
        if not dataclasses.is_dataclass(template) or set(content) != {
            f.name for f in dataclasses.fields(template)
        }:
            raise ValueError(f"{name} must have the fields of {type(template).__name__}, got {list(content)}")
        # Do not call `__init__`, which may have other arguments than the fields.
        state = object.__new__(type(template))
        for part, value in content.items():
            like = getattr(template, part)
            object.__setattr__(state, part, filled(like, value, arrays, f"{name}.{part}"))
        if hasattr(state, "check"):
            state.check(template)
        return state
    if kind == "array":
        array = np.array(arrays[content], order="C")  # compiled code requires C order and writeable arrays
        if isinstance(template, np.ndarray) and (array.dtype, array.ndim) != (template.dtype, template.ndim):
            raise ValueError(f"{name} must be like {shown(template)}, got {array.dtype}{list(array.shape)}")
        return array
    if kind == "plain":
        return content
    # A list may be longer than in the fresh state. Its further entries may have any form.
    likes = [*(template or ()), *[None] * len(content)]
    parts = [
        filled(like, part, arrays, f"{name}.{at}")
        for at, (like, part) in enumerate(zip(likes, content, strict=False))
    ]
    if hasattr(template, "_make"):
        return template._make(parts)
    return parts if kind == "list" else tuple(parts)


def generator_state(rng: np.random.Generator) -> dict[str, Any]:
    """Return the state of a generator of numpy and its seed sequence, as values for an archive."""
    seeds = rng.bit_generator.seed_seq
    kept = dict(seeds.state) if isinstance(seeds, np.random.SeedSequence) else None
    return {"state": dict(rng.bit_generator.state), "seeds": kept}


def generator_from(kept: Mapping[str, Any]) -> np.random.Generator:
    """Return the generator of `generator_state`; raise ``ValueError`` if its state is invalid."""
    kind = getattr(np.random, str(kept["state"].get("bit_generator")), None)
    if not (isinstance(kind, type) and issubclass(kind, np.random.BitGenerator)):
        raise ValueError(f"rng must use a bit generator of numpy, got {shown(kept['state'])}")
    seeds = kept["seeds"]
    bits = kind(np.random.SeedSequence(**{**seeds, "spawn_key": tuple(seeds["spawn_key"])}) if seeds else 0)
    bits.state = kept["state"]
    return np.random.Generator(bits)


def described(policy: Any) -> dict[str, Any]:
    """Return the import path and the parameters of a policy and of its oracle, as JSON values."""
    return dict(_described(policy, 0))


def labels_hash(labels: Sequence[Any]) -> str:
    """Return a hash of names in their order."""
    return _hash(repr([_text(label) for label in labels]).encode())


def differences(kept: Any, present: Any, name: str = "") -> list[str]:
    """Return the differences between two descriptions as texts."""
    if isinstance(kept, dict) and isinstance(present, dict):
        keys = dict.fromkeys([*kept, *present])
        parts = (differences(kept.get(k), present.get(k), f"{name}.{k}" if name else k) for k in keys)
        return [text for part in parts for text in part]
    return [] if kept == present else [f"{name} {shown(kept)} in the file, {shown(present)} here"]


def _described(value: Any, depth: int) -> Any:
    """Return a value that is equal in all processes for equal objects."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float | np.generic):
        number = value.item() if isinstance(value, np.generic) else value
        return repr(number) if isinstance(number, float) and not math.isfinite(number) else number
    if isinstance(value, np.ndarray):
        small = value.size <= 8 and value.dtype.kind in "biuf"
        return value.tolist() if small else f"{value.dtype}{list(value.shape)} {_hash(value.tobytes())}"
    if isinstance(value, Mapping):
        pairs = [[_text(key), _described(entry, depth + 1)] for key, entry in value.items()]
        return sorted(pairs, key=lambda pair: pair[0])
    if isinstance(value, Set):
        return sorted(map(_text, value))
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        parts = [_described(entry, depth + 1) for entry in value]
        return parts if len(parts) <= 20 else _hash(repr(parts).encode())
    if callable(value) and hasattr(value, "__qualname__"):
        return value.__qualname__
    return {"class": _path(type(value))} | ({} if depth > 6 else _parameters(value, depth))


def _path(kind: type) -> str:
    # A script that is imported later is no longer __main__.
    return kind.__qualname__ if kind.__module__ == "__main__" else f"{kind.__module__}:{kind.__qualname__}"


def _parameters(value: Any, depth: int) -> dict[str, Any]:
    """Return the fields of a dataclass, or the plain public attributes of another object."""
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value) if field.init]
        return {name: _described(getattr(value, name), depth + 1) for name in names}
    found = {}
    if isinstance(value, Oracle):
        found = {name: _described(getattr(value, name), depth + 1) for name in _STANDARD}
    for name, part in getattr(value, "__dict__", {}).items():
        is_cache = name.startswith("_") or isinstance(getattr(type(value), name, None), cached_property)
        is_inner = isinstance(value, Oracle) and isinstance(part, Oracle)
        if is_inner or (not is_cache and isinstance(part, (*_ATOMS, np.ndarray, np.generic))):
            found[name] = _described(part, depth + 1)
    return found


def _text(value: Any) -> str:
    return _ADDRESS.sub("", repr(value))


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
