"""Thompson sampling with a learned prior."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.declared import interval, one_of
from cmab.oracle import Oracle
from cmab.policy import CompiledIndexPolicy
from cmab.priors import BetaPrior
from cmab.statistics import ArmStatistics
from cmab.validation import as_array, shown, vector

# Denser for small means, because in graphs and lists most events are rare.
MEANS = (0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.18, 0.25, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97)
# Graphs with many arcs have nodes with thousands of arcs in. If the prior means of these arcs are too large,
# a reverse-reachable set contains most of these nodes, and takes long to draw.
_SMALL_MEANS = (2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 0.001)
_MANY_ARMS = 100_000
WEIGHTS = (1.0, 4.0, 16.0, 64.0)
_LEAST = 1e-6


@dataclass(frozen=True, eq=False)
class HierarchicalCTS(CompiledIndexPolicy):
    """Thompson sampling that learns the prior of each group of arms from the outcomes of the group.

    Use this policy if single runs must not stay with a worse super arm for long, or if arms form groups with
    similar means.

    All arms of a group have the same Beta prior, which is an unknown point of the grid ``means x weights``.
    All points of the grid have the same initial probability. In each round, a point is drawn for each group
    from its posterior over the grid. Then a mean is drawn for each arm from its Beta posterior under this
    prior. Both posteriors are exact for outcomes 0 and 1. Other outcomes count as in `CTS`: x in [0, 1] is x
    successes and 1 - x failures, with the likelihood ``p^x (1 - p)^(1 - x)``. An update takes one step for
    each outcome and point of the grid. With one point, the policy equals `CTS` with this prior bit for bit.

    The guarantee is Bayesian. For means drawn from the model, the regret summed over T rounds is
    ``O(B sqrt(m K T log T))``, for rewards with triggering-probability-modulated smoothness B, at most K
    triggered arms, and any approximate oracle (theorem A in the docs, ours). There is no guarantee for fixed
    means. If the arms of a group have little in common, learning is slower, but the estimates still converge.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.
    groups : array_like of int, shape (n_arms,), optional
        Label of each arm's group. The default is `Oracle.arm_groups`, which oracles of influence define by
        the in-degree of the head of an arc. If the oracle defines no groups, all arms form one group.
    means : array_like
        Means of the priors, strictly inside `support`. By default, 16 values from 0.002 to 0.97 of its
        length, and with 100,000 arms or more also 6 values from 0.00002 to 0.001.
    weights : array_like
        Weights of the priors in numbers of outcomes, at least 1e-6. By default 1, 4, 16 and 64.
    estimate : {"sample", "mean"}
        ``"sample"`` uses draws as indices. ``"mean"`` uses posterior means: the policy then only exploits,
        and has no guarantee without other exploration (see `ForcedExploration`).
    support : tuple of float
        Interval of the outcomes. If outcomes are outside, a mean outside counts as the nearest end, and in
        the posterior of the prior, each outcome does.

    Examples
    --------
    >>> from cmab import HierarchicalCTS, simulate
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(n_arms=6, k=2)
    >>> environment = SemiBandit(BernoulliArms([0.1, 0.9, 0.2, 0.8, 0.1, 0.2]), oracle)
    >>> policy = HierarchicalCTS(oracle, groups=[0, 1, 0, 1, 0, 1])
    >>> result = simulate(policy, environment, horizon=500, rng=0)
    >>> result.super_arms
    [array([1, 3])]
    >>> policy.prior_means(result.states[0]).round(1)
    array([0.2, 0.6])

    References
    ----------
    J. Hong, B. Kveton, M. Zaheer, M. Ghavamzadeh: Hierarchical Bayesian Bandits, AISTATS 2022, for the idea,
    with Gaussian priors. The grid is ours.
    """

    groups: ArrayLike | None = None
    _: KW_ONLY
    means: ArrayLike | None = None
    weights: ArrayLike | None = None
    estimate: Literal["sample", "mean"] = field(default="sample", metadata=one_of("sample", "mean"))
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=interval())
    is_random: ClassVar[bool] = True
    memory_parameters: ClassVar[tuple[str, ...]] = ("groups", "means", "weights", "support")

    def rule(self) -> Any:
        if self.estimate == "mean":
            from cmab.policies._kernels_hierarchical_means import hierarchical_means

            return hierarchical_means
        from cmab.policies._kernels_hierarchical import hierarchical_draws

        return hierarchical_draws

    def learning_rule(self) -> Any:
        """Return the compiled update rule of the priors."""
        from cmab.policies._kernels_hierarchical import learn_grid

        return learn_grid

    def memory(self) -> FloatArray:
        """Return log weights of 0 for all groups and points of the grid, and no outcomes."""
        n_groups, n_points = self._sizes()
        return np.zeros(n_groups * n_points + 2 * self.oracle.n_arms)

    def beta_prior(self) -> BetaPrior | None:
        return grid_prior(self.support, self._reals, self.oracle.n_arms)

    def _completed(self, state: ArmStatistics, won: FloatArray, lost: FloatArray) -> ArmStatistics:
        completed = state.with_coins(won, lost, state.memory)
        completed.memory[:] = completed_memory(self.beta_prior(), completed)
        return completed

    def parameters(self) -> FloatArray:
        low, high = self.support
        usual = [low + (high - low) * mean for mean in usual_means(self.oracle.n_arms)]
        means = vector("means", usual if self.means is None else self.means)
        weights = vector("weights", WEIGHTS if self.weights is None else self.weights, low=_LEAST)
        shares = (means - low) / (high - low)
        if not (len(means) and len(weights) and (shares > 0.0).all() and (shares < 1.0).all()):
            raise ValueError(
                f"means must lie strictly inside {self.support}, and weights must not be empty, got"
                f" means={means}, weights={weights}"
            )
        return pack_grid(self.support, shares, weights, self._labels())

    def prior_means(self, state: ArmStatistics) -> FloatArray:
        """Return the posterior expectation of the prior mean of each group, in the order of the labels."""
        grid = self._grid(state)
        n_points = grid.shape[1]
        wins, losses = np.split(self._reals[4 : 4 + 2 * n_points], 2)
        low, high = self.support
        mixed: FloatArray = grid @ (wins / (wins + losses))
        return low + (high - low) * mixed

    def _grid(self, state: ArmStatistics) -> FloatArray:
        """Return the probability of each point of the grid, shape (number of groups, number of points)."""
        n_groups, n_points = self._sizes()
        weights = state.memory[: n_groups * n_points].reshape(n_groups, n_points)
        shares = np.exp(weights - weights.max(axis=1, keepdims=True))
        probabilities: FloatArray = shares / shares.sum(axis=1, keepdims=True)
        return probabilities

    def _sizes(self) -> tuple[int, int]:
        return int(self._reals[2]), int(self._reals[3])

    def _labels(self) -> IntArray:
        return group_labels(self.oracle, self.groups)


def grid_prior(support: tuple[float, float], reals: FloatArray, n_arms: int) -> BetaPrior | None:
    """Return the grid of priors in the parameters of a rule, or None if the support is not [0, 1]."""
    n_points = int(reals[3])
    wins, losses = np.split(reals[4 : 4 + 2 * n_points], 2)
    groups = reals[4 + 2 * n_points : 4 + 2 * n_points + n_arms].astype(np.int64)
    return BetaPrior(wins, losses, groups) if tuple(support) == (0.0, 1.0) else None


def completed_memory(prior: BetaPrior | None, stats: ArmStatistics) -> FloatArray:
    """Return the log weights of the grid of each group, the sums of outcomes, and their numbers."""
    if prior is None:
        raise ValueError("support must be (0, 1) for further outcomes 0 and 1")
    tried = stats.counts.astype(np.float64)
    won = tried * stats.means
    return np.concatenate([prior.log_weights(won, tried - won).ravel(), won, tried])


def usual_means(n_arms: int) -> tuple[float, ...]:
    """Return the means of the grid for a number of arms, as shares of the support."""
    return _SMALL_MEANS + MEANS if n_arms >= _MANY_ARMS else MEANS


def group_labels(oracle: Oracle, groups: ArrayLike | None) -> IntArray:
    """Return the group of each arm, numbered from 0 in the order of the labels `groups`.

    If `groups` is None, the labels are those of the oracle. If it has none, all arms form one group.
    """
    m = oracle.n_arms
    given = getattr(oracle, "arm_groups", None) if groups is None else groups
    if given is None:
        return np.zeros(m, np.int64)
    labels = as_array("groups", given)
    if labels.shape != (m,) or labels.dtype.kind not in "iu":
        raise ValueError(f"groups must be {m} integers, got {shown(groups)}")
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def pack_grid(
    support: tuple[float, float], means: FloatArray, weights: FloatArray, labels: IntArray
) -> FloatArray:
    """Return the ends of the support, the sizes, the grid of Beta priors, and the groups of the arms.

    The priors of the grid have all pairs of `means`, as shares of the support, and `weights`.
    """
    wins, losses = np.outer(means, weights).ravel(), np.outer(1.0 - means, weights).ravel()
    n_groups, order = int(labels.max(initial=-1)) + 1, np.argsort(labels, kind="stable")
    return np.concatenate([[*support, n_groups, len(wins)], wins, losses, labels, order])
