"""The compiled form of oracles of the k best arms: the compiled loop knows it, and may look at fewer arms."""

from cmab.compiled._kernels_select import renew_top_k
from cmab.compiled._kernels_signatures import solve_kernel
from cmab.compiled.forms import Kernel


@solve_kernel
def solve_top_k(means, integers, reals, out):
    """Write the k best arms; the smallest, negated in `reals`, if that has room for them.

    `integers` holds the k arms of the call before, where this one starts from. Packed by ``TopK.kernel``.
    """
    # `integers` is scratch that holds the last answer: its length is k, and the search starts from it.
    k, values = len(integers), means
    if reals.shape[0] > 0:
        values = reals
        # For costs `reals` has room for the negated means; the k largest of those cost least.
        for i in range(means.shape[0]):
            values[i] = -means[i]
    if k > 0:
        renew_top_k(values, k, integers)
    for j in range(k):
        out[j] = integers[j]
    return k


def largest_k(kernel: Kernel) -> int:
    """Return k of an oracle's form if that answers with the k largest means, else 0."""
    return 0 if kernel.function is not solve_top_k or len(kernel.reals) else len(kernel.integers)
