"""Compiled steps of CLUCB: comparison of the best super arm with the best one for the revised means."""

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.compiled import (
    EXPLORE_ORACLE,
    MOST_SAMPLES,
    ROUNDS,
    SAMPLES,
    STEPS,
    kernel,
    lean_kernel,
    loop_kernel,
)
from cmab.confidence._kernels_radii import anytime_rate, hoeffding_radii, lil_radius
from cmab.oracle import LinearOracle
from cmab.selection import restore_best
from cmab.statistics import observe_outcome

LIL, ANYTIME = 0, 1
# Places in `integers` and `reals`. For a lil radius, LEVEL and EPSILON are its level and its epsilon. For the
# anytime radius, they are delta and the tolerance.
KIND, IS_UNIFORM = range(2)
SIGN, SIGMA, EPSILON, LEVEL, LEAST = range(5)


def clucb_parameters(
    kind: int, oracle: LinearOracle, sigma: float, epsilon: float, level: float
) -> tuple[IntArray, FloatArray]:
    """Return the parameters of `explore_oracle` for the family of `oracle`."""
    sign = 1.0 if oracle.sense == "max" else -1.0
    reals = np.array([sign, sigma, epsilon, level, oracle.least_mean])
    return np.array([kind, oracle._uniform_size is not None], np.int64), reals


@lean_kernel
def revise(means, radii, best, sign, least, out):
    """Write the revised means: pessimistic for arms in the `best` super arm, optimistic for the others.

    They are w~ of Chen et al. (NIPS 2014), Algorithm 1, and of Jiang et al. (2017), Algorithm 3. For costs,
    the signs are opposite. No true mean is below `least`, so lower values are raised to `least`.
    """
    for i in range(means.shape[0]):
        out[i] = max(least, means[i] - sign * radii[i] if best[i] else means[i] + sign * radii[i])


@kernel
def _possible(means, least):
    return means if least == -np.inf else np.maximum(means, least)


@lean_kernel
def dispute(revised, radii, best, rival, sign):
    """Return the disputed arm with the largest radius (or -1), and the rival's advantage."""
    arm, gap = -1, 0.0
    for i in range(radii.shape[0]):
        if best[i] != rival[i]:
            # w~(M~) - w~(M). The arms of both super arms cancel, so they are left out of the sum.
            gap += sign * (revised[i] if rival[i] else -revised[i])
            if arm < 0 or radii[i] > radii[arm]:
                arm = i
    return arm, gap


@lean_kernel
def _mark(super_arm, size, marked):
    marked[:] = False
    for j in range(size):
        marked[super_arm[j]] = True


@lean_kernel
def write_radii(counts, samples, integers, reals, out):
    """Write the radii of the rule after `samples` samples."""
    n = counts.shape[0]
    if integers[KIND] == LIL:
        for i in range(n):
            out[i] = lil_radius(counts[i], reals[LEVEL], reals[EPSILON], reals[SIGMA])
    else:
        hoeffding_radii(counts, anytime_rate(n, samples, reals[LEVEL]), reals[SIGMA], out)


@lean_kernel
def has_won(arm, gap, integers, reals):
    """Return whether no arm is disputed or, for CLUCB-PAC, the rival's advantage is within the tolerance."""
    # lil'CLUCB stops if the two sets are equal (Jiang et al., Algorithm 3). CLUCB stops if the revised
    # weights are equal, because the sets may differ for ever if weights are tied.
    return arm < 0 or (integers[KIND] == ANYTIME and gap <= reals[EPSILON])


@loop_kernel(EXPLORE_ORACLE)
def explore_oracle(solve, oracle, rule, draw, arms, seen, streams):
    """Run the loop of `explore`, with two calls of the compiled oracle in each step.

    If any k arms are a super arm, the loop repairs the sets of the last step and does not call the oracle.
    """
    (counts, means, deviations, clock), (integers, reals) = seen, rule
    (draw_integers, draw_reals), (oracle_integers, oracle_reals), coins = arms, oracle, streams.coins
    n, is_uniform, sign, least = means.shape[0], integers[IS_UNIFORM], reals[SIGN], reals[LEAST]
    radii, revised, super_arm = np.empty(n), np.empty(n), np.empty(n, np.int64)
    values, scratch = sign * means, np.empty(n)
    best, rival = np.empty(n, np.bool_), np.empty(n, np.bool_)
    _mark(super_arm, solve(_possible(means, least), oracle_integers, oracle_reals, super_arm), best)
    # If any k arms are a super arm, both sets are repaired from those of the last step.
    rival[:] = best
    # No value inside the set is below `within`, and no value outside is above `beyond`. In most steps these
    # bounds show that the set is unchanged, without a scan of the arms.
    within, beyond = -np.inf, np.inf
    for _ in range(clock[STEPS]):
        if is_uniform:
            if within <= beyond:
                within, beyond = restore_best(values, best)
        else:
            _mark(super_arm, solve(_possible(means, least), oracle_integers, oracle_reals, super_arm), best)
        write_radii(counts, clock[SAMPLES], integers, reals, radii)
        revise(means, radii, best, sign, least, revised)
        if is_uniform:
            for i in range(n):
                scratch[i] = sign * revised[i]
            restore_best(scratch, rival)
        else:
            _mark(super_arm, solve(revised, oracle_integers, oracle_reals, super_arm), rival)
        arm, gap = dispute(revised, radii, best, rival, sign)
        if has_won(arm, gap, integers, reals) or clock[SAMPLES] + 1 > clock[MOST_SAMPLES]:
            return True
        observe_outcome(arm, draw(arm, draw_integers, draw_reals, coins), counts, means, deviations)
        values[arm] = sign * means[arm]
        if best[arm]:
            within = min(within, values[arm])
        else:
            beyond = max(beyond, values[arm])
        clock[ROUNDS] += 1
        clock[SAMPLES] += 1
    return False
