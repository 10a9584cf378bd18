"""The compiled door of oracles of the k best arms: the fused loop knows it, and may look at fewer arms."""

from cmab._kernels_doors import solve_kernel
from cmab._kernels_select import top_k
from cmab.arrays import FloatArray, IntArray


@solve_kernel
def solve_top_k(means: FloatArray, integers: IntArray, reals: FloatArray, out: IntArray) -> int:
    """Write the ``integers[0]`` best arms; the smallest (negated in `reals`) if ``integers[1]`` is not 0."""
    k = int(integers[0])
    if integers[1] == 0:
        top_k(means, k, out)
    else:
        for i in range(means.shape[0]):
            reals[i] = -means[i]
        top_k(reals, k, out)
    return k
