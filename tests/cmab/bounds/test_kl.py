"""Bounds by relative entropy, also for all counts at once: root finders, exact binomial tails, integrals."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import rel_entr
from scipy.stats import beta, binom

from cmab import KLCUCB, ArmStatistics, Feedback
from cmab.bounds.kl import kl_bounds, kl_lower, kl_upper
from cmab.bounds.mixtures import mixture_price, share_bounds
from oracles import TopK

MEANS = (1e-9, 1e-3, 0.05, 0.3, 0.5, 0.77, 0.98, 1 - 1e-6)
LEVELS = (1e-8, 1e-4, 0.02, 0.3, 1.0, 4.0, 30.0)


def entropy(p, q):
    return float(rel_entr(p, q) + rel_entr(1 - p, 1 - q))


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("level", LEVELS)
def test_bounds_are_the_roots_that_a_solver_finds(mean, level):
    def excess(q):
        return entropy(mean, q) - level

    for bound, end in ((kl_upper, 1.0 - 1e-16), (kl_lower, 1e-300)):
        expected = brentq(excess, mean, end, xtol=1e-15, rtol=1e-14) if excess(end) > 0 else end
        assert bound(mean, level) == pytest.approx(expected, rel=0, abs=1e-9)


def test_ends_of_the_interval():
    assert kl_upper(0.0, 0.7) == pytest.approx(1 - math.exp(-0.7), rel=1e-15)
    assert kl_lower(1.0, 0.7) == pytest.approx(math.exp(-0.7), rel=1e-15)
    assert kl_upper(1.0, 0.7) == 1.0
    assert kl_lower(0.0, 0.7) == 0.0
    assert kl_upper(0.4, 0.0) == kl_lower(0.4, 0.0) == 0.4
    lower, upper = kl_bounds([0.2, 0.2], np.array([0, 5]), rate=1.0)
    assert (lower[0], upper[0]) == (0.0, 1.0)
    assert 0.0 < lower[1] < 0.2 < upper[1] < 1.0


@pytest.mark.parametrize("rate", [0.5, 2.0, 6.0])
@pytest.mark.parametrize("truth", [0.03, 0.3, 0.5, 0.9])
def test_failures_are_rarer_than_promised_by_exact_tails(rate, truth):
    n = 60
    successes = np.arange(n + 1)
    lower, upper = kl_bounds(successes / n, np.full(n + 1, n), rate=rate)
    chances = binom.pmf(successes, n, truth)
    assert chances[upper < truth].sum() <= math.exp(-rate)
    assert chances[lower > truth].sum() <= math.exp(-rate)
    # An interval twice as confident as asked for would be too wide to fail this often.
    assert chances[upper < truth].sum() + chances[lower > truth].sum() > math.exp(-2 * rate) / 4


def root_of(mean, level, end):
    """Return the q between `mean` and the end of [0, 1] at which the entropy is `level`, by bisection."""
    limit = abs(end - 1e-15)
    if mean == end or entropy(mean, limit) <= level:
        return end
    return brentq(lambda q: entropy(mean, q) - level, mean, limit, xtol=1e-15)


@pytest.mark.parametrize("loglog", [0.0, 3.0])
@pytest.mark.parametrize("sense", ["max", "min"])
@pytest.mark.parametrize("support", [(0.0, 1.0), (-3.0, 5.0)])
def test_klcucb_hands_the_roots_to_its_oracle(loglog, sense, support):
    """Rounds 2 to 60, fractions among the outcomes; arm 0 is never seen, arms 1 and 2 have means 0 and 1."""
    policy, rng = KLCUCB(TopK(6, 2, sense=sense), loglog, support=support), np.random.default_rng(0)
    stats, low, length = policy.initial_state(), support[0], support[1] - support[0]
    assert isinstance(stats, ArmStatistics)
    end = 1.0 if sense == "max" else 0.0
    for t in range(2, 61):
        arms = rng.choice(np.arange(1, 6), 2, replace=False)
        shares = np.array([0.0, 0.0, 1.0, 0.2, 0.5, 0.97])[arms] ** rng.choice([1, 2])
        stats.update(Feedback(arms, low + length * shares))
        rate = math.log(t) + loglog * max(math.log(math.log(t)), 0.0)
        expected = np.full(6, end)
        for i in np.flatnonzero(stats.counts):
            share = min(max((stats.means[i] - low) / length, 0.0), 1.0)
            expected[i] = root_of(share, rate / stats.counts[i], end)
        assert policy.indices(stats, rng) == pytest.approx(low + length * expected, rel=0, abs=1e-8)


# For all counts at once ----------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [0.02, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("level", [0.05, 0.4])
def test_exact_probability_that_a_bound_ever_fails(p, level):
    """The probability of each number of successes is propagated; a failed path leaves with its mass."""
    for side in (0, 1):
        mass, failed = {0: 1.0}, 0.0
        for n in range(1, 81):
            after = {}
            for x, chance in mass.items():
                after[x] = after.get(x, 0.0) + chance * (1 - p)
                after[x + 1] = after.get(x + 1, 0.0) + chance * p
            sums = np.array(sorted(after))
            bounds = share_bounds(np.full(len(sums), n), sums / n, level)[side]
            wrong = bounds > p if side == 0 else bounds < p
            failed += sum(after[x] for x in sums[wrong].tolist())
            mass = {x: after[x] for x in sums[~wrong].tolist()}
        assert failed <= level
    assert failed > 0.02 * level or p < 0.1  # an upper bound of a rare success hardly fails in 80 outcomes


@pytest.mark.parametrize(("n", "x"), [(1, 0.0), (10, 3.0), (10, 10.0), (200, 40.5)])
def test_price_is_that_of_the_mixture(n, x):
    share = x / n
    largest = share**x * (1 - share) ** (n - x)
    average, _ = quad(lambda u: np.sin(u) ** (2 * x) * np.cos(u) ** (2 * (n - x)), 0, np.pi / 2, epsabs=0)
    average *= 2 / np.pi  # Jeffreys' prior is uniform in the angle
    assert mixture_price(np.array([n]), np.array([share]))[0] == pytest.approx(np.log(largest / average))


def test_bound_is_where_the_mixture_reaches_the_level():
    """At the bound, the mixture over the values below it is at least 1 / level, and not much more."""
    n, x, level = 50, 20.0, 0.01
    upper = share_bounds(np.array([n]), np.array([x / n]), level)[1][0]
    prior = beta(0.5, 0.5)

    def density(p):
        return (p / upper) ** x * ((1 - p) / (1 - upper)) ** (n - x) * prior.pdf(p)

    ratio, _ = quad(density, 1e-9, upper)
    assert 1.0 <= ratio / prior.cdf(upper) * level < 1.05


def test_without_outcomes_and_mirrored():
    counts, shares = np.array([10, 10, 0]), np.array([0.8, 0.3, 0.0])
    lower, upper = share_bounds(counts, shares, 0.1)
    assert (lower[2], upper[2]) == (0.0, 1.0)
    assert (lower[:2] < shares[:2]).all() and (shares[:2] < upper[:2]).all()
    low, high = share_bounds(counts, 1.0 - shares, 0.1)
    assert np.allclose(low, 1.0 - upper) and np.allclose(high, 1.0 - lower)
