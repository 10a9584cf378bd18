"""The compiled forms of arms in pure exploration: single outcomes from a generator."""

from cmab.kernels import draw_kernel


@draw_kernel
def pull_bernoulli(arm, integers, reals, rng):
    """One outcome of 0 or 1; `reals` holds the means."""
    # One number of the stream an outcome, as numpy takes them for a vector of arms: both loops see the same.
    return 1.0 if rng.random() < reals[arm] else 0.0


@draw_kernel
def pull_gaussian(arm, integers, reals, rng):
    """One normal outcome; `reals` holds the means and, last, the standard deviation."""
    return float(reals[arm] + reals[reals.shape[0] - 1] * rng.standard_normal())
