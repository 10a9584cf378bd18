"""Figures 1a, 2 and 3a of Liu et al. (ICML 2025) under several readings, by a simulator without code of cmab.

Run: python tests/benchmarks/readings_of_logs.py [TRIALS]. For each reading, the script prints how many
published numbers are within two standard errors of 20 trials and within a factor of two, the mean distance to
them, and the losses.
The published numbers were read off the plots.
"""

from __future__ import annotations

import itertools
import sys

import numpy as np

SIZES, POLICIES = (4, 16, 64, 256, 1024), ("random", "UCB", "LCB", "mean")
#: Rows: CUCB-Offline, EMP, CLCB. Columns: `SIZES`, then `POLICIES` with logs of 100 rounds.
LISTS = np.array(
    [
        [0.21, 0.16, 0.15, 0.13, 0.04, 0.20, 0.26, 0.09, 0.17],
        [0.17, 0.11, 0.12, 0.09, 0.05, 0.14, 0.16, 0.03, 0.06],
        [0.09, 0.08, 0.08, 0.07, 0.04, 0.13, 0.10, 0.02, 0.04],
    ]
)
#: Rows: LFU, LEC, CLCB-LLM-C. Columns: `SIZES`.
CACHES = np.array(
    [[0.72, 0.68, 0.65, 0.60, 0.50], [0.58, 0.56, 0.54, 0.52, 0.38], [0.52, 0.51, 0.50, 0.48, 0.30]]
)
READINGS = {
    "as written": {},
    "share of the optimum": {"unit": "share"},
    "mean attraction": {"unit": "mean"},
    "first item": {"unit": "first"},
    "one item": {"length": 1},
    "two items": {"length": 2},
    "20 items": {"items": 20},
    "one instance": {"is_fixed": True},
    "semi-bandit feedback": {"is_semi": True},
    "unseen items are 1 in EMP": {"unseen": 1.0},
    "CLCB cut at 0": {"is_cut": True},
    **{f"attraction at most {top}": {"top": top} for top in (0.5, 0.3, 0.2, 0.1, 0.05)},
    **{f"attraction at most {top}, unseen 1/2 in EMP": {"top": top, "unseen": 0.5} for top in (0.5, 0.1)},
}
UNITS = ("gap", "gap / optimum", "gap / no cache", "gap / largest gap", "gap / random", "cost / no cache")


def largest(values, k, rng):
    return np.lexsort((rng.random(len(values)), -values))[:k]


def bounds(counts, sums, log):
    """Return means, and radii of Algorithm 1 (infinite for arms without observations)."""
    often = np.maximum(counts, 1.0)
    return sums / often, np.where(counts > 0.0, np.sqrt(log / (2.0 * often)), np.inf)


def statistics(policy, means, length, sizes, rng, is_semi):
    """Yield the size, the counts and the sums of a log of cascades at each of `sizes`."""
    counts, sums = np.zeros(len(means)), np.zeros(len(means))
    for t in range(1, sizes[-1] + 1):
        center, radii = bounds(counts, sums, np.log(4.0 * len(means) * t / 0.05))
        index = {"random": 0.0 * center, "UCB": center + radii, "LCB": center - radii, "mean": center}[policy]
        chosen = largest(index, length, rng)
        outcomes = rng.random(length) < means[chosen]
        seen = length if is_semi or not outcomes.any() else int(outcomes.argmax()) + 1
        counts[chosen[:seen]] += 1.0
        sums[chosen[:seen]] += outcomes[:seen]
        if t in sizes:
            yield t, counts, sums


def loss(means, chosen, unit):
    """Return the loss of a list."""
    best = np.sort(means)[::-1][: len(chosen)]
    gap = np.prod(1.0 - means[chosen]) - np.prod(1.0 - best)
    if unit == "share":
        return gap / (1.0 - np.prod(1.0 - best))
    if unit == "mean":
        return best.mean() - means[chosen].mean()
    return best[0] - means[chosen[0]] if unit == "first" else gap


def lists(
    rng,
    means,
    *,
    top=1.0,
    items=100,
    length=5,
    unit="gap",
    unseen=0.0,
    is_semi=False,
    is_cut=False,
    is_fixed=0,
):
    """Return the losses of one trial in the form of `LISTS`."""
    means = top * (means if is_fixed else rng.random(items))
    columns = []
    for policy, sizes in [("random", SIZES), *((policy, (100,)) for policy in POLICIES)]:
        for t, counts, sums in statistics(policy, means, length, sizes, rng, is_semi):
            center, radii = bounds(counts, sums, np.log(2.0 * items * t / 0.05))
            low = np.maximum(center - radii, 0.0) if is_cut else center - radii
            rules = (center + radii, np.where(counts > 0.0, center, unseen), low)
            columns.append([loss(means, largest(values, length, rng), unit) for values in rules])
    return np.array(columns).T


