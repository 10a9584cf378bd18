"""Writing the state of a session to a file and reading it back, without pickle.

The file is a numpy archive, which ``numpy.load`` can read. Its zip comment, the last bytes of the file, is a
checksum of all bytes before. Files are untrusted: a loaded state must have the form of a fresh state.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import hashlib
import io
import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cmab._faults import told
from cmab.arrays import AnyArray
from cmab.saving._atomic import write_bytes
from cmab.validation import shown

_DIGITS = 64
#: Compression reduces the size at most by this factor. A file that declares a larger factor is invalid.
_WIDEST = 1100
_ATOMS = (type(None), bool, int, float, str)


def packed(header: dict[str, Any], state: Any, *, compressed: bool = True) -> bytes:
    """Return the contents of a file with `header` (JSON) and the dataclass `state`."""
    arrays: dict[str, AnyArray] = {}
    document = {"header": header, "state": _flatten(state, "state", arrays)}
    text = json.dumps(document, default=np.ndarray.tolist)  # some bit generators keep arrays
    buffer = io.BytesIO()
    # The archive can only hold arrays, so the text is stored as an array of bytes.
    letters = np.frombuffer(text.encode(), np.uint8)
    write = np.savez_compressed if compressed else np.savez
    write(buffer, allow_pickle=False, document=letters, **arrays)
    return seal(buffer.getvalue())


def save(to: Any, data: bytes) -> None:
    """Write data to a path, completely or not at all, or to a binary file object."""
    write = getattr(to, "write", None)
    if write is None:
        write_bytes(Path(to), data)
    elif isinstance(to, io.TextIOBase):
        raise TypeError(f"path must be a path or a file that is open for bytes, got {shown(to)}")
    else:
        write(data)


def seal(archive: bytes) -> bytes:
    """Return a zip file without a comment, with its checksum added as the comment."""
    # A zip file ends with the length of its comment, in two bytes, and the comment, which readers ignore.
    body = archive[:-2] + _DIGITS.to_bytes(2, "little")
    return body + hashlib.sha256(body).hexdigest().encode()


class File(NamedTuple):
    """The contents of a file: its path or another name, the header, and the parts of a state."""

    path: Any
    header: dict[str, Any]
    state: Any
    arrays: dict[str, AnyArray]


def read(source: Any) -> File:
    """Return the contents of a path, a binary file object or bytes that `save` wrote.

    Raises
    ------
    ValueError
        If `save` did not write them.
    """
    if isinstance(source, bytes | bytearray | memoryview):
        return unpacked("the bytes", bytes(source))
    if hasattr(source, "read"):
        data = source.read()
        if not isinstance(data, bytes):
            raise TypeError(f"path must be a path or a file that is open for bytes, got {shown(source)}")
        return unpacked("the file object", data)
    path = Path(source)
    if path.exists() and not path.is_file():  # reading a pipe may block
        raise ValueError(f"{path} must be a file that Session.save wrote, got a folder, pipe or device")
    with told(path):
        data = path.read_bytes()
    return unpacked(path, data)


def unpacked(path: Any, data: bytes) -> File:
    """Return the contents of a file that `packed` returned; `path` is its name in messages."""
    if not data.startswith(b"PK"):
        raise ValueError(f"{path} must be a file that Session.save wrote, got another format")
    # Check the checksum before unpacking, so that no part of a damaged file is used.
    if hashlib.sha256(data[:-_DIGITS]).hexdigest().encode() != data[-_DIGITS:]:
        raise ValueError(
            f"{path} must be a complete file that Session.save of this version wrote. Its checksum is missing"
            " or wrong, so it is damaged or has an older format; use the last valid copy"
        )
    with _refusing(path):
        return File(path, *_unpack(data))


def fill(file: File, template: Any) -> Any:
    """Return the state in a file, which must have the form of the fresh state `template`.

    Raises
    ------
    ValueError
        If a part is missing, has another type, or has an invalid value.
    """
    with _refusing(file.path):
        return _fill(template, file.state, file.arrays, "state")


@contextmanager
def _refusing(path: Any) -> Iterator[None]:
    """Raise ``ValueError`` with the path for invalid contents of a file with a valid checksum."""
    try:
        yield
    except _Wrong as wrong:
        raise ValueError(f"{path} must hold a state of this policy, got {wrong}") from None
    except Exception as error:
        raise ValueError(
            f"{path} must be a file that Session.save wrote, got {type(error).__name__} {shown(str(error))}"
        ) from None


class _Wrong(Exception):
    """Exception for a part of a file that does not fit the fresh state."""


def _unpack(data: bytes) -> tuple[dict[str, Any], Any, dict[str, AnyArray]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
        names = archive.namelist()
    # Readers differ in which of two entries with the same name they use.
    if len(set(names)) < len(names):
        raise _Wrong("two parts with the same name")
    # A small file may declare gigabytes, which would fill the memory.
    if size > _WIDEST * len(data):
        raise _Wrong(f"an archive of {size:,} bytes")
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    document = json.loads(arrays.pop("document").tobytes().decode())
    header = document["header"]
    if not isinstance(header, dict):
        raise _Wrong(f"a header of type {type(header).__name__}")
    return header, document["state"], arrays


def copied(state: Any) -> Any:
    """Return a deep copy, faster than `copy.deepcopy` for dataclasses of arrays and numbers."""
    kind = type(state)
    if kind in _ATOMS:
        return state
    if kind is np.ndarray and not state.dtype.hasobject:
        return state.copy()
    if not dataclasses.is_dataclass(kind) or hasattr(kind, "__slots__"):
        return copy.deepcopy(state)
    # A subclass of the dataclass may have attributes that are not fields.
    twin = object.__new__(kind)
    parts = twin.__dict__
    for name, part in state.__dict__.items():
        if type(part) is np.ndarray and not part.dtype.hasobject:
            parts[name] = part.copy()
        else:
            parts[name] = part if type(part) in _ATOMS else copied(part)
    return twin


def _flatten(value: Any, name: str, arrays: dict[str, AnyArray]) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        _refuse_other_attributes(value, names, name)
        parts = {part: _flatten(getattr(value, part), f"{name}.{part}", arrays) for part in names}
        return {"kind": "dataclass", "fields": parts}
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise ValueError(f"{name} must hold numbers or strings of fixed length, got dtype {value.dtype}")
        arrays[name] = value
        return {"kind": "array", "name": name}
    if isinstance(value, list | tuple):
        parts_list = [_flatten(part, f"{name}.{i}", arrays) for i, part in enumerate(value)]
        return {"kind": type(value).__name__, "items": parts_list}
    if value is None or isinstance(value, bool | int | float | str):
        return {"kind": "plain", "value": value}
    if isinstance(value, np.generic):
        return {"kind": "plain", "value": value.item()}
    raise ValueError(f"{name} must be a dataclass, array, list, number or string, got {type(value)}")


def _refuse_other_attributes(value: Any, names: list[str], name: str) -> None:
    """Raise ``ValueError`` if a dataclass has attributes that are not fields: a file would lose them."""
    kind = type(value)
    # Names with an underscore are caches, which the loaded state computes again.
    others = [one for one in getattr(value, "__dict__", {}) if one not in names and not one.startswith("_")]
    lost = [one for one in others if not isinstance(getattr(kind, one, None), functools.cached_property)]
    if lost:
        raise ValueError(
            f"{name} must have all its attributes as fields of the dataclass {kind.__name__}, because a file"
            f" has no others, got also {', '.join(lost)}; declare each as a field `name: type`"
        )


def _fill(template: Any, node: Any, arrays: dict[str, AnyArray], name: str) -> Any:
    """Return the value of `node` in the form of `template`. None in `template` accepts any value."""
    kind = node["kind"]
    if kind == "dataclass":
        return _fill_fields(template, node["fields"], arrays, name)
    if dataclasses.is_dataclass(template):
        raise _Wrong(f"{name} without fields")
    if kind == "array":
        return _filled_array(template, arrays[node["name"]], name)
    if kind == "plain":
        value = node["value"]
        if template is not None and _sort(value) != _sort(template):
            raise _Wrong(f"{name} = {value!r} in place of {_sort(template)}")
        return value
    # A named tuple, whose class only the fresh state tells.
    is_named = isinstance(template, tuple) and hasattr(template, "_make")
    if (kind not in ("list", "tuple") and not is_named) or (
        template is not None and type(template).__name__ != kind
    ):
        raise _Wrong(f"{name} of kind {kind}")
    if is_named and len(node["items"]) != len(template):
        raise _Wrong(f"{name} of {len(node['items'])} entries in place of {len(template)}")
    known = () if template is None else template
    # A list may be longer than in the fresh state. Its further entries may have any form.
    padded = [*known, *[None] * len(node["items"])]
    parts = [
        _fill(like, item, arrays, f"{name}.{i}")
        for i, (like, item) in enumerate(zip(padded, node["items"], strict=False))
    ]
    if is_named:
        return type(template)._make(parts)
    return parts if kind == "list" else tuple(parts)


def _fill_fields(template: Any, fields: dict[str, Any], arrays: dict[str, AnyArray], name: str) -> Any:
    names = (
        [field.name for field in dataclasses.fields(template)] if dataclasses.is_dataclass(template) else []
    )
    if set(fields) - set(names) == {"clusters"}:
        fields, arrays = _one_counter_an_arm(fields, arrays)
    if set(names) != set(fields):
        raise _Wrong(f"{name} with fields {sorted(fields)}, not those of {type(template).__name__}")
    values = {part: _fill(getattr(template, part), fields[part], arrays, f"{name}.{part}") for part in names}
    # Do not call `__init__`, which may have other arguments than the fields, and side effects.
    filled = object.__new__(type(template))
    for part, value in values.items():
        object.__setattr__(filled, part, value)
    if hasattr(filled, "check"):
        try:
            filled.check(template)
        except ValueError as error:
            raise _Wrong(f"{name}: {error}") from None
    return filled


def _one_counter_an_arm(
    fields: dict[str, Any], arrays: dict[str, AnyArray]
) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return a state of an earlier version, in which arms shared counters, with one counter per arm."""
    fields = dict(fields)
    sharing = fields.pop("clusters")
    if sharing["kind"] != "array":
        return fields, arrays
    owners, arrays = arrays[sharing["name"]], dict(arrays)
    if owners.dtype != np.int64 or owners.ndim != 1 or owners.min(initial=0) < 0:
        raise _Wrong("clusters that are not nonnegative integers")
    for part in ("counters", "solved_counters"):
        if part in fields:
            name = fields[part]["name"]
            arrays[name] = arrays[name][owners]
    return fields, arrays


def _filled_array(template: Any, array: AnyArray, name: str) -> AnyArray:
    if isinstance(template, np.ndarray) and (array.dtype, array.ndim) != (template.dtype, template.ndim):
        raise _Wrong(
            f"{name} of dtype {array.dtype} and shape {array.shape} in place of {template.dtype} and"
            f" {template.shape}"
        )
    if template is not None and not isinstance(template, np.ndarray):
        raise _Wrong(f"{name}, an array, in place of {_sort(template)}")
    return np.array(array, order="C")  # compiled code requires C order and writeable arrays


def _sort(value: Any) -> str:
    if value is None or isinstance(value, bool | str):
        return type(value).__name__
    return "a number" if isinstance(value, int | float | np.number) else type(value).__name__
