"""The solution of many problems of one oracle in one compiled call."""

from cmab.compiled._kernels import loop_kernel
from cmab.compiled._kernels_signatures import SOLVE_EACH


@loop_kernel(SOLVE_EACH)
def solve_each(solve, integers, reals, means, answers, sizes):
    """Write the answer to each row of `means`, and its size."""
    for row in range(means.shape[0]):
        # The rows share the scratch space of the oracle. Its answers must not depend on earlier contents.
        sizes[row] = solve(means[row], integers, reals, answers[row])
