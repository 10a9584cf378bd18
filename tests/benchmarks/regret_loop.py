"""Rounds a second of the regret loop: CUCB, the ten best of m Bernoulli arms, one core.

Run: python tests/benchmarks/regret_loop.py. All columns are measured in turn in one process, by processor
time; read the ratios.

- fused: `simulate`, policy, oracle and environment compiled (which looks at few of the arms in most rounds);
- scan: the same, looking at all arms in every round;
- user: `simulate` with an oracle that a user wrote in Python;
- batch: 100 replications with the same oracle's `solve_batch`, in replication-rounds;
- session: ask and tell, one round at a time, from Python;
- numpy: the loop as it is usually written, one array expression a step;
- vectorised: the same for 100 replications at once, in replication-rounds;
- bare: the bare arithmetic of a round, compiled: indices, insertion of the k best, coins, update;
- smpybandits: the package's UCB with its `choiceMultiple` and `getReward`, if it is installed.

Then many problems at once (`solve_batch`) against one after the other, and the peak memory of long runs.
"""

from __future__ import annotations

import math
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import scipy.special

from cmab import CUCB, LinearOracle, Session, simulate
from cmab.running import _compiled_rounds
from instances import BernoulliArms, SemiBandit
from oracles import TopK

K = 10


class UserTopK(LinearOracle):
    """As a user would write it."""

    def __init__(self, n_arms: int) -> None:
        self.n_arms = n_arms

    def solve(self, means, rng):
        return np.argpartition(means, self.n_arms - K)[self.n_arms - K :]


class BatchTopK(UserTopK):
    """The same for many problems at once."""

    def solve(self, means, rng):
        return self.solve_batch(means[None], rng)[0]

    def solve_batch(self, means, rng):
        return np.argpartition(means, self.n_arms - K, axis=1)[:, self.n_arms - K :]


def play(oracle: LinearOracle, means: np.ndarray, rounds: int) -> None:
    simulate(CUCB(oracle), SemiBandit(BernoulliArms(means), oracle), rounds, checkpoints=[rounds], rng=0)


def fused(means: np.ndarray, rounds: int) -> None:
    play(TopK(len(means), K), means, rounds)


def scan(means: np.ndarray, rounds: int) -> None:
    is_lazy, _compiled_rounds._is_lazy = _compiled_rounds._is_lazy, lambda *forms: False
    play(TopK(len(means), K), means, rounds)
    _compiled_rounds._is_lazy = is_lazy


def user(means: np.ndarray, rounds: int) -> None:
    play(UserTopK(len(means)), means, rounds)


def batch(means: np.ndarray, rounds: int, replications: int = 100) -> None:
    oracle = BatchTopK(len(means))
    environment, horizon = SemiBandit(BernoulliArms(means), oracle), max(2, rounds // replications)
    simulate(CUCB(oracle), environment, horizon, replications=replications, checkpoints=[horizon], rng=0)


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
    bare_loop(means, rounds, np.random.default_rng(0))


@numba.njit(error_model="numpy")
def bare_loop(means: np.ndarray, rounds: int, rng: np.random.Generator) -> None:
    m = len(means)
    counts, averages, index = np.zeros(m), np.zeros(m), np.empty(m)
    best = np.empty(K, np.int64)
    for t in range(1, rounds + 1):
        term = 1.5 * math.log(t)
        for i in range(m):
            index[i] = min(averages[i] + math.sqrt(term / counts[i]), 1.0) if counts[i] > 0 else 1.0
        size = 0
        for i in range(m):
            if size < K or index[i] > index[best[K - 1]]:
                j = min(size, K - 1)
                while j > 0 and index[best[j - 1]] < index[i]:
                    best[j] = best[j - 1]
                    j -= 1
                best[j] = i
                size = min(size + 1, K)
        for arm in best:
            counts[arm] += 1
            averages[arm] += ((rng.random() < means[arm]) - averages[arm]) / counts[arm]


def smpybandits(means: np.ndarray, rounds: int) -> None:
    policy, rng = peer()(len(means)), np.random.default_rng(0)
    policy.startGame()
    for _ in range(rounds):
        arms = policy.choiceMultiple(K)
        for arm, outcome in zip(arms, rng.random(K) < means[arms], strict=True):
            policy.getReward(arm, float(outcome))


def peer() -> Any:
    """Return the peer's class; it asks for a name that scipy has renamed since."""
    scipy.special.btdtri = scipy.special.betaincinv
    from SMPyBandits.Policies.UCB import UCB

    return UCB


def seconds_per_round(run: Callable[[np.ndarray, int], None], means: np.ndarray, rounds: int) -> float:
    run(means, 100)  # compiles, fills caches
    best = np.inf
    for _ in range(3):
        started = time.process_time()
        run(means, rounds)
        best = min(best, time.process_time() - started)
    return best / rounds


def one_by_one(problems: np.ndarray, repeats: int) -> None:
    oracle, rng = TopK(problems.shape[1], K), np.random.default_rng(0)
    for _ in range(repeats):
        for row in problems:
            oracle.solve(row, rng)


def at_once(problems: np.ndarray, repeats: int) -> None:
    oracle, rng = TopK(problems.shape[1], K), np.random.default_rng(0)
    for _ in range(repeats):
        oracle.solve_batch(problems, rng)


def batches() -> None:
    """Compare 100 problems of the k best at once with one after the other."""
    for m in (100, 1000):
        problems = np.random.default_rng(0).random((100, m))
        one, many = (1e4 * seconds_per_round(run, problems, 50) for run in (one_by_one, at_once))
        print(f"m = {m}: solve {one:.2f} us a problem, solve_batch {many:.2f} us (x{one / many:.1f})")


MEMORY = """
from pathlib import Path
import numpy as np
from cmab import CUCB, simulate
from instances import BernoulliArms, SemiBandit
from oracles import TopK
oracle = TopK(1000, 10)
environment = SemiBandit(BernoulliArms(np.linspace(0.1, 0.9, 1000)), oracle)
simulate(CUCB(oracle), environment, {rounds}, replications={replications}, rng=0)
print(next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")))
"""


def memory() -> None:
    """Print the peak memory (as Linux tells it) of processes: ten times the rounds, many replications."""
    print("peak memory at m = 1,000 (rounds x replications):", end=" ")
    for rounds, replications in ((10_000, 1), (100_000, 1), (1_000_000, 1), (10_000, 100)):
        code = MEMORY.format(rounds=rounds, replications=replications)
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        print(f"{rounds:,} x {replications}: {int(done.stdout.split()[1]) / 1024:.0f} MB", end="; ")
    print()


def main() -> None:
    columns = [fused, scan, user, batch, session, numpy_loop, vectorised, bare]
    try:
        peer()
        columns.append(smpybandits)
    except ImportError:
        print("SMPyBandits is not installed: its column is left out")
    print("thousand rounds a second (times the numpy loop)")
    print(f"{'m':>7}" + "".join(f"{run.__name__:>17}" for run in columns))
    for m, rounds in ((100, 20_000), (1000, 10_000), (10_000, 2000)):
        means = np.random.default_rng(1).permutation(np.linspace(0.1, 0.9, m))
        cost = {}
        for run in columns:
            more = 20 if run in (fused, scan, batch, bare) else 1
            cost[run] = seconds_per_round(run, means, more * rounds)
        cells = [f"{1e-3 / cost[run]:.1f} (x{cost[numpy_loop] / cost[run]:.1f})" for run in columns]
        print(f"{m:>7}" + "".join(f"{cell:>17}" for cell in cells), flush=True)
    batches()
    memory()


if __name__ == "__main__":
    main()
