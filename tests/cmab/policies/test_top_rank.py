"""TopRank: proven comparisons, blocks, and what it learns whatever the click model."""

import math
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from refusals import refused
from scipy import stats

from cmab import Context, Feedback, Ticket, TopRank, simulate
from instances import CascadeModel, position_based_model
from oracles import Knapsack, RankedTopK, TopK

RNG = np.random.default_rng


class Printed:
    """TopRank as printed, in plain Python: sets of items, and a set of pairs (worse, better)."""

    def __init__(self, m, delta):
        self.m, self.delta, self.proven = m, delta, set()
        self.s = {(i, j): 0.0 for i in range(m) for j in range(m)}
        self.n = dict(self.s)

    def blocks(self):
        left, blocks = set(range(self.m)), []
        while left:
            first = {i for i in left if not any((i, j) in self.proven for j in left)}
            blocks.append(sorted(first))
            left -= first
        return blocks

    def learn(self, clicked):
        for block in self.blocks():
            for i in block:
                for j in block:
                    u = (i in clicked) - (j in clicked)
                    self.s[i, j] += u
                    self.n[i, j] += abs(u)
        for (i, j), n in self.n.items():
            if n > 0 and self.s[i, j] >= math.sqrt(2 * n * math.log(3.43 * math.sqrt(n) / self.delta)):
                self.proven.add((j, i))


@pytest.mark.parametrize("pairs", [False, True])
def test_top_rank_is_that_of_the_paper(pairs):
    """Blocks and proofs after each of 200 rounds, on items and on pairs of items and positions."""
    attraction, examination, rng = np.array([0.05, 0.9, 0.5, 0.1, 0.95]), np.array([0.9, 0.6, 0.5]), RNG(1)
    if pairs:
        page = position_based_model(attraction, examination)
        policy = TopRank(page.oracle, 0.3, lists=np.arange(15).reshape(5, 3))
    else:
        policy = TopRank(RankedTopK(5, 3), 0.3)
    state, printed, sizes = policy.initial_state(), Printed(5, 0.3), set()
    for _ in range(200):
        assert [block.tolist() for block in policy.blocks(state)] == printed.blocks()
        arms = policy.select(state, rng)
        items = arms // 3 if pairs else arms
        assert not pairs or (arms % 3).tolist() == [0, 1, 2]
        coins = rng.random(3) < examination * attraction[items]
        # What shows nothing and what shows no click are the same to it.
        seen = coins | (rng.random(3) < 0.5)
        policy.update(state, Feedback(arms[seen], coins[seen].astype(float)))
        printed.learn(set(items[coins].tolist()))
        assert {(j, i) for i, j in np.argwhere(state.better).tolist()} == printed.proven
        sizes.add(len(printed.blocks()))
    assert len(sizes) > 2 and state.rounds == 200


def test_what_is_proven_better_stands_before():
    """In 600 rounds no list shows an item before one that was proven better, and no proof is wrong.

    A wrong one has a probability of at most delta m^2 = 4e-5 by the theorem.
    """
    attraction, oracle = np.array([0.1, 0.5, 0.3, 0.0, 0.4, 0.0]), RankedTopK(6, 4)
    page, policy, rng = CascadeModel(attraction, oracle), TopRank(oracle, 1e-6), RNG(3)
    state, proven = policy.initial_state(), np.zeros((6, 6), bool)
    for _ in range(600):
        shown = policy.select(state, rng).tolist()
        order = shown + [item for item in range(6) if item not in shown]
        for better, worse in np.argwhere(state.better):
            assert worse not in shown or order.index(better) < order.index(worse)
        policy.update(state, page.play(np.array(shown), rng))
        assert not (proven & ~state.better).any()  # for ever
        proven = state.better.copy()
    assert proven.sum() >= 2
    assert all(attraction[i] > attraction[j] for i, j in np.argwhere(proven))


def test_blocks_are_shuffled_uniformly():
    """Of blocks of 2, 3 and 1 four are shown: 2 * 6 lists, chi-square 1e-6, and their propensities."""
    policy = TopRank(RankedTopK(6, 4), 0.1)
    state, rng = policy.initial_state(), RNG(0)
    state.better[np.ix_([5, 2], [0, 1, 4, 3])] = state.better[[0, 1, 4], 3] = True
    assert [block.tolist() for block in policy.blocks(state)] == [[2, 5], [0, 1, 4], [3]]
    met = Counter(tuple(policy.select(state, rng).tolist()) for _ in range(900))
    assert len(met) == 12 and stats.chisquare(list(met.values())).pvalue > 1e-6
    chances = {some: policy.propensity(state, np.array(some), None) for some in permutations(range(6), 4)}
    assert sum(chances.values()) == pytest.approx(1.0)
    assert {some for some, chance in chances.items() if chance > 0} == set(met)
    assert policy.propensity(state, np.array([2, 5]), None) == 0.0


def test_a_circle_of_proofs_is_a_block():
    policy = TopRank(RankedTopK(4, 2), 0.1)
    state = policy.initial_state()
    state.better[[0, 1, 2, 0], [1, 2, 0, 3]] = True
    assert [block.tolist() for block in policy.blocks(state)] == [[0, 1, 2, 3]]


@pytest.mark.parametrize("model", ["cascade", "positions"])
def test_it_needs_no_click_model(model):
    """One rule under two click models: the two good items of five stand first in the end."""
    attraction = np.array([0.0, 0.0, 0.6, 0.5, 0.0])
    if model == "cascade":
        oracle = RankedTopK(5, 2)
        policy, page = TopRank(oracle, 0.01), CascadeModel(attraction, oracle)
    else:
        page = position_based_model(attraction, [1.0, 0.5])
        policy = TopRank(page.oracle, 0.01, lists=np.arange(10).reshape(5, 2))
    (state,) = simulate(policy, page, 400, rng=0).states
    assert set(np.concatenate(policy.blocks(state))[:2].tolist()) == {2, 3}
    assert state.better[2:4, [0, 1, 4]].any() and not state.better[[0, 1, 4]].any()


