"""Explorers: policies that identify the best arms."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.compiled import ExplorerKernel
from cmab.feedback import Context
from cmab.goals import Goal
from cmab.policy import Policy, State


class Explorer(Policy[State]):
    """A policy that samples base arms until it can name the best ones.

    `select` returns the base arms to sample next rather than a super arm to play. `pulls` returns the number
    of samples of each. An explorer without an oracle sets `n_arms` itself.

    Attributes
    ----------
    n_arms : int
        Number of base arms.
    delta : float, optional
        The probability with which the certified answer may be wrong. An explorer that proves its answers
        declares it, because certificates and checks read it. An explorer with a budget and without a
        guarantee sets `is_proven` to False.
    sigma : float or None
        Sub-Gaussian scale of the outcomes that the theory assumes; None if it assumes a support.
    support : tuple of float or None
        Interval of the outcomes that the theory assumes; None if it assumes no interval.
    is_bounded : bool
        Whether every run ends, whatever the outcomes are. `identify` limits the runs of other explorers.
    is_proven : bool
        Whether the stopping rule proves the answer. The default is True for explorers that declare `sigma` or
        `support`, because a proof needs an assumption on the noise. Modes without a proof override it.
    goal : Goal or None
        The condition under which the recommended arms are correct; None if the explorer does not declare it.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import ArmStatistics, Explorer, Feedback, Session
    >>> class Uniform(Explorer):
    ...     '''Ten outcomes of every arm, then the arm with the best mean.'''
    ...     n_arms = 3
    ...     def initial_state(self, rng=None):
    ...         return ArmStatistics.empty(self.n_arms)
    ...     def select(self, state, rng, context=None):
    ...         return np.arange(self.n_arms)
    ...     def update(self, state, feedback, ticket=None, rng=None):
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
    _in_kernel: ClassVar[tuple[str, ...]] = (
        *("select", "step", "is_done", "update", "initial_state", "pulls", "unseen"),
    )

    @property
    def is_proven(self) -> bool:
        """Whether the stopping rule proves the answer for outcomes that satisfy `sigma` or `support`."""
        return self.sigma is not None or self.support is not None

    @property
    def goal(self) -> Goal | None:
        """The condition under which the recommended arms are correct."""
        return None

    def kernel(self) -> ExplorerKernel | None:
        """Return a compiled form of the rule for the compiled loop, or None (default)."""
        return None

    def unseen(self, state: State) -> IntArray:  # noqa: ARG002
        """Return the arms to sample in Python before the compiled loop starts; repeated after each sample.

        The default is an empty array. The compiled rule must then handle arms without outcomes.
        """
        return np.empty(0, np.int64)

    def step(self, state: State, rng: np.random.Generator) -> IntArray:
        """Return the arms to sample next, or an empty array if the stopping rule holds.

        This combines `is_done` and `select` for the loop of `identify`. Override it if the two methods would
        repeat the same expensive computation. The arms must be those of `select`.
        """
        return np.empty(0, np.int64) if self.is_done(state) else self.select(state, rng)

    def pulls(self, state: State) -> int:  # noqa: ARG002
        """Return the number of outcomes of each selected arm that the explorer requests at once."""
        return 1

    @abstractmethod
    def is_done(self, state: State) -> bool:
        """Return whether the stopping rule holds. If it does, `recommend` returns the answer."""

    def is_certified(self, state: State) -> bool:
        """Return whether the recommended arms have a guarantee: the stopping rule holds and is proven.

        Override it if an explorer with a proof may also stop for another reason, such as a budget.
        """
        return self.is_proven and self.is_done(state)

    def intervals(self, state: State) -> tuple[FloatArray, FloatArray] | None:  # noqa: ARG002
        """Return the lower and upper bounds that the stopping rule compares, or None (default).

        The bounds of an arm without outcomes are infinite, or the ends of the support. At a certified stop,
        the answer is correct for all means within the bounds. If an explorer drops arms, as a race does, it
        compares earlier bounds, so that this may rarely fail.
        """
        return None

    def witness(self, state: State, named: IntArray) -> tuple[int, int] | None:
        """Return the arm of `named` and the other arm that are the hardest to separate.

        These are the arm of `named` with the smallest lower bound and the other arm with the largest upper
        bound. Return None if there are no `intervals`.
        """
        ends = self.intervals(state)
        if ends is None:
            return None
        lower, upper = ends
        others = np.setdiff1d(np.arange(self.n_arms), named)
        return int(named[np.argmin(lower[named])]), int(others[np.argmax(upper[others])])

    @abstractmethod
    def recommend(self, state: State) -> IntArray:
        """Return the arms that the explorer currently considers the best, in increasing order."""

    @abstractmethod
    def select(self, state: State, rng: np.random.Generator, context: Context | None = None) -> IntArray:
        """Return the distinct base arms to sample next. `state` is not changed.

        The feedback of the round has all of these arms, in any order. After the stop, the answer is not used.
        """


AnyExplorer = Explorer[Any]
