"""The order of arms without outcomes: small random changes of indices that may be tied."""

import numpy as np

from cmab.compiled import GOLDEN, lean_kernel, mix, to_unit

#: The largest change of an index, as a fraction of the support. A running mean of 10^4 outcomes has a
#: rounding error of this size, so a smaller difference of indices is not evidence of an order.
SHARE = 2.0**-40
#: The largest change as a fraction of the index itself: 32 floating-point spacings.
_RELATIVE = 2.0**-48


@lean_kernel
def break_ties(counts, low, high, rng, out):
    """Change indices that may be tied, each by less than `SHARE` of the support and within the support.

    These are the indices of unobserved arms and, while there are such arms, the indices at the ends of the
    support. The sum of the indices of k arms changes by less than ``k * SHARE`` of the support.
    """
    # A sum, because the compiler vectorises it. This loop runs in every round.
    m, n_unseen = counts.shape[0], 0
    for i in range(m):
        n_unseen += counts[i] == 0
    if n_unseen == 0:
        return
    # One draw per round: a draw for each arm takes four times as long as a hash of its number.
    key = np.uint64(rng.random() * 2.0**53)
    for i in range(m):
        index = out[i]
        if counts[i] == 0 or not low < index < high:
            scale = high - low if high - low < np.inf else abs(index)
            width = max(SHARE * scale, _RELATIVE * abs(index))
            change = width * to_unit(mix(key + np.uint64(i) * GOLDEN))
            out[i] = index - change if index - width >= low else min(index + change, high)
