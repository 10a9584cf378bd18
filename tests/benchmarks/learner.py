"""The cost of a round of `AdaptiveCTS`, and its regret with and without a safeguard where it may fail.

Run as a script: ``learner.py --cost`` prints microseconds per round in the compiled loop, with the oracle, of
CTS and AdaptiveCTS, in paired runs. ``learner.py [rounds] [replications]`` prints the regret of CUCB, CTS,
AdaptiveCTS and two safeguards on instances made against learners that explore little. 10,000 rounds and 8
replications take about half an hour on one processor.
"""

import sys
import time

import networkx as nx
import numpy as np

from cmab import CTS, CUCB, AdaptiveCTS, Environment, Feedback, LinearOracle, Safeguarded, simulate
from instances import BernoulliArms, SemiBandit
from instances.arms import EmpiricalArms
from oracles import GraphicMatroid, TopK


class Lazy(LinearOracle):
    """One of three arms with ratio 0.8: the last that is worth 0.8 times the best, after Wang and Chen."""

    n_arms, alpha, max_size = 3, 0.8, 1

    def solve(self, means, rng):
        return np.array([np.flatnonzero(means >= self.alpha * means.max())[-1]])


class Coins(Environment):
    """One coin is chosen. The means may be others in the first 60 rounds."""

    def __init__(self, means, early=None):
        self.means = np.asarray(means)
        self.n_arms = self.n_choices = len(means)
        self.optimum, self.early = float(self.means.max()), early

    def in_round(self, t, rng):
        return self.early if self.early is not None and t <= 60 else self

    def play(self, super_arm, rng):
        outcomes = 1.0 * (rng.random(self.n_arms)[super_arm] < self.means[super_arm])
        return Feedback(super_arm, outcomes, reward=float(outcomes.sum()))

    def pull(self, arms, rng):
        return 1.0 * (rng.random(len(arms)) < self.means[arms])

    def expected_reward(self, super_arm):
        return float(self.means[super_arm].sum())


def rare(share, usual, other, k, m):
    """Return k arms that pay 1 in a `share` of the rounds and else `usual`, and arms that pay `other`."""
    oracle = TopK(m, k)
    samples = [[usual] * (round(1 / share) - 1) + [1.0]] * k + [[other]] * (m - k)
    return oracle, SemiBandit(EmpiricalArms(samples), oracle)


def uniform(m, k, seed):
    """Return the k best of m coins."""
    oracle = TopK(m, k)
    return oracle, SemiBandit(BernoulliArms(np.random.default_rng(seed).random(m)), oracle)


LATE = np.array([0.9, 0.6, 0.55, 0.5, 0.45])
PROBLEMS = {
    "1 in a tenth of the rounds, 3 of 10": lambda seed: rare(0.1, 0.0, 0.08, 3, 10),
    "1 in a fiftieth of the rounds, 1 of 6": lambda seed: rare(0.02, 0.0, 0.01, 1, 6),
    "0.05, and 1 in a tenth, 3 of 10": lambda seed: rare(0.1, 0.05, 0.1, 3, 10),
    "approximate oracle (Wang, Chen)": lambda seed: (Lazy(), Coins([0.9, 0.82, 0.7])),
    "best arm fails for 60 rounds": lambda seed: (TopK(5, 1), Coins(LATE, Coins(LATE * (LATE < 0.9)))),
    "5 of 20 coins": lambda seed: uniform(20, 5, seed),
    "1 of 10 coins": lambda seed: uniform(10, 1, seed),
}
POLICIES = {
    "CUCB": CUCB,
    "CTS": CTS,
    "AdaptiveCTS": AdaptiveCTS,
    "Safeguarded": lambda oracle: Safeguarded(AdaptiveCTS(oracle)),
    "c=0.3": lambda oracle: Safeguarded(AdaptiveCTS(oracle), c=0.3),
}


def regrets(rounds, replications):
    """Print the mean regret with its standard error, and the largest."""
    for problem, make in PROBLEMS.items():
        for name, policy in POLICIES.items():
            found = []
            for seed in range(replications):
                oracle, environment = make(seed)
                result = simulate(policy(oracle), environment, rounds, checkpoints=[rounds], rng=seed)
                found.append(result.regret[0, -1])
            error = np.std(found, ddof=1) / replications**0.5
            print(
                f"{problem:40}{name:14}{np.mean(found):8.0f} ± {error:4.0f}, at most {max(found):6.0f}",
                flush=True,
            )


def cost():
    """Print the medians of nine paired runs in microseconds per round, and of their ratio."""
    graph = nx.gnm_random_graph(30, 100, seed=3)
    for oracle in (
        TopK(10, 1),
        TopK(20, 5),
        TopK(100, 10),
        TopK(100, 50),
        TopK(1000, 20),
        GraphicMatroid(graph),
    ):
        means = np.random.default_rng(0).random(oracle.n_arms)
        environment, rounds = SemiBandit(BernoulliArms(means), oracle), max(2000, 300_000 // oracle.n_arms)
        spent = np.empty((9, 2))
        for run in range(10):  # the first run compiles
            for place, kind in enumerate((CTS, AdaptiveCTS)):
                started = time.process_time()
                simulate(kind(oracle), environment, rounds, checkpoints=[rounds], rng=run)
                spent[run - 1, place] = 1e6 * (time.process_time() - started) / rounds
        plain, own = np.median(spent, axis=0)
        print(f"{oracle!r:40}{plain:8.2f}{own:8.2f}   ratio {np.median(spent[:, 1] / spent[:, 0]):.2f}")


if __name__ == "__main__":
    if "--cost" in sys.argv:
        cost()
    else:
        numbers = [int(n) for n in sys.argv[1:]]
        regrets(*(numbers or (10_000, 8)))
