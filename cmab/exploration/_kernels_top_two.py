"""Sampling rules for the best arm: top-two rules and tracking of the optimal proportions.

All stop as `MixtureGLR` does; the first two of their `reals` are sigma and the threshold.
"""

import math

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.compiled._kernels import borrows, kernel, part
from cmab.compiled._kernels_exploration import SAMPLES, Seen, decide_kernel
from cmab.compiled.forms import Rule
from cmab.exploration._kernels_mixture import evidence, least_separated_pair

SIGMA, THRESHOLD, BETA = range(3)


@part
def _closest_pair(seen: Seen, reals: FloatArray) -> tuple[int, int, bool]:
    """Return the best mean, its rival of least penalised evidence, and whether all rivals are far enough."""
    sigma, threshold, one = reals[SIGMA], reals[THRESHOLD], np.zeros(1, np.int64)
    return least_separated_pair(seen.means, seen.counts, one, sigma, threshold, np.empty(0))


def eb_tci_rule(sigma: float, threshold: float, beta: float) -> Rule:
    """Return the rule of `EBTCI`."""
    return Rule(decide_eb_tci, [], [sigma, threshold, beta], is_random=True)


@decide_kernel
def decide_eb_tci(seen: Seen, coin: float, integers: IntArray, reals: FloatArray, chosen: IntArray) -> int:
    """Sample the best mean with probability beta, else its rival: EB-TCI of Jourdan et al. (NeurIPS 2022)."""
    leader, challenger, enough = _closest_pair(seen, reals)
    chosen[0] = leader if coin < reals[BETA] else challenger
    return -1 if enough else 1


@part
@borrows
def optimistic_leader(counts: IntArray, means: FloatArray, samples: int, bonus: float) -> int:
    """Return the arm of largest ``mean + sqrt(bonus ln(samples) / T)``; ties go to the lower index."""
    scale, leader, largest = bonus * math.log(samples), 0, -np.inf
    for i in range(means.shape[0]):
        index = means[i] + math.sqrt(scale / counts[i])
        if index > largest:
            leader, largest = i, index
    return leader


@part
@borrows
def closest_rival(counts: IntArray, means: FloatArray, leader: int) -> int:
    """Return the arm with the least evidence that `leader` is better; ties go to the lower index."""
    rival, least = -1, np.inf
    for j in range(means.shape[0]):
        if j != leader:
            # argmin of gap / sqrt(1 / T_B + 1 / T_j), in square: half of that is the evidence at sigma = 1,
            # and neither the half nor sigma changes the order.
            gap = max(0.0, means[leader] - means[j])
            weight = evidence(gap, 1.0 / counts[leader] + 1.0 / counts[j], 1.0)
            if rival < 0 or weight < least:
                rival, least = j, weight
    return rival


# decide_ttucb: more of its `reals`. The memory counts the steps that each arm has led, then those of them in
# which it was sampled itself; last come an arm and the number of samples at which it was chosen and counted.
BONUS, LED = 3, 4


def ttucb_rule(n_arms: int, sigma: float, threshold: float, beta: float, bonus: float) -> Rule:
    """Return the rule of `TTUCB`, before a step was led."""
    return Rule(decide_ttucb, [], [sigma, threshold, beta, bonus], np.zeros(2 * n_arms + 2))


@decide_kernel
def decide_ttucb(seen: Seen, coin: float, integers: IntArray, reals: FloatArray, chosen: IntArray) -> int:
    """Sample the leader as long as it lags behind its share of the steps that it has led, else its rival.

    Jourdan and Degenne (NeurIPS 2023), Algorithm 1 (from memory): the leader is sampled if N_BB <= beta L_B.
    """
    counts, means, samples = seen.counts, seen.means, seen.clock[SAMPLES]
    n, memory = means.shape[0], reals[LED:]
    if memory[2 * n + 1] == samples:  # asked again at the same time
        chosen[0] = int(memory[2 * n])
    else:
        leader = optimistic_leader(counts, means, samples, reals[BONUS])
        lags = memory[n + leader] <= reals[BETA] * (memory[leader] + 1.0)
        chosen[0] = leader if lags else closest_rival(counts, means, leader)
        memory[leader] += 1.0
        memory[n + leader] += 1.0 if lags else 0.0
        memory[2 * n], memory[2 * n + 1] = chosen[0], samples
    return -1 if _closest_pair(seen, reals)[2] else 1


@kernel
def gaussian_proportions(means: FloatArray, out: FloatArray) -> None:
    """Write the optimal proportions of samples for the best of Gaussian arms; arms tied for it share them.

    Garivier and Kaufmann (COLT 2016), Theorem 5, for Gaussian arms: with z = 2y / (least gap)^2
    and r_a the squared gap over the least one, the ratio of arm a's samples to the best arm's is
    ``x_a = z / (r_a - z)``, and the condition of optimality is ``sum x_a^2 = 1``.
    """
    top, ties, least = means.max(), 0, np.inf
    for mean in means:
        if mean == top:
            ties += 1
        else:
            least = min(least, (top - mean) ** 2)
    if ties > 1 or least == 0.0:
        for i in range(means.shape[0]):
            out[i] = 1.0 / ties if means[i] == top else 0.0
        return
    z = 0.5  # where the closest arm's own share is 1: at or beyond the root of a convex function
    for _ in range(60):
        # Newton's steps from the right of the root of a convex function: they fall to it.
        total, slope = -1.0, 0.0
        for mean in means:
            if mean != top:
                ratio = (top - mean) ** 2 / least
                total += (z / (ratio - z)) ** 2
                slope += 2.0 * z * ratio / (ratio - z) ** 3
        if total <= 1e-14:
            break
        z -= total / slope
    for i in range(means.shape[0]):
        ratio = (top - means[i]) ** 2 / least
        out[i] = 1.0 if means[i] == top else z / (ratio - z)
    out /= out.sum()


@part
def refresh_plan(means: FloatArray, samples: int, plan: FloatArray) -> None:
    """Recompute the proportions ``plan[1:]`` if `samples` has come to ``plan[0]``; next a tenth later."""
    if samples >= plan[0]:
        gaussian_proportions(means, plan[1:])
        # Plans this rare leave Track-and-Stop optimal in the limit (Jedra and Proutiere 2020, from memory).
        plan[0] = math.ceil(1.1 * samples)


@part
@borrows
def tracked_arm(counts: IntArray, samples: int, proportions: FloatArray) -> int:
    """Return the least sampled arm if it has less than ``sqrt(t) - N / 2``, else the one most behind.

    D-tracking of Garivier and Kaufmann (COLT 2016).
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


# decide_track: the memory holds when the plan is due, and the plan.
PLAN = 2


def track_rule(n_arms: int, sigma: float, threshold: float) -> Rule:
    """Return the rule of `TrackAndStop`, before there is a plan."""
    return Rule(decide_track, [], [sigma, threshold], np.zeros(1 + n_arms))


@decide_kernel
def decide_track(seen: Seen, coin: float, integers: IntArray, reals: FloatArray, chosen: IntArray) -> int:
    """Track the proportions that would be optimal if the means were the true ones."""
    samples, plan = seen.clock[SAMPLES], reals[PLAN:]
    refresh_plan(seen.means, samples, plan)
    chosen[0] = tracked_arm(seen.counts, samples, plan[1:])
    return -1 if _closest_pair(seen, reals)[2] else 1
