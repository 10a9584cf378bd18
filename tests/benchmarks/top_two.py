"""Samples of the rules for the best arm: as delta vanishes, and on the random instances of two papers.

Run: python tests/benchmarks/top_two.py [RUNS]. With 400 runs it takes two minutes. The first table is that of
the page of algorithms. The second one has the random instances of Jourdan et al. (2022) and of Jourdan and
Degenne (2023), from memory: ten Gaussian arms with means 0.6 and uniform on [0.2, 0.5], and sigma = 1.
"""

from __future__ import annotations

import math
import sys

import numpy as np

from cmab import TTUCB, BestKGLR, TrackAndStop, identify
from cmab.bounds.times import characteristic_time, gaussian_divergence
from instances import GaussianArms

MEANS, SIGMA = [1.0, 0.7, 0.6, 0.3, 0.3], 0.5


def vanishing(runs: int) -> None:
    """Print the mean samples, divided by the characteristic time and by ln(1 / delta)."""
    for delta in (0.1, 1e-4, 1e-10, 1e-30, 1e-100, 1e-300):
        cells = []
        for rule in (TTUCB, TrackAndStop):
            share = None if rule is TrackAndStop else 0.5
            time = SIGMA**2 * characteristic_time(MEANS, divergence=gaussian_divergence, beta=share)[1]
            explorer = rule(5, delta=delta, sigma=SIGMA)
            found = identify(explorer, GaussianArms(MEANS, SIGMA), replications=runs, rng=0)
            cells.append(f"{found.samples.mean() / (time * math.log(1 / delta)):6.2f}")
        print(f"{delta:8.0e}", *cells, flush=True)


def random_instances(runs: int) -> None:
    """Print the mean samples of each rule, with the standard error, and its errors."""
    rules = {"BestKGLR": BestKGLR, "TTUCB": TTUCB, "TrackAndStop": TrackAndStop}
    for mode in ("heuristic", "faithful"):
        for name, rule in rules.items():
            samples, errors = [], 0
            for run in range(runs):
                means = np.r_[0.6, np.random.default_rng(run).uniform(0.2, 0.5, 9)]
                extra = {"k": 1} if rule is BestKGLR else {}
                explorer = rule(10, delta=0.1, sigma=1.0, mode=mode, **extra)
                found = identify(explorer, GaussianArms(means, 1.0), replications=1, rng=run)
                samples.append(int(found.samples[0]))
                errors += int(not found.correct[0])
            error = np.std(samples) / math.sqrt(runs)
            print(f"{mode:10}{name:14}{np.mean(samples):8.0f} +- {error:4.0f}, {errors} errors", flush=True)


if __name__ == "__main__":
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    vanishing(runs)
    random_instances(runs)
