"""The k best arms in order, and the expected reward of a list."""

from cmab.kernels import lean_kernel, solve_kernel, top_k


@lean_kernel
def rank(means, k, chosen):
    """Write the arms of the k largest means to `chosen`, best first; ties go to the lower index."""
    top_k(means, k, chosen)
    # The arms are in order of index, which a stable sort keeps among equal means.
    for i in range(1, k):
        arm, j = chosen[i], i
        while j > 0 and means[chosen[j - 1]] < means[arm]:
            chosen[j] = chosen[j - 1]
            j -= 1
        chosen[j] = arm


@solve_kernel
def solve_ranked(means, integers, reals, out):
    """Solve `RankedTopK`; `integers` contains k."""
    k = int(integers[0])
    rank(means, k, out)
    return k


@lean_kernel
def list_worth(super_arm, size, means, is_disjunctive):
    """Return the probability that at least one entry succeeds, or that all entries succeed."""
    worth = 0.0 if is_disjunctive else 1.0
    for j in range(size):
        # Kveton et al., ICML 2015, equation 2: f = 1 - prod (1 - w), computed here without cancellation for
        # small w; NIPS 2015, section 2: f = prod w.
        w = means[super_arm[j]]
        worth = worth + (1.0 - worth) * w if is_disjunctive else worth * w
    return worth
