"""Choice of seeds by expected degrees, with discounts for the effect of chosen seeds."""

import numpy as np

from cmab.kernels import kernel


@kernel
def seeds_by_degree(arcs, means, k, candidates, single, discount):
    """Choose `k` candidates one by one by their scores; ties go to the lowest number.

    The score of v is the expected number of nodes that v activates in one step. With `single`, seeds do not
    count. With `discount`, the score is multiplied by the probability that no seed activates v.
    """
    tails, heads, out_offsets, out_arms, in_offsets, in_arms = arcs
    n = out_offsets.shape[0] - 1
    degrees, untouched, free = np.zeros(n), np.ones(n), candidates.copy()
    for i in range(means.shape[0]):
        degrees[tails[i]] += means[i]
    chosen = np.empty(k, np.int64)
    for size in range(k):
        best, value = -1, -1.0
        for v in range(n):
            # With equal p and t seeds among d neighbours, this is (1 - p)^t (1 + (d - t) p). DegreeDiscountIC
            # (Chen et al. 2009) expands it to 1 + (d - 2t - (d - t) t p) p.
            score = (1.0 + degrees[v]) * untouched[v] if discount else degrees[v]
            if free[v] and score > value:
                best, value = v, score
        chosen[size] = best
        free[best] = False
        # Neighbours of a seed lose the arc to it. They count only with the probability that no seed activates
        # them.
        if single or discount:
            for j in range(in_offsets[best], in_offsets[best + 1]):
                degrees[tails[in_arms[j]]] -= means[in_arms[j]]
        if discount:
            for j in range(out_offsets[best], out_offsets[best + 1]):
                untouched[heads[out_arms[j]]] *= 1.0 - means[out_arms[j]]
    return chosen
