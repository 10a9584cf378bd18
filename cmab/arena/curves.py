"""The problems and curves of standings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cmab.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class Played:
    """A problem as it was played: the facts of `Problem` that tables and pages show."""

    name: str
    kind: str
    source: str
    held_out: bool
    horizon: int
    batch: int = 1
    is_late: bool = False


@dataclass(frozen=True, eq=False)
class Curves:
    """The replications of an entry on a problem.

    Attributes
    ----------
    rounds : IntArray, shape (C,)
        The checkpoints.
    regret, worth : FloatArray, shape (R, C)
        Cumulative regret, and cumulative benchmark, as in `Match`.
    seconds : FloatArray, shape (R,)
        Seconds of each replication.
    """

    rounds: IntArray
    regret: FloatArray
    worth: FloatArray
    seconds: FloatArray

    @property
    def ends(self) -> IntArray:
        """The positions of the checkpoint after a tenth of the rounds and of the last one."""
        tenth = int(self.rounds[-1]) // 10
        return np.array([int(np.searchsorted(self.rounds, tenth)), len(self.rounds) - 1])
