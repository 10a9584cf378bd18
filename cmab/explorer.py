"""Explorers: policies for identification."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.compiled.forms import ExplorerKernel
from cmab.goals import Goal
from cmab.guards import Takes, generator, verb
from cmab.policy import Policy, State, fits


class Explorer(Policy[State]):
    """A policy that samples base arms until it can name the best ones.

    `select` returns the base arms to sample next rather than a super arm to play; `pulls` says how often
    each. An explorer that needs no oracle sets `n_arms` itself.

    Attributes
    ----------
    n_arms : int
        Number of base arms.
    sigma : float or None
        Sub-Gaussian scale of the outcomes that the theory needs; None where it needs a support.
    support : tuple of float or None
        Interval of the outcomes that the theory needs, if it needs one.
    is_bounded : bool
        Whether every run ends, whatever the outcomes; `identify` caps the others.
    is_proven : bool
        Whether the stopping rule proves the answer. By default it does for explorers that declare `sigma` or
        `support`: a proof needs to know the noise. Modes that prove nothing override it.
    goal : Goal or None
        When the recommended arms are right; None where the explorer does not say.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import ArmStatistics, Explorer, Feedback, Session
    >>> class Uniform(Explorer):
    ...     '''Ten outcomes of every arm, then the arm with the best mean.'''
    ...     n_arms = 3
    ...     def initial_state(self):
    ...         return ArmStatistics.empty(self.n_arms)
    ...     def select(self, state, rng):
    ...         return np.arange(self.n_arms)
    ...     def update(self, state, feedback):
    ...         state.update(feedback)
    ...     def is_done(self, state):
    ...         return state.counts.min() >= 10
    ...     def recommend(self, state):
    ...         return np.array([np.argmax(state.means)])
    >>> session = Session(Uniform(), rng=0)
    >>> while not session.is_done:
    ...     session.tell(Feedback(session.ask(), [0.1, 0.5, 0.2]))
    >>> session.recommend()
    array([1])
    """

    n_arms: int
    sigma: float | None = None
    is_bounded: bool = False
    in_kernel: ClassVar[tuple[str, ...]] = (
        *("select", "step", "is_done", "update", "initial_state", "pulls", "unseen"),
    )
    _takes: ClassVar[Takes] = {
        **dict.fromkeys(("step", "critical"), (fits, generator)),
        **dict.fromkeys(
            (
                *("pulls", "unseen", "is_certified", "intervals", "witness", "recommend"),
                *("can_stop", "radii", "rivals", "bounds", "pair", "seen", "best_and_gaps", "widths"),
                *("affordable", "decide", "least_pulls", "pulls_per_arm"),
            ),
            (fits,),
        ),
    }

    @property
    def is_proven(self) -> bool:
        """Whether the stopping rule proves the answer, for outcomes within `sigma` or `support`."""
        return self.sigma is not None or self.support is not None

    @property
    def goal(self) -> Goal | None:
        """When the recommended arms are right."""
        return None

    def kernel(self) -> ExplorerKernel | None:
        """Return a compiled form of the rule for the compiled loop; none unless overridden."""
        return None

    def unseen(self, state: State) -> IntArray:  # noqa: ARG002
        """Return the arms that need a sample before the compiled loop begins, which asks again after each.

        None by default; the compiled rule then meets arms without an outcome.
        """
        return np.empty(0, np.int64)

    def step(self, state: State, rng: np.random.Generator) -> IntArray:
        """Return the arms to sample next, none once the stopping rule holds.

        This is `is_done` and `select` in one, for the loop of `identify`; override it where the two would
        do the same expensive work twice.
        """
        return np.empty(0, np.int64) if self.is_done(state) else self.select(state, rng)

    def pulls(self, state: State) -> int:  # noqa: ARG002
        """Return how many outcomes of each selected arm are wanted at once."""
        return 1

    @abstractmethod
    def is_done(self, state: State) -> bool:
        """Return whether the stopping rule holds; then `recommend` is the answer."""

    def is_certified(self, state: State) -> bool:
        """Return whether the recommended arms carry a guarantee: the rule holds, and is proven."""
        return self.is_proven and self.is_done(state)

    def intervals(self, state: State) -> tuple[FloatArray, FloatArray] | None:  # noqa: ARG002
        """Return the lower and upper bounds that the rule compares, for certificates; None by default."""
        return None

    def witness(self, state: State, named: IntArray) -> tuple[int, int] | None:
        """Return the arm among `named` and the other arm that are the hardest to tell apart.

        They are those of least lower and of largest upper bound; None where there are no `intervals`.
        """
        ends = self.intervals(state)
        if ends is None:
            return None
        lower, upper = ends
        others = np.setdiff1d(np.arange(self.n_arms), named)
        return int(named[np.argmin(lower[named])]), int(others[np.argmax(upper[others])])

    @abstractmethod
    def recommend(self, state: State) -> IntArray:
        """Return the arms that the explorer would name now, in increasing order."""

    @abstractmethod
    @verb
    def select(self, state: State, rng: np.random.Generator) -> IntArray:
        """Return the distinct base arms to sample next; `state` is left unchanged."""


AnyExplorer = Explorer[Any]
