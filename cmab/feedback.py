"""A round: its context before the choice, its ticket, and its feedback, from which learners update."""

from __future__ import annotations

import math
from collections.abc import Iterator
from copy import copy
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from cmab.arrays import AnyArray, ArrayLike, BoolArray, FloatArray, IntArray
from cmab.validation import as_array, real_array, shown, vector


@dataclass(frozen=True, eq=False)
class Context:
    """Information on a round that is known before the choice. Every part is optional.

    Arrays are copied, and the copies are read-only, because the environment, the ticket and all learners
    share one context.

    Attributes
    ----------
    available : BoolArray or None, shape (n_choices,)
        Whether each entry may be part of a super arm in this round; None if all may.
    features : FloatArray or None, shape (n_arms, d)
        Features of each base arm. Arrays of ``float32`` are kept in this type, which halves the time of a
        round of the linear policies with many arms.
    values : FloatArray or None, shape (n_arms,)
        Value of one unit of outcome of each base arm in this round, such as a price or a length; None for 1.
    costs : FloatArray or None, shape (n_arms,)
        Cost of each base arm in this round, independent of its outcome; None for 0.

    Raises
    ------
    ValueError
        If an array has a wrong number of dimensions, `available` is not an array of booleans, or a number is
        not finite.

    Examples
    --------
    >>> from cmab import Context
    >>> Context(available=[True, False, True]).parts
    ('available',)
    """

    available: BoolArray | None = None
    features: FloatArray | None = None
    _: KW_ONLY
    values: FloatArray | None = None
    costs: FloatArray | None = None

    if TYPE_CHECKING:  # the arguments may be array_like

        def __init__(
            self,
            available: ArrayLike | None = None,
            features: ArrayLike | None = None,
            *,
            values: ArrayLike | None = None,
            costs: ArrayLike | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "available", _flags(self.available))
        features = _numbers("features", self.features, 2)
        object.__setattr__(self, "features", features)
        # Policies compare it with their bound in every round.
        object.__setattr__(self, "_longest", 0.0 if features is None else _longest(features))
        object.__setattr__(self, "values", _numbers("values", self.values, 1))
        object.__setattr__(self, "costs", _numbers("costs", self.costs, 1))

    def __repr__(self) -> str:
        parts = (f"{name} of shape {getattr(self, name).shape}" for name in self.parts)
        return f"Context({', '.join(parts)})"

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Pickled and copied arrays are writeable again.
        self.__dict__.update(state)
        for name in self.parts:
            getattr(self, name).setflags(write=False)

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the parts that are given."""
        return tuple(name for name in _PARTS if getattr(self, name) is not None)

    def check(self, n_arms: int, n_choices: int) -> None:
        """Raise ``ValueError`` unless the arrays have `n_choices` or `n_arms` rows."""
        for name in self.parts:
            part, length = getattr(self, name), n_choices if name == "available" else n_arms
            if len(part) != length:
                raise ValueError(f"context.{name} must have {length} rows, got shape {part.shape}")

    def worth(self, means: FloatArray, sense: Literal["max", "min"] = "max") -> FloatArray:
        """Return ``mean x value - cost`` of each arm in this round.

        Parameters
        ----------
        means : FloatArray, shape (n_arms,)
            Means of the arms, or indices.
        sense : {"max", "min"}
            The sense of the oracle. For ``"min"``, means are costs themselves, so `costs` are added.

        Returns
        -------
        FloatArray, shape (n_arms,)
            `means` itself if the context has neither values nor costs.

        Examples
        --------
        >>> import numpy as np
        >>> from cmab import Context
        >>> Context(values=[10.0, 2.0], costs=[1.0, 0.0]).worth(np.array([0.5, 0.5]))
        array([4., 1.])
        """
        worth = means if self.values is None else means * self.values
        if self.costs is None:
            return worth
        return worth - self.costs if sense == "max" else worth + self.costs


# The order of the parts in messages.
_PARTS = ("available", "features", "values", "costs")


def _flags(values: ArrayLike | None) -> BoolArray | None:
    if values is None:
        return None
    array = as_array("available", values)
    masked = isinstance(values, np.ma.MaskedArray)
    if masked or array.ndim != 1 or array.dtype != np.bool_:
        raise ValueError(f"available must be a 1-D array of booleans, got {shown(values)}")
    return _frozen(np.array(array))


def _numbers(name: str, values: ArrayLike | None, ndim: int) -> FloatArray | None:
    if values is None:
        return None
    is_single = ndim == 2 and type(values) is np.ndarray and values.dtype == np.float32
    array: AnyArray = np.array(values if is_single else real_array(name, values), order="C")
    if array.ndim != ndim:
        raise ValueError(f"{name} must be a {ndim}-D array, got shape {array.shape}")
    # The sum is not finite if an entry is not, and takes less time than a test of each entry.
    if not math.isfinite(float(array.sum())) and not np.isfinite(array).all():
        place = tuple(np.argwhere(~np.isfinite(array))[0].tolist())
        raise ValueError(
            f"{name} must be finite, got {float(array[place])} in row {place[0]}; write 0 for an unknown"
            " number, and exclude the arm by `available` if the learner should not use it"
        )
    return _frozen(array)


def _longest(features: AnyArray) -> float:
    """Return the largest Euclidean norm of a row."""
    with np.errstate(over="ignore"):
        squares = np.einsum("ij,ij->i", features, features)
        if not math.isfinite(float(squares.max(initial=0.0))):  # overflow in single precision
            squares = np.einsum("ij,ij->i", features, features, dtype=np.float64)
    return math.sqrt(squares.max(initial=0.0))


def _frozen(array: AnyArray) -> AnyArray:
    array.setflags(write=False)
    return array


#: Largest absolute value of an outcome. Sums of its squares stay finite over any number of rounds.
LARGEST = 1e100
#: Largest number of pulls of one arm. All integers up to it are exact as floats.
MOST_PULLS = 2**53
#: Largest number of a base arm. An array of this length would not fit into memory.
MOST_ARMS = 2**48
# Up to this length, Python's lists are faster than numpy's functions.
_FEW = 40
_INTEGER, _REAL = np.dtype(np.int64), np.dtype(np.float64)
_AT_LEAST = {0: "not be negative", 1: "be positive integers"}


@dataclass(frozen=True, eq=False, init=False)
class Feedback:
    """The observations of one round: the triggered base arms, their outcomes and the reward.

    Arrays are copied, so later changes of the caller's arrays have no effect.

    Parameters
    ----------
    arms : array_like of int, shape (n,)
        The triggered base arms, each at most once. Leave out arms that were not observed.
    outcomes : array_like, shape (n,)
        The outcome of each arm, at most 1e100 in absolute value. With `pulls`, the sum of its outcomes.
    reward : float, optional
        The realised reward of the round; ``nan`` if it is unknown.
    pulls : array_like of int, shape (n,), optional
        The number of outcomes in each sum (batches in pure exploration). If omitted, 1 for each arm.
    squares : array_like, shape (n,), optional
        The sum of the squared outcomes of each arm. Policies that use variances need it if `pulls` is given.
    costs : array_like, shape (n, n_resources), optional
        The amount of each resource that each arm used, for policies with budgets.
    used : array_like, shape (n_resources,), optional
        The total amount of each resource that the round used: the sums of `costs`, plus amounts that `costs`
        does not contain. If omitted, the latter are unknown.

    Raises
    ------
    ValueError
        If lengths differ; an arm is repeated, negative or not an integer; an outcome is not finite or too
        large; `costs` are negative or not finite; `used` is
        smaller than the sums of `costs`; or an array is masked.

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
    # Class attributes serve as defaults, so that rounds without resources take no extra time.
    costs: FloatArray | None = field(default=None, repr=False)
    used: FloatArray | None = field(default=None, repr=False)
    #: Whether the feedback has hidden outcomes, from which only a session or a campaign can learn.
    is_hidden: ClassVar[bool] = False

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
        if type(arms) is Ticket:
            arms = arms.super_arm
        # The usual case: arrays of at most 40 distinct arms. Plain Python is faster than numpy for so few.
        if (
            (pulls is None and squares is None and type(arms) is np.ndarray and type(outcomes) is np.ndarray)
            and (arms.dtype == np.int64 and outcomes.dtype == np.float64 and arms.ndim == 1)
            and (arms.shape == outcomes.shape and 0 < len(arms) <= _FEW)
            and (type(reward) is float and not math.isinf(reward))
        ):
            entries, values = arms.tolist(), outcomes.tolist()
            total = sum(values)  # nan if an outcome is nan
            is_fine = min(values) >= -LARGEST and max(values) <= LARGEST and total == total
            if (
                is_fine
                and min(entries) >= 0
                and max(entries) <= MOST_ARMS
                and len({*entries}) == len(entries)
            ):
                self.__dict__.update(
                    arms=arms.copy(), outcomes=outcomes.copy(), reward=reward, pulls=None, squares=None
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
            outcomes=_outcome_numbers("outcomes", outcomes, n, LARGEST),
            reward=_reward(reward),
            pulls=each,
            squares=None if squares is None else _outcome_numbers("squares", squares, n, LARGEST**2),
        )

    def with_reward(self, reward: float) -> Self:
        """Return this feedback with another reward."""
        other = copy(self)
        other.__dict__["reward"] = _reward(reward)
        return other

    @classmethod
    def unchecked(cls, arms: IntArray, outcomes: FloatArray, reward: float) -> Feedback:
        """Return feedback with the given arrays, without copies and checks.

        It is for environments that make new arrays in each round and do not change them later: `arms`, an
        int64 array of distinct arms, and `outcomes`, a float array.
        """
        feedback = object.__new__(cls)
        feedback.__dict__.update(arms=arms, outcomes=outcomes, reward=reward, pulls=None, squares=None)
        return feedback


