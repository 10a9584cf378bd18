"""The compiled form of oracles for the k best arms, for which the compiled loop has a faster method."""

from cmab.compiled._kernels_select import renew_top_k
from cmab.compiled._kernels_signatures import solve_kernel
from cmab.compiled.forms import Kernel


@solve_kernel
def solve_top_k(means, integers, reals, out):
    """Write the k arms with the largest means, or with the smallest means if `reals` is not empty.

    `integers` holds the k arms of the last call, where the search starts. ``TopK.kernel`` makes both arrays.
    """
    # `integers` is scratch space with the last answer. Its length is k.
    k, values = len(integers), means
    if reals.shape[0] > 0:
        values = reals
        # For costs, `reals` has room for the negated means, whose k largest entries have the least costs.
        for i in range(means.shape[0]):
            values[i] = -means[i]
    if k > 0:
        renew_top_k(values, k, integers)
    for j in range(k):
        out[j] = integers[j]
    return k


def largest_k(kernel: Kernel) -> int:
    """Return k if the compiled oracle selects the k largest means, otherwise 0."""
    return 0 if kernel.function is not solve_top_k or len(kernel.reals) else len(kernel.integers)
