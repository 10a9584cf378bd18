"""Feedback: the only thing that a learner learns from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cmab._validation import check_vector
from cmab.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Feedback:
    """What a round shows: the triggered base arms, their outcomes and the reward.

    Parameters
    ----------
    arms : IntArray, shape (n,)
        The base arms that were triggered: each at most once, those that were not observed left out.
    outcomes : FloatArray, shape (n,)
        Their outcomes; with `pulls`, the sum of the outcomes of each arm.
    reward : float, optional
        The realised reward of the round, ``nan`` where there is none.
    pulls : IntArray, shape (n,), optional
        How many outcomes of each arm are summed up (batches in pure exploration); one of each if left out.
    squares : FloatArray, shape (n,), optional
        Sums of the squared outcomes, needed by rules that use variances when `pulls` is given.

    Raises
    ------
    ValueError
        If lengths differ, an arm is repeated or negative, or an outcome is not finite.

    Examples
    --------
    >>> from cmab import Feedback
    >>> Feedback(arms=[3, 5], outcomes=[1.0, 0.0], reward=1.0).arms
    array([3, 5])
    """

    arms: IntArray
    outcomes: FloatArray
    reward: float = float("nan")
    pulls: IntArray | None = None
    squares: FloatArray | None = None

    @classmethod
    def unchecked(cls, arms: IntArray, outcomes: FloatArray, reward: float) -> Feedback:
        """Return feedback of arrays that are right by construction, without the checks (which sort the arms).

        For environments that write an int64 array of distinct arms and a float array of outcomes themselves.
        """
        feedback = object.__new__(cls)
        feedback.__dict__.update(arms=arms, outcomes=outcomes, reward=reward, pulls=None, squares=None)
        return feedback

    def __post_init__(self) -> None:
        arms = _arms(self.arms)
        object.__setattr__(self, "arms", arms)
        object.__setattr__(self, "outcomes", _numbers("outcomes", self.outcomes, arms.shape[0]))
        if self.squares is not None:
            object.__setattr__(self, "squares", _numbers("squares", self.squares, arms.shape[0]))
        if self.pulls is not None:
            pulls = np.asarray(self.pulls)
            if pulls.shape != arms.shape or pulls.dtype.kind not in "iu" or (pulls.size and pulls.min() < 1):
                raise ValueError(f"pulls must be positive integers, one for each arm, got {self.pulls!r}")
            object.__setattr__(self, "pulls", pulls.astype(np.int64, copy=False))


def _arms(values: IntArray) -> IntArray:
    arms = np.asarray(values)
    if arms.shape == (0,):
        return np.empty(0, np.int64)
    if arms.ndim != 1 or arms.dtype.kind not in "iu":
        raise ValueError(f"arms must be a 1-D integer array, got dtype {arms.dtype}, shape {arms.shape}")
    ordered = np.sort(arms)
    if ordered[0] < 0:
        raise ValueError(f"arms must not be negative, got {ordered[0]}")
    if arms.shape[0] > 1 and (ordered[1:] == ordered[:-1]).any():
        raise ValueError(f"arms must not repeat an arm, got {arms.tolist()[:20]}")
    return arms.astype(np.int64, copy=False)


def _numbers(name: str, values: FloatArray, length: int) -> FloatArray:
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, got {values!r}") from None
    check_vector(name, numbers, length)
    return numbers
