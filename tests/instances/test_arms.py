"""Distributions of arms: sums against single draws, supports, bad parameters."""

import numpy as np
import pytest
from refusals import refused
from scipy import stats

from instances import BernoulliArms, BetaArms, EmpiricalArms, GaussianArms

MAKERS = {
    "bernoulli": lambda: BernoulliArms([0.2, 0.7]),
    "gaussian": lambda: GaussianArms([0.0, 3.0], sigma=0.5),
    "beta": lambda: BetaArms([2.0, 0.5], [5.0, 0.5]),
    "empirical": lambda: EmpiricalArms([[0.0, 0.25, 1.0], [0.5, 0.5, 0.75, 0.1]]),
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("n", [1, 2, 25])
def test_sums_of_many_have_the_law_of_summed_draws(name, n):
    """Mean and variance of 4,000 sums, and of their squares' sums, 6 standard errors: alarms below 1e-7."""
    arms, rng, size = MAKERS[name](), np.random.default_rng(n), 4000
    for arm in (0, 1):
        sums, squares = arms.pull_many(np.full(size, arm), np.full(size, n), rng)
        draws = arms.pull(np.full(size * n, arm), rng).reshape(size, n)
        for ours, plain in ((sums, draws.sum(1)), (squares, (draws**2).sum(1))):
            error = np.hypot(ours.std(), plain.std()) / np.sqrt(size)
            assert abs(ours.mean() - plain.mean()) <= 6 * error + 1e-12
            assert stats.levene(ours, plain).pvalue > 1e-7 or ours.std() < 1e-12


@pytest.mark.parametrize("name", MAKERS)
def test_quantiles_have_the_law_of_draws(name):
    """Two-sample Kolmogorov-Smirnov test of quantiles at uniforms against pulls, alarms below 1e-7."""
    arms, rng = MAKERS[name](), np.random.default_rng(8)
    for arm in (0, 1):
        picked = np.full(5000, arm)
        by_quantile = arms.quantile(picked, rng.random(5000))
        assert stats.ks_2samp(by_quantile, arms.pull(picked, rng)).pvalue > 1e-7


test_bad_parameters_are_refused = refused(
    (lambda: BernoulliArms([0.5, 1.1]), "means"),
    (lambda: BernoulliArms([[0.5]]), "means"),
    (lambda: BernoulliArms([]), "means must have a number for at least one arm"),
    (lambda: GaussianArms([]), "means must have a number for at least one arm"),
    (lambda: BetaArms([], []), "a must have a number for at least one arm"),
    (lambda: GaussianArms([np.nan]), "means"),
    (lambda: GaussianArms([0.0], sigma=0.0), "sigma"),
    (lambda: BetaArms([0.0], [1.0]), "a must"),
    (lambda: BetaArms([1.0], [1.0, 2.0]), "b must"),
    (lambda: EmpiricalArms([[0.5], []]), "at least one outcome"),
    (lambda: EmpiricalArms([]), "at least one outcome"),
    (lambda: EmpiricalArms([[2.0]]), "samples"),
    (lambda: EmpiricalArms([[0.5]], support=(1.0, 0.0)), "support"),
)
