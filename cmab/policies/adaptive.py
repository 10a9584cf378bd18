"""The learner to begin with: Thompson sampling that learns its prior and the scale of the outcomes."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np

from cmab.arrays import ArrayLike, FloatArray
from cmab.compiled import index_kernel, inner_kernel, learn_kernel
from cmab.oracle import Oracle
from cmab.parameters import interval
from cmab.policies.hierarchical import (
    AHEAD,
    GRID,
    GROUPS,
    HIGH,
    LOW,
    POINTS,
    GridPolicy,
    group_labels,
    pack_grid,
    read_ahead,
    share_of,
    usual_means,
)
from cmab.policy import break_ties

#: The weights of the priors, in numbers of outcomes. Uniform means have the prior of mean 1/2 and weight 2.
PRIOR_WEIGHTS = (2.0, 8.0, 32.0, 128.0)
#: The number of degrees of freedom of the prior of a dispersion.
CAUTION = 5.0
#: The weight of the prior with a common mean in a round of discovery.
VAGUE = 4.0
# A sum of weights below this value is scaled to 1, and no weight is then below the second value.
_SMALL, _LEAST = 1e-100, 1e-150
_GOLDEN = 0.6180339887498949
# In a shorter support, squared deviations lose digits or vanish, because they are below the smallest number.
_SHORTEST = 1e-140

# The memory has the weights of the points of the grid, group by group, the sum of the outcomes of each arm,
# the number of its outcomes, and whether it was found, which means first seen in a round of discovery. The
# last entry is the number of rounds with news, which showed an arm for the first time.


@learn_kernel
def learn_weights(arms, n, outcomes, t, reals, memory):
    """Multiply the weight of each point by the probability of each outcome under this point."""
    n_points = int(reals[POINTS])
    wins, losses = reals[GRID : GRID + n_points], reals[GRID + n_points : GRID + 2 * n_points]
    sums = memory[int(reals[GROUPS]) * n_points : memory.shape[0] - 1]
    m = sums.shape[0] // 3
    news, groups, first_seen = memory[memory.shape[0] - 1], reals[GRID + 2 * n_points :], 0
    is_found, low, length = is_discovery(news, t), float(reals[LOW]), float(reals[HIGH] - reals[LOW])
    for j in range(n):
        if j % AHEAD == 0 and read_ahead(arms, j, n, groups, sums[: 2 * m]) < 0.0:
            break  # never, but without this test the compiler would omit the reading
        arm = int(arms[j])
        # Successes are the sum of the outcomes, rounded down after a shift that differs between arms. The
        # sums of outcomes 0 and 1 are exact.
        shift = (arm + 1.0) * _GOLDEN % 1.0
        count, won = float(sums[m + arm]), float(math.floor(float(sums[arm]) + shift))
        if count == 0.0:
            first_seen += 1
            sums[2 * m + arm] = 1.0 if is_found else 0.0
        sums[arm] += share_of(float(outcomes[j]), low, length)
        sums[m + arm] = count + 1.0
        has_won = math.floor(float(sums[arm]) + shift) > won
        counted, seen = (wins, won) if has_won else (losses, count - won)
        first = int(groups[arm]) * n_points
        multiply(memory[first : first + n_points], wins, losses, counted, seen, count)
    memory[memory.shape[0] - 1] = news + (1.0 if first_seen > 0 else 0.0)


@inner_kernel
def is_discovery(news, t):
    """Return whether round t is a round of discovery, if `news` rounds before it had news."""
    # The multiples of the golden ratio, modulo 1, are spread evenly. The update can compute them as well.
    return news > 0.0 and t * _GOLDEN % 1.0 * t * min(news + 2.0, math.sqrt(t)) < t - 1.0 - news


@inner_kernel
def multiply(weights, wins, losses, counted, seen, count):
    """Multiply the weight of each point by the probability of the next outcome of an arm."""
    # B(a + s + 1, b + n - s) / B(a + s, b + n - s) = (a + s) / (a + b + n). The grid has four
    # values of a + b, which alternate. Written out, the compiler vectorises the loop.
    first = 1.0 / (float(wins[0] + losses[0]) + count)
    second = 1.0 / (float(wins[1] + losses[1]) + count)
    third = 1.0 / (float(wins[2] + losses[2]) + count)
    fourth = 1.0 / (float(wins[3] + losses[3]) + count)
    one, two, three, four = 0.0, 0.0, 0.0, 0.0
    for p in range(0, weights.shape[0], 4):
        a = float(weights[p]) * ((float(counted[p]) + seen) * first)
        b = float(weights[p + 1]) * ((float(counted[p + 1]) + seen) * second)
        c = float(weights[p + 2]) * ((float(counted[p + 2]) + seen) * third)
        d = float(weights[p + 3]) * ((float(counted[p + 3]) + seen) * fourth)
        weights[p], weights[p + 1], weights[p + 2], weights[p + 3] = a, b, c, d
        one += a
        two += b
        three += c
        four += d
    total = one + two + three + four
    if total < _SMALL:
        for p in range(weights.shape[0]):
            weights[p] = max(weights[p] / total, _LEAST)


@inner_kernel
def point_at(weights, n_points, uniform):
    """Return the point of the grid at `uniform` in [0, 1) of the cumulated weights."""
    one, two, three, four, last = 0.0, 0.0, 0.0, 0.0, 0
    for p in range(0, n_points, 4):  # four sums, which do not wait for each other
        one += float(weights[p])
        two += float(weights[p + 1])
        three += float(weights[p + 2])
        four += float(weights[p + 3])
    left = uniform * (one + two + three + four)
    for p in range(n_points):
        weight = float(weights[p])
        last = p if weight > 0.0 else last  # by rounding, `left` may stay positive to the end
        left -= weight
        if left < 0.0:
            break
    return last


@inner_kernel
def pooled_dispersion(counts, means, deviations, low, length, coins):
    """Return the squared deviations of all arms, divided by those of coins with the same means; at most 1.

    Write the squared deviations of coins to `coins`, or 0 for arms that have no dispersion of their own.
    """
    degrees, total, unit = 0.0, 0.0, 0.0
    for i in range(counts.shape[0]):
        coins[i] = 0.0
        if counts[i] > 1 and length > _SHORTEST:
            n, share = float(counts[i]), share_of(float(means[i]), low, length)
            squares = float(deviations[i]) / length / length
            # Coins have n share (1 - share) squared deviations. This is an unbiased estimate of their mean
            # for any outcomes, and for coins it is the same number.
            expected = (n - 1.0) * share * (1.0 - share) + squares / n
            if expected > 0.0:  # not for nan, if a batch came without its squares
                coins[i] = expected
                degrees += n - 1.0
                total += squares
                unit += expected
    ratio = min(total / unit, 1.0) if unit > 0.0 else 1.0
    return (degrees * ratio + CAUTION) / (degrees + CAUTION)


@inner_kernel
def weight_of(count, share, squares, coins, pooled):
    """Return the count divided by the dispersion of an arm, whose prior is the pooled dispersion."""
    if coins == 0.0:
        # An arm whose outcomes were all at one end of the support may be a coin, whatever the others are.
        return count / pooled if 0.0 < share < 1.0 else count
    # The dispersion is ((n - 1) r + CAUTION pooled) / (n - 1 + CAUTION) with r = squares / coins.
    bounded = min(squares, coins)
    return count * (count - 1.0 + CAUTION) * coins / ((count - 1.0) * bounded + CAUTION * pooled * coins)


@inner_kernel
def boundary(s):
    """Return by how many deviations an index may exceed the mean, with `s` rounds to come per known outcome.

    This is the approximation of the Gittins index by Brezzi and Lai. Between s = 0.5 and 30 it is below the
    exact index, and a rule with the exact one was not better (docs/explanation/learner.md).
    """
    if s <= 0.2:
        return math.sqrt(s / 2.0)
    if s <= 1.0:
        return 0.49 - 0.11 / math.sqrt(s)
    if s <= 5.0:
        return 0.63 - 0.26 / math.sqrt(s)
    if s <= 15.0:
        return 0.77 - 0.58 / math.sqrt(s)
    long = math.log(s)
    return math.sqrt(2.0 * long - math.log(long) - math.log(16.0 * math.pi))


@inner_kernel
def trigamma(x):
    """Return the second derivative of ln Gamma, with an error below 2 %."""
    y = x + 1.0
    return 1.0 / (x * x) + 1.0 / y + 0.5 / (y * y) + 1.0 / (6.0 * y * y * y)


@inner_kernel
def bounded_rise(a, b, s, theta):
    """Return the smaller one of `theta` and the upper bound on the index of the posterior Beta(a, b)."""
    mean = a / (a + b)
    # The variance of ln(1 - p) is above a / (b (a + b)), and the square of the boundary is at least `least`.
    # Most draws are below the bound with these values, which takes neither logarithms nor roots.
    least = 7.9 if s > 1000.0 else 3.6 if s > 100.0 else 0.38 if s > 15.0 else min(0.5 * s, 0.059)
    if 0.9 * least * a * (1.0 - theta) * (1.0 - theta) >= b * (a + b) * (theta - mean) * (theta - mean):
        return theta
    deviation = math.sqrt(trigamma(b) - trigamma(a + b))
    # The logarithm is for priors whose successes are rare. There, the deviation says little about the tail.
    rise = max(boundary(s) * deviation, math.log(max(a * s / 3.0, 1.0)) / (b + 1.0))
    return min(theta, 1.0 - (1.0 - mean) * math.exp(-rise))


@inner_kernel
def bounded_draw(a, b, s, theta):
    """Return a draw `theta` from Beta(a, b), or the bound on its side of the mean if it is beyond it."""
    if theta * (a + b) > a:
        return bounded_rise(a, b, s, theta)
    return 1.0 - bounded_rise(b, a, s, 1.0 - theta)


@index_kernel
def adaptive_indices(counts, means, deviations, memory, t, reals, rng, out):
    """Draw from each arm's posterior, no further from its mean than the rounds to come are worth."""
    m, n_points, low = counts.shape[0], int(reals[POINTS]), float(reals[LOW])
    length = float(reals[HIGH]) - low
    wins, losses = reals[GRID : GRID + n_points], reals[GRID + n_points :]
    # Python computes with floats in half of the time of numpy's numbers, here and below.
    groups, order = reals[GRID + 2 * n_points :], reals[GRID + 2 * n_points + m :]
    found, news = memory[memory.shape[0] - 1 - m :], memory[memory.shape[0] - 1]
    pooled = pooled_dispersion(counts, means, deviations, low, length, out)
    few, common, is_wide = 0.0, 0.0, False
    if is_discovery(news, t):
        q = int(rng.random() * n_points)
        common, is_wide = float(wins[q]) / float(wins[q] + losses[q]), rng.random() < 0.5
        few = t**0.25 if is_wide else 1.0  # arms with fewer outcomes have a common prior
    group, p = -1, 15 * n_points // 32
    for place in range(m):
        arm = int(order[place])
        if int(groups[arm]) != group:
            group = int(groups[arm])
            weights, uniform = memory[group * n_points :], rng.random()
            # The weights change with the first outcome. Until then, the point is that of the group before.
            if weights[0] != 1.0 or weights[n_points - 1] != 1.0:
                p = point_at(weights, n_points, uniform)
        share, n = share_of(float(means[arm]), low, length), float(counts[arm])
        squares = float(deviations[arm]) / length / length
        known = weight_of(n, share, squares, float(out[arm]), pooled)
        alpha, beta = float(wins[p]), float(losses[p])
        if n < few:
            alpha, beta, known = VAGUE * common, VAGUE * (1.0 - common), n
        elif is_wide:
            alpha, beta = 1.0, 1.0
        elif found[arm] > 0.0:
            alpha, beta = alpha / (alpha + beta), beta / (alpha + beta)
        a, b = alpha + known * share, beta + known * (1.0 - share)
        theta = rng.beta(a, b)
        if n >= few and not is_wide:
            dispersion = n / known if n > 0.0 else pooled
            theta = bounded_draw(a, b, t / (n + dispersion * (alpha + beta + 1.0)), theta)
        out[arm] = low + length * theta
    break_ties(counts, low, reals[HIGH], rng, out)


