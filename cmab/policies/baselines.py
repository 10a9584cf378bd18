"""Baselines: policies without confidence bounds, a random policy and a policy with known means."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.context import Context
from cmab.declared import flag, interval, real
from cmab.policies._compiled import CompiledIndexPolicy, OptimisticPolicy, pack_optimism
from cmab.propensities import uniform_chance
from cmab.statistics import ArmStatistics
from cmab.validation import vector


@dataclass(frozen=True, eq=False)
class Greedy(OptimisticPolicy):
    """The empirical means; for unobserved arms, the best end of `support`.

    Use this policy as a baseline. With a few hopeful pseudo-outcomes, its regret is small on average, but it
    stays with a bad super arm on some problems.

    This is `CUCB` without its radius. It may play a bad super arm forever. It draws no random numbers. The
    oracle's order decides between unobserved arms (see `IndexPolicy`).

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.
    prior_mean, prior_weight : float or array_like of shape (n_arms,)
        Mean and number of pseudo-outcomes of each arm, as in `CUCB`. The default is 0 pseudo-outcomes.
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
    """A random super arm with probability epsilon, and the greedy super arm otherwise.

    Use this policy if the propensities of super arms must be known, for example to evaluate other policies on
    the log. Otherwise, `AdaptiveCTS` has less regret.

    The random super arm is the oracle's answer to uniformly random means, as in `RandomPolicy`. The greedy
    super arm is that of `Greedy`, which gives unobserved arms the best index. Ties between unobserved arms
    are broken at random: their indices differ from the best end of `support` by at most 1e-12 of its length.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.
    epsilon : float
        Probability of exploration, in [0, 1]. With `decay`, the constant c >= 0.
    decay : bool
        If True, the probability in round t is ``min(1, c / t)``. If False, it is constant.
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

    def propensity(self, state: ArmStatistics, super_arm: IntArray, context: Context | None) -> float | None:
        """Return the probability of a super arm, or None if it is unknown.

        It is known if every arm has been observed, the context has neither values nor costs, and random
        means are fair for the oracle (`Oracle.uniform_family`).
        """
        uniform = uniform_chance(self.oracle, super_arm, context)
        if uniform is None or (state.counts == 0).any():
            return None
        epsilon = min(1.0, self.epsilon / (state.rounds + 1)) if self.decay else self.epsilon
        greedy = Greedy(self.oracle, support=self.support)
        best = greedy.select(state, np.random.default_rng(0), context)
        if getattr(self.oracle, "uniform_size", None) is not None:  # sets, in any order
            best, super_arm = np.sort(best), np.sort(super_arm)
        return epsilon * uniform + (1.0 - epsilon) * float(np.array_equal(best, super_arm))


@dataclass(frozen=True, eq=False)
class RandomPolicy(CompiledIndexPolicy):
    """The oracle's answer to uniformly random means. It does not learn.

    Use this policy as a baseline, or to collect a log with known propensities.

    The choice is uniform over the family if the family is symmetric in the arms, as in `TopK`. In other
    families, every super arm that is optimal for some means has a positive probability, and the probabilities
    differ.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.
    support : tuple of float
        Interval from which the random means are drawn.

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
        from cmab.policies._kernels_random_means import random_means

        return random_means

    def parameters(self) -> FloatArray:
        return np.array(self.support, dtype=float)

    def propensity(self, state: ArmStatistics, super_arm: IntArray, context: Context | None) -> float | None:  # noqa: ARG002
        """Return the probability of a super arm, or None if it is unknown.

        It is known if the context has neither values nor costs, and random means are fair for the oracle
        (`Oracle.uniform_family`).
        """
        return uniform_chance(self.oracle, super_arm, context)


@dataclass(frozen=True, eq=False)
class Clairvoyant(CompiledIndexPolicy):
    """The oracle's answer to known means. With the true means, it is the benchmark of learners.

    Use this policy only as the benchmark of a comparison.

    Its average regret is not positive, because the regret is measured against the oracle's guarantee, and
    the oracle's answer is at least as good.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.
    means : array_like, shape (n_arms,)
        The known means.

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
