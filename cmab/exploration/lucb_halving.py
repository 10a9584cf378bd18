"""LUCB1 with a restart by Halving, which bounds the number of samples on all instances."""

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
from cmab.feedback import Context, Feedback, Ticket
from cmab.goals import ExploreM, Goal
from cmab.statistics import ArmStatistics
from cmab.theory.hardness import halving_samples


@dataclass(eq=False)
class Restart:
    """State of `LUCB1Halving`.

    Attributes
    ----------
    first : ArmStatistics
        The state of LUCB1.
    second : Phases
        The state of Halving, which does not use the outcomes of LUCB1.
    restarted : bool
        Whether Halving has replaced LUCB1.
    """

    first: ArmStatistics
    second: Phases
    restarted: bool = False


@dataclass(frozen=True, eq=False)
class LUCB1Halving(Explorer[Restart]):
    """LUCB1, replaced by Halving if LUCB1 takes as many samples as Halving needs.

    Use this explorer if a bound on the largest number of samples is required. It rarely differs from `LUCB1`
    otherwise.

    Halving then starts from the beginning, without the outcomes of LUCB1. Each of the two rules uses half of
    `delta`. With probability at least ``1 - delta``, the mean of every returned arm is at least the k-th
    largest mean minus `epsilon`, for independent outcomes in [0, 1]. The number of samples is at most twice
    that of Halving with ``delta / 2``.

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
    Bandits, ICML 2012, section 4. The paper fixes the restart only up to a constant factor of Halving's
    samples. The exact number is our choice.
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
        Halving(self.n_arms, self.k, epsilon=self.epsilon, delta=self.delta)  # raises for too many samples

    @cached_property
    def first(self) -> LUCB1:
        """The rule before the restart."""
        return LUCB1(self.n_arms, self.k, delta=self.delta / 2.0, epsilon=self.epsilon)

    @cached_property
    def second(self) -> Halving:
        """The rule after the restart."""
        return Halving(self.n_arms, self.k, epsilon=self.epsilon, delta=self.delta / 2.0)

    @cached_property
    def most_rounds(self) -> int:
        """The maximum number of rounds of LUCB1, the first of which samples all arms."""
        # LUCB1 stops when it has taken as many samples as Halving needs for half of delta.
        samples = halving_samples(self.n_arms, self.k, epsilon=self.epsilon, delta=self.delta / 2.0)
        return 1 + (samples - self.n_arms) // 2

    @property
    def most_samples(self) -> int:
        """The maximum number of samples on any instance."""
        restart = halving_samples(self.n_arms, self.k, epsilon=self.epsilon, delta=self.delta / 2.0)
        return self.n_arms + 2 * (self.most_rounds - 1) + restart

    @property
    def goal(self) -> Goal:
        return ExploreM(self.k, self.epsilon)

    def initial_state(self, rng: np.random.Generator | None = None) -> Restart:
        return Restart(self.first.initial_state(), self.second.initial_state())

    def update(
        self,
        state: Restart,
        feedback: Feedback,
        ticket: Ticket | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        """Update the state of the present rule; restart after `most_rounds` rounds if LUCB1 is not done."""
        rule, own = self._present(state)
        rule.update(own, feedback)
        if not state.restarted and state.first.rounds >= self.most_rounds:
            state.restarted = not self.first.is_done(state.first)

    def select(self, state: Restart, rng: np.random.Generator, context: Context | None = None) -> IntArray:
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
