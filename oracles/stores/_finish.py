"""The last steps of a conversion: labels, parallel arcs, orders by node, and hashes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cmab.arrays import AnyArray, IntArray
from cmab.compiled.forms import call_kernel
from oracles.diffusion._memory import require_memory
from oracles.stores._checks import MOST, Rules
from oracles.stores.layout import TYPES, Header, array_file, hash_of, mapped
from oracles.stores.sources import Source

_CHUNK = 2**22


def finish(
    folder: Path,
    reader: Source,
    state: dict[str, Any],
    rules: Rules,
    file: Path,
    see: Callable[[str, float], None],
    spoil: Callable[[], None],
) -> None:
    """Complete a store whose arcs have been copied.

    Every step can be repeated after an interruption, but not the removal of repeated arcs: `spoil` records
    that a later call has to start again.
    """
    m = state["arcs"]
    if m > MOST:
        raise ValueError(f"{file} must have at most {MOST} arcs, got {m}")
    names = ["tails", "heads"]
    if array_file(folder, "probabilities").is_file():
        names.append("probabilities")
    lines = _Lines(reader, state["blocks"], rules, file)
    n = int(state.get("largest", -1)) + 1
    if rules.relabel:
        n = _relabel(folder, m, file, see)
        names.append("labels")
    require_memory(12 * m + 32 * n, f"the conversion of {m} arcs")
    kept = _order(folder, "in", "heads", "tails", m, n, see)
    if rules.duplicates != "keep":
        m = _without_repeats(folder, names, kept, m, n, lines, rules, spoil)
        if m < len(kept[1]):
            _order(folder, "in", "heads", "tails", m, n, see)
    del kept
    _order(folder, "out", "tails", "heads", m, n, see)
    names += [f"{side}_{part}" for side in ("in", "out") for part in ("offsets", "arms")]
    names += ["in_tails", "out_heads"]
    total = sum(array_file(folder, name).stat().st_size for name in names)
    done, hashes = 0, {}

    def count(n_bytes: int) -> None:
        nonlocal done
        done += n_bytes
        see("hash", done / total)

    for name in names:
        hashes[name] = hash_of(array_file(folder, name), count)
    for file_left in folder.glob("wide_*"):
        file_left.unlink()
    Header(n, m, hashes, {"file": str(file), **rules._asdict()}).write(folder)


def _write(folder: Path, name: str, values: AnyArray) -> None:
    array = np.ascontiguousarray(values, np.dtype(TYPES[name]))
    with _fresh(array_file(folder, name)).open("wb") as stream:
        stream.write(array.data)  # `tofile` would hide that the disk is full


def _fresh(file: Path) -> Path:
    """Remove a file, so that arrays that are mapped from it keep their content."""
    file.unlink(missing_ok=True)
    return file


def _order(
    folder: Path, side: str, by: str, other: str, m: int, n: int, see: Callable[[str, float], None]
) -> tuple[IntArray, AnyArray, AnyArray]:
    """Write the arcs in the order of one of their ends; return the offsets, arcs and other ends."""
    from oracles.diffusion._kernels_graph import order_by

    see(f"order {side}", 0.0)
    offsets, arms = call_kernel(order_by, mapped(folder, by, m), n)
    _write(folder, f"{side}_offsets", offsets)
    _write(folder, f"{side}_arms", arms)
    ends = mapped(folder, other, m)
    with _fresh(array_file(folder, f"{side}_{other}")).open("wb") as stream:
        for start in range(0, m, _CHUNK):
            stream.write(ends[arms[start : start + _CHUNK]].data)
            see(f"order {side}", min(1.0, (start + _CHUNK) / m))
    return offsets, arms, mapped(folder, f"{side}_{other}", m)


def _without_repeats(
    folder: Path,
    names: list[str],
    kept: tuple[IntArray, AnyArray, AnyArray],
    m: int,
    n: int,
    lines: _Lines,
    rules: Rules,
    spoil: Callable[[], None],
) -> int:
    """Return the number of arcs without those that occurred before, which are dropped or rejected."""
    from oracles.stores._kernels_stores import repeats

    again = repeats(*kept, n)
    if not again.any():
        return m
    if rules.duplicates == "error":
        arc = int(np.argmax(again))
        tails, heads = mapped(folder, "tails", m), mapped(folder, "heads", m)
        first = int(np.argmax((tails[:arc] == tails[arc]) & (heads[:arc] == heads[arc])))
        ends = f"{lines.id_of(folder, int(tails[arc]))} -> {lines.id_of(folder, int(heads[arc]))}"
        raise ValueError(
            f"{lines.of(arc)}: an arc must occur once, got {ends}, which {lines.short(first)} also has;"
            " duplicates='first' or 'keep' (`--duplicates first`) allows repeated arcs"
        )
    spoil()
    for name in names:
        if name != "labels":
            _write(folder, name, mapped(folder, name, m)[~again])
    return int(m - again.sum())


def _relabel(folder: Path, m: int, file: Path, see: Callable[[str, float], None]) -> int:
    """Replace 64-bit ids by node numbers in the order of the ids, and write the ids as labels."""
    wide = []
    for name in ("tails", "heads"):
        path, moved = array_file(folder, name), folder / f"wide_{name}.bin"
        if not moved.is_file():
            path.rename(moved)
        wide.append(np.memmap(moved, "<i8", "r", shape=(m,)))
    labels: AnyArray = np.empty(0, np.int64)
    for start in range(0, m, _CHUNK):
        for ids in wide:
            labels = np.union1d(labels, ids[start : start + _CHUNK])
        see("labels", min(1.0, (start + _CHUNK) / m))
    if len(labels) > MOST:
        raise ValueError(f"{file} must have at most {MOST} nodes, got {len(labels)}")
    _write(folder, "labels", labels)
    for name, ids in zip(("tails", "heads"), wide, strict=True):
        with array_file(folder, name).open("wb") as stream:
            for start in range(0, m, _CHUNK):
                numbers = np.searchsorted(labels, ids[start : start + _CHUNK])
                stream.write(numbers.astype(np.int32).data)
                see("numbers", min(1.0, (start + _CHUNK) / m))
    return len(labels)


class _Lines:
    """The lines of the source that arcs come from."""

    def __init__(self, reader: Source, blocks: list[list[int]], rules: Rules, file: Path) -> None:
        self._reader, self._blocks, self._file, self._rules = reader, blocks, file, rules
        self._each = 1 if rules.directed else 2

    def of(self, arc: int) -> str:
        """Return the place of an arc in the source."""
        return f"{self._file}, {self.short(arc)}"

    def short(self, arc: int) -> str:
        """Return the line or row of an arc; with dropped self-loops, its number only."""
        if self._rules.self_loops == "drop":
            return f"arc {arc}"
        first, position, rows = next(block for block in reversed(self._blocks) if block[0] <= arc)
        number = self._reader.row_of(position, rows, (arc - first) // self._each)
        return f"{self._reader.row_word} {number}"

    def id_of(self, folder: Path, node: int) -> int:
        """Return the id of a node in the source."""
        if not self._rules.relabel:
            return node
        return int(mapped(folder, "labels", array_file(folder, "labels").stat().st_size // 8)[node])
