"""Tables 1 and 2 of Kveton et al. (ICML 2015) under several readings, by a simulator without code of cmab.

Run: python tests/benchmarks/readings_of_cascades.py [RUNS] [READING...]. For each reading and rule, the
script prints the regret and its standard error in the nine rows, and how many numbers of the paper are within
two standard errors of the difference. Lists are in decreasing order of the index (Table 1) unless the reading
has another order. The reading "increasing" is Table 2.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from numba import njit

HORIZON, TOP = 100_000, 0.2
ROWS = [(m, k, gap) for m, gap in ((16, 0.15), (32, 0.15), (16, 0.075)) for k in (2, 4, 8)]
#: Numbers and standard errors of Tables 1 and 2, by table and rule, in the order of `ROWS`.
PAPER = {
    (1, "UCB1"): (
        [1290.1, 986.8, 574.8, 2695.9, 2256.8, 1581.0, 2077.0, 1520.4, 725.4],
        [11.3, 10.8, 7.9, 19.8, 12.8, 20.3, 32.9, 23.4, 12.0],
    ),
    (1, "KL-UCB"): (
        [357.9, 275.1, 149.1, 761.2, 633.2, 435.4, 766.0, 538.5, 321.0],
        [5.5, 5.8, 3.2, 10.4, 7.0, 5.7, 18.0, 12.5, 16.3],
    ),
    (2, "UCB1"): (
        [1160.2, 660.0, 181.4, 2471.6, 1615.3, 595.0, 1989.8, 1239.5, 336.4],
        [11.7, 8.3, 3.9, 14.1, 14.5, 7.8, 31.4, 16.2, 10.3],
    ),
    (2, "KL-UCB"): (
        [333.3, 209.4, 60.4, 716.0, 482.3, 201.9, 785.8, 484.2, 139.7],
        [6.1, 4.4, 2.0, 7.5, 6.7, 5.8, 12.2, 12.5, 6.6],
    ),
}
#: Orders of a list, by the index, the mean or the number of the item, or at random.
DECREASING, INCREASING, SHUFFLED, BY_NUMBER, BY_MEAN = range(5)
READINGS = {
    "as written": {},
    "increasing": {"order": INCREASING},
    "shuffled": {"order": SHUFFLED},
    "best items first": {"order": BY_NUMBER},
    "by mean": {"order": BY_MEAN},
    "ln n": {"level": float(HORIZON)},
    "index at most 1": {"top": 1.0},
    "index with noise": {"noise": 1e-3},
    "index with noise, increasing": {"noise": 1e-3, "order": INCREASING},
}


@njit
def divergence(p, q):
    told = p * math.log(p / q) if p > 0.0 else 0.0
    return told + (1.0 - p) * math.log((1.0 - p) / (1.0 - q))


@njit
def kl_index(mean, level, guess):
    """Return the largest q whose divergence from the mean is at most the level, by bracketed Newton steps."""
    if mean >= 1.0 or mean <= 0.0 or level <= 0.0:
        return 1.0 if mean >= 1.0 else 1.0 - math.exp(-level) if mean <= 0.0 else mean
    low, high = mean, min(1.0, mean + math.sqrt(level / 2.0))
    q = guess if low < guess < high else 0.5 * (low + high)
    for _ in range(60):
        excess = divergence(mean, q) - level
        low, high = (low, q) if excess > 0.0 else (q, high)
        step = q - excess * q * (1.0 - q) / (q - mean)
        step = step if low < step < high else 0.5 * (low + high)
        if abs(step - q) < 1e-8:
            return step
        q = step
    return q


@njit
def arranged(chosen, order, sums, counts, rng):
    """Return a list, which is in decreasing order of the indices, in another order."""
    if order == INCREASING:
        return chosen[::-1].copy()
    if order == SHUFFLED:
        return chosen[np.argsort(rng.random(len(chosen)))]
    if order == BY_NUMBER:
        return np.sort(chosen)
    return chosen[np.argsort(-sums[chosen] / counts[chosen])] if order == BY_MEAN else chosen


@njit
def place(chosen, size, i, index, ties):
    """Insert an item into the list of the largest indices so far, which has `size` items."""
    j = min(size, len(chosen) - 1)
    while j > 0:
        other = chosen[j - 1]
        if index[i] < index[other] or (index[i] == index[other] and ties[i] <= ties[other]):
            break
        chosen[j], j = other, j - 1
    chosen[j] = i


@njit
def regrets(rng, m, k, gap, is_kl, order, level, top, noise):
    """Return the expected regret of a run, and the regret against the best list on the same users."""
    worth = np.full(m, TOP - gap)
    worth[:k] = TOP
    counts, sums, ties = np.ones(m), np.zeros(m), rng.random(m)
    for i in range(m):
        sums[i] = rng.random() < worth[i]
    index, old, expected, realised = np.ones(m), np.zeros(m), 0.0, 0.0
    told, chosen, users, drawn = np.ones(m), np.zeros(k, np.int64), np.zeros(m), np.zeros(m)
    for t in range(1, HORIZON + 1):
        log = math.log(level) if level > 0.0 else math.log(t if is_kl else max(t - 1, 1))
        rate = max(log + 3.0 * math.log(log), 0.0) if log > 1.0 else log
        for i in range(m):
            if not is_kl:
                index[i] = min(sums[i] / counts[i] + math.sqrt(1.5 * log / counts[i]), top)
            elif t <= 3000 or counts[i] != old[i] or (t + i) % 16 == 0:
                # Later, 16 rounds without an observation move the level by less than 0.1 %.
                index[i], old[i] = kl_index(sums[i] / counts[i], rate / counts[i], index[i]), counts[i]
            told[i] = index[i] + (noise * rng.random() if noise > 0.0 else 0.0)
            if i < k or told[i] >= told[chosen[k - 1]]:
                last = chosen[k - 1]
                if i < k or told[i] > told[last] or ties[i] > ties[last]:
                    place(chosen, i, i, told, ties)
        missed, is_clicked, is_good = 1.0, False, False
        for i in chosen:
            missed *= 1.0 - worth[i]
        for i in arranged(chosen, order, sums, counts, rng):
            users[i], drawn[i] = rng.random() < worth[i], t
            counts[i] += 1.0
            sums[i] += users[i]
            if users[i]:
                is_clicked = True
                break
        for i in range(k):
            is_good |= users[i] > 0.0 if drawn[i] == t else rng.random() < TOP
        realised += is_good * 1.0 - is_clicked * 1.0
        expected += missed - (1.0 - TOP) ** k
    return expected, realised


def main(runs, names):
    for name in names:
        reading = {"order": DECREASING, "level": 0.0, "top": np.inf, "noise": 0.0} | READINGS[name]
        table = 2 if reading["order"] == INCREASING else 1
        for rule in ("UCB1", "KL-UCB"):
            streams = [[np.random.default_rng([i, run]) for run in range(runs)] for i in range(len(ROWS))]
            told = np.array(
                [
                    [regrets(rng, *row, rule == "KL-UCB", *reading.values()) for rng in rngs]
                    for row, rngs in zip(ROWS, streams, strict=True)
                ]
            )
            means, errors = told.mean(axis=1), told.std(axis=1, ddof=1) / math.sqrt(runs)
            published, published_errors = np.array(PAPER[table, rule])
            for kind, mean, error in zip(("expected", "realised"), means.T, errors.T, strict=True):
                near = np.abs(mean - published) <= 2.0 * np.hypot(error, published_errors)
                numbers = " ".join(f"{x:,.0f}±{e:.0f}" for x, e in zip(mean, error, strict=True))
                print(f"{name}, {rule}, {kind}: {near.sum()} of 9 of Table {table}: {numbers}", flush=True)


if __name__ == "__main__":
    main(int((sys.argv[1:] or ["20"])[0]), sys.argv[2:] or READINGS)
