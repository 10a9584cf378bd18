"""Gaps of the k best values, and the hardness from gaps."""

import numpy as np

from cmab.compiled import kernel
from cmab.selection import mark_best


@kernel
def gaps_of_best(values, k, out):
    """Write the gap of each value to the border of the `k` largest; `k` is less than the number of values."""
    is_top = np.empty(values.shape[0], np.bool_)
    mark_best(values, k, is_top)
    kth, following = np.inf, -np.inf
    for i in range(values.shape[0]):
        if is_top[i]:
            kth = min(kth, values[i])
        else:
            following = max(following, values[i])
    for i in range(values.shape[0]):
        # Gabillon et al. (NIPS 2012), section 2: mu_i - mu_(k+1) inside the best set, mu_(k) - mu_i outside.
        out[i] = values[i] - following if is_top[i] else kth - values[i]


@kernel
def sum_of_inverse_squares(widths):
    """Return the sum of ``width^-2``, infinite if a width is 0."""
    total = 0.0
    for width in widths:
        total += 1.0 / (width * width)
    return total
