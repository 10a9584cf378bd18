"""The memory of DiscountedCUCB, which holds discounted counts and means, and its indices.

`memory` holds the discounted count of each arm, the discounted mean of each arm, and the discounted number of
rounds.
"""

import math

from cmab.compiled._kernels_signatures import index_kernel, learn_kernel

#: Positions in `reals`. FACTOR is the factor of the radius times the length of the support.
DISCOUNT, FACTOR, SIGN, LOW, HIGH = range(5)

#: An arm with a smaller discounted count is treated as unobserved; its radius would far exceed any support.
FORGOTTEN = 1e-12


@learn_kernel
def discount(arms, n, outcomes, t, reals, memory):
    """Multiply all counts by the discount, then add the outcomes of this round with weight 1."""
    m, gamma = memory.shape[0] // 2, reals[DISCOUNT]
    # Garivier and Moulines (2011), section 2: N_t(g, i) = sum_s g^(t-s) 1{i seen in s}, for every arm.
    for i in range(m):
        memory[i] *= gamma
    for j in range(n):
        i = arms[j]
        memory[i] += 1.0
        # The mean X_t(g, i) = (1 / N_t) sum_s g^(t-s) x_s, as a running mean.
        memory[m + i] += (outcomes[j] - memory[m + i]) * (1.0 / memory[i])
    # n_t(g) = sum_s g^(t-s), over rounds.
    memory[2 * m] = gamma * memory[2 * m] + 1.0


@index_kernel
def discounted_bounds(counts, means, deviations, memory, t, reals, rng, out):
    """Write CUCB's indices for discounted counts, means and rounds."""
    m, sign, low, high = memory.shape[0] // 2, reals[SIGN], reals[LOW], reals[HIGH]
    # The radius of CUCB, sqrt(3 ln t / 2 N), with t = n_t(g) + 1, because the round to come counts.
    term = 1.5 * math.log(memory[2 * m] + 1.0) * (reals[FACTOR] * reals[FACTOR])
    for i in range(m):
        if memory[i] < FORGOTTEN:
            out[i] = high if sign > 0.0 else low
        elif sign > 0.0:
            out[i] = min(memory[m + i] + math.sqrt(term / memory[i]), high)
        else:
            out[i] = max(memory[m + i] - math.sqrt(term / memory[i]), low)
