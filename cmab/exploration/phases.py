"""Exploration in phases: sample all undecided arms equally often, then accept or reject some of them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.explorer import Explorer
from cmab.feedback import Context, Feedback, Ticket
from cmab.goals import ExploreM, Goal, best_k
from cmab.statistics import ArmStatistics, count
from cmab.validation import shown


@dataclass(eq=False)
class Phases:
    """State of an exploration in phases.

    Attributes
    ----------
    stats : ArmStatistics
        Statistics of all phases, or only of the present phase if the rule uses fresh means.
    undecided, accepted : BoolArray, shape (n_arms,)
        Masks of the undecided arms and of the accepted arms. All other arms are rejected.
    target : int
        Number of outcomes of each undecided arm in `stats` at the end of the phase.
    phase : int
        Number of completed phases.
    samples : int
        Number of outcomes in all phases.
    """

    stats: ArmStatistics
    undecided: BoolArray
    accepted: BoolArray
    target: int = 0
    phase: int = 0
    samples: int = 0

    def check(self, fresh: Phases) -> None:
        """Raise `ValueError` if no feedback can lead to this state; `ArmStatistics.check` checks `stats`."""
        for name in ("undecided", "accepted"):
            mask: BoolArray = getattr(self, name)
            if mask.shape != fresh.undecided.shape or mask.dtype != np.bool_:
                raise ValueError(f"{name} must be a boolean array with one entry per arm, got {shown(mask)}")
        if (self.undecided & self.accepted).any():
            raise ValueError("an arm must not be both undecided and accepted")
        for name in ("target", "phase", "samples"):
            count(name, getattr(self, name))
        if self.undecided.any() and self.stats.counts[self.undecided].min() >= self.target:
            raise ValueError(
                f"an undecided arm must have fewer than target = {self.target} outcomes, got as many of each"
            )


class PhasedExplorer(Explorer[Phases]):
    """Base class of explorers that take one batch of samples per phase and then decide about arms.

    A subclass sets `n_arms` and `k` and defines `pulls_per_arm` and `decide`. If its phases may go on without
    end, it also sets ``is_bounded = False``.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import PhasedExplorer, identify
    >>> from instances import BernoulliArms
    >>> class DropTheWorst(PhasedExplorer):
    ...     def __init__(self, n_arms, k):
    ...         self.n_arms, self.k = n_arms, k
    ...     def pulls_per_arm(self, state):
    ...         return 100
    ...     def decide(self, state):
    ...         arms = np.flatnonzero(state.undecided)
    ...         state.undecided[arms[np.argmin(state.stats.means[arms])]] = False
    ...         if state.undecided.sum() == self.k:
    ...             state.accepted |= state.undecided
    ...             state.undecided[:] = False
    >>> identify(DropTheWorst(3, k=1), BernoulliArms([0.9, 0.1, 0.1]), rng=0).arms
    [array([0])]
    """

    k: int
    fresh_means = False
    is_bounded = True

    @property
    def goal(self) -> Goal:
        """The goal: the best `k` arms."""
        return ExploreM(self.k)

    @abstractmethod
    def pulls_per_arm(self, state: Phases) -> int:
        """Return the number of samples of each undecided arm in the phase that begins; 0 ends the run."""

    @abstractmethod
    def decide(self, state: Phases) -> None:
        """Decide about arms at the end of a phase.

        Set `accepted` for the accepted arms, and clear `undecided` for all accepted and rejected arms.
        """

    def initial_state(self, rng: np.random.Generator | None = None) -> Phases:
        """Return the state at the beginning of the first phase."""
        n_arms = self.n_arms
        state = Phases(ArmStatistics.empty(n_arms), np.ones(n_arms, np.bool_), np.zeros(n_arms, np.bool_))
        self._begin(state)
        return state

    def select(self, state: Phases, rng: np.random.Generator, context: Context | None = None) -> IntArray:  # noqa: ARG002
        """Return the undecided arms that have fewer than ``state.target`` outcomes."""
        return np.flatnonzero(state.undecided & (state.stats.counts < state.target))

    def pulls(self, state: Phases) -> int:
        """Return the number of outcomes of each selected arm to take at once."""
        counts = state.stats.counts[state.undecided]
        # The least number that a selected arm needs, so that no arm gets more than `target`.
        return int(state.target - counts[counts < state.target].max(initial=0))

    def update(
        self,
        state: Phases,
        feedback: Feedback,
        ticket: Ticket | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        """Update the statistics with `feedback`; if the phase is complete, decide and begin the next."""
        state.stats.update(feedback)
        state.samples += int(len(feedback.arms) if feedback.pulls is None else feedback.pulls.sum())
        # A loop, because feedback with several outcomes may complete more than one phase.
        while state.undecided.any() and state.stats.counts[state.undecided].min() >= state.target:
            self.decide(state)
            state.phase += 1
            if state.undecided.any():
                self._begin(state)

    def is_done(self, state: Phases) -> bool:
        """Return whether every arm is decided."""
        return not state.undecided.any()

    def recommend(self, state: Phases) -> IntArray:
        """Return the accepted arms and, up to `k` arms, the best undecided arms."""
        return np.flatnonzero(state.accepted | best_undecided(state, self.k - int(state.accepted.sum())))

    def _begin(self, state: Phases) -> None:
        """Set the target of a new phase, or accept the best arms if no more samples are possible."""
        if self.fresh_means and state.phase:
            state.stats = ArmStatistics.empty(self.n_arms)
        pulls = self.pulls_per_arm(state)
        if pulls < 1:
            finish(state, self.k)
        state.target = pulls + (0 if self.fresh_means else state.target)


class BudgetExplorer(PhasedExplorer):
    """Base class of explorers in phases that take at most `budget` samples and certify no answer."""

    budget: int

    is_proven = False


def affordable(budget: int, state: Phases, pulls: int) -> int:
    """Return `pulls`, or the number of samples per undecided arm that the budget allows if it is less."""
    return min(pulls, (budget - state.samples) // int(state.undecided.sum()))


def best_undecided(state: Phases, size: int) -> BoolArray:
    """Return a mask of the `size` undecided arms with the largest means; ties go to the lower index."""
    arms = np.flatnonzero(state.undecided)
    mask = np.zeros(len(state.undecided), np.bool_)
    mask[arms[best_k(state.stats.means[arms], size)]] = True
    return mask


def finish(state: Phases, k: int) -> None:
    """Accept the best undecided arms up to `k`, and reject the rest."""
    state.accepted |= best_undecided(state, k - int(state.accepted.sum()))
    state.undecided[:] = False


def settle(state: Phases, k: int) -> None:
    """Decide all undecided arms if `k` arms are accepted, or if at most `k` arms are not rejected."""
    if int(state.accepted.sum()) + int(state.undecided.sum()) <= k or int(state.accepted.sum()) == k:
        finish(state, k)


def undecided_means(state: Phases) -> tuple[IntArray, FloatArray]:
    """Return the undecided arms and their means."""
    arms = np.flatnonzero(state.undecided)
    return arms, state.stats.means[arms]
