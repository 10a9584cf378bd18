"""Writing the state of a session to a file and reading it back, without pickle."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from cmab.arrays import AnyArray


def save(path: Path, header: dict[str, Any], state: Any) -> None:
    """Write `header` (JSON) and the dataclass `state` to `path`, all or nothing."""
    arrays: dict[str, AnyArray] = {}
    document = {"header": header, "state": _flatten(state, "state", arrays)}
    text = json.dumps(document, default=np.ndarray.tolist)  # some bit generators keep arrays
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with temporary.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, document=np.array(text), **arrays)
    temporary.replace(path)


def load(path: Path, template: Any) -> tuple[dict[str, Any], Any]:
    """Read what `save` wrote; `template` is a state of the same classes, which is filled and returned."""
    with np.load(path, allow_pickle=False) as archive:
        document = json.loads(str(archive["document"]))
        arrays = {name: archive[name] for name in archive.files if name != "document"}
    return document["header"], _fill(template, document["state"], arrays)


def _flatten(value: Any, name: str, arrays: dict[str, AnyArray]) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        parts = {part: _flatten(getattr(value, part), f"{name}.{part}", arrays) for part in names}
        return {"kind": "dataclass", "fields": parts}
    if isinstance(value, np.ndarray):
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


def _fill(template: Any, node: dict[str, Any], arrays: dict[str, AnyArray]) -> Any:
    kind = node["kind"]
    if kind == "array":
        return arrays[node["name"]]
    if kind == "plain":
        return node["value"]
    if kind in ("list", "tuple"):
        known = template if isinstance(template, list | tuple) else ()
        padded = [*known, *[None] * len(node["items"])]
        parts = [_fill(like, item, arrays) for like, item in zip(padded, node["items"], strict=False)]
        return parts if kind == "list" else tuple(parts)
    known_fields = (
        {f.name for f in dataclasses.fields(template)} if dataclasses.is_dataclass(template) else set()
    )
    if known_fields != set(node["fields"]):
        raise ValueError(
            f"the saved state has fields {sorted(node['fields'])}, not those of {type(template)}"
        )
    for field, part in node["fields"].items():
        object.__setattr__(template, field, _fill(getattr(template, field), part, arrays))
    return template
