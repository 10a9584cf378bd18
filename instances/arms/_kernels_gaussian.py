"""The compiled forms of Gaussian arms, in a separate file so that other arms do not compile them."""

import numpy as np

from cmab.kernels import kernel, keyed_uniform, normal_quantile, play_kernel


@play_kernel
def play_gaussian(super_arm, size, key, integers, reals, arms, outcomes, totals):
    """Play a round with normal outcomes; `reals` contains the means and then the standard deviation."""
    sigma = reals[reals.shape[0] - 1]
    totals[0], totals[1] = 0.0, 0.0
    for j in range(size):
        arm = super_arm[j]
        arms[j] = arm
        # Inversion needs one uniform number per outcome, which depends only on (round, arm).
        outcomes[j] = reals[arm] + sigma * normal_quantile(keyed_uniform(key, arm))
        totals[0] += outcomes[j]
        totals[1] += reals[arm]
    return size


@kernel
def normal_quantiles(uniforms):
    """Return `normal_quantile` of each entry."""
    out = np.empty(uniforms.shape[0])
    for i in range(uniforms.shape[0]):
        out[i] = normal_quantile(uniforms[i])
    return out
