"""The compiled forms of Gaussian arms, in a file of their own: others need not compile them."""

import numpy as np

from cmab.kernels import kernel, keyed_uniform, normal_quantile, play_kernel


@play_kernel
def play_gaussian(super_arm, size, key, integers, reals, arms, outcomes, totals):
    """Normal outcomes; `reals` holds the means and, last, the standard deviation."""
    sigma = reals[reals.shape[0] - 1]
    totals[0], totals[1] = 0.0, 0.0
    for j in range(size):
        arm = super_arm[j]
        arms[j] = arm
        # By inversion, so that an outcome takes one coin, that of (round, arm), and no stream of its own.
        outcomes[j] = reals[arm] + sigma * normal_quantile(keyed_uniform(key, arm))
        totals[0] += outcomes[j]
        totals[1] += reals[arm]
    return size


@kernel
def normal_quantiles(uniforms):
    """Return `normal_quantile` of every entry."""
    out = np.empty(uniforms.shape[0])
    for i in range(uniforms.shape[0]):
        out[i] = normal_quantile(uniforms[i])
    return out
