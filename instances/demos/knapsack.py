"""The demo of a budget: ``cmab demo knapsack``."""

from __future__ import annotations

from typing import Any

import numpy as np

from cmab.arrays import IntArray
from cmab.seeding import Purpose, root, stream
from cmab.validation import integer
from instances.arms.arms import BernoulliArms
from instances.arms.semi_bandit import SemiBandit
from instances.demos._command import command
from instances.demos._demo import Problem
from instances.demos._pictures import draw_worth
from instances.demos.linear import LINEAR
from oracles import Knapsack

_MOST_PROJECTS, _DEAREST = 10_000, 20


@command(
    learners=LINEAR,
    reward="reward",
    unit="successes",
    sentence="{value} of {whole} that {who} pays for succeed, {random} of the best for "
    "probabilities drawn at random (of the best, {best}).",
    heading="successes",
    arms="projects",
    horizon=2000,
    replications=10,
)
def knapsack(*, projects: int = 40, budget: int = 100, rng: int = 0) -> Problem:
    """Learn which projects are worth their price: a budget pays for some, and shows which of them succeed.

    Each project has a known price of 1 to 20 and succeeds with an unknown probability; every round the
    learner pays for projects within the budget and sees which of them succeeded.

    Parameters
    ----------
    projects : int
        Projects to choose from
    budget : int
        What the chosen ones may cost together
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
        labels = {"xlabel": "Price", "ylabel": "True chance of success"}
        return draw_worth(
            prices.astype(np.float64), chances, chosen, best, word="Chosen", title=title, **labels
        )

    told = [f"{count:,} projects at prices of {prices.min()} to {prices.max()}; {budget:,} are to be spent"]
    return Problem(
        SemiBandit(BernoulliArms(chances), oracle),
        oracle,
        draw,
        told=told,
        title=f"{count:,} projects, a budget of {budget:,}",
        whole=f"{len(best)} projects or so",
        names=lambda chosen: [f"number {arm} (price {prices[arm]})" for arm in chosen],
        arms=lambda: {"price": prices.tolist()},
    )