def test_fractions_of_clicks_prove_nothing_too_early():
    policy = TopRank(RankedTopK(2, 1), 0.5)
    state = policy.initial_state()
    for outcome in (1e-300, 1e-9, 0.25):
        policy.update(state, Feedback([0], [outcome]))
    assert state.leads[0, 1] == pytest.approx(0.25) and not state.better.any()


def test_outcomes_outside_of_the_support_are_taken_as_its_ends():
    policy = TopRank(TopK(3, 2), 0.1)
    one, other = policy.initial_state(), policy.initial_state()
    policy.update(one, Feedback([2, 0], [1.5, -0.5]))
    policy.update(other, Feedback([2, 0], [1.0, 0.0]))
    assert one.leads.tolist() == other.leads.tolist()


def test_costs_are_what_is_missing_to_one():
    clicks, costs = (TopRank(TopK(3, 2, sense=sense), 0.1) for sense in ("max", "min"))
    one, other = clicks.initial_state(), costs.initial_state()
    clicks.update(one, Feedback([2, 0], [1.0, 0.25]))
    costs.update(other, Feedback([2, 0], [0.0, 0.75]))
    assert one.leads.tolist() == other.leads.tolist()


def within(available, **parts):
    policy = TopRank(RankedTopK(3, 2), 0.1)
    return policy.select(policy.initial_state(), RNG(0), Context(available=np.array(available), **parts))


def test_items_that_come_and_go_are_compared_where_they_meet():
    """What is proven better stays at home: its block is that of the others, who are compared alone."""
    policy = TopRank(RankedTopK(4, 2), 0.1)
    state = policy.initial_state()
    state.better[0, 1:] = True
    state.leads[0, 1:], state.leads[1:, 0], state.differences[0, 1:], state.differences[1:, 0] = 9, -9, 9, 9
    context = Context(available=np.array([False, True, True, True]))
    assert [block.tolist() for block in policy.blocks(state, context)] == [[1, 2, 3]]
    assert 0 not in policy.select(state, RNG(0), context)
    assert policy.propensity(state, np.array([2, 3]), context) == pytest.approx(1 / 6)
    before = state.leads.copy()
    policy.update(state, Feedback([2, 3], [1.0, 0.0]), Ticket(0, np.array([2, 3]), context=context), RNG(0))
    assert (state.leads - before)[0].tolist() == [0, 0, 0, 0]
    assert (state.leads - before)[2].tolist() == [0, 1, 0, 1]


def test_late_clicks_are_compared_in_the_blocks_of_their_list():
    """Ticket 0 was shuffled in {0, 1, 2}, ticket 1, after the proof, in {0}, {1, 2}; both are told late."""
    policy = TopRank(RankedTopK(3, 2), 0.1)
    state, rng = policy.initial_state(), RNG(0)
    early, late = Ticket(0, np.array([1, 0])), Ticket(1, np.array([0, 1]))
    policy.reserve(state, early)
    for _ in range(40):
        policy.update(state, Feedback([0, 1], [1.0, 0.0]))
        policy.update(state, Feedback([0, 2], [1.0, 0.0]))
    assert state.better[0, 1] and state.better[0, 2] and not state.better[1, 2]
    policy.reserve(state, late)
    before = state.leads.copy()
    policy.update(state, Feedback([0, 1], [0.0, 1.0]), late, rng)
    assert (state.leads - before).tolist() == [[0, 0, 0], [0, 0, 1], [0, -1, 0]]
    before = state.leads.copy()
    policy.update(state, Feedback([1, 0], [1.0, 0.0]), early, rng)
    assert (state.leads - before).tolist() == [[0, -1, 0], [1, 0, 1], [0, -1, 0]]


test_what_is_no_list_is_refused = refused(
    (lambda: TopRank(RankedTopK(3, 2), 0.1, lists=[0, 1, 2]), "lists must have a row"),
    (lambda: TopRank(RankedTopK(3, 2), 0.1, lists=[[0, 1], [2]]), "lists must have a row"),
    (lambda: TopRank(Knapsack([1, 1, 2, 2], 2), 0.1), "the last list of lists must be"),
    (lambda: TopRank(RankedTopK(3, 2), 0.1, lists=[[0, 7], [1, 1]]), "lists must lie in range"),
    (lambda: TopRank(RankedTopK(3, 2), 0.1, lists=[[0, 1], [1, 2]]), "lists must not give an arm"),
    (lambda: TopRank(RankedTopK(3, 2), 0.1, lists=[[0, 1, 2]]), "number of positions in lists"),
    (lambda: TopRank(RankedTopK(3, 2), 0.1, lists=[[0], [1], [2]]), "the first list of lists must be"),
    (lambda: within([True, False, False]), "context.available must leave 2 items for a list, got 1"),
    (lambda: within([True] * 3, values=np.ones(3)), "context must have only available"),
)


@pytest.mark.parametrize(
    ("feedback", "told"),
    [
        (Feedback([0], [2.0], pulls=[3]), "one list per round"),
        (Feedback([3], [1.0]), "feedback.arms must lie in range"),
        (Feedback([2], [1.0]), "must be arms of lists"),
    ],
)
def test_what_is_no_click_is_refused(feedback, told):
    policy = TopRank(RankedTopK(3, 2), 0.1, lists=[[0, 0], [1, 1]])
    state = policy.initial_state()
    with pytest.raises(ValueError, match=told):
        policy.update(state, feedback)
    assert state.rounds == 0 and not state.differences.any()
