"""Ties between arms without outcomes, broken at random by the index rules that draw."""

import numpy as np

from cmab.compiled._kernels import lean_kernel
from cmab.compiled._kernels_random import GOLDEN, mix, to_unit

#: The largest change of an index, as a share of the support. A running mean of 10^4 outcomes has a rounding
#: error of this size, so that indices which differ by less are no evidence of an order.
SHARE = 2.0**-40
#: The largest change as a share of the index itself: 32 floating-point numbers.
_RELATIVE = 2.0**-48


@lean_kernel
def break_ties(counts, low, high, rng, out):
    """Move the indices that may be tied, by less than `SHARE` of the support each, and within the support.

    These are the indices of arms without outcomes and, while there are such arms, those at the ends of the
    support. Of k arms the sum of the indices changes by less than ``k * SHARE`` of the support.
    """
    # A sum, because the compiler vectorises it: this line runs in every round.
    m, n_unseen = counts.shape[0], 0
    for i in range(m):
        n_unseen += counts[i] == 0
    if n_unseen == 0:
        return
    # One draw a round: a draw for each arm takes four times as long as the hash of its number.
    key = np.uint64(rng.random() * 2.0**53)
    for i in range(m):
        index = out[i]
        if counts[i] == 0 or not low < index < high:
            scale = high - low if high - low < np.inf else abs(index)
            width = max(SHARE * scale, _RELATIVE * abs(index))
            change = width * to_unit(mix(key + np.uint64(i) * GOLDEN))
            out[i] = index - change if index - width >= low else min(index + change, high)
