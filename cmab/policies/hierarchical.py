"""Thompson sampling with a learned prior: for each group, a posterior over a grid of Beta distributions.

`memory` holds the log weights of the points of the grid, group by group, then the sum of the outcomes of each
arm, then the number of outcomes of each arm.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.bounds.beta import log_gamma
from cmab.compiled import index_kernel, inner_kernel, lean_kernel, learn_kernel
from cmab.oracle import Oracle
from cmab.parameters import interval, one_of
from cmab.policies.thompson import MANY_ARMS, power_draw
from cmab.policy import CompiledIndexPolicy
from cmab.priors import BetaPrior
from cmab.statistics import ArmStatistics
from cmab.validation import as_array, shown, vector

#: Positions in `reals`. From GRID on follow the successes of each point of the grid, its failures, the group
#: of each arm, and the arms sorted by group.
LOW, HIGH, GROUPS, POINTS, GRID = range(5)
#: The number of outcomes whose arms are read at the same time.
AHEAD = 32
# A weight below exp(_NOTHING) times the largest weight does not change a sum.
_NOTHING = -40.0


@inner_kernel
def share_of(value, low, length):
    """Return `value` as a fraction of the support, clipped to [0, 1]."""
    # A quotient, because a product with 1 / length is not always 1 at the upper end of the support.
    return float(min(max((value - low) / length, 0.0), 1.0))


@inner_kernel
def read_ahead(arms, first, n, groups, sums):
    """Read the numbers of the arms of the next AHEAD outcomes, and return their sum, which is not negative.

    Among millions of arms, these numbers are not in the cache. The processor reads them at the same time
    here, and one after the other if it updates the weights of the grid in between.
    """
    total, m = 0.0, sums.shape[0] // 2
    for j in range(first, min(first + AHEAD, n)):
        total += groups[arms[j]] + sums[arms[j]] + sums[m + arms[j]]
    return total


@learn_kernel
def learn_grid(arms, n, outcomes, t, reals, memory):
    """Multiply the weight of each point by the likelihood of each outcome under this point."""
    n_points = int(reals[POINTS])
    wins, losses = reals[GRID : GRID + n_points], reals[GRID + n_points :]
    sums = memory[int(reals[GROUPS]) * n_points :]
    m = sums.shape[0] // 2
    groups = reals[GRID + 2 * n_points :]
    for j in range(n):
        if j % AHEAD == 0 and read_ahead(arms, j, n, groups, sums) < 0.0:
            break  # never, but without this test the compiler would omit the reading
        arm, x = arms[j], share_of(outcomes[j], reals[LOW], reals[HIGH] - reals[LOW])
        won, count = sums[arm], sums[m + arm]
        lost = count - won
        weights = memory[int(groups[arm]) * n_points :]
        if x == 1.0:
            for p in range(n_points):
                # B(a + s + 1, b + n - s) / B(a + s, b + n - s) = (a + s) / (a + b + n).
                weights[p] += math.log((wins[p] + won) / (wins[p] + losses[p] + count))
        elif x == 0.0:
            for p in range(n_points):
                weights[p] += math.log((losses[p] + lost) / (wins[p] + losses[p] + count))
        else:
            for p in range(n_points):
                a, b = wins[p] + won, losses[p] + lost
                # B(a + x, b + 1 - x) / B(a, b): the likelihood p^x (1 - p)^(1 - x).
                gained = log_gamma(a + x) - log_gamma(a) + log_gamma(b + 1.0 - x) - log_gamma(b)
                weights[p] += gained - math.log(a + b)
        sums[arm] += x
        sums[m + arm] += 1.0


@lean_kernel
def largest(log_weights, n_points):
    """Return the largest of the first `n_points` log weights."""
    most = -np.inf
    for p in range(n_points):
        most = max(most, log_weights[p])
    return most


@lean_kernel
def drawn_point(log_weights, n_points, uniform):
    """Return a random point of the grid, drawn by its weight."""
    most, total, last = largest(log_weights, n_points), 0.0, 0
    for p in range(n_points):
        total += math.exp(log_weights[p] - most)
    left = uniform * total
    for p in range(n_points):
        weight = math.exp(log_weights[p] - most)
        last = p if weight > 0.0 else last  # by rounding, `left` may stay positive to the end
        left -= weight
        if left < 0.0:
            break
    return last


@index_kernel
def hierarchical_draws(counts, means, deviations, memory, t, reals, rng, out):
    """Draw a point of the grid for each group, then an index for each arm from its posterior."""
    m, n_points, length = counts.shape[0], int(reals[POINTS]), reals[HIGH] - reals[LOW]
    wins, losses = reals[GRID : GRID + n_points], reals[GRID + n_points :]
    groups, order = reals[GRID + 2 * n_points :], reals[GRID + 2 * n_points + m :]
    group, p = -1, 0
    for place in range(m):
        arm = int(order[place])
        if int(groups[arm]) != group:
            group = int(groups[arm])
            if n_points > 1:  # with one point nothing is drawn, so that the rule equals CTS bit for bit
                p = drawn_point(memory[group * n_points :], n_points, rng.random())
        out[arm] = p
    for i in range(m):
        mean, p = share_of(means[i], reals[LOW], length), int(out[i])
        a, b = wins[p] + counts[i] * mean, losses[p] + counts[i] * (1.0 - mean)
        if m >= MANY_ARMS and (a == 1.0 or b == 1.0):  # as in CTS
            theta = rng.random() if a == b else power_draw(a, b, rng.standard_exponential())
        else:
            theta = rng.beta(a, b)
        out[i] = reals[LOW] + length * theta


# Denser for small means, because in graphs and lists most events are rare.
MEANS = (0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.18, 0.25, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97)
# Graphs with many arcs have nodes with thousands of arcs in. If the prior means of these arcs are too large,
# a reverse-reachable set contains most of these nodes, and takes long to draw.
_SMALL_MEANS = (2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 0.001)
_MANY_ARMS = 100_000
WEIGHTS = (1.0, 4.0, 16.0, 64.0)
_LEAST = 1e-6


@lean_kernel
def _mixed_mean(won, count, log_weights, most, grid):
    """Return the posterior mean of an arm, averaged over the points of the grid by their weights."""
    total, mean, n_points = 0.0, 0.0, grid.shape[0] // 2
    for p in range(n_points):
        if log_weights[p] - most > _NOTHING:
            weight = math.exp(log_weights[p] - most)
            total += weight
            mean += weight * (grid[p] + won) / (grid[p] + grid[n_points + p] + count)
    return mean / total


@index_kernel
def hierarchical_means(counts, means, deviations, memory, t, reals, rng, out):
    """Write the posterior mean of each arm."""
    m, n_points, length = counts.shape[0], int(reals[POINTS]), reals[HIGH] - reals[LOW]
    grid = reals[GRID : GRID + 2 * n_points]
    groups, order = reals[GRID + 2 * n_points :], reals[GRID + 2 * n_points + m :]
    group, most, prior = -1, 0.0, 0.0
    for place in range(m):
        arm = int(order[place])
        weights = memory[int(groups[arm]) * n_points :]
        if int(groups[arm]) != group:
            group, most = int(groups[arm]), largest(weights, n_points)
            prior = _mixed_mean(0.0, 0.0, weights, most, grid)
        theta = prior
        if counts[arm] > 0:
            won = counts[arm] * share_of(means[arm], reals[LOW], length)
            theta = _mixed_mean(won, float(counts[arm]), weights, most, grid)
        out[arm] = reals[LOW] + length * theta


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


class GridPolicy(CompiledIndexPolicy):
    """Base class of policies whose `parameters` are those of `pack_grid`.

    Their memory begins with the weights of the points of the grid, the sums of outcomes, and their numbers.
    """

    is_random: ClassVar[bool] = True

    def grid(self) -> tuple[FloatArray, FloatArray]:
        """Return the parameters of the Beta priors of the grid."""
        n_points = self._sizes()[1]
        return self._reals[GRID : GRID + n_points], self._reals[GRID + n_points : GRID + 2 * n_points]

    def beta_prior(self) -> BetaPrior:
        wins, losses = self.grid()
        first = GRID + 2 * len(wins)
        return BetaPrior(wins, losses, self._reals[first : first + self.oracle.n_arms].astype(np.int64))

    def _sizes(self) -> tuple[int, int]:
        """Return the number of groups and the number of points of the grid."""
        return int(self._reals[GROUPS]), int(self._reals[POINTS])

    def _stored(self, log_weights: FloatArray) -> FloatArray:
        """Return the weights as the memory has them."""
        return log_weights

    def _completed(self, state: ArmStatistics, won: FloatArray, lost: FloatArray) -> ArmStatistics:
        completed, prior = state.with_coins(won, lost, state.memory), self.beta_prior()
        tried = completed.counts.astype(np.float64)
        sums = tried * completed.means
        weights = self._stored(prior.log_weights(sums, tried - sums))
        known = np.concatenate([weights.ravel(), sums, tried])
        completed.memory[: len(known)] = known
        return completed


@dataclass(frozen=True, eq=False)
class HierarchicalCTS(GridPolicy):
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
    memory_parameters: ClassVar[tuple[str, ...]] = ("groups", "means", "weights", "support")

    def rule(self) -> Any:
        return hierarchical_means if self.estimate == "mean" else hierarchical_draws

    def learning_rule(self) -> Any:
        return learn_grid

    def memory(self) -> FloatArray:
        """Return log weights of 0 for all groups and points of the grid, and no outcomes."""
        return np.zeros(math.prod(self._sizes()) + 2 * self.oracle.n_arms)

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
        return pack_grid(self.support, shares, weights, group_labels(self.oracle, self.groups))