def _integers(name: str, values: ArrayLike, low: int, high: int) -> IntArray:
    """Return a copy as int64. The range is checked before the cast, which would wrap large integers."""
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


def _outcome_numbers(name: str, values: ArrayLike, length: int, largest: float) -> FloatArray:
    numbers = vector(name, values, length)
    if numbers.shape[0] and max(-numbers.min(), numbers.max()) > largest:
        raise ValueError(
            f"{name} must be at most {largest:g} in absolute value, got {shown(numbers.tolist())}"
        )
    return numbers


def _resources(costs: ArrayLike | None, used: ArrayLike | None, n_arms: int) -> dict[str, FloatArray]:
    """Return copies of the used amounts. Raise ``ValueError`` if they are impossible."""
    found: dict[str, FloatArray] = {}
    for name, values, ndim in (("costs", costs, 2), ("used", used, 1)):
        if values is None:
            continue
        found[name] = np.array(real_array(name, values))
        if found[name].ndim != ndim or (ndim == 2 and len(found[name]) != n_arms):
            wanted = (
                f"of shape ({n_arms}, n_resources), one row for each arm"
                if ndim == 2
                else "a 1-D array with one number for each resource"
            )
            raise ValueError(f"{name} must be {wanted}, got shape {found[name].shape}")
        # Comparisons with NaN are false, so the condition states the valid case.
        if not ((found[name] >= 0.0) & (found[name] <= LARGEST)).all():
            raise ValueError(f"{name} must lie in [0, {LARGEST:g}], got {shown(found[name].tolist())}")
    if len(found) == 2:
        sums = found["costs"].sum(axis=0)
        if sums.shape != found["used"].shape or (found["used"] < sums * (1.0 - 1e-12)).any():
            raise ValueError(f"used must be at least the sums of costs, {sums}, got {found['used']}")
    return found


