"""Solving many problems of one oracle in one compiled call."""

from typing import Any

from cmab.arrays import FloatArray, IntArray
from cmab.compiled._kernels import loop_kernel
from cmab.compiled._kernels_signatures import SOLVE_EACH


@loop_kernel(SOLVE_EACH)
def solve_each(
    solve: Any, integers: IntArray, reals: FloatArray, means: FloatArray, answers: IntArray, sizes: IntArray
) -> None:
    """Write the answer to each row of `means`, and its size."""
    for row in range(means.shape[0]):
        # A form's scratch space goes on from row to row; its answers must not depend on what it finds there.
        sizes[row] = solve(means[row], integers, reals, answers[row])
