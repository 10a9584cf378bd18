"""Processor time of a round in the Python loop, against the same algorithm in plain NumPy in one run.

Run ``python tests/benchmarks/python_loop.py``. The house asks for at most 1.6 times plain NumPy.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from unittest import mock

import numpy as np

import cmab.run.simulate
from cmab import CUCB, simulate
from instances import BernoulliArms, SemiBandit
from oracles import TopK

N_ARMS, K, ROUNDS, REPEATS = 100, 10, 5_000, 5


def plain(means: np.ndarray, rounds: int) -> float:
    """Return the regret of CUCB on the best K arms, without any library but numpy."""
    rng = np.random.default_rng(0)
    counts, averages = np.zeros(N_ARMS, np.int64), np.zeros(N_ARMS)
    best, regret, paid = np.sort(means)[-K:].sum(), 0.0, 0.0
    for t in range(1, rounds + 1):
        with np.errstate(divide="ignore"):
            indices = averages + np.sqrt(1.5 * np.log(t) / counts)
        indices[counts == 0] = np.inf
        super_arm = np.argpartition(-indices, K - 1)[:K]
        outcomes = (rng.random(K) < means[super_arm]).astype(np.float64)
        counts[super_arm] += 1
        averages[super_arm] += (outcomes - averages[super_arm]) / counts[super_arm]
        paid += float(outcomes.sum())
        regret += float(best - means[super_arm].sum())
    return regret


def seconds(run: Callable[[], object]) -> float:
    """Return the processor time of a call."""
    started = time.process_time()
    run()
    return time.process_time() - started


def main() -> None:
    """Print microseconds a round, the least of several alternating runs."""
    means = np.random.default_rng(1).uniform(0.1, 0.9, N_ARMS)
    oracle = TopK(N_ARMS, K)
    environment = SemiBandit(BernoulliArms(means), oracle)
    with mock.patch.object(cmab.run.simulate, "compiled_run", lambda *_: None):
        pairs = [
            (
                seconds(lambda: simulate(CUCB(oracle), environment, ROUNDS, rng=0)),
                seconds(lambda: plain(means, ROUNDS)),
            )
            for _ in range(REPEATS)
        ]
    ours, numpy = (1e6 * min(each) / ROUNDS for each in zip(*pairs, strict=True))
    print(f"Python loop {ours:.1f} us, plain NumPy {numpy:.1f} us a round: {ours / numpy:.2f} times")


if __name__ == "__main__":
    main()
