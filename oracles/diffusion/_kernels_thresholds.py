"""Linear thresholds as live arcs: at most one live arc into each node."""

import numpy as np

from cmab.kernels import kernel
from oracles.diffusion._kernels_cascade import reachable


@kernel
def side_by_side(offsets, arms, means):
    """Return the interval of each arm; the arms into a node have adjacent intervals from 0 on."""
    lows, highs = np.empty(means.shape[0]), np.empty(means.shape[0])
    for v in range(offsets.shape[0] - 1):
        end = 0.0
        for j in range(offsets[v], offsets[v + 1]):
            lows[arms[j]] = end
            end += means[arms[j]]
            highs[arms[j]] = end
    return lows, highs


@kernel
def exact_threshold_spread(arcs, means, weights, seeds, nodes):
    """Return the expected spread, summed over all choices of at most one live arc into each of `nodes`."""
    in_offsets, in_arms = arcs.in_offsets, arcs.in_arms
    usable = np.zeros(means.shape[0], np.bool_)
    # The position after the last arc of a node means that no arc is live.
    choice = in_offsets[nodes]
    expected = 0.0
    while True:
        chance = 1.0  # nodes choose independently: Kempe et al. 2003, Claim 2.6 (number from memory)
        usable[:] = False
        for i in range(nodes.shape[0]):
            v = nodes[i]
            if choice[i] < in_offsets[v + 1]:
                usable[in_arms[choice[i]]] = True
                chance *= means[in_arms[choice[i]]]
            else:
                # The sum of weights may exceed 1 by rounding.
                chance *= max(0.0, 1.0 - means[in_arms[in_offsets[v] : in_offsets[v + 1]]].sum())
        if chance > 0.0:
            reached, _ = reachable(arcs.out_offsets, arcs.out_arms, arcs.heads, usable, seeds)
            for v in reached:
                expected += chance * weights[v]
        # Count up to the next choice, like an odometer.
        at = 0
        while at < nodes.shape[0]:
            choice[at] += 1
            if choice[at] <= in_offsets[nodes[at] + 1]:
                break
            choice[at] = in_offsets[nodes[at]]
            at += 1
        if at == nodes.shape[0]:
            return expected
