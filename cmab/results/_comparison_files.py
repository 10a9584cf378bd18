"""The file of a comparison: an archive of numpy without pickle, checked when it is read."""

from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cmab.archive import write_bytes
from cmab.results._columns import ENTRIES
from cmab.results.identification import Identification
from cmab.results.simulation import Simulation
from cmab.validation import shown

_FORMAT = 1
_KINDS: dict[str, type[Simulation | Identification]] = {"learners": Simulation, "explorers": Identification}
_HEADER = "header"
# States and the goals of certificates are instances of classes that a reader may not have.
_LEFT_OUT = {"states", "certificates"}


def write(
    path: Path, kind: str, results: Mapping[str, Simulation | Identification], said: Mapping[str, Any]
) -> None:
    """Write results by name and the other values in `said` to one file, atomically."""
    arrays: dict[str, Any] = {}
    kept: dict[str, dict[str, Any]] = {}
    for number, (name, result) in enumerate(results.items()):
        kept[name] = {}
        for field in dataclasses.fields(result):
            value = getattr(result, field.name)
            if field.name in _LEFT_OUT:
                continue
            if isinstance(value, np.ndarray):
                arrays[f"{number}.{field.name}"] = value
            else:
                kept[name][field.name] = value
    header = {"format": _FORMAT, "kind": kind, "results": kept, "said": said}
    letters = np.frombuffer(json.dumps(header, default=lambda value: value.tolist()).encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **{_HEADER: letters}, **arrays)
    write_bytes(path, buffer.getvalue())


def read(path: Path) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Return the kind, the results and the other values of a file that `write` wrote.

    Raises
    ------
    ValueError
        If `path` is not such a file.
    """
    data = io.BytesIO(path.read_bytes())
    try:
        with np.load(data, allow_pickle=False) as archive:
            header = json.loads(archive[_HEADER].tobytes())
            arrays = {name: archive[name] for name in archive.files if name != _HEADER}
        if header["format"] != _FORMAT:
            raise ValueError(f"format {shown(header['format'])}")
        results = {}
        for number, (name, plain) in enumerate(header["results"].items()):
            start = f"{number}."
            own = {key.removeprefix(start): each for key, each in arrays.items() if key.startswith(start)}
            # Super arms have different lengths, so they are lists.
            lists = {
                key: [np.array(arm, ENTRIES.get(key, np.int64)) for arm in v]
                for key, v in plain.items()
                if type(v) is list
            }
            results[name] = _KINDS[header["kind"]](**plain | lists | own)
        return header["kind"], results, header["said"]
    except Exception as error:  # the file may come from anyone, or be damaged
        got = f"{type(error).__name__} {shown(str(error))}"
        raise ValueError(f"{path} must be a file written by Comparison.save, got {got}") from None
