"""Regret of rules for adversaries, Thompson sampling and CUCB, where means stay and where they all shift.

Run: python tests/benchmarks/shifting_means.py [RUNS]. The worlds are those of `cmab reproduce
shifting-means`, in one compiled loop: rounds that differ otherwise take Python. Mean regret and standard
error after 20,000 and 100,000 rounds.
"CUCB, uncut" has indices above 1 and first plays every arm, as in the authors' code.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from numba import njit

from cmab.policies.adversarial import barrier_indices, learn_predicted_losses

ARMS, SIZE, GAP = 10, 5, 0.125
CHECKPOINTS = np.array([20_000, 100_000])


@njit
def regret(rule, shifts, base, rng, checkpoints):
    counts, means, unused = np.zeros(ARMS, np.int64), np.zeros(ARMS), np.zeros(ARMS)
    index, outcomes, wins = np.zeros(ARMS), np.zeros(SIZE), np.zeros(ARMS)
    # The memory and the parameters of `BarrierFTRL`.
    barrier, numbers = np.zeros(5 * ARMS + 1), np.array([float(SIZE), 1.0, 0.0, 1.0, 0.0, 0.0])
    barrier[ARMS : 2 * ARMS], barrier[2 * ARMS : 3 * ARMS] = SIZE / ARMS, 1.44
    barrier[3 * ARMS : 4 * ARMS] = 0.5
    numbers[4], numbers[5] = math.log(checkpoints[-1]), 0.25 if rule == "drifting" else 0.0
    best, lost, told = np.sort(base)[-SIZE:].sum(), 0.0, np.zeros(len(checkpoints))
    for t in range(1, checkpoints[-1] + 1):
        # Zimmert et al. (2019), by the authors' code.
        is_low = int(math.log(t) / math.log(1.1)) % 10 < 5
        shift = 0.5 * (1.0 - GAP) * (-1.0 if is_low else 1.0) if shifts else 0.0
        if rule == "barrier" or rule == "drifting":
            barrier_indices(counts, means, unused, barrier, t, numbers, rng, index)
        for i in range(ARMS):
            if rule == "CTS":
                index[i] = rng.beta(1.0 + wins[i], 1.0 + counts[i] - wins[i])
            elif rule == "CUCB":
                width = math.sqrt(1.5 * math.log(t) / counts[i]) if counts[i] > 0 else 1.0
                index[i] = min(means[i] + width, 1.0)
            elif rule == "CUCB, uncut":
                index[i] = means[i] + math.sqrt(1.5 * math.log(t) / counts[i]) if counts[i] > 0 else np.inf
        chosen = np.argsort(-index)[:SIZE]
        for j, arm in enumerate(chosen):
            outcomes[j] = 1.0 if rng.random() < base[arm] + shift else 0.0
            counts[arm] += 1
            wins[arm] += outcomes[j]
            means[arm] = wins[arm] / counts[arm]
            lost -= base[arm]
        if rule == "barrier" or rule == "drifting":
            learn_predicted_losses(chosen, SIZE, outcomes, t, numbers, barrier)
        lost += best
        told[checkpoints == t] = lost
    return told


def main(runs: int) -> None:
    for world in ("steady", "shifting"):
        for rule in ("CTS", "CUCB", "CUCB, uncut", "barrier", "drifting"):
            told = []
            for run in range(runs):
                rng = np.random.default_rng(1000 + run)
                base = rng.permutation(0.5 + 0.5 * GAP * np.where(np.arange(ARMS) < SIZE, 1.0, -1.0))
                told.append(regret(rule, world == "shifting", base, rng, CHECKPOINTS))
            errors = np.std(told, axis=0, ddof=1) / math.sqrt(runs)
            ends = zip(np.mean(told, axis=0), errors, strict=True)
            cells = (f"{mean:8.0f} +- {error:4.0f}" for mean, error in ends)
            print(f"{world:<10}{rule:<12}" + "".join(cells), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
