"""Feedback: the only thing that a learner learns from."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.validation import arm_indices, as_array, check_vector, real_array, shown

#: Largest size of an outcome: squares of it can still be summed up over any number of rounds.
LARGEST = 1e100
#: Most pulls of one arm: the last count up to which all integers are exact as floats.
MOST_PULLS = 2**53
#: Largest number of a base arm: an array of so many would fill any memory.
MOST_ARMS = 2**48
# Up to here Python's lists are faster than numpy's calls.
_FEW = 40
_INTEGER, _REAL = np.dtype(np.int64), np.dtype(np.float64)
_AT_LEAST = {0: "not be negative", 1: "be positive integers"}


@dataclass(frozen=True, eq=False, init=False)
class Feedback:
    """What a round shows: the triggered base arms, their outcomes and the reward.

    Arrays are copied, so what the caller does to his own afterwards changes nothing.

    Parameters
    ----------
    arms : array_like of int, shape (n,)
        The base arms that were triggered: each at most once, those that were not observed left out.
    outcomes : array_like, shape (n,)
        Their outcomes, at most 1e100 in size; with `pulls`, the sum of the outcomes of each arm.
    reward : float, optional
        The realised reward of the round, ``nan`` where there is none.
    pulls : array_like of int, shape (n,), optional
        How many outcomes of each arm are summed up (batches in pure exploration); one of each if left out.
    squares : array_like, shape (n,), optional
        Sums of the squared outcomes, needed by rules that use variances when `pulls` is given.
    costs : array_like, shape (n, n_resources), optional
        What each of the arms used up of each resource, for rules with budgets.
    used : array_like, shape (n_resources,), optional
        What the round used up of each resource, one number a resource: the sums of `costs`, and what these do
        not tell. Left out it is unknown beyond them.

    Raises
    ------
    ValueError
        If lengths differ, an arm is repeated, negative or no integer, an outcome is not finite or too large,
        squares are less than their outcomes allow, costs are negative or not finite, less was used than they
        sum up to, or an array is masked.

    Examples
    --------
    >>> from cmab import Feedback
    >>> Feedback(arms=[3, 5], outcomes=[1.0, 0.0], reward=1.0).arms
    array([3, 5])
    """

    arms: IntArray
    outcomes: FloatArray
    reward: float
    pulls: IntArray | None
    squares: FloatArray | None
    # Of the class where there are none, so that rounds without resources cost no more than ever.
    costs: FloatArray | None = field(default=None, repr=False)
    used: FloatArray | None = field(default=None, repr=False)

    def __init__(
        self,
        arms: ArrayLike,
        outcomes: ArrayLike,
        *,
        reward: float = float("nan"),
        pulls: ArrayLike | None = None,
        squares: ArrayLike | None = None,
        costs: ArrayLike | None = None,
        used: ArrayLike | None = None,
    ) -> None:
        if costs is not None or used is not None:
            self.__dict__.update(_resources(costs, used, as_array("arms", arms).size))
        if pulls is None and squares is None and are_plain(arms, outcomes, MOST_ARMS + 1):
            self.__dict__.update(
                arms=np.array(arms),
                outcomes=np.array(outcomes),
                reward=reward if type(reward) is float and not math.isinf(reward) else _reward(reward),
                pulls=None,
                squares=None,
            )
            return
        checked = _integers("arms", arms, 0, MOST_ARMS)
        n = checked.shape[0]
        ordered = np.sort(checked)
        if n > 1 and (ordered[1:] == ordered[:-1]).any():
            raise ValueError(f"arms must not repeat an arm, got {shown(checked.tolist())}")
        each = None if pulls is None else _integers("pulls", pulls, 1, MOST_PULLS)
        if each is not None and each.shape != checked.shape:
            raise ValueError(f"pulls must be positive integers, one for each arm, got {shown(pulls)}")
        self.__dict__.update(
            arms=checked,
            outcomes=_numbers("outcomes", outcomes, n, LARGEST),
            reward=_reward(reward),
            pulls=each,
            squares=None if squares is None else _numbers("squares", squares, n, LARGEST**2),
        )
        if self.squares is not None:
            _check_squares(self.outcomes, self.squares, 1 if each is None else each)

    @classmethod
    def unchecked(cls, arms: IntArray, outcomes: FloatArray, reward: float) -> Feedback:
        """Return feedback of arrays that are right by construction, without copies and checks.

        For environments that write an int64 array of distinct arms and a float array of outcomes themselves.
        """
        feedback = object.__new__(cls)
        feedback.__dict__.update(arms=arms, outcomes=outcomes, reward=reward, pulls=None, squares=None)
        return feedback


def are_plain(arms: Any, outcomes: Any, n_arms: int, low: float = -LARGEST, high: float = LARGEST) -> bool:
    """Return whether these are arrays of a few distinct arms and their outcomes, all in ``[low, high]``.

    This is asked in every round, and on so few entries plain Python is the faster one.
    """
    if not (type(arms) is np.ndarray and type(outcomes) is np.ndarray and arms.shape == outcomes.shape):
        return False
    if not (arms.dtype is _INTEGER and outcomes.dtype is _REAL and arms.ndim == 1 and 0 < len(arms) <= _FEW):
        return False
    # Sorted once: the ends tell the range, and a set of them tells repeats.
    ordered = sorted(arms.tolist())
    if ordered[0] < 0 or ordered[-1] >= n_arms or len(set(ordered)) < len(ordered):
        return False
    values = outcomes.tolist()
    return low <= min(values) and max(values) <= high and not math.isnan(sum(values))


def lie_in(numbers: list[float], low: float, high: float) -> bool:
    """Return whether all numbers lie in an interval; none if one is nan, of which the sum is nan, too."""
    return low <= min(numbers) and max(numbers) <= high and not math.isnan(sum(numbers))


def _integers(name: str, values: ArrayLike, low: int, high: int) -> IntArray:
    """Return a copy as int64, after looking at the values as they came: a cast would wrap large ones."""
    if isinstance(values, np.ma.MaskedArray):
        raise ValueError(f"{name} must not be masked, got {shown(values)}: leave masked entries out")
    array = as_array(name, values)
    if array.shape == (0,):
        return np.empty(0, np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be a 1-D integer array, got dtype {array.dtype}, shape {array.shape}")
    smallest, largest = int(array.min()), int(array.max())
    if smallest < low:
        raise ValueError(f"{name} must {_AT_LEAST[low]}, got {smallest}")
    if largest > high:
        raise ValueError(f"{name} must be at most {high}, got {largest}")
    return np.array(array, np.int64)


def _numbers(name: str, values: ArrayLike, length: int, largest: float) -> FloatArray:
    if isinstance(values, np.ma.MaskedArray):
        raise ValueError(f"{name} must not be masked, got {shown(values)}: leave masked entries out")
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufO":  # texts, dates and complex numbers would be converted
            raise TypeError
        numbers = np.array(array, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be numbers, got {shown(values)}") from None
    check_vector(name, numbers, length)
    if numbers.shape[0] and max(-numbers.min(), numbers.max()) > largest:
        raise ValueError(f"{name} must be at most {largest:g} in size, got {shown(numbers.tolist())}")
    return numbers


def _check_squares(outcomes: FloatArray, squares: FloatArray, pulls: IntArray | int) -> None:
    """Raise unless the squares of as many outcomes can have these sums: at least sum**2 / number."""
    # Cauchy and Schwarz: the sum of n squares is at least the square of their sum, over n.
    least = outcomes**2 / pulls
    # Sums of n numbers are wrong by n roundings at most.
    good = squares * (1.0 + 1e-9 + 1e-15 * np.asarray(pulls)) >= least - 1e-300
    if not (good & (squares >= 0.0)).all():
        at = int(np.flatnonzero(~(good & (squares >= 0.0)))[0])
        raise ValueError(f"squares must be at least outcomes**2 / pulls, {least[at]:g}, got {squares[at]:g}")


def _resources(costs: ArrayLike | None, used: ArrayLike | None, n_arms: int) -> dict[str, FloatArray]:
    """Return copies of what was used up, refused where it cannot be."""
    found: dict[str, FloatArray] = {}
    for name, values, ndim in (("costs", costs, 2), ("used", used, 1)):
        if values is None:
            continue
        found[name] = np.array(real_array(name, values))
        if found[name].ndim != ndim or (ndim == 2 and len(found[name]) != n_arms):
            wanted = (
                f"of shape ({n_arms}, n_resources), a row for each arm"
                if ndim == 2
                else "a number a resource"
            )
            raise ValueError(f"{name} must be {wanted}, got shape {found[name].shape}")
        # NaN makes every comparison false, so the test is written for what is allowed.
        if not ((found[name] >= 0.0) & (found[name] <= LARGEST)).all():
            raise ValueError(f"{name} must lie in [0, {LARGEST:g}], got {shown(found[name].tolist())}")
    if len(found) == 2:
        sums = found["costs"].sum(axis=0)
        if sums.shape != found["used"].shape or (found["used"] < sums * (1.0 - 1e-12)).any():
            raise ValueError(f"used must be at least the sums of costs, {sums}, got {found['used']}")
    return found


def _reward(value: object) -> float:
    try:
        if isinstance(value, str | bytes | bool | np.bool_):  # which float() would take
            raise TypeError
        reward = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"reward must be a number, or nan where there is none, got {shown(value)}") from None
    if math.isinf(reward):
        raise ValueError(f"reward must be finite, or nan where there is none, got {reward}")
    return reward


def check_arrays(feedback: Feedback) -> None:
    """Raise unless arms and outcomes are arrays as the constructor makes them: some are made without it."""
    arms: Any = feedback.arms
    outcomes: Any = feedback.outcomes
    if not (
        isinstance(arms, np.ndarray)
        and isinstance(outcomes, np.ndarray)
        and arms.dtype == _INTEGER
        and outcomes.dtype == _REAL
        and arms.ndim == 1
        and arms.shape == outcomes.shape
    ):
        raise ValueError(
            "feedback must hold int64 arms and as many float64 outcomes, got"
            f" arms {shown(arms)} and outcomes {shown(outcomes)}"
        )


def check_told(feedback: Feedback) -> None:
    """Check again what the constructor checked: somebody may have written to it, or made it unchecked."""
    if feedback.costs is not None or feedback.used is not None:
        _resources(feedback.costs, feedback.used, len(feedback.arms))
    check_arrays(feedback)
    if feedback.pulls is None and feedback.squares is None:
        arm_indices("feedback.arms", feedback.arms, MOST_ARMS + 1)
        return  # outcomes are looked at where they are used
    Feedback(feedback.arms, feedback.outcomes, pulls=feedback.pulls, squares=feedback.squares)
    _reward(feedback.reward)


def check_outcomes(
    feedback: Feedback,
    support: tuple[float, float],
    whose: str = "the support that the learner is made for",
) -> None:
    """Raise unless every outcome can lie in `support`, but for rounding: of a batch its mean and squares."""
    low, high = support
    if low == -math.inf and high == math.inf:
        return
    few = feedback.pulls is None and feedback.squares is None and 0 < feedback.outcomes.shape[0] <= _FEW
    if few and lie_in(feedback.outcomes.tolist(), low, high):
        return
    pulls = 1 if feedback.pulls is None else feedback.pulls
    means = feedback.outcomes / pulls
    is_bounded = math.isfinite(high - low)
    slack = 1e-12 * (high - low) + 1e-15 * max(abs(low), abs(high)) if is_bounded else 0.0
    good = (means >= low - slack) & (means <= high + slack)  # not of nan
    if not good.all():
        raise ValueError(f"outcomes must lie in [{low:g}, {high:g}], {whose}, got {means[~good][0]:g}")
    if feedback.squares is not None and is_bounded:
        # Each outcome x in [low, high] has (x - low)(high - x) >= 0; so has the mean over a batch.
        squares = feedback.squares / pulls
        room = (low + high) * means - low * high - squares
        good = room >= -4e-12 * max(abs(low), abs(high)) ** 2
        if not good.all():
            raise ValueError(
                f"outcomes must lie in [{low:g}, {high:g}], {whose}, got a batch of mean {means[~good][0]:g}"
                f" and mean square {squares[~good][0]:g}"
            )
