"""The compiled forms of arms in pure exploration: single outcomes from a random generator."""

from cmab.kernels import draw_kernel


@draw_kernel
def pull_bernoulli(arm, integers, reals, rng):
    """Return one outcome, 0 or 1; `reals` contains the means."""
    # One random number per outcome, as numpy uses for a vector of arms, so both loops get the same outcomes.
    return 1.0 if rng.random() < reals[arm] else 0.0


@draw_kernel
def pull_gaussian(arm, integers, reals, rng):
    """Return one normal outcome; `reals` contains the means and then the standard deviation."""
    return float(reals[arm] + reals[reals.shape[0] - 1] * rng.standard_normal())
