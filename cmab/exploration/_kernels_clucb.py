"""Combinatorial pure exploration, step by step: the best super arm against its rival by revised means."""

from typing import Any

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.compiled._kernels import kernel, typed_kernel
from cmab.compiled._kernels_select import restore_best
from cmab.compiled._kernels_signatures import EXPLORE_ORACLE
from cmab.compiled._kernels_statistics import observe_outcome
from cmab.confidence._kernels_radii import exploration_rate, hoeffding_radii, lil_radius

LIL, CLOCK = 0, 1


@kernel
def revise(
    means: FloatArray, radii: FloatArray, best: BoolArray, sign: float, least: float, out: FloatArray
) -> None:
    """Write the means as seen by a pessimist inside the `best` super arm and an optimist outside.

    No true mean is below `least`, so no bound needs to be.
    """
    for i in range(means.shape[0]):
        out[i] = max(least, means[i] - sign * radii[i] if best[i] else means[i] + sign * radii[i])


@kernel
def _possible(means: FloatArray, least: float) -> FloatArray:
    return means if least == -np.inf else np.maximum(means, least)


@kernel
def dispute(
    revised: FloatArray, radii: FloatArray, best: BoolArray, rival: BoolArray, sign: float
) -> tuple[int, float]:
    """Return the disputed arm of largest radius (-1 if there is none), and the rival's revised advantage."""
    arm, gap = -1, 0.0
    for i in range(radii.shape[0]):
        if best[i] != rival[i]:
            gap += sign * (revised[i] if rival[i] else -revised[i])
            if arm < 0 or radii[i] > radii[arm]:
                arm = i
    return arm, gap


@kernel
def _mark(super_arm: IntArray, size: int, marked: BoolArray) -> None:
    marked[:] = False
    for j in range(size):
        marked[super_arm[j]] = True


@kernel
def _radii(kind: int, counts: IntArray, samples: int, reals: FloatArray, out: FloatArray) -> None:
    """Write the radii; `reals` holds the sign, sigma, then epsilon and level, or tolerance and delta."""
    n = counts.shape[0]
    if kind == LIL:
        for i in range(n):
            out[i] = lil_radius(counts[i], reals[3], reals[2], reals[1])
    else:
        hoeffding_radii(counts, exploration_rate(n, samples, reals[3], 4.0, 3.0), reals[1], out)


@typed_kernel(EXPLORE_ORACLE)
def explore_oracle(
    solve: Any,
    oracle_integers: IntArray,
    oracle_reals: FloatArray,
    integers: IntArray,
    reals: FloatArray,
    draw: Any,
    arm_integers: IntArray,
    arm_reals: FloatArray,
    counts: IntArray,
    means: FloatArray,
    deviations: FloatArray,
    rng: np.random.Generator,
    coins: np.random.Generator,
    clock: IntArray,
    max_samples: int,
    max_steps: int,
) -> bool:
    """Do what `explore` does, with the oracle's compiled form called twice a step.

    `integers` holds the kind of radius, and whether every set as large as the oracle's is a super arm: one
    answer is then made from the one before. `reals` are those of the radii and the least possible mean.
    """
    n, kind, is_uniform, sign = means.shape[0], integers[0], integers[1], reals[0]
    tolerance, least = reals[2] if kind == CLOCK else 0.0, reals[4]
    radii, revised, super_arm = np.empty(n), np.empty(n), np.empty(n, np.int64)
    best, rival = np.empty(n, np.bool_), np.empty(n, np.bool_)
    _mark(super_arm, solve(_possible(means, least), oracle_integers, oracle_reals, super_arm), best)
    rival[:] = best
    for _ in range(max_steps):
        if is_uniform:
            restore_best(sign * means, best)
        else:
            _mark(super_arm, solve(_possible(means, least), oracle_integers, oracle_reals, super_arm), best)
        _radii(kind, counts, clock[1], reals, radii)
        revise(means, radii, best, sign, least, revised)
        if is_uniform:
            restore_best(sign * revised, rival)
        else:
            _mark(super_arm, solve(revised, oracle_integers, oracle_reals, super_arm), rival)
        arm, gap = dispute(revised, radii, best, rival, sign)
        if arm < 0 or (kind == CLOCK and gap <= tolerance) or clock[1] + 1 > max_samples:
            return True
        observe_outcome(arm, draw(arm, arm_integers, arm_reals, coins), counts, means, deviations)
        clock[0] += 1
        clock[1] += 1
    return False
