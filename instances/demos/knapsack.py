"""The demo of projects within a budget: ``cmab demo knapsack``."""

from __future__ import annotations

from typing import Any

import numpy as np

from cmab.arrays import IntArray
from cmab.seeding import Purpose, root, stream
from cmab.validation import integer
from instances.arms import BernoulliArms, SemiBandit
from instances.demos._command import command
from instances.demos._demo import Problem
from instances.demos._pictures import draw_worth
from instances.demos.linear import LEARNERS
from oracles import Knapsack

_MOST_PROJECTS, _DEAREST = 10_000, 20


@command(
    learners=LEARNERS,
    reward="reward",
    unit="successes",
    sentence="of {whole} chosen by {who}, {value} succeed; of those for probabilities drawn at random, "
    "{random}; of the best ones, {best}.",
    heading="successes",
    arms="projects",
    horizon=2000,
    replications=10,
)
def knapsack(*, projects: int = 40, budget: int = 100, rng: int = 0) -> Problem:
    """Learn which projects to fund within a budget, from the successes of the funded projects.

    Each project has a known price from 1 to 20 and succeeds with an unknown probability. In each round the
    learner funds projects within the budget and observes which of them succeed.

    Parameters
    ----------
    projects : int
        Number of projects to choose from
    budget : int
        Largest total price of the funded projects
    rng : int
        Seed of all randomness
    """
    count = integer("projects", projects, 1, _MOST_PROJECTS)
    drawn = stream(root(rng), Purpose.ESTIMATION, 0)
    prices = drawn.integers(1, _DEAREST + 1, count)
    chances = drawn.uniform(0.1, 0.9, count)
    oracle = Knapsack(prices, integer("budget", budget, 1))
    best = oracle.solve(chances, np.random.default_rng(0))

    def draw(chosen: IntArray) -> Any:
        title = f"{prices[chosen].sum()} of {budget} spent"
        labels = {"xlabel": "Price", "ylabel": "True probability of success"}
        return draw_worth(
            prices.astype(np.float64), chances, chosen, best, word="Chosen", title=title, **labels
        )

    told = [f"{count:,} projects at prices from {prices.min()} to {prices.max()}; the budget is {budget:,}"]
    return Problem(
        SemiBandit(BernoulliArms(chances), oracle),
        oracle,
        draw,
        told=told,
        title=f"{count:,} projects, a budget of {budget:,}",
        whole=f"about {len(best)} projects",
        names=lambda chosen: [f"number {arm} (price {prices[arm]})" for arm in chosen],
        arms=lambda: {"price": prices.tolist()},
    )
