"""Samples a second of exploration, against a numpy loop, a compiled scan of all arms, and the floor.

Run ``python tests/benchmarks/exploration.py [--quick]``. Gaussian arms whose gap is too small to be found,
so that every loop runs to its cap; each figure is the best of three runs of one process. The floor draws
the sample, looks up one tabulated radius and updates one mean, and decides nothing.
"""

import argparse
import time

import numpy as np

from cmab import CLUCB, LUCB1, LilCLUCB, LilRandLUCB, LUCBPlusPlus, UGapEc, identify
from cmab.compiled._kernels import kernel
from cmab.confidence.radii import lil_radii
from cmab.running import compiled_exploration as _exploring
from instances import GaussianArms
from oracles import TopK

SIZES = (10, 100, 1_000, 10_000)
RULES = {
    "lil'RandLUCB": lambda n, k: LilRandLUCB(n, k, delta=0.01),
    "LUCB++": lambda n, k: LUCBPlusPlus(n, k, delta=0.01),
    "lil'CLUCB": lambda n, k: LilCLUCB(TopK(n, k), delta=0.01),
    "LUCB1": lambda n, k: LUCB1(n, k, delta=0.01),
    "UGapEc": lambda n, k: UGapEc(n, k, delta=0.01),
    "CLUCB": lambda n, k: CLUCB(TopK(n, k), delta=0.01),
}


def best_rate(samples, run):
    """Return samples a second, the best of three."""
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - started)
    return samples / min(seconds)


def numpy_loop(means, k, samples, rng):
    """lil'RandLUCB as one would write it in numpy: every radius, a partial sort, two scans."""
    n = len(means)
    counts, sums = np.ones(n), means + 0.5 * rng.standard_normal(n)
    level_high, level_low = 1e-7 / (n - k), 1e-7 / k
    for _ in range(samples):
        estimates = sums / counts
        high = np.argpartition(estimates, n - k)[n - k :]
        is_high = np.zeros(n, bool)
        is_high[high] = True
        inner = np.log(1.01 * counts + 2)
        radii = 0.79 * np.sqrt(np.log(inner / np.where(is_high, level_high, level_low)) / counts)
        h = np.argmin(np.where(is_high, estimates - radii, np.inf))
        low = np.argmax(np.where(is_high, -np.inf, estimates + radii))
        if estimates[low] + radii[low] <= estimates[h] - radii[h]:
            return
        arm = h if rng.random() * (counts[h] + counts[low]) < counts[low] else low
        sums[arm] += means[arm] + 0.5 * rng.standard_normal()
        counts[arm] += 1


@kernel
def floor(means, table, samples, rng, counts, estimates):
    """Draw, look up a radius, update a mean."""
    total = 0.0
    for t in range(samples):
        arm = t % means.shape[0]
        counts[arm] += 1
        shift = means[arm] + 0.5 * rng.standard_normal() - estimates[arm]
        estimates[arm] += shift / counts[arm]
        total += estimates[arm] + table[counts[arm] % table.shape[0]]
    return total


def rate(explorer, arms, samples):
    """Return samples a second, the first sample of each arm left out."""
    seconds = []
    for cap in (arms.n_arms, arms.n_arms + samples):
        times = [identify(explorer, arms, rng=1, max_samples=cap).seconds[0] for _ in range(3)]
        seconds.append(min(times))
    return samples / (seconds[1] - seconds[0])


def scan_rate(explorer, arms, samples):
    """Return the same of the loop that looks at every arm before each sample."""
    opened = _exploring.compiled_exploration
    _exploring.compiled_exploration = lambda e, a: opened(e, a)._replace(rule=e.scan_kernel())
    try:
        return rate(explorer, arms, samples)
    finally:
        _exploring.compiled_exploration = opened


def row(n, budget):
    """Return a line of the table."""
    k = 3 if n == 10 else 10
    means = np.repeat([0.5, 0.4999], [k, n - k])
    arms, rates = GaussianArms(means, sigma=0.5), {}
    table = lil_radii(np.arange(1, 65_537), 1e-7, epsilon=0.01, sigma=0.5)
    scratch = np.zeros(n, np.int64), np.zeros(n)
    floor(means, table, 1, np.random.default_rng(0), *scratch)
    few = max(200, min(5_000, 2_000_000 // n))
    rates["numpy loop"] = best_rate(few, lambda: numpy_loop(means, k, few, np.random.default_rng(0)))
    rates["floor"] = best_rate(
        budget, lambda: floor(means, table, budget, np.random.default_rng(0), *scratch)
    )
    for name, make in RULES.items():
        by_tree = name in ("lil'RandLUCB", "LUCB++", "lil'CLUCB")
        rates[name] = rate(make(n, k), arms, budget if by_tree else max(10_000, budget // n))
    rates["scan"] = scan_rate(RULES["lil'RandLUCB"](n, k), arms, max(10_000, budget // n))
    return rates


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the samples")
    budget = 400_000 if parser.parse_args().quick else 4_000_000
    for n in SIZES:
        rates = row(n, budget)
        ours = rates["lil'RandLUCB"]
        print(f"\nN = {n}: million samples a second")
        for name, rate in rates.items():
            print(f"  {name:14} {rate / 1e6:10.4f}   lil'RandLUCB is {ours / rate:8.1f} times as fast")


if __name__ == "__main__":
    main()
