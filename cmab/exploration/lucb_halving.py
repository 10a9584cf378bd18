"""LUCB1 that restarts with Halving: as cheap as LUCB1 on easy instances, bounded on all."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from cmab.arrays import IntArray
from cmab.exploration.halving import Halving
from cmab.exploration.lucb import LUCB1
from cmab.exploration.parameters import DELTA, N_ARMS, TOLERANCE, K
from cmab.exploration.phases import Phases
from cmab.explorer import AnyExplorer, Explorer
from cmab.feedback import Feedback
from cmab.goals import ExploreM, Goal
from cmab.statistics import ArmStatistics
from cmab.theory.hardness import halving_samples


@dataclass(eq=False)
class Restart:
    """State of both rules.

    Attributes
    ----------
    first : ArmStatistics
        LUCB1's.
    second : Phases
        Halving's, which begins afresh.
    restarted : bool
        Whether LUCB1 was given up.
    """

    first: ArmStatistics
    second: Phases
    restarted: bool = False


@dataclass(frozen=True, eq=False)
class LUCB1Halving(Explorer[Restart]):
    """LUCB1, and Halving from the beginning if LUCB1 takes as many samples as Halving would.

    Each gets half of `delta`. With probability at least ``1 - delta`` every returned arm has a mean of at
    least the k-th largest less `epsilon`, for independent outcomes in [0, 1]; it never takes more than twice
    Halving's samples at ``delta / 2``.

    Parameters
    ----------
    n_arms : int
        Number of arms.
    k : int
        How many to return, in ``[1, n_arms - 1]``.
    delta : float
        Probability of failure, in (0, 1).
    epsilon : float
        Tolerance, in (0, 1).

    Examples
    --------
    >>> from cmab import LUCB1Halving, identify
    >>> from instances import BernoulliArms
    >>> explorer = LUCB1Halving(3, k=1, epsilon=0.2, delta=0.1)
    >>> identify(explorer, BernoulliArms([0.9, 0.1, 0.1]), rng=0).arms
    [array([0])]
    >>> explorer.most_samples
    54159

    References
    ----------
    S. Kalyanakrishnan, A. Tewari, P. Auer, P. Stone: PAC Subset Selection in Stochastic Multi-armed
    Bandits, ICML 2012, section 4. Where to restart within the order of Halving's samples is our choice.
    """

    n_arms: int = field(metadata=N_ARMS)
    k: int = field(metadata=K)
    _: KW_ONLY
    delta: float = field(metadata=DELTA)
    epsilon: float = field(metadata=TOLERANCE)
    support = (0.0, 1.0)
    is_bounded = True

    def __post_init__(self) -> None:
        super().__post_init__()
        Halving(self.n_arms, self.k, epsilon=self.epsilon, delta=self.delta)  # which refuses too many samples

    @cached_property
    def first(self) -> LUCB1:
        """The rule to begin with."""
        return LUCB1(self.n_arms, self.k, delta=self.delta / 2.0, epsilon=self.epsilon)

    @cached_property
    def second(self) -> Halving:
        """The rule to restart with."""
        return Halving(self.n_arms, self.k, epsilon=self.epsilon, delta=self.delta / 2.0)

    @cached_property
    def most_rounds(self) -> int:
        """Rounds of LUCB1, the first of which samples all arms, before it is given up."""
        # Half of delta for each rule; LUCB1 is given up when it has cost what Halving will.
        samples = halving_samples(self.n_arms, self.k, epsilon=self.epsilon, delta=self.delta / 2.0)
        return 1 + (samples - self.n_arms) // 2

    @property
    def most_samples(self) -> int:
        """The worst case, on any instance."""
        restart = halving_samples(self.n_arms, self.k, epsilon=self.epsilon, delta=self.delta / 2.0)
        return self.n_arms + 2 * (self.most_rounds - 1) + restart

    @property
    def goal(self) -> Goal:
        return ExploreM(self.k, self.epsilon)

    def initial_state(self) -> Restart:
        return Restart(self.first.initial_state(), self.second.initial_state())

    def update(self, state: Restart, feedback: Feedback) -> None:
        """Take in outcomes; restart if LUCB1 has had its rounds and does not stop."""
        rule, own = self._present(state)
        rule.update(own, feedback)
        if not state.restarted and state.first.rounds >= self.most_rounds:
            state.restarted = not self.first.is_done(state.first)

    def select(self, state: Restart, rng: np.random.Generator) -> IntArray:
        rule, own = self._present(state)
        return rule.select(own, rng)

    def step(self, state: Restart, rng: np.random.Generator) -> IntArray:
        rule, own = self._present(state)
        return rule.step(own, rng)

    def pulls(self, state: Restart) -> int:
        rule, own = self._present(state)
        return rule.pulls(own)

    def is_done(self, state: Restart) -> bool:
        rule, own = self._present(state)
        return rule.is_done(own)

    def recommend(self, state: Restart) -> IntArray:
        rule, own = self._present(state)
        return rule.recommend(own)

    def _present(self, state: Restart) -> tuple[AnyExplorer, Any]:
        return (self.second, state.second) if state.restarted else (self.first, state.first)