def caches(rng, shares_kind, costs_kind, noise, is_empty, is_pessimistic, m=100, k=40):
    """Return the losses of one trial in the form of `CACHES`, for each unit of `UNITS`."""
    shares = {
        "powers of ranks": lambda: np.arange(1.0, m + 1.0) ** -0.9,
        "power law, drawn": lambda: rng.power(0.9, m),
        "power law, cells": lambda: np.diff((np.arange(m + 1.0) / m) ** 0.9),
        "Pareto, drawn": lambda: 1.0 + rng.pareto(0.9, m),
    }[shares_kind]()
    shares = rng.permutation(shares / shares.sum())
    costs = {"0 or 1": (rng.random(m) < 0.5) * 1.0, "1/2": np.full(m, 0.5), "uniform": rng.random(m)}
    costs["1 or 101"] = 100.0 * costs["0 or 1"] + 1.0
    costs = costs[costs_kind]
    worth, floor = shares * costs, costs.min() if costs_kind == "1 or 101" else 0.0
    total, ranked = worth.sum(), np.sort(worth)
    best, random, worst = total - ranked[-k:].sum(), total * (1.0 - k / m), total - ranked[:k].sum()
    queries = rng.choice(m, SIZES[-1], p=shares)
    paid = costs[queries]
    if noise == "coins":
        paid = (rng.random(len(paid)) < paid) * 1.0
    elif noise == "normal":
        paid = paid + rng.normal(0.0, 1.0, len(paid))
    missed = np.ones(len(paid), bool) if is_empty else rng.random(len(paid)) < 1.0 - k / m
    told = np.zeros((len(UNITS), 3, len(SIZES)))
    for j, n in enumerate(SIZES):
        arrivals = np.bincount(queries[:n], minlength=m) / n
        seen, weights = queries[:n][missed[:n]], paid[:n][missed[:n]]
        counts, sums = np.bincount(seen, minlength=m), np.bincount(seen, weights, minlength=m)
        means, radii = bounds(counts, sums, 4.0 * np.log(4.0 * m * n / 0.05))
        # The LEC of Zhu et al. (2023), in the authors' code, has lower bounds.
        low = np.maximum(means - np.sqrt(m / np.maximum(counts, 1.0)), floor) if is_pessimistic else means
        low, high = np.where(counts > 0, low, floor), np.where(counts > 0, means + radii, 1e6)
        for i, values in enumerate((arrivals, arrivals * low, arrivals * high)):
            cost = total - worth[largest(values, k, rng)].sum()
            ends = (1.0, best, total, worst - best, random - best)
            told[:, i, j] = [(cost - best) / end if end > 0.0 else np.nan for end in ends] + [cost / total]
    return told


def compared(losses, published):
    """Return the mean distance, the count within two standard errors, and a text with all comparisons."""
    means, errors = losses.mean(axis=0), losses.std(axis=0, ddof=1) / np.sqrt(20)
    near = int((np.abs(means - published) <= 2.0 * errors).sum())
    twice = int(((means <= 2.0 * published) & (published <= 2.0 * means)).sum())
    distance = float(np.nan_to_num(np.abs(means - published).mean(), nan=np.inf))
    text = f"{near} of {means.size} within two standard errors, {twice} within a factor of two"
    return distance, near, f"{text}, mean distance {distance:.3f}\n{means.round(3)}"


def main(trials):
    for name, reading in READINGS.items():
        means = np.random.default_rng(0).random(100)
        told = [lists(np.random.default_rng([1, trial]), means, **reading) for trial in range(trials)]
        print(f"lists, {name}: {compared(np.array(told), LISTS)[2]}", flush=True)
    worlds = itertools.product(
        ("powers of ranks", "power law, drawn", "power law, cells", "Pareto, drawn"),
        (
            ("0 or 1", ""),
            ("0 or 1", "normal"),
            ("1 or 101", "normal"),
            ("1/2", "coins"),
            ("uniform", "coins"),
        ),
        (True, False),
        (True, False),
    )
    found = []
    for shares, (costs, noise), *flags in worlds:
        streams = [np.random.default_rng([2, trial]) for trial in range(trials)]
        told = np.array([caches(rng, shares, costs, noise, *flags) for rng in streams])
        for j, unit in enumerate(UNITS):
            distance, near, text = compared(told[:, j], CACHES)
            name = (
                f"shares {shares}, costs {costs} {noise}, empty caches {flags[0]}, LEC by bounds {flags[1]}"
            )
            found.append((distance, near, f"caches, {name}, {unit}: {text}"))
    counts = np.bincount([near for _, near, _ in found])
    print(f"{len(found)} readings of caches, by the number within two standard errors: {counts}")
    print("The closest ones, by the mean distance:")
    print("\n".join(text for _, _, text in sorted(found)[:10]))


if __name__ == "__main__":
    main(int((sys.argv[1:] or ["40"])[0]))
