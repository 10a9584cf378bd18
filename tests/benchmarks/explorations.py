"""The explorations of ModelPolicy on four problems with three estimators.

Run: OMP_NUM_THREADS=1 python tests/benchmarks/explorations.py [SEEDS] [ROUNDS]. It needs scikit-learn, and
takes about an hour for 8 seeds. The table has the mean reward of a round, its paired standard error against
the first rule, and the least ratio to it in one run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import BayesianRidge

from cmab import C2UCB, Context, Feedback, ModelPolicy, Session
from oracles import TopK

ARMS, SIZE, D = 40, 4, 6
ESTIMATORS: dict[str, Callable[[], Any]] = {
    "forest": lambda: RandomForestRegressor(10, min_samples_leaf=5),
    "ridge": BayesianRidge,
    "boosting": lambda: HistGradientBoostingRegressor(max_iter=20, min_samples_leaf=10),
}
RULES = ("mixture", "epsilon", "none")


def linear(x: np.ndarray) -> np.ndarray:
    return np.clip(0.3 + 0.35 * (x[:, 0] - 0.5) + 0.35 * (x[:, 1] - 0.5) - 0.3 * (x[:, 2] - 0.5), 0, 1)


def interacting(x: np.ndarray) -> np.ndarray:
    return 0.1 + 0.5 * (((x[:, 0] > 0.5) ^ (x[:, 1] > 0.5)) & (x[:, 2] < 0.7))


def rare(x: np.ndarray) -> np.ndarray:
    return 0.03 + 0.5 * ((x[:, 0] > 0.8) & (x[:, 1] > 0.6))


def friedman(x: np.ndarray) -> np.ndarray:
    smooth = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 5 * x[:, 3]
    return np.clip(smooth / 20, 0, 1)


#: The truth, and whether the features change in each round.
PROBLEMS = {"linear": (linear, True), "interacting": (interacting, True)}
PROBLEMS |= {"rare": (rare, False), "friedman": (friedman, False)}


def play(policy: Any, problem: str, seed: int, rounds: int) -> float:
    """Return the mean expected reward of a round."""
    truth, changes = PROBLEMS[problem]
    rng, coins = np.random.default_rng((7, seed)), np.random.default_rng((8, seed))
    session, total, x = Session(policy, rng=seed), 0.0, rng.random((ARMS, D))
    for _ in range(rounds):
        x = rng.random((ARMS, D)) if changes else x
        means, rows = truth(x), x
        if isinstance(policy, C2UCB):
            rows = np.hstack([x - 0.5, np.full((ARMS, 1), 0.5)]) / np.sqrt(D)
        ticket = session.ask(Context(features=rows))
        drawn = coins.random(ARMS)[ticket.super_arm] < means[ticket.super_arm]
        session.tell(Feedback(ticket, drawn.astype(float)), ticket)
        total += means[ticket.super_arm].sum()
    return total / rounds


def main() -> None:
    given = [int(word) for word in sys.argv[1:]]
    seeds, rounds = [*given, *(8, 300)[len(given) :]]
    oracle = TopK(ARMS, SIZE)
    for problem in PROBLEMS:
        got = [play(C2UCB(oracle, dimension=D + 1, radius=0.5), problem, s, rounds) for s in range(seeds)]
        print(f"{problem}: C2UCB {np.mean(got):.3f}", flush=True)
        for name, make in ESTIMATORS.items():
            rewards = {}
            for rule in RULES:
                policies = (ModelPolicy(oracle, make(), exploration=rule) for _ in range(seeds))
                rewards[rule] = np.array([play(one, problem, s, rounds) for s, one in enumerate(policies)])
                gap = rewards[rule] - rewards[RULES[0]]
                error, least = gap.std(ddof=1) / np.sqrt(seeds), (rewards[rule] / rewards[RULES[0]]).min()
                print(
                    f"  {name:9} {rule:10} {rewards[rule].mean():.3f} ({error:.3f}) {least:.2f}", flush=True
                )


if __name__ == "__main__":
    main()
