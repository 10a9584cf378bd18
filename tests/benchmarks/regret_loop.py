"""Rounds a second of the regret loop: CUCB, the ten best of m Bernoulli arms, one core.

Run: python tests/benchmarks/regret_loop.py. All columns are measured in turn in one process; read the ratios.

- fused: `simulate`, policy, oracle and environment compiled;
- python: `simulate` with an oracle that has only its Python form;
- session: ask and tell, one round at a time, from Python;
- numpy: the loop as it is usually written, one array expression a step;
- vectorised: the same for 100 replications at once, in replication-rounds;
- bare: indices, selection and update of one round in numpy, without coins, checks and recording.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from cmab import CUCB, Session, simulate
from instances import BernoulliArms, SemiBandit
from oracles import TopK

K = 10


class PlainTopK(TopK):
    """The Python door only."""

    def solve(self, means, rng):
        return np.sort(np.argpartition(means, len(means) - self.k)[-self.k :])


def fused(means: np.ndarray, rounds: int) -> None:
    oracle = TopK(len(means), K)
    simulate(CUCB(oracle), SemiBandit(BernoulliArms(means), oracle), rounds, checkpoints=[rounds], rng=0)


def python(means: np.ndarray, rounds: int) -> None:
    oracle = PlainTopK(len(means), K)
    simulate(CUCB(oracle), SemiBandit(BernoulliArms(means), oracle), rounds, checkpoints=[rounds], rng=0)


def session(means: np.ndarray, rounds: int) -> None:
    oracle = TopK(len(means), K)
    environment = SemiBandit(BernoulliArms(means), oracle)
    campaign, coins = Session(CUCB(oracle), rng=0), np.random.default_rng(1)
    for _ in range(rounds):
        ticket = campaign.ask()
        campaign.tell(environment.play(ticket.super_arm, coins), ticket)


def numpy_loop(means: np.ndarray, rounds: int) -> None:
    rng, m = np.random.default_rng(0), len(means)
    counts, averages, regret, best = np.zeros(m), np.zeros(m), 0.0, np.sort(means)[-K:].sum()
    for t in range(1, rounds + 1):
        with np.errstate(divide="ignore", invalid="ignore"):
            index = np.where(counts > 0, np.minimum(averages + np.sqrt(1.5 * np.log(t) / counts), 1.0), 1.0)
        arms = np.argpartition(index, m - K)[-K:]
        outcomes = (rng.random(K) < means[arms]).astype(float)
        counts[arms] += 1
        averages[arms] += (outcomes - averages[arms]) / counts[arms]
        regret += best - means[arms].sum()


def vectorised(means: np.ndarray, rounds: int, replications: int = 100) -> None:
    rng, m = np.random.default_rng(0), len(means)
    counts, averages = np.zeros((replications, m)), np.zeros((replications, m))
    rows = np.arange(replications)[:, None]
    for t in range(1, max(2, rounds // replications) + 1):
        with np.errstate(divide="ignore", invalid="ignore"):
            index = np.where(counts > 0, np.minimum(averages + np.sqrt(1.5 * np.log(t) / counts), 1.0), 1.0)
        arms = np.argpartition(index, m - K, axis=1)[:, -K:]
        outcomes = (rng.random(arms.shape) < means[arms]).astype(float)
        counts[rows, arms] += 1
        averages[rows, arms] += (outcomes - averages[rows, arms]) / counts[rows, arms]


def bare(means: np.ndarray, rounds: int) -> None:
    m = len(means)
    counts, averages = np.full(m, 20.0), means.copy()
    for t in range(1, rounds + 1):
        arms = np.argpartition(averages + np.sqrt(1.5 * np.log(t) / counts), m - K)[-K:]
        counts[arms] += 1


def seconds_per_round(run: Callable[[np.ndarray, int], None], means: np.ndarray, rounds: int) -> float:
    run(means, 100)  # compiles, fills caches
    best = np.inf
    for _ in range(3):
        started = time.perf_counter()
        run(means, rounds)
        best = min(best, time.perf_counter() - started)
    return best / rounds


def main() -> None:
    columns = (fused, python, session, numpy_loop, vectorised, bare)
    print("thousand rounds a second (times the numpy loop)")
    print(f"{'m':>7}" + "".join(f"{run.__name__:>20}" for run in columns))
    for m, rounds in ((100, 20_000), (1000, 10_000), (10_000, 2000)):
        means = np.random.default_rng(1).permutation(np.linspace(0.1, 0.9, m))
        cost = {}
        for run in columns:
            cost[run] = seconds_per_round(run, means, 20 * rounds if run is fused else rounds)
        cells = [f"{1e-3 / cost[run]:.1f} (x{cost[numpy_loop] / cost[run]:.1f})" for run in columns]
        print(f"{m:>7}" + "".join(f"{cell:>20}" for cell in cells))


if __name__ == "__main__":
    main()
