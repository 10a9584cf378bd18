"""Compiled rules with a fixed budget that sample one arm at a time."""

import math
from collections.abc import Sequence

import numpy as np

from cmab.compiled import SAMPLES, Rule, decide_kernel, kernel
from cmab.exploration._kernels_ugape import least_certain_bandit
from cmab.selection import descending_order
from cmab.theory._kernels_gaps import gaps_of_best, sum_of_inverse_squares


@kernel
def gaps_of_bandits(means, sizes, k, out):
    """Write the gap of each arm for the `k` best arms of its own bandit."""
    first = 0
    for size in sizes:
        gaps_of_best(means[first : first + size], k, out[first : first + size])
        first += size


# decide_ugapeb: `integers` holds the budget, k and the number of arms of each bandit. The memory holds the
# least bound of each bandit, then for each arm 1 if the arm was in the answer with this bound.
BUDGET, K, BANDITS = range(3)
A, EPSILON, LENGTH, C, LEAST = range(5)


def ugapeb_rule(
    budget: int,
    k: int,
    arms_per_bandit: Sequence[int],
    a: float | None,
    epsilon: float,
    length: float,
    c: float,
) -> Rule:
    """Return the rule of UGapEb for a support of `length`, with infinite bounds in its memory."""
    memory = np.concatenate((np.full(len(arms_per_bandit), np.inf), np.zeros(sum(arms_per_bandit))))
    return Rule(decide_ugapeb, [budget, k, *arms_per_bandit], [a or 0.0, epsilon, length, c], memory)


@kernel
def estimated_exploration(seen, integers, reals):
    """Return UGapEb's a for the hardness of the empirical gaps plus ``b sqrt(1 / 2T)``.

    ``a = c (n - N) / (4 H_eps)`` is c times the largest value in Gabillon et al. (NIPS 2012), Theorem 1.
    """
    widths, b, epsilon = np.empty(seen.means.shape[0]), reals[LENGTH], reals[EPSILON]
    gaps_of_bandits(seen.means, integers[BANDITS:], integers[K], widths)
    for i in range(widths.shape[0]):
        # The width of an arm in their equation 6 is max((gap + eps) / 2, eps). Here the gap is the estimated
        # gap plus a deviation.
        gap = widths[i] + b * math.sqrt(0.5 / seen.counts[i])
        widths[i] = max((gap + epsilon) / 2.0, epsilon)
    unspent = integers[BUDGET] - widths.shape[0]
    return float(reals[C] * (unspent / (4.0 * b * b * sum_of_inverse_squares(widths))))


@decide_kernel
def decide_ugapeb(seen, coin, integers, reals, chosen):
    """Decide as UGapEb does (Figures 1 and 2 of its paper).

    The minimum in the paper is over t = 1, ..., n and does not include the answer after the last sample.
    """
    n, sizes = seen.means.shape[0], integers[BANDITS:]
    a, bounds, answer = reals[A], reals[LEAST:], reals[LEAST + sizes.shape[0] :]
    if a == 0.0:
        a = estimated_exploration(seen, integers, reals)
    radii, is_chosen, present = np.empty(n), np.empty(n, np.bool_), np.empty(sizes.shape[0])
    for i in range(n):
        # Equation 4: b sqrt(a / T).
        radii[i] = reals[LENGTH] * math.sqrt(a / seen.counts[i])
    chosen[0] = least_certain_bandit(seen.means, radii, sizes, integers[K], is_chosen, present)
    # Round t of the paper uses t - 1 outcomes, so its minimum does not include the answer after n outcomes.
    if seen.clock[SAMPLES] >= integers[BUDGET]:
        return -1
    first = 0
    for bandit in range(sizes.shape[0]):
        stop = first + sizes[bandit]
        # Omega(n) = argmin over t of B_J(t)(t). The answer with the least bound so far is stored.
        if present[bandit] < bounds[bandit]:
            bounds[bandit] = present[bandit]
            for i in range(first, stop):
                answer[i] = 1.0 if is_chosen[i] else 0.0
        first = stop
    return 1


# decide_gape: `integers` holds the budget and the number of arms of each bandit.
GAPE_A, GAPE_LENGTH = range(2)


def gape_rule(budget: int, arms_per_bandit: Sequence[int], a: float, length: float) -> Rule:
    """Return the rule of GapE for a support of `length`."""
    return Rule(decide_gape, [budget, *arms_per_bandit], [a, length])


@decide_kernel
def decide_gape(seen, coin, integers, reals, chosen):
    """Sample the arm with the largest ``-gap + b sqrt(a / T)``.

    Gabillon et al. (NIPS 2011), Figure 1 (from memory).
    """
    index = np.empty(seen.means.shape[0])
    gaps_of_bandits(seen.means, integers[1:], 1, index)
    for i in range(index.shape[0]):
        index[i] = reals[GAPE_LENGTH] * math.sqrt(reals[GAPE_A] / seen.counts[i]) - index[i]
    chosen[0] = np.argmax(index)
    return -1 if seen.clock[SAMPLES] >= integers[BUDGET] else 1


@kernel
def refresh_complexity(means, samples, ends, memory):
    """Estimate UCB-E's H2 again if `samples` is at the end of a phase; `memory` holds H2 and the phase.

    In phase p, H2 is the largest ``i / gap^2`` over the p largest gaps, where i is the rank of the gap in
    increasing order.
    """
    phase = int(memory[1])
    while phase < ends.shape[0] and ends[phase] <= samples:
        phase += 1
    if phase > memory[1]:
        n, top = means.shape[0], means.max()
        order, scratch = np.empty(n, np.int64), np.empty(n, np.int64)
        descending_order(-means, order, scratch)
        memory[0], memory[1] = 0.0, phase
        # Audibert et al. (COLT 2010), Figure 4 (from memory): after phase k the complexity is the largest i /
        # gap_i^2 for i = N - k + 1, ..., N, with gaps in increasing order. `order` starts with the largest
        # gap.
        for place in range(phase):
            gap = top - means[order[place]]
            memory[0] = max(memory[0], (n - place) / (gap * gap))


# decide_ucbe: `integers` holds the budget and the ends of the phases. The memory is that of
# `refresh_complexity`.
UCBE_A, UCBE_C, COMPLEXITY = range(3)


def ucbe_rule(n_arms: int, budget: int, phase_ends: Sequence[int], a: float | None, c: float) -> Rule:
    """Return the rule of UCB-E, with H = N in phase 0 as in the paper."""
    return Rule(decide_ucbe, [budget, *phase_ends], [a or 0.0, c], np.array([float(n_arms), 0.0]))


@decide_kernel
def decide_ucbe(seen, coin, integers, reals, chosen):
    """Sample the arm with the largest ``mean + sqrt(a / T)``.

    Audibert et al. (COLT 2010), Figures 2 and 4 (from memory).
    """
    counts, means, samples = seen.counts, seen.means, seen.clock[SAMPLES]
    a, largest = reals[UCBE_A], -np.inf
    if a == 0.0:
        refresh_complexity(means, samples, integers[1:], reals[COMPLEXITY:])
        # Figure 4 (from memory): a = c n / H.
        a = reals[UCBE_C] * integers[BUDGET] / reals[COMPLEXITY]
    for i in range(means.shape[0]):
        index = means[i] + math.sqrt(a / counts[i])
        if index > largest:
            chosen[0], largest = i, index
    return -1 if samples >= integers[BUDGET] else 1
