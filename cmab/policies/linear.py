"""Base class of policies that model means as functions of features of the arms."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.context import Context
from cmab.declared import interval, real
from cmab.feedback import Feedback, check_arrays
from cmab.guards import Takes, generator, unguarded, verb
from cmab.linear.features import checked_features, checked_groups
from cmab.linear.statistics import LinearStatistics, check_size
from cmab.oracle import Oracle
from cmab.policy import Policy, best_within, fits, refuse_parts
from cmab.ticket import Ticket
from cmab.validation import arm_indices, shown

#: Squares of longer features, and their sums over all rounds, would overflow.
MAX_NORM = 1e100

_KNOWN = ("available", "features", "values", "costs")


def _features(policy: Any, features: ArrayLike, _: object) -> FloatArray:
    n_arms, dimension, norm = policy.oracle.n_arms, policy.dimension, float(policy.norm)
    return checked_features("features", features, n_arms, dimension, norm)


@dataclass(frozen=True, eq=False, repr=False)
class LinearPolicy(Policy[LinearStatistics]):
    """Base of policies that compute an index of each arm from the features of the arm.

    Features are part of the `Context` of each round, or are fixed and passed here. A subclass defines
    `indices`.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.
    features : array_like, shape (n_arms, d), optional
        Features of the arms, used in all rounds with a context without features.
    dimension : int, optional
        The number d of features. It is required if `features` is omitted.
    groups : array_like of int, shape (n_arms,), optional
        The group of each arm, as integers from 0 without gaps. Each group has separate coefficients. By
        default all arms form one group. Pass ``range(n_arms)`` for separate coefficients of each arm.
    ridge : float
        Strength of the shrinkage of all coefficients towards 0 (see `LinearStatistics`).
    norm : float
        Largest Euclidean norm of the features of an arm, below 1e100. Longer features raise ``ValueError``,
        because widths and shrinkage depend on their scale.
    sigma : float, optional
        Sub-Gaussian scale of the outcomes. The default is half the length of `support`.
    support : tuple of float or None
        Interval to which indices are clipped, for oracles that require it. `simulate` rejects outcomes
        outside it. With None, outcomes may be any numbers.

    Raises
    ------
    ValueError
        If a parameter is out of its range; features have a wrong shape, are not finite or are too long; or
        the state would have more than 2^28 numbers.

    Examples
    --------
    >>> from cmab import C2UCB
    >>> from cmab.policies.linear import LinearPolicy
    >>> issubclass(C2UCB, LinearPolicy)
    True
    """

    oracle: Oracle
    features: ArrayLike | None = None
    _: KW_ONLY
    dimension: int | None = None
    groups: ArrayLike | None = None
    ridge: float = field(default=1.0, metadata=real(0.0, inside=True))
    norm: float = field(default=1.0, metadata=real(0.0, MAX_NORM, inside=True))
    sigma: float | None = field(default=None, metadata=real(0.0, inside=True, optional=True))
    support: tuple[float, float] | None = field(default=(0.0, 1.0), metadata=interval(optional=True))
    _groups: IntArray | None = field(init=False, repr=False)
    _takes: ClassVar[Takes] = {
        **dict.fromkeys(("indices", "utilities"), (fits, _features, generator)),
        "weights": (fits,),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        keep, n_arms = object.__setattr__, self.oracle.n_arms
        keep(self, "_groups", checked_groups(self.groups, n_arms))
        if self.dimension is not None:
            check_size(self.dimension, self._n_groups)
        if self.features is not None:
            own = np.array(
                checked_features("features", self.features, n_arms, self.dimension, float(self.norm))
            )
            own.setflags(write=False)
            keep(self, "features", own)
            keep(self, "dimension", check_size(own.shape[1], self._n_groups))
        if self.dimension is None:
            raise ValueError("dimension must be given if features are not, got None")
        if self.support is None and self.sigma is None:
            raise ValueError("sigma must be given if support is None, got None")

    @abstractmethod
    def indices(self, state: LinearStatistics, features: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return one index for each base arm, shape (n_arms,), before clipping to `support`."""

    @property
    def scale(self) -> float:
        """The sub-Gaussian scale of the outcomes that the policy uses."""
        if self.sigma is not None or self.support is None:
            return float(self.sigma or 0.0)
        return (self.support[1] - self.support[0]) / 2

    @property
    def most_seen(self) -> int:
        """The largest number of outcomes that a round can show."""
        return self.oracle.max_size if self.oracle.is_linear else self.oracle.n_arms

    def initial_state(self) -> LinearStatistics:
        return LinearStatistics.empty(*self._shape[::-1], ridge=self.ridge)

    @verb
    def select(
        self, state: LinearStatistics, rng: np.random.Generator, context: Context | None = None
    ) -> IntArray:
        """Return the best available super arm for the indices, with the values and costs of the context.

        Raises
        ------
        ValueError
            If features are missing, or do not fit the policy; if no super arm is available; or if the context
            has values or costs but rewards are not sums.
        """
        refuse_parts(self, context, _KNOWN if self.oracle.is_linear else _KNOWN[:2])
        indices = unguarded(self.indices)(state, self._features_in(context), rng)
        if self.support is not None:
            np.clip(indices, *self.support, out=indices)
        return best_within(self.oracle, indices, context, rng)

    @verb
    def update(
        self,
        state: LinearStatistics,
        feedback: Feedback,
        ticket: Ticket | None = None,
        rng: np.random.Generator | None = None,  # noqa: ARG002
    ) -> None:
        """Update `state` with one round of feedback.

        The features are those of the ticket's context, or those of the policy if the context has no features.
        """
        self._learn(state, None if ticket is None else ticket.context, feedback)

    def weights(
        self,
        state: LinearStatistics,  # noqa: ARG002
        rows: FloatArray,  # noqa: ARG002
        group: IntArray | None,  # noqa: ARG002
    ) -> FloatArray | None:
        """Return the weights of outcomes of arms with features `rows`, or None (default) for weights of 1."""
        return None

    def _regress(
        self, state: LinearStatistics, rows: FloatArray, outcomes: FloatArray, group: IntArray | None
    ) -> None:
        """Update `state` with outcomes of arms with features `rows`. The default is least squares."""
        state.update(rows, outcomes, group, self.weights(state, rows, group))

    def _learn(self, state: LinearStatistics, context: Context | None, feedback: Feedback) -> None:
        if not isinstance(feedback, Feedback):
            raise ValueError(f"feedback must be a Feedback(arms, outcomes), got {shown(feedback)}")
        check_arrays(feedback)
        if feedback.pulls is not None:
            raise ValueError(
                f"feedback.pulls must be None for {type(self).__name__}, which needs each outcome separately"
            )
        arms = arm_indices("feedback.arms", feedback.arms, self.oracle.n_arms)
        rows = self._features_in(context, arms)
        self._regress(state, rows, feedback.outcomes, None if self._groups is None else self._groups[arms])

    @property
    def _shape(self) -> tuple[int, int]:
        """The number of groups and the number of features."""
        assert self.dimension is not None  # set in __post_init__
        return self._n_groups, self.dimension

    @property
    def _n_groups(self) -> int:
        return 1 if self._groups is None else int(self._groups.max()) + 1

    def _check_state(self, state: LinearStatistics) -> None:
        if not isinstance(state, LinearStatistics):
            raise ValueError(f"state must be a LinearStatistics, got {shown(state)}")
        state.check_layout(*self._shape)

    def _features_in(self, context: Context | None, arms: IntArray | None = None) -> FloatArray:
        """Return the features of a round, from its context or from the policy; only of `arms` if given."""
        told = None if context is None else context.features
        source: Any = self.features if told is None else told
        if source is None:
            raise ValueError(f"context must have features for {type(self).__name__}, got none")
        n, d = self.oracle.n_arms, self.dimension
        if told is not None and told.shape != (n, d):
            raise ValueError(f"context.features must have shape ({n}, {d}), got {told.shape}")
        rows: FloatArray = source if arms is None else source[arms].astype(np.float64)
        # Features of the policy are already checked. A context knows the norm of its longest row. When a
        # journal is opened, it may have rows beyond `norm` of arms that were not observed.
        if told is not None and not context._longest <= self.norm:  # type: ignore
            checked_features("context.features", rows, len(rows), d, float(self.norm))
        return rows
