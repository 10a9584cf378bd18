"""Simple exploration: greedy, random and known means, and random rounds added to another policy."""

from __future__ import annotations

import copy
import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.compiled import index_kernel
from cmab.feedback import Context
from cmab.parameters import flag, interval, one_of, real
from cmab.policies.ucb import OptimisticPolicy, optimistic_reals, write_bounds
from cmab.policies.wrappers import WrappedPolicy
from cmab.policy import CompiledIndexPolicy, break_ties
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
        return optimistic_reals(self.oracle, self.support, self.prior_mean, self.prior_weight)


@index_kernel
def epsilon_greedy_indices(counts, means, deviations, memory, t, reals, rng, out):
    """Write uniform indices with probability epsilon, and the empirical means otherwise."""
    constant, decays, greedy = reals[0], reals[1], reals[2:]
    # Auer et al. (2002), Figure 3: with decay, epsilon of round t is min(1, c / t); c is their cK / d^2.
    # Values above 1 need not be clipped, because every uniform number is below them.
    epsilon = constant / t if decays > 0.0 else constant
    low, high = greedy[4], greedy[5]
    if rng.random() < epsilon:
        for i in range(out.shape[0]):
            out[i] = low + (high - low) * rng.random()
    else:
        write_bounds(counts, means, t, greedy, out)
        break_ties(counts, low, high, rng, out)


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
        return epsilon_greedy_indices

    def parameters(self) -> FloatArray:
        return np.concatenate(
            [[self.epsilon, float(self.decay)], optimistic_reals(self.oracle, self.support)]
        )

    def propensity(self, state: ArmStatistics, super_arm: IntArray, context: Context | None) -> float | None:
        """Return the probability of a super arm, or None if it is unknown.

        It is known if every arm has been observed, the context has neither values nor costs, and random
        means are fair for the oracle, as for all sets of k arms.
        """
        uniform = uniform_chance(self.oracle, super_arm, context)
        if uniform is None or (state.counts == 0).any():
            return None
        epsilon = min(1.0, self.epsilon / (state.rounds + 1)) if self.decay else self.epsilon
        greedy = Greedy(self.oracle, support=self.support)
        best = greedy.select(state, np.random.default_rng(0), context)
        if getattr(self.oracle, "_uniform_size", None) is not None:  # sets, in any order
            best, super_arm = np.sort(best), np.sort(super_arm)
        return epsilon * uniform + (1.0 - epsilon) * float(np.array_equal(best, super_arm))


@index_kernel
def random_means(counts, means, deviations, memory, t, reals, rng, out):
    """Write uniform indices. `reals` holds the two ends of the support."""
    # The first number is unused. Epsilon-greedy with epsilon = 1 also draws it, so the two streams are equal.
    rng.random()
    low, high = reals[0], reals[1]
    for i in range(out.shape[0]):
        out[i] = low + (high - low) * rng.random()


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
        return random_means

    def parameters(self) -> FloatArray:
        return np.array(self.support, dtype=float)

    def propensity(self, state: ArmStatistics, super_arm: IntArray, context: Context | None) -> float | None:
        """Return the probability of a super arm, or None if it is unknown.

        It is known if the context has neither values nor costs, and random means are fair for the oracle, as
        for all sets of k arms.
        """
        return uniform_chance(self.oracle, super_arm, context)


@index_kernel
def known_means(counts, means, deviations, memory, t, reals, rng, out):
    """Write the known means, independent of the observations."""
    for i in range(reals.shape[0]):  # a slice assignment takes seconds to compile
        out[i] = reals[i]


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
        return known_means

    def parameters(self) -> FloatArray:
        return vector("means", self.means, self.oracle.n_arms)


