"""Sampling rules for the best arm: top-two rules and tracking of the optimal proportions."""

import math

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.compiled._kernels import kernel
from cmab.compiled._kernels_signatures import decide_kernel
from cmab.exploration._kernels_mixture import doubtful_pair, evidence


@decide_kernel
def decide_eb_tci(
    counts: IntArray,
    means: FloatArray,
    deviations: FloatArray,
    rounds: int,
    samples: int,
    coin: float,
    integers: IntArray,
    reals: FloatArray,
    chosen: IntArray,
) -> int:
    """`EBTCI`; `reals` holds sigma, the threshold and beta."""
    leader, challenger, enough = doubtful_pair(means, counts, 1, reals[0], reals[1], np.empty(0))
    chosen[0] = leader if coin < reals[2] else challenger
    return -1 if enough else 1


@kernel
def optimistic_leader(counts: IntArray, means: FloatArray, samples: int, bonus: float) -> int:
    """Return the arm of largest ``mean + sqrt(bonus ln(samples) / T)``; ties go to the lower index."""
    scale, leader, largest = bonus * math.log(samples), 0, -np.inf
    for i in range(means.shape[0]):
        index = means[i] + math.sqrt(scale / counts[i])
        if index > largest:
            leader, largest = i, index
    return leader


@kernel
def closest_rival(counts: IntArray, means: FloatArray, leader: int) -> int:
    """Return the arm with the least evidence that `leader` is better; ties go to the lower index."""
    rival, least = -1, np.inf
    for j in range(means.shape[0]):
        if j != leader:
            gap = max(0.0, means[leader] - means[j])
            weight = evidence(gap, 1.0 / counts[leader] + 1.0 / counts[j], 1.0)
            if rival < 0 or weight < least:
                rival, least = j, weight
    return rival


@kernel
def ttucb_arm(
    counts: IntArray, means: FloatArray, samples: int, leader: int, beta: float, memory: FloatArray
) -> int:
    """Return the leader as long as it lags behind its share of the steps that it has led, else its rival.

    `memory` counts the steps that each arm has led, then those of them when it was sampled itself; last
    come an arm and the number of samples at which it was chosen and counted already.
    """
    n = means.shape[0]
    if memory[2 * n + 1] == samples:
        return int(memory[2 * n])
    lags = memory[n + leader] <= beta * (memory[leader] + 1.0)
    return leader if lags else closest_rival(counts, means, leader)


@decide_kernel
def decide_ttucb(
    counts: IntArray,
    means: FloatArray,
    deviations: FloatArray,
    rounds: int,
    samples: int,
    coin: float,
    integers: IntArray,
    reals: FloatArray,
    chosen: IntArray,
) -> int:
    """`TTUCB`; `reals` holds sigma, the threshold, beta, the bonus and the memory."""
    if doubtful_pair(means, counts, 1, reals[0], reals[1], np.empty(0))[2]:
        return -1
    n, memory = means.shape[0], reals[4:]
    leader = optimistic_leader(counts, means, samples, reals[3])
    chosen[0] = ttucb_arm(counts, means, samples, leader, reals[2], memory)
    if memory[2 * n + 1] != samples:  # a run that hit its cap asks once more when it goes on
        memory[leader] += 1.0
        memory[n + leader] += 1.0 if chosen[0] == leader else 0.0
        memory[2 * n], memory[2 * n + 1] = chosen[0], samples
    return 1


@kernel
def gaussian_proportions(means: FloatArray, out: FloatArray) -> None:
    """Write the optimal proportions of samples for the best of Gaussian arms; arms tied for it share them.

    With z = 2y / (least gap)^2 and r_a the squared gap over the least one, the ratio of arm a's samples to
    the best arm's is ``x_a = z / (r_a - z)`` and the condition of optimality is ``sum x_a^2 = 1``.
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


@kernel
def refresh_plan(means: FloatArray, samples: int, plan: FloatArray) -> None:
    """Recompute the proportions ``plan[1:]`` if `samples` has come to ``plan[0]``; next a tenth later."""
    if samples >= plan[0]:
        gaussian_proportions(means, plan[1:])
        plan[0] = math.ceil(1.1 * samples)


@kernel
def tracked_arm(counts: IntArray, samples: int, proportions: FloatArray) -> int:
    """Return the least sampled arm if it has less than ``sqrt(t) - N / 2``, else the one most behind."""
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


@decide_kernel
def decide_track(
    counts: IntArray,
    means: FloatArray,
    deviations: FloatArray,
    rounds: int,
    samples: int,
    coin: float,
    integers: IntArray,
    reals: FloatArray,
    chosen: IntArray,
) -> int:
    """`TrackAndStop`; `reals` holds sigma, the threshold and the plan."""
    refresh_plan(means, samples, reals[2:])
    chosen[0] = tracked_arm(counts, samples, reals[3:])
    return -1 if doubtful_pair(means, counts, 1, reals[0], reals[1], np.empty(0))[2] else 1
