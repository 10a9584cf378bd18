"""The learner to begin with: Thompson sampling that learns its prior and the scale of the outcomes."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np

from cmab.arrays import ArrayLike, FloatArray
from cmab.campaign.posterior import BetaPrior
from cmab.declared import interval
from cmab.oracle import Oracle
from cmab.policies.compiled_policy import CompiledIndexPolicy
from cmab.policies.hierarchical import (
    WEIGHTS,
    completed_memory,
    grid_prior,
    group_labels,
    pack_grid,
    usual_means,
)
from cmab.statistics import ArmStatistics

_LEAST = 1e-150


@dataclass(frozen=True, eq=False)
class AdaptiveCTS(CompiledIndexPolicy):
    """Thompson sampling that learns its prior and its scale, and explores neglected arms only.

    Use this policy first. Use another one only if a bound for fixed means is required, the means change, or
    features of the arms are known.

    This is the learner to begin with, also under the name `Learner`. It needs no parameter, horizon or scale.
    In each round it takes four steps:

    1. It draws a Beta prior for each group of arms from a grid of 64, or 88 with 100,000 arms or more, by
       their posterior probabilities.
    2. It divides the number of outcomes of each arm by the arm's *dispersion*. This is the variance of the
       outcomes divided by that of a coin with the same mean, shrunk towards the value of all arms together.
       It is 1 for coins, and small for outcomes in a narrow range.
    3. It draws a mean for each arm from the Beta posterior, and moves the draw towards the posterior mean by
       the factor ``sqrt(ln+(a / N) / min(ln(a + 3), 8))``, at most 1. N is the number of outcomes of the arm,
       at least 1/2, and a is the average number over all arms. An arm that was observed as often as the
       average arm has the factor 0, so that its index is its posterior mean.
    4. It plays the answer of the oracle to these indices.

    Step 1 is the exact posterior for outcomes 0 and 1. Other outcomes enter it as coins: the number of
    successes of an arm is the sum of its outcomes as shares of the support, rounded at a random-like offset.

    For means drawn from the model and outcomes 0 and 1, the regret summed over T rounds is of the order
    ``B sqrt(m K T log T)`` in expectation, for rewards with triggering-probability-modulated smoothness B, at
    most K triggered arms and any approximate oracle (theorem C in the docs, ours). The constant is large.
    There is no guarantee for fixed means. `Safeguarded` adds one.

    A context may have `available`, and `values` or `costs` if rewards are sums. Features are rejected.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.
    groups : array_like of int, shape (n_arms,), optional
        Label of each arm's group. The default is `Oracle.arm_groups`, which oracles of influence define by
        the in-degree of the head of an arc. If the oracle defines no groups, all arms form one group.
    support : tuple of float
        Interval of the outcomes. If outcomes are outside, a mean outside counts as the nearest end, and in
        the posterior of the prior, each outcome does.

    Examples
    --------
    >>> from cmab import AdaptiveCTS, simulate
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(n_arms=6, k=2)
    >>> environment = SemiBandit(BernoulliArms([0.1, 0.9, 0.2, 0.8, 0.1, 0.2]), oracle)
    >>> simulate(AdaptiveCTS(oracle), environment, horizon=500, rng=0).super_arms
    [array([1, 3])]

    References
    ----------
    J. Hong, B. Kveton, M. Zaheer, M. Ghavamzadeh: Hierarchical Bayesian Bandits, AISTATS 2022, for the prior.
    P. Ménard, A. Garivier: A minimax and asymptotically optimal algorithm for stochastic bandits, ALT 2017
    (from memory), for ``ln+(a / N)`` as the level of exploration. The combination is ours.
    """

    groups: ArrayLike | None = None
    _: KW_ONLY
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=interval())
    is_random: ClassVar[bool] = True
    memory_parameters: ClassVar[tuple[str, ...] | None] = ("groups", "support")

    def rule(self) -> Any:
        from cmab.policies._kernels_adaptive import adaptive_indices

        return adaptive_indices

    def learning_rule(self) -> Any:
        """Return the compiled update rule of the priors."""
        from cmab.policies._kernels_adaptive import learn_weights

        return learn_weights

    def memory(self) -> FloatArray:
        """Return equal weights for all points of the grid of each group, and no outcomes."""
        n_groups, n_points = int(self._reals[2]), int(self._reals[3])
        return np.concatenate([np.ones(n_groups * n_points), np.zeros(2 * self.oracle.n_arms)])

    def beta_prior(self) -> BetaPrior | None:
        return grid_prior(self.support, self._reals, self.oracle.n_arms)

    def _completed(self, state: ArmStatistics, won: FloatArray, lost: FloatArray) -> ArmStatistics:
        completed = state.with_coins(won, lost, state.memory)
        memory = completed_memory(self.beta_prior(), completed)
        n_groups, n_points = int(self._reals[2]), int(self._reals[3])
        logs = memory[: n_groups * n_points].reshape(n_groups, n_points)
        # The rule reads weights, whose scale does not matter, and multiplies them, so none may be 0.
        logs[:] = np.maximum(np.exp(logs - logs.max(axis=1, keepdims=True)), _LEAST)
        completed.memory[:] = memory
        return completed

    def parameters(self) -> FloatArray:
        labels = group_labels(self.oracle, self.groups)
        means = np.array(usual_means(self.oracle.n_arms))
        return pack_grid(self.support, means, np.array(WEIGHTS), labels)


#: The learner to begin with.
Learner = AdaptiveCTS


def learner_for(given: Any, support: Any = None) -> Any:
    """Return a policy unchanged, and the default learner for an oracle.

    Parameters
    ----------
    given : Policy or Oracle
        The policy, or the oracle.
    support : tuple of float, optional
        The interval of the outcomes. The learner has the interval [0, 1] if `support` is omitted or not
        bounded.

    Examples
    --------
    >>> from cmab.policies.adaptive import learner_for
    >>> from oracles import TopK
    >>> learner_for(TopK(4, k=2), (0.0, 5.0))
    AdaptiveCTS(oracle=TopK(n_arms=4, k=2), groups=None, support=(0.0, 5.0))
    """
    if not isinstance(given, Oracle):
        return given
    is_bounded = support is not None and all(map(math.isfinite, support))
    low, high = support if is_bounded else (0.0, 1.0)
    return AdaptiveCTS(given, support=(float(low), float(high)))
