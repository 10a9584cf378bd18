"""Explorers that halve the set of arms in each round, and uniform allocation."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field

from cmab.declared import integer
from cmab.exploration.parameters import DELTA, N_ARMS, TOLERANCE, K, budget, check_samples
from cmab.exploration.phases import BudgetExplorer, PhasedExplorer, Phases, best_undecided, finish
from cmab.goals import ExploreM, Goal
from cmab.theory.hardness import halving_samples, halving_schedule


def _keep_half(state: Phases, k: int) -> None:
    """Keep the better half of the undecided arms, but at least `k`; if `k` are left, accept them."""
    size = max(-(-int(state.undecided.sum()) // 2), k)
    state.undecided = best_undecided(state, size)
    if size == k:
        finish(state, k)


@dataclass(frozen=True, eq=False)
class Halving(PhasedExplorer):
    """Halving (Kalyanakrishnan and Stone 2010): keep the better half until k arms are left.

    Use this explorer only to compare with its paper. `LUCB1Halving` needs at most twice the samples in the
    worst case, and far fewer on most problems.

    With probability at least ``1 - delta``, the mean of every returned arm is at least the k-th largest mean
    minus `epsilon`, for independent outcomes in [0, 1]. The number of samples is the same on every instance
    (`cmab.theory.hardness.halving_samples`). Each round uses only its own outcomes.

    Parameters
    ----------
    n_arms : int
        Number of arms, at least 2.
    k : int
        Number of arms to return, in ``[1, n_arms - 1]``.
    delta : float
        Probability of failure, in (0, 1).
    epsilon : float
        Tolerance, in (0, 1).

    Examples
    --------
    >>> from cmab import Session
    >>> from cmab.exploration.halving import Halving
    >>> ticket = Session(Halving(n_arms=100, k=5, epsilon=0.1, delta=0.1), rng=0).ask()
    >>> len(ticket), ticket.pulls
    (100, 18253)

    References
    ----------
    S. Kalyanakrishnan, P. Stone: Efficient Selection of Multiple Bandit Arms, ICML 2010.
    """

    n_arms: int = field(metadata=N_ARMS)
    k: int = field(metadata=K)
    _: KW_ONLY
    delta: float = field(metadata=DELTA)
    epsilon: float = field(metadata=TOLERANCE)
    fresh_means = True
    support = (0.0, 1.0)

    @property
    def goal(self) -> Goal:
        return ExploreM(self.k, self.epsilon)

    def __post_init__(self) -> None:
        super().__post_init__()
        samples = halving_samples(self.n_arms, self.k, epsilon=self.epsilon, delta=self.delta)
        check_samples(math.log2(samples), "epsilon and delta")

    def pulls_per_arm(self, state: Phases) -> int:
        """Return the number of samples per arm that Hoeffding's bound needs in this round.

        Each round has a share of `epsilon` and `delta`.
        """
        return halving_schedule(self.n_arms, self.k, epsilon=self.epsilon, delta=self.delta)[state.phase][1]

    def decide(self, state: Phases) -> None:
        """Keep the better half of the undecided arms."""
        _keep_half(state, self.k)


@dataclass(frozen=True, eq=False)
class UniformAllocation(BudgetExplorer):
    """Uniform allocation, a baseline: sample every arm equally often and return the k largest means.

    Use this explorer only as the baseline of a comparison.

    The remainder of `budget` divided by `n_arms` is not used. No answer is certified.

    Parameters
    ----------
    n_arms : int
        Number of arms.
    k : int
        Number of arms to return, in ``[1, n_arms]``.
    budget : int
        Maximum number of samples, at least `n_arms`.
        Samples of open tickets are not counted.

    Examples
    --------
    >>> from cmab import Session, UniformAllocation
    >>> Session(UniformAllocation(n_arms=3, k=1, budget=100), rng=0).ask().pulls
    33
    """

    n_arms: int = field(metadata=integer(1))
    k: int = field(metadata=integer(1, lambda explorer: explorer.n_arms))
    _: KW_ONLY
    budget: int = field(metadata=budget(lambda explorer: explorer.n_arms))

    def pulls_per_arm(self, state: Phases) -> int:  # noqa: ARG002
        """Return the number of samples of each arm."""
        return self.budget // self.n_arms

    def decide(self, state: Phases) -> None:
        """Accept the arms with the k largest means."""
        finish(state, self.k)
