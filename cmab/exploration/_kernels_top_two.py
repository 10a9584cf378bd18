"""Compiled rules for the best arm: top-two rules and tracking of the optimal proportions.

All these rules stop as `BestKGLR` does. Their `reals` begins with the entries of `_kernels_evidence`.
"""

import math

import numpy as np

from cmab.compiled import SAMPLES, Rule, decide_kernel, kernel, lean_kernel
from cmab.exploration._kernels_best_k_proportions import best_k_proportions
from cmab.exploration._kernels_evidence import EPSILON, SIGMA, pair_evidence
from cmab.exploration._kernels_mixture import least_separated_pair
from cmab.exploration._kernels_proportions import coin_proportions, gaussian_proportions
from cmab.selection import mark_best_again

# The first entry of `reals` after those of the stopping rule is the share of the leader, or the growth
# between two plans.
BETA, GROWTH, PLAN = 4, 4, 5
# The constants a and s of the bonus of TTUCB; its proof holds for all a, s > 1.
ALPHA = 1.2


@kernel
def _closest_pair(seen, reals):
    """Return the best arm, its rival with the least penalised evidence, and whether the run can stop."""
    return least_separated_pair(seen.means, seen.counts, np.zeros(1, np.int64), reals, np.empty(0))


@lean_kernel
def bonus_level(samples):
    """Return y with ``y - ln y = 2 s a L + 2 ln(2 + a L) + 2`` and y > 1, where ``L = ln(samples)``.

    The bonus g_m of Jourdan and Degenne (NeurIPS 2023), from a mixture of martingales, with a = s = 1.2.
    """
    steps = ALPHA * math.log(samples)
    x = 2.0 * ALPHA * steps + 2.0 * math.log(2.0 + steps) + 2.0
    y = x + math.log(x)
    for _ in range(4):  # Newton's method; the start is below the root by less than ln(x) / x
        y -= (y - math.log(y) - x) * y / (y - 1.0)
    return y


@lean_kernel
def optimistic_leader(counts, means, samples, sigma):
    """Return the arm with the largest ``mean + sigma sqrt(level / T)``; ties go to the lower index."""
    scale, leader, largest = sigma * sigma * bonus_level(samples), 0, -np.inf
    for i in range(means.shape[0]):
        index = means[i] + math.sqrt(scale / counts[i])
        if index > largest:
            leader, largest = i, index
    return leader


@lean_kernel
def closest_rival(counts, means, leader, reals):
    """Return the arm with the least evidence that `leader` is better; ties go to the lower index."""
    rival, least = -1, np.inf
    for j in range(means.shape[0]):
        if j != leader:
            # argmin of (gap + epsilon) / sqrt(1 / T_B + 1 / T_j). The evidence is proportional to its square.
            spread = 1.0 / counts[leader] + 1.0 / counts[j]
            weight = pair_evidence(means[leader], means[j], counts[leader], counts[j], spread, reals)
            if rival < 0 or weight < least:
                rival, least = j, weight
    return rival


# decide_ttucb: further entries of `reals`. The memory counts, for each arm, the steps in which the arm was
# the leader, then how often it was sampled in these steps. The last two entries are the arm that was chosen
# last and the number of samples at that time.
SCALE, LED = 5, 6


def ttucb_rule(n_arms: int, reals: list[float], beta: float, sigma: float) -> Rule:
    """Return the rule of `TTUCB` before the first step."""
    return Rule(decide_ttucb, [], [*reals, beta, sigma], np.zeros(2 * n_arms + 2))


@decide_kernel
def decide_ttucb(seen, coin, integers, reals, chosen):
    """Sample the leader if it is below its share of the steps that it has led, otherwise its rival.

    Jourdan and Degenne (NeurIPS 2023), Algorithm 1 (from memory): sample the leader if N_BB <= beta L_B.
    """
    counts, means, samples = seen.counts, seen.means, seen.clock[SAMPLES]
    n, memory = means.shape[0], reals[LED:]
    if memory[2 * n + 1] == samples:  # a second call without a new sample
        chosen[0] = int(memory[2 * n])
    else:
        leader = optimistic_leader(counts, means, samples, reals[SCALE])
        lags = memory[n + leader] <= reals[BETA] * (memory[leader] + 1.0)
        chosen[0] = leader if lags else closest_rival(counts, means, leader, reals)
        memory[leader] += 1.0
        memory[n + leader] += 1.0 if lags else 0.0
        memory[2 * n], memory[2 * n + 1] = chosen[0], samples
    return -1 if _closest_pair(seen, reals)[2] else 1


@kernel
def refresh_plan(means, best, samples, plan, reals):
    """Recompute the proportions ``plan[1:]`` if `samples` has reached ``plan[0]``, and set the next time."""
    if samples >= plan[0]:
        if best.shape[0] > 1:
            is_high = np.empty(means.shape[0], np.bool_)
            mark_best_again(means, best, is_high)
            best_k_proportions(means, is_high, reals, plan[1:])
        elif reals[SIGMA] == 0.0:
            coin_proportions(means, reals[EPSILON], plan[1:])
        else:
            gaussian_proportions(means, reals[EPSILON], plan[1:])
        # With geometric times, Track-and-Stop is still asymptotically optimal (Jedra and Proutiere 2020, from
        # memory).
        plan[0] = max(math.ceil((1.0 + reals[GROWTH]) * samples), samples + 1)


@lean_kernel
def tracked_arm(counts, samples, proportions):
    """Return the least sampled arm if its count is below ``sqrt(t) - N / 2``, otherwise the arm most behind.

    This is D-tracking by Garivier and Kaufmann (COLT 2016).
    """
    n = counts.shape[0]
    rarest = int(np.argmin(counts))
    if counts[rarest] < math.sqrt(samples) - n / 2.0:
        return rarest
    arm, most = 0, -np.inf
    for i in range(n):
        lack = samples * proportions[i] - counts[i]
        if lack > most:
            arm, most = i, lack
    return arm


# decide_track: `integers` holds the k best arms of the last step. The memory, from PLAN on, holds the time of
# the next plan and the present plan.
def track_rule(n_arms: int, k: int, reals: list[float], growth: float) -> Rule:
    """Return the rule of `TrackAndStop` before the first plan."""
    return Rule(decide_track, [*range(k)], [*reals, growth], np.zeros(1 + n_arms))


@decide_kernel
def decide_track(seen, coin, integers, reals, chosen):
    """Track the proportions that are optimal for the empirical means."""
    samples, plan = seen.clock[SAMPLES], reals[PLAN:]
    refresh_plan(seen.means, integers, samples, plan, reals)
    chosen[0] = tracked_arm(seen.counts, samples, plan[1:])
    return -1 if least_separated_pair(seen.means, seen.counts, integers, reals, np.empty(0))[2] else 1
