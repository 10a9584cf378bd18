"""The explorations of ModelPolicy with a random forest, on features that change and on those that do not.

Run: OMP_NUM_THREADS=1 python tests/benchmarks/explorations.py [SEEDS] [ROUNDS]. It needs scikit-learn, and
takes ten minutes for 8 seeds. The table has the mean reward of a round, its paired standard error against
the first rule, and the least ratio to it in one run.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from cmab import Context, Feedback, ModelPolicy, Session
from oracles import TopK

ARMS, SIZE, D = 40, 4, 6
RULES = ("mixture", "epsilon", "none")


def interacting(x: np.ndarray) -> np.ndarray:
    return 0.1 + 0.5 * (((x[:, 0] > 0.5) ^ (x[:, 1] > 0.5)) & (x[:, 2] < 0.7))


def rare(x: np.ndarray) -> np.ndarray:
    return 0.03 + 0.5 * ((x[:, 0] > 0.8) & (x[:, 1] > 0.6))


#: The truth, and whether the features change in each round.
PROBLEMS = {"interacting": (interacting, True), "rare": (rare, False)}


def play(policy: Any, problem: str, seed: int, rounds: int) -> float:
    """Return the mean expected reward of a round."""
    truth, changes = PROBLEMS[problem]
    rng, coins = np.random.default_rng((7, seed)), np.random.default_rng((8, seed))
    session, total, x = Session(policy, rng=seed), 0.0, rng.random((ARMS, D))
    for _ in range(rounds):
        x = rng.random((ARMS, D)) if changes else x
        means, ticket = truth(x), session.ask(Context(features=x))
        drawn = coins.random(ARMS)[ticket.super_arm] < means[ticket.super_arm]
        session.tell(Feedback(ticket, drawn.astype(float)), ticket)
        total += means[ticket.super_arm].sum()
    return total / rounds


def main() -> None:
    given = [int(word) for word in sys.argv[1:]]
    seeds, rounds = [*given, *(8, 300)[len(given) :]]
    for problem in PROBLEMS:
        rewards = {}
        for rule in RULES:
            forests = (RandomForestRegressor(10, min_samples_leaf=5) for _ in range(seeds))
            policies = (ModelPolicy(TopK(ARMS, SIZE), forest, exploration=rule) for forest in forests)
            rewards[rule] = np.array([play(one, problem, s, rounds) for s, one in enumerate(policies)])
            gap = rewards[rule] - rewards[RULES[0]]
            error, least = gap.std(ddof=1) / np.sqrt(seeds), (rewards[rule] / rewards[RULES[0]]).min()
            print(f"{problem:12}{rule:10} {rewards[rule].mean():.3f} ({error:.3f}) {least:.2f}", flush=True)


if __name__ == "__main__":
    main()