@dataclass(frozen=True, eq=False)
class ForcedExploration(WrappedPolicy[Any]):
    """Another policy, plus an exploring round with probability ``min(1, c t^(-1/3))`` in round t.

    Use this wrapper if a policy that explores little needs a guarantee for fixed means.

    In all other rounds, it plays the wrapped policy. Policies with an informative prior and policies that
    only exploit learn fast, but they may never again play an arm that looked bad, so their regret has no
    bound that holds for every vector of means. The exploring rounds add such a bound.

    The regret is ``O(T^(2/3))`` up to logarithms for any approximate oracle (theorem B in the docs, ours).
    The constants grow with ``1 / (p0 c)``. The bound has two conditions:

    1. In an exploring round, each arm is observed with probability at least p0.
    2. While all confidence intervals hold, the index of an arm differs from the mean of this arm by at most
       ``b sqrt(log(m t) / N) + w / (N + w)``. Here m is the number of arms, N the number of observations of
       the arm, w the weight of the prior, and b a constant. Posterior means and fixed quantiles of the
       posterior satisfy this condition.

    The parameter `form` selects the super arm of an exploring round and so determines p0:

    - ``"oracle"`` plays the oracle's answer to random means, as `RandomPolicy` does. Then p0 is the least
      probability, over all arms, that the answer contains the arm. For the k best of m arms, it is k / m.
    - ``"last"`` plays the policy's super arm with its last entry replaced by a random other entry that keeps
      the super arm feasible. If no such entry exists, the entry before the last one is replaced, and so on.
      Then p0 is one over the number of such entries.

    The form ``"last"`` loses little if rewards are monotone and submodular, and the oracle returns entries in
    the order of the greedy choice, as the oracles of influence do. The last of k seeds then contributes at
    most a k-th of the reward, so `c` can be k times as large for the same loss.

    The entries of a linear oracle have no such order, so ``"last"`` is only for linear oracles of all sets of
    k arms. If the empty super arm is optimal for all means, as with matchings of least cost that may be
    empty, exploring rounds observe nothing.

    Parameters
    ----------
    policy : Policy
        The wrapped policy. Its state must have an attribute `rounds`, as arm statistics do. The wrapper uses
        the same state.
    c : float
        The constant above, positive. Larger values explore more.
    form : {"oracle", "last"}
        The super arm of an exploring round.

    Notes
    -----
    An exploring round of ``"last"`` calls `is_feasible` at most once for each choice of the oracle. If no
    replacement is feasible, it plays the policy's super arm.

    Examples
    --------
    >>> from cmab import ForcedExploration, Greedy, simulate
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(n_arms=4, k=2)
    >>> environment = SemiBandit(BernoulliArms([0.2, 0.9, 0.1, 0.8]), oracle)
    >>> policy = ForcedExploration(Greedy(oracle, prior_mean=0.05, prior_weight=10.0), c=1.0, form="last")
    >>> simulate(policy, environment, horizon=1000, rng=0).states[0].counts > 20
    array([ True,  True,  True,  True])
    """

    c: float = field(default=0.3, metadata=real(0.0, inside=True))
    _: KW_ONLY
    form: Literal["oracle", "last"] = field(default="oracle", metadata=one_of("oracle", "last"))

    def __post_init__(self) -> None:
        super().__post_init__()
        rounds = getattr(self.policy.initial_state(), "rounds", None)
        if not isinstance(rounds, int):
            raise ValueError(f"policy must have a state that counts its `rounds`, got {self.policy!r}")
        is_uniform = getattr(self.oracle, "_uniform_size", None) is not None
        if self.form == "last" and self.oracle.is_linear and not is_uniform:
            raise ValueError(
                "form must be 'oracle' unless the super arms of a linear oracle are all sets of k arms, got"
                f" 'last' with {self.oracle!r}"
            )

    def select(self, state: Any, rng: np.random.Generator, context: Context | None = None) -> IntArray:
        """Return the policy's super arm or an exploring super arm, among those available."""
        # Theorem B: exploring rounds have probability min(1, c t^(-1/3)).
        explores = rng.random() < self.c * (state.rounds + 1.0) ** (-1 / 3)
        available = None if context is None else context.available
        if explores and self.form == "oracle":
            if context is not None:  # so that the policy rejects a context in any round, or in none
                super().select(copy.deepcopy(state), copy.deepcopy(rng), context)
            low, high = self.support or (0.0, 1.0)
            means = low + (high - low) * rng.random(self.oracle.n_arms)
            if available is None:
                return self.oracle.solve(means, rng)
            return self.oracle.solve_within(means, available, rng)
        chosen = super().select(state, rng, context)
        return self._exchanged(chosen, available, rng) if explores else chosen

    def _exchanged(self, chosen: IntArray, available: BoolArray | None, rng: np.random.Generator) -> IntArray:
        """Return `chosen` with one entry replaced, with at most one feasibility check per choice."""
        others = np.ones(self.oracle.n_choices, bool) if available is None else available.copy()
        others[chosen] = False
        left = self.oracle.n_choices
        for place in reversed(range(len(chosen))):
            kept = np.delete(chosen, place)
            for entry in rng.permutation(np.flatnonzero(others))[:left]:
                left -= 1
                if self.oracle.is_feasible(np.sort(np.append(kept, entry))):
                    return np.append(kept, entry)
        return chosen