def _reward(value: object) -> float:
    try:
        if isinstance(value, str | bytes | bool | np.bool_):  # float() would convert these
            raise TypeError
        reward = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"reward must be a number, or nan if it is unknown, got {shown(value)}") from None
    if math.isinf(reward):
        raise ValueError(f"reward must be finite, or nan if it is unknown, got {reward}")
    return reward


def check_outcomes(
    feedback: Feedback,
    support: tuple[float, float],
    whose: str = "the support of the learner",
) -> None:
    """Raise unless the outcomes, or the mean of a batch, are in `support` (up to rounding)."""
    low, high = support
    if low == -math.inf and high == math.inf:
        return
    if feedback.pulls is None and feedback.squares is None and 0 < len(feedback.outcomes) <= _FEW:
        numbers = feedback.outcomes.tolist()
        # The sum is nan if an outcome is nan.
        if low <= min(numbers) and max(numbers) <= high and not math.isnan(sum(numbers)):
            return
    pulls = 1 if feedback.pulls is None else feedback.pulls
    means = feedback.outcomes / pulls
    is_bounded = math.isfinite(high - low)
    slack = 1e-12 * (high - low) + 1e-15 * max(abs(low), abs(high)) if is_bounded else 0.0
    good = (means >= low - slack) & (means <= high + slack)  # False for nan
    if not good.all():
        raise ValueError(f"outcomes must lie in [{low:g}, {high:g}], {whose}, got {means[~good][0]:g}")


@dataclass(frozen=True, eq=False)
class Ticket:
    """The answer of `Session.ask`: play `super_arm`, then report the feedback under this `number`.

    Functions that take an array of the super arm also accept the ticket.

    Attributes
    ----------
    number : int
        The number of the call of `ask`, counted from 0.
    super_arm : IntArray, shape (size,)
        The super arm to play. From an `Explorer`: the base arms to sample.
    pulls : int
        The number of outcomes to observe of each arm; different from 1 only for explorers.
    session : str
        The session that issued the ticket. A session rejects tickets of other sessions.
    context : Context or None
        The context of the round.
    gone : int
        The number of further entries of the super arm that no longer exist (`Campaign` only).

    Examples
    --------
    >>> from cmab import CUCB, Session
    >>> from oracles import TopK
    >>> ticket = Session(CUCB(TopK(n_arms=5, k=2)), rng=0).ask()
    >>> ticket.number, list(ticket)
    (0, [0, 1])
    """

    number: int
    super_arm: IntArray
    pulls: int = 1
    session: str = field(default="", repr=False)
    context: Context | None = field(default=None, repr=False)
    gone: int = field(default=0, repr=False)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        return np.array(self.super_arm, dtype=dtype, copy=copy)

    def __iter__(self) -> Iterator[int]:
        return (int(entry) for entry in self.super_arm)

    def __len__(self) -> int:
        return len(self.super_arm)
