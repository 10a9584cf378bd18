"""Rows of integers in programs whose solver has tolerances: digits, so that no coefficient is large."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.validation import as_array, shown
from oracles.programs._mixed_integer import INTEGRAL

#: Integers up to this one are exact in double precision.
LARGEST = 2**53
# Rows with a larger capacity are divided into digits of this base. The tolerance of the solver, 1e-6 for each
# column, is far below one unit then.
_SHORT, _BASE_BITS = 2**20, 16

Row = tuple[IntArray, FloatArray, float, float]


def check_exact(name: str, values: ArrayLike) -> None:
    """Raise ``ValueError`` if an integer of `values` is above 2^53; floats of this size are accepted."""
    array = as_array(name, values)
    if array.dtype.kind not in "iufO" or not array.size or array.max() < LARGEST:
        return
    # numpy converts a list with integers above 2^63 to floats.
    entries = array if hasattr(values, "dtype") else np.asarray(values, dtype=object)
    for entry in entries.reshape(-1).tolist():
        if isinstance(entry, int) and entry > LARGEST:
            raise ValueError(
                f"{name} must be at most 2^53 for integers, which are exact, got {shown(entry)}; write a "
                "float if rounding is acceptable"
            )


class Rows(NamedTuple):
    """The rows of a packing problem; `is_whole` marks rows of integers, which are satisfied exactly."""

    sizes: FloatArray
    room: FloatArray
    is_whole: list[bool]

    @classmethod
    def of(cls, weights: FloatArray, capacities: FloatArray) -> Rows:
        """Return rows with integers unchanged, and the other rows as shares of their capacity."""
        sizes, room, is_whole = np.empty(weights.shape), np.empty(len(weights)), []
        for i, (row, most) in enumerate(zip(weights, capacities, strict=True)):
            whole = bool((row == np.floor(row)).all() and most <= LARGEST)
            most = np.floor(most) if whole else most
            # A weight above the capacity never fits, so its size is irrelevant.
            limited = np.minimum(row, max(most + 1.0, float(np.nextafter(most, np.inf))))
            sizes[i], room[i] = (limited, most) if whole else scaled_row(row, float(most))
            is_whole.append(whole)
        return cls(sizes, room, is_whole)

    def allow(self, row: int, arms: IntArray) -> bool:
        """Return whether arms fit into the capacity of one row."""
        if self.is_whole[row]:
            return sum(int(size) for size in self.sizes[row, arms].tolist()) <= int(self.room[row])
        used = float(self.sizes[row, arms].sum())
        return used <= float(self.room[row]) + INTEGRAL * (1.0 + used)

    def program(self, places: IntArray, first: int) -> tuple[list[Row], list[float]]:
        """Return the rows of a program, and the largest values of further integer columns, from `first` on.

        Column ``places[row, i]`` is arm i of the row. Let w = B w' + d and c = B c' + r, with d, r < B. Then
        ``w x <= c`` if and only if there is an integer q >= 0 with ``d x - B q <= r`` and ``w' x + q <= c'``.
        """
        found: list[Row] = []
        most: list[float] = []
        for arms, row, room, whole in zip(places, self.sizes, self.room, self.is_whole, strict=True):
            if not whole or room < _SHORT:
                found.append((arms, row, -np.inf, float(room)))
                continue
            left, above, carried = row.astype(np.int64), int(room), np.empty(0, np.int64)
            base = 2**_BASE_BITS
            while above >= base:
                carry = np.array([first + len(most)])
                digits = np.concatenate([left % base, np.ones(len(carried)), [-base]])
                found.append((np.concatenate([arms, carried, carry]), digits, -np.inf, float(above % base)))
                most.append(len(arms) + 1.0)
                left, above, carried = left // base, above // base, carry
            last = np.concatenate([left, np.ones(len(carried))])
            found.append((np.concatenate([arms, carried]), last, -np.inf, float(above)))
        return found, most


def scaled_row(weights: FloatArray, room: float) -> tuple[FloatArray, float]:
    """Return integers unchanged, other rows as fractions of the capacity: solver tolerances are absolute."""
    if (weights == np.floor(weights)).all() and room == np.floor(room) and room < 2**20:
        return np.minimum(weights, room + 1.0), room
    if room == 0.0:
        return (weights > 0.0).astype(np.float64), 0.0
    with np.errstate(over="ignore"):  # a weight that exceeds a tiny capacity never fits
        return np.minimum(weights / room, 2.0), 1.0
