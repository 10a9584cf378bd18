"""Ties: rules that draw break them at random before there is data; the others keep the order of the arms."""

import math

import networkx as nx
import numpy as np
import pytest
from cases import GROWING, POLICIES

from cmab import EpsilonGreedy
from oracles import Matching, TopK, UniformMatroid

SEEDS = range(60)
#: Rules whose generator decides when they explore or what they wrap, not which of equal arms come first.
WRAPPERS = {"banditoverwindows", "explored", "explored_last", "restarting", "rarely_switching"}
ROWS = [case for case in POLICIES + GROWING if "max" in case.senses]


def first_choices(make):
    """Return the first super arm of each seed, and whether a seed's generator was drawn from."""
    chosen, drew = [], False
    for seed in SEEDS:
        rng, policy = np.random.default_rng(seed), make()
        fresh = rng.bit_generator.state
        chosen.append(tuple(sorted(policy.select(policy.initial_state(rng), rng).tolist())))
        drew |= rng.bit_generator.state != fresh
    return chosen, drew


@pytest.mark.parametrize("case", ROWS, ids=lambda case: case.name)
def test_a_rule_that_draws_shows_every_arm_first_to_somebody(case):
    """Two of six arms, 60 seeds.

    Of arms that are shown equally often, one is missed with probability at most 6 (2/3)^60 = 2e-10.
    """
    chosen, drew = first_choices(lambda: case.make(case.family(6, 2)))
    if drew and case.name not in WRAPPERS:
        assert set().union(*chosen) == set(range(6))
        assert len(set(chosen)) >= 3
    elif not drew:
        assert len(set(chosen)) == 1


FAMILIES = {
    "uniform_matroid": lambda: UniformMatroid(6, 2),
    "costs": lambda: TopK(6, 2, sense="min"),
    "complete": lambda: Matching(nx.complete_graph(4)),
    "two_sides": lambda: Matching(nx.complete_bipartite_graph(3, 3)),
    "perfect": lambda: Matching(nx.complete_graph(4), sense="min", perfect=True),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_exact_oracles_see_the_difference(family):
    """At most 9 (2/3)^60 = 3e-10 that an arm is missed: each is in a third of the super arms."""
    chosen, _ = first_choices(lambda: EpsilonGreedy(FAMILIES[family](), 0.0))
    assert set().union(*chosen) == set(range(FAMILIES[family]().n_arms))


SUPPORTS = [
    *((0.0, 1.0), (-3.0, 5.0), (0.0, 1e-300), (1e12, 1e12 + 1.0)),
    *((-1e100, 1e100), (-math.inf, math.inf)),
]


@pytest.mark.parametrize("support", SUPPORTS)
def test_indices_stay_within_the_support_and_keep_their_order(support):
    from cmab.policy import SHARE, break_ties

    low, high = support
    ends = np.clip([low, high], -1e150, 1e150)
    rng = np.random.default_rng(0)
    counts = np.repeat([0, 3], 100)
    before = np.concatenate([np.full(100, ends[1]), np.linspace(*ends, 102)[1:-1]])
    for place in (ends[0], ends[1], ends[0] / 2 + ends[1] / 2):
        before[:100] = place
        out = before.copy()
        break_ties(counts, low, high, rng, out)
        assert (out[100:] == before[100:]).all()
        assert ((out >= low) & (out <= high)).all()
        length = high - low if high - low < math.inf else abs(place)
        assert np.abs(out - before).max() <= max(2 * SHARE * length, 1e-13 * abs(place))
        # Nothing lies between the place of the tie and its neighbours, so that no order changes.
        assert (np.sign(out[:100, None] - out[100:]) == np.sign(before[:100, None] - before[100:]))[
            :, np.abs(before[100:] - place) > 1e-6 * (ends[1] - ends[0])
        ].all()
        if place:
            assert len(np.unique(out[:100])) > 10
    out = before.copy()
    fresh = rng.bit_generator.state
    break_ties(np.ones(200, np.int64), low, high, rng, out)
    assert (out == before).all()
    assert rng.bit_generator.state == fresh
