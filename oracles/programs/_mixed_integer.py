"""Mixed-integer feasible sets, and the outcomes of solvers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray

INTEGRAL = 1e-6
# Scaled costs have their largest value in [2^11, 2^12), so the solver's absolute tolerances become relative.
_EXPONENT = 12


class Outcome(NamedTuple):
    """The result for one program: column values, if any were found, and a bound on the optimal value.

    `bound` is in the units of the costs. If the solver was stopped, the bound may be infinite.
    """

    state: Literal["optimal", "infeasible", "stopped"]
    values: FloatArray | None
    bound: float


@dataclass(frozen=True, eq=False)
class FeasibleSet:
    """Rows, bounds and integrality of a program; `arms` has the binary columns that are base arms.

    Row r holds ``columns[starts[r]:starts[r + 1]]`` with their coefficients.
    """

    arms: IntArray
    lower: FloatArray
    upper: FloatArray
    integral: BoolArray
    starts: IntArray
    columns: IntArray
    coefficients: FloatArray
    row_lower: FloatArray
    row_upper: FloatArray

    @property
    def n_columns(self) -> int:
        """The number of columns, including columns that are not base arms."""
        return len(self.lower)

    @cached_property
    def _is_whole(self) -> BoolArray:
        """Whether a row has only integers and integer columns, and sums that double precision represents."""
        rows = np.repeat(np.arange(len(self.row_lower)), np.diff(self.starts))
        fine = self.integral[self.columns] & (self.coefficients == np.floor(self.coefficients))
        most = np.maximum(np.abs(self.lower), np.abs(self.upper))[self.columns]
        sums = np.bincount(rows, np.abs(self.coefficients) * most, minlength=len(self.row_lower))
        broken = np.bincount(rows, ~fine, minlength=len(self.row_lower))
        is_whole: BoolArray = (broken == 0) & (sums < 2.0**53)
        return is_whole

    def holds(self, values: FloatArray) -> bool:
        """Return whether the column values satisfy all rows and bounds, up to 1e-6.

        Rows of integers over integer columns must be satisfied exactly.
        """
        rows = np.repeat(np.arange(len(self.row_lower)), np.diff(self.starts))
        activity = np.bincount(rows, self.coefficients * values[self.columns], minlength=len(self.row_lower))
        slack = INTEGRAL * (1 + np.abs(activity))
        # Integers have a distance of at least 1.
        slack = np.where(self._is_whole, np.minimum(slack, 0.5), slack)
        inside = (values >= self.lower - INTEGRAL) & (values <= self.upper + INTEGRAL)
        kept = (activity >= self.row_lower - slack) & (activity <= self.row_upper + slack)
        return bool(inside.all() and kept.all())


def rows_of(
    n_columns: int, rows: Iterable[tuple[IntArray, FloatArray, float, float]], most: Sequence[float] = ()
) -> FeasibleSet:
    """Return the 0-1 vectors of `n_columns` base arms that satisfy rows (columns, coefficients, low, high).

    `most` has the largest values of further integer columns, which are not base arms.
    """
    listed = list(rows)
    sizes = [len(arms) for arms, *_ in listed]
    return FeasibleSet(
        np.arange(n_columns),
        np.zeros(n_columns + len(most)),
        np.concatenate((np.ones(n_columns), most)),
        np.ones(n_columns + len(most), bool),
        np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))),
        np.concatenate([arms for arms, *_ in listed]).astype(np.int64),
        np.concatenate([coefficients for _, coefficients, *_ in listed]).astype(np.float64),
        np.array([low for *_, low, _ in listed], np.float64),
        np.array([high for *_, high in listed], np.float64),
    )


def scaled(costs: FloatArray) -> tuple[FloatArray, int]:
    """Return `costs` times 2^e and e, where the largest result is in [2^11, 2^12).

    Scaling by a power of two is exact, so means of size 1e-300 give the same answer as means of size 1. Only
    costs far below the largest are rounded, by less than 2^-1074.
    """
    largest = float(np.abs(costs).max(initial=0.0))
    exponent = _EXPONENT - int(np.frexp(largest)[1]) if largest > 0.0 else 0
    return np.ldexp(costs, exponent), exponent


def unscaled(value: float, exponent: int) -> float:
    """Return ``value * 2**-exponent``, the inverse of `scaled`; infinite beyond the largest number."""
    with np.errstate(over="ignore"):
        return float(np.ldexp(value, -exponent))
