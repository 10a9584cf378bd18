"""Mixed-integer feasible sets, and what a solver may say about one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray

INTEGRAL = 1e-6
# The largest cost that a solver sees is in [2^11, 2^12): its absolute tolerances become relative ones.
_EXPONENT = 12


class SolverError(RuntimeError):
    """A solver that is missing, ran out of time, or could not prove its answer optimal.

    Examples
    --------
    >>> from oracles import SolverError
    >>> issubclass(SolverError, RuntimeError)
    True
    """


class Outcome(NamedTuple):
    """What became of one program: column values, if any were found, and a bound on all.

    `bound` is in the units of the costs; where the program was stopped it may be infinite.
    """

    state: Literal["optimal", "infeasible", "stopped"]
    values: FloatArray | None
    bound: float


@dataclass(frozen=True, eq=False)
class FeasibleSet:
    """Rows, bounds and integrality of a program; `arms` names the binary columns that are base arms.

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
        """Number of columns, base arms and others."""
        return len(self.lower)

    def holds(self, values: FloatArray) -> bool:
        """Return whether column values keep all rows and bounds, to 1e-6."""
        rows = np.repeat(np.arange(len(self.row_lower)), np.diff(self.starts))
        activity = np.bincount(rows, self.coefficients * values[self.columns], minlength=len(self.row_lower))
        slack = INTEGRAL * (1 + np.abs(activity))
        inside = (values >= self.lower - INTEGRAL) & (values <= self.upper + INTEGRAL)
        kept = (activity >= self.row_lower - slack) & (activity <= self.row_upper + slack)
        return bool(inside.all() and kept.all())


def scaled(costs: FloatArray) -> tuple[FloatArray, int]:
    """Return `costs` times 2^e, of which the largest is in [2^11, 2^12), and e.

    A power of two loses no digit, so the answer for means of 1e-300 is that for means of 1. Only costs
    far below the largest are rounded, by less than 2^-1074.
    """
    largest = float(np.abs(costs).max(initial=0.0))
    exponent = _EXPONENT - int(np.frexp(largest)[1]) if largest > 0.0 else 0
    return np.ldexp(costs, exponent), exponent