@dataclass(frozen=True, eq=False)
class AdaptiveCTS(GridPolicy):
    """Thompson sampling that learns its prior and its scale, and explores as much as the rounds are worth.

    Use this policy first. Use another one only if the means change often, or features of the arms are known.

    This is the learner to begin with, also under the name `Learner`. It needs no parameter, horizon or scale.
    In each round it takes four steps:

    1. It draws a Beta prior for each group of arms from a grid of 64, or 88 with 100,000 arms or more, by
       their posterior probabilities. Before the first outcome, this is the prior in the middle of the grid,
       so that the first choice follows from the network or from the other data of the oracle.
    2. It divides the number of outcomes of each arm by the arm's *dispersion*. This is the variance of the
       outcomes divided by that of a coin with the same mean, shrunk towards the value of all arms together.
       It is 1 for coins, and small for outcomes in a narrow range.
    3. It draws a mean for each arm from the Beta posterior, and moves it towards the posterior mean if it is
       beyond a bound near the *Gittins index* of the arm, on the other side beyond the mirror image. This
       index is the value of the arm if as many rounds are to come as have passed. So one of many arms is not
       preferred because its draw is the largest, and exploration does not last longer than it is worth.
    4. It plays the answer of the oracle to these indices.

    A super arm may consist of arms unlike those that were seen. Therefore some rounds are rounds of
    *discovery*. A round has *news* if it shows an arm for the first time. After R rounds with news and Z
    rounds without, a share ``Z / t / min(R + 2, sqrt(t))`` of the rounds around t is of discovery. In these
    rounds, *rare* arms have the prior Beta(4 M, 4 - 4 M) with one mean M for all of them, drawn from the
    grid. Their dispersion is 1, and their draws are not moved. In half of these rounds, arms without outcomes
    are rare. In the other half, arms with fewer than ``t**0.25`` outcomes are, the prior of the others is
    uniform, and no draw is moved. Arms that are first seen in a round of discovery have a prior of weight 1
    from then on.

    Step 1 is the exact posterior for outcomes 0 and 1. Other outcomes enter it as coins: the number of
    successes of an arm is the sum of its outcomes as shares of the support, rounded at a random-like offset.

    For fixed means, the regret per round tends to 0 with an exact oracle, immediate feedback, and outcomes
    that are independent between rounds. The expected regret in T rounds is of the order ``(ln T)**2`` if they
    are also independent between arms (theorem E in the docs, ours).

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
    M. Brezzi, T. L. Lai: Optimal learning and experimentation in bandit problems, J. of Economic Dynamics and
    Control 27, 2002 (from memory), for the boundary of the Gittins index. The combination is ours.
    """

    groups: ArrayLike | None = None
    _: KW_ONLY
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=interval())
    memory_parameters: ClassVar[tuple[str, ...]] = ("groups", "support")

    def rule(self) -> Any:
        return adaptive_indices

    def learning_rule(self) -> Any:
        return learn_weights

    def memory(self) -> FloatArray:
        """Return equal weights for all points of the grid of each group, and no outcomes."""
        return np.concatenate([np.ones(math.prod(self._sizes())), np.zeros(3 * self.oracle.n_arms + 1)])

    def _stored(self, log_weights: FloatArray) -> FloatArray:
        # The rule reads weights, whose scale does not matter, and multiplies them, so none may be 0.
        shares = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
        return np.asarray(np.maximum(shares, _LEAST))

    def parameters(self) -> FloatArray:
        labels = group_labels(self.oracle, self.groups)
        means = np.array(usual_means(self.oracle.n_arms))
        return pack_grid(self.support, means, np.array(PRIOR_WEIGHTS), labels)


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
