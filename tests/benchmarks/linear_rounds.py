"""Rounds of linear policies on 10^5 arms with 20 features, compared with NumPy in the same run.

Run: OMP_NUM_THREADS=1 python tests/benchmarks/linear_rounds.py [ARMS] [FEATURES]. The table has the least
processor time of 60 calls in milliseconds: of NumPy's products alone, of `select` with a context, and of the
construction of this context (a copy of the features with a check of each entry).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from cmab import C2UCB, CombLinTS, Context
from cmab.policies.linear import LinearPolicy
from oracles import TopK

CALLS = 60


def least(work: Callable[[], object]) -> float:
    """Return the least processor time of a call in milliseconds."""
    times = []
    for _ in range(CALLS):
        start = time.process_time_ns()
        work()
        times.append(time.process_time_ns() - start)
    return min(times) / 1e6


def numpy_round(rows: np.ndarray, theta: np.ndarray, turned: np.ndarray | None) -> np.ndarray:
    """Return the best ten arms by NumPy alone; with `turned`, by upper confidence bounds."""
    means = rows @ theta
    if turned is not None:
        product = rows @ turned
        means = means + 0.5 * np.sqrt(np.einsum("ij,ij->i", product, product))
    return np.argpartition(means, len(rows) - 10)


def compare(rows: np.ndarray, policy: LinearPolicy, rng: np.random.Generator) -> None:
    """Print a row of the table."""
    context, state = Context(features=rows), policy.initial_state()
    for _ in range(3):
        state.update(rows[rng.integers(len(rows), size=50)].astype(float), rng.random(50))
    posterior = state.posterior()
    theta = posterior.theta[0].astype(rows.dtype)
    turned = posterior.roots[0].T.astype(rows.dtype) if isinstance(policy, C2UCB) else None
    bare = least(lambda: numpy_round(rows, theta, turned))
    ours = least(lambda: policy.select(state, rng, context))
    made = least(lambda: Context(features=rows))
    name = type(policy).__name__
    print(f"{rows.dtype!s:8} {name:10} {bare:8.2f} {ours:8.2f} {ours / bare:6.2f} {made:8.2f}")


def main() -> None:
    given = [int(word) for word in sys.argv[1:]]
    arms, d = [*given, *(100_000, 20)[len(given) :]]
    rng, oracle = np.random.default_rng(0), TopK(arms, 10)
    print(f"{arms:,} arms, {d} features, k = 10; milliseconds")
    print(f"{'type':8} {'policy':10} {'numpy':>8} {'select':>8} {'ratio':>6} {'context':>8}")
    for kind in (np.float64, np.float32):
        rows = (rng.random((arms, d)) / np.sqrt(d)).astype(kind)
        for policy in (CombLinTS(oracle, dimension=d), C2UCB(oracle, dimension=d, radius=0.5)):
            compare(rows, policy, rng)


if __name__ == "__main__":
    main()
