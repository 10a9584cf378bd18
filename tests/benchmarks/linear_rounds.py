"""Rounds of linear policies on 10^5 arms with 20 features, compared with NumPy in the same run.

Run: OMP_NUM_THREADS=1 python tests/benchmarks/linear_rounds.py [ARMS] [FEATURES] [CALLS]. For Thompson
sampling, NumPy computes `X @ theta`; for upper confidence bounds, also `X @ L` and the norms of its rows.
"top k" is the same with `np.argpartition`. "select" is a round of the policy, and "context" the construction
of its context: a copy of the features with a check of each entry.

The four calls alternate. The table has their least processor times in milliseconds, the ratios of the least
times of `select` to NumPy without and with top k, and the medians of the ratios of the calls that followed
each other.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from cmab import C2UCB, CombLinTS, Context
from cmab.policies.linear import LinearPolicy
from oracles import TopK

SIZE = 10


def alternating(calls: int, works: list[Callable[[], object]]) -> np.ndarray:
    """Return the processor times in milliseconds, shape (calls, works). The order changes with each row."""
    times = np.empty((calls, len(works)))
    for number, row in enumerate(times):
        for place in np.roll(np.arange(len(works)), number).tolist():
            start = time.process_time_ns()
            works[place]()
            row[place] = time.process_time_ns() - start
    return times / 1e6


def numpy_values(rows: np.ndarray, theta: np.ndarray, turned: np.ndarray | None) -> np.ndarray:
    """Return the drawn means by NumPy alone; with `turned`, upper confidence bounds."""
    means = rows @ theta
    if turned is not None:
        product = rows @ turned
        means = means + 0.5 * np.sqrt(np.einsum("ij,ij->i", product, product))
    return means


def compare(rows: np.ndarray, policy: LinearPolicy, rng: np.random.Generator, calls: int) -> None:
    """Print a row of the table."""
    context, state = Context(features=rows), policy.initial_state()
    for _ in range(3):
        state.update(rows[rng.integers(len(rows), size=50)].astype(float), rng.random(50))
    posterior = state.posterior()
    theta = posterior.theta[0].astype(rows.dtype)
    turned = posterior.roots[0].T.astype(rows.dtype) if isinstance(policy, C2UCB) else None
    policy.select(state, rng, context)  # compiles the oracle
    works: list[Callable[[], object]] = [
        lambda: numpy_values(rows, theta, turned),
        lambda: np.argpartition(numpy_values(rows, theta, turned), len(rows) - SIZE),
        lambda: policy.select(state, rng, context),
        lambda: Context(features=rows),
    ]
    times = alternating(calls, works)
    least, name = times.min(axis=0), type(policy).__name__
    least_ratios = least[2] / least[:2]
    medians = np.median(times[:, 2:3] / times[:, :2], axis=0)
    shown = " ".join(f"{time:8.2f}" for time in least)
    both = "  ".join(f"{a:6.2f} {b:6.2f}" for a, b in zip(least_ratios, medians, strict=True))
    print(f"{rows.dtype!s:8} {name:10} {shown}  {both}", flush=True)


def main() -> None:
    given = [int(word) for word in sys.argv[1:]]
    arms, d, calls = [*given, *(100_000, 20, 60)[len(given) :]]
    rng, oracle = np.random.default_rng(0), TopK(arms, SIZE)
    print(f"{arms:,} arms, {d} features, k = {SIZE}, {calls} calls; milliseconds, and ratios of select")
    print(
        f"{'':8} {'':10} {'numpy':>8} {'top k':>8} {'select':>8} {'context':>8}"
        f"  {'numpy':>6} {'median':>6}  {'top k':>6} {'median':>6}"
    )
    for kind in (np.float64, np.float32):
        rows = (rng.random((arms, d)) / np.sqrt(d)).astype(kind)
        for policy in (CombLinTS(oracle, dimension=d), C2UCB(oracle, dimension=d, radius=0.5)):
            compare(rows, policy, rng, calls)


if __name__ == "__main__":
    main()
