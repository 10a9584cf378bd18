"""Bounds by relative entropy for all counts at once: exact error probabilities, and the mixture itself."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta

from cmab.bounds.mixtures import mixture_price, share_bounds


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
