"""Baselines: rules without confidence bounds, and the two ends between which every policy lies."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np

from cmab.arrays import ArrayLike, FloatArray
from cmab.declared import flag, integer, interval, real
from cmab.feedback import Feedback
from cmab.policies._compiled import CompiledIndexPolicy, OptimisticPolicy, pack_optimism
from cmab.policy import IndexPolicy
from cmab.renamed import find as __getattr__  # noqa: F401
from cmab.statistics import ArmStatistics
from cmab.validation import vector


@dataclass(frozen=True, eq=False)
class Greedy(OptimisticPolicy):
    """The empirical means, and the best end of `support` for arms never seen.

    It is `CUCB` without its radius, and may settle on a bad super arm for ever. It draws nothing: among arms
    never seen, the oracle's order decides, as `IndexPolicy` describes.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.
    prior_mean, prior_weight : float or array_like of shape (n_arms,)
        Pseudo-outcomes that every arm starts with, as in `CUCB`; none if left out.
    support : tuple of float
        Interval of the outcomes.

    Examples
    --------
    >>> from cmab import Feedback, Greedy, Session
    >>> from oracles import TopK
    >>> session = Session(Greedy(TopK(n_arms=3, k=1)), rng=0)
    >>> session.tell(Feedback(session.ask(), outcomes=[0.0]))
    >>> session.ask().super_arm
    array([1])
    """

    prior_mean: ArrayLike | None = None
    _: KW_ONLY
    prior_weight: ArrayLike = 0.0
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=interval())

    def parameters(self) -> FloatArray:
        return pack_optimism(self.oracle, self.support, self.prior_mean, self.prior_weight)


@dataclass(frozen=True, eq=False)
class EpsilonGreedy(CompiledIndexPolicy):
    """A random super arm with probability epsilon, the greedy one otherwise.

    The random super arm is the oracle's answer to uniformly random means, as in `RandomPolicy`; the greedy
    one is that of `Greedy`, so arms never seen count as best. Ties between arms never seen are broken at
    random: their indices differ from the best end of `support` by at most 1e-12 of its length.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.
    epsilon : float
        Probability to explore, in [0, 1]; with `decay`, the number c >= 0 below.
    decay : bool
        Whether the probability in round t is ``min(1, c / t)`` in place of a constant.
    support : tuple of float
        Interval of the outcomes.

    Examples
    --------
    >>> from cmab import EpsilonGreedy, Session
    >>> from oracles import TopK
    >>> Session(EpsilonGreedy(TopK(n_arms=4, k=2), epsilon=5.0, decay=True), rng=0).ask().super_arm
    array([0, 3])

    References
    ----------
    P. Auer, N. Cesa-Bianchi, P. Fischer: Finite-time Analysis of the Multiarmed Bandit Problem, Machine
    Learning 47 (2002), Figure 3.
    """

    epsilon: float = field(default=0.1, metadata=real(0.0, lambda policy: math.inf if policy.decay else 1.0))
    _: KW_ONLY
    decay: bool = field(default=False, metadata=flag())
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=interval())
    is_random: ClassVar[bool] = True

    def rule(self) -> Any:
        from cmab.policies._kernels_epsilon_greedy import epsilon_greedy_indices

        return epsilon_greedy_indices

    def parameters(self) -> FloatArray:
        return np.concatenate([[self.epsilon, float(self.decay)], pack_optimism(self.oracle, self.support)])


@dataclass(frozen=True, eq=False)
class RandomPolicy(CompiledIndexPolicy):
    """The oracle's answer to uniformly random means, whatever was observed.

    Uniform over the family where all super arms look alike to the oracle, as in `TopK`; elsewhere any super
    arm that some means make best may come, some more often than others.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.
    support : tuple of float
        Interval that the random means are drawn from.

    Examples
    --------
    >>> from cmab import Session, RandomPolicy
    >>> from oracles import TopK
    >>> session = Session(RandomPolicy(TopK(n_arms=10, k=2)), rng=0)
    >>> session.ask().super_arm, session.ask().super_arm
    (array([4, 8]), array([0, 4]))
    """

    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=interval())
    learns: ClassVar[bool] = False
    is_random: ClassVar[bool] = True

    def rule(self) -> Any:
        from cmab.policies._kernels_epsilon_greedy import epsilon_greedy_indices

        return epsilon_greedy_indices

    def parameters(self) -> FloatArray:
        # Epsilon-greedy with epsilon = 1.
        return np.concatenate([[1.0, 0.0], pack_optimism(self.oracle, self.support)])


@dataclass(frozen=True, eq=False)
class ExploreThenCommit(IndexPolicy):
    """Random super arms for a number of rounds; then the oracle's answer to what was learned, for ever.

    Feedback that comes after the exploration changes nothing. Arms that were never seen get the worst end of
    `support`: a commitment should rest on what is known.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.
    exploration_rounds : int
        Rounds of exploration, as in `RandomPolicy`.
    support : tuple of float
        Interval of the outcomes.

    Examples
    --------
    >>> from cmab import ExploreThenCommit, Feedback, Session
    >>> from oracles import TopK
    >>> session = Session(ExploreThenCommit(TopK(n_arms=3, k=1), exploration_rounds=1), rng=0)
    >>> session.tell(Feedback(session.ask(), outcomes=[0.7]))
    >>> session.tell(Feedback(session.ask(), outcomes=[0.0]))
    >>> session.state.means
    array([0.7, 0. , 0. ])
    """

    exploration_rounds: int = field(default=1000, metadata=integer(0))
    _: KW_ONLY
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=interval())

    def indices(self, stats: ArmStatistics, rng: np.random.Generator) -> FloatArray:
        """Return random means while exploring, estimates afterwards, shape (n_arms,)."""
        low, high = self.support
        if stats.rounds < self.exploration_rounds:
            return low + (high - low) * rng.random(stats.n_arms)
        # Pessimism: after the exploration nothing is learned, so an arm never seen must not tempt.
        worst = low if self.oracle.sense == "max" else high
        return np.where(stats.counts == 0, worst, np.clip(stats.means, low, high))

    def update(self, state: ArmStatistics, feedback: Feedback) -> None:
        """Take in one round of feedback; after the exploration, count it only."""
        if state.rounds < self.exploration_rounds:
            state.update(feedback)
        else:
            state.rounds += 1


@dataclass(frozen=True, eq=False)
class Clairvoyant(CompiledIndexPolicy):
    """The oracle's answer to means known beforehand: with the true ones, what a learner is measured against.

    Its regret is not positive on average, for it plays what the oracle's guarantee only promises.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.
    means : array_like, shape (n_arms,)
        The means.

    Raises
    ------
    ValueError
        If a mean is missing or not finite.

    Examples
    --------
    >>> from cmab import Clairvoyant, simulate
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle, means = TopK(n_arms=3, k=2), [0.1, 0.5, 0.75]
    >>> environment = SemiBandit(BernoulliArms(means), oracle)
    >>> simulate(Clairvoyant(oracle, means), environment, horizon=4, rng=0).regret
    array([[0., 0., 0., 0.]])
    """

    means: ArrayLike
    learns: ClassVar[bool] = False

    def rule(self) -> Any:
        from cmab.policies._kernels_optimism import known_means

        return known_means

    def parameters(self) -> FloatArray:
        return vector("means", self.means, self.oracle.n_arms)
