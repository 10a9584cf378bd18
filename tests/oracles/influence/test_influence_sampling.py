"""Ways of drawing reverse-reachable sets: each has the distribution that enumeration gives, set by set.

Every outcome (the set as a whole) is counted and compared with its exact probability by a two-sided binomial
test; the smallest p-value times the number of outcomes is below the stated level by chance no more often
than that. The same comparison must reject samplers that are wrong on purpose.
"""

import dataclasses
import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binomtest

from oracles import DirectedGraph
from oracles.influence.sampling import Ways, is_below, limits_and_tops
from oracles.influence.search import count_hits
from oracles.influence.sets import ReverseGraph, SetCollection

LEVEL = 1e-7
N_SETS = 1_000_000
N = 6
# Node 0 has three arcs in, the first and the last parallel. "few" has a certain and an impossible arc; in
# "certain", the arcs 3 -> 1, 1 -> 4, 4 -> 3 close a cycle.
TAILS = np.array([2, 1, 2, 3, 4, 0, 1, 5, 3, 4])
HEADS = np.array([0, 0, 0, 1, 1, 3, 4, 2, 5, 3])
MEANS = np.array([0.3, 0.2, 0.45, 0.6, 0.15, 0.5, 0.35, 1.0, 0.25, 0.0])
CERTAIN = np.array([0.3, 0.2, 0.45, 1.0, 0.15, 0.5, 1.0, 1.0, 0.25, 1.0])
CYCLE = np.array([0, 1, 2, 1, 1, 5])
WEIGHTS = np.array([1.0, 0.0, 2.5, 0.5, 1.0, 3.0])
BITS = 1 << np.arange(N)


def ancestors(root, live):
    """The nodes that reach `root` over the arcs `live`, as bits."""
    found, size = {root}, 0
    while size < len(found):
        size = len(found)
        found |= {int(TAILS[a]) for a in live if HEADS[a] in found}
    return int(sum(BITS[v] for v in found))


def live_arcs(means, model):
    """Every set of live arcs with its probability."""
    if model == "ic":
        for bits in itertools.product((False, True), repeat=len(means)):
            chance = math.prod(p if bit else 1 - p for p, bit in zip(means, bits, strict=True))
            if chance > 0:
                yield np.flatnonzero(bits), chance
        return
    options = []
    for v in range(N):
        arcs = np.flatnonzero(v == HEADS)
        options.append([*((a, means[a]) for a in arcs), (None, 1 - means[arcs].sum())])
    for picks in itertools.product(*options):
        chance = math.prod(p for _, p in picks)
        if chance > 0:
            yield np.array([a for a, _ in picks if a is not None], int), chance


@functools.cache
def exact(case, model, weighted, pairs, contract=False):
    """Probability of each set; for `pairs`, without the components that have no live arc into them."""
    means = means_of(case, model)
    worth = WEIGHTS if weighted else np.ones(N)
    component = CYCLE if contract and case == "certain" else np.arange(N)
    across = component[TAILS] != component[HEADS]
    chances = np.zeros(1 << N)
    for live, chance in live_arcs(means, model):
        entered = component[HEADS[live[across[live]]]]
        for root in range(N):
            if not pairs or component[root] in entered:
                chances[ancestors(root, live)] += chance * worth[root]
    return chances / chances.sum(), chances.sum()


def means_of(case, model):
    means = MEANS if case == "few" else CERTAIN
    if model == "lt":
        means = means / np.maximum(1.0, np.bincount(HEADS, means, N))[HEADS]
    return means


def drawn(reverse, key=17, n_sets=N_SETS):
    """The sets as bits of their nodes."""
    sets = SetCollection(reverse, key)
    sets.grow(n_sets)
    return bits_of(sets)


def bits_of(sets):
    reverse = sets.graph
    nodes = np.bincount(reverse.component, BITS).astype(np.int64)
    return np.add.reduceat(nodes[sets.pool[: sets.ends[-1]]], sets.ends[:-1])


def least_p(found, chances):
    """The smallest p-value of the counts, times their number."""
    counts = np.bincount(found, minlength=1 << N)
    assert not counts[chances == 0].any()
    possible = np.flatnonzero(chances > 0)
    values = [binomtest(int(counts[i]), len(found), min(1.0, chances[i])).pvalue for i in possible]
    return len(possible) * min(values)


def skipping(reverse):
    """Skip failures at every node, however few the arcs into it."""
    chances = reverse.world.chances[reverse.world.arms]
    tops = np.array([chances[a:b].max(initial=0) for a, b in itertools.pairwise(reverse.world.offsets)])
    rates = np.array([1 / math.log1p(-top) if 0 < top < 1 else 0.0 for top in tops.tolist()])
    gammas = reverse.ways.gammas if reverse.omits_single_nodes else np.empty(0)
    return dataclasses.replace(reverse, ways=Ways(rates, tops, gammas))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("contract", [False, True])
@pytest.mark.parametrize("way", ["coins", "skips", "pairs", "pairs and skips", "lt"])
@pytest.mark.parametrize("case", ["few", "certain"])
def test_sets_have_the_exact_distribution(case, way, contract, weighted):
    """40 comparisons of all outcomes: a false alarm in any of them has probability 4e-6."""
    model, pairs = "lt" if way == "lt" else "ic", way.startswith("pairs")
    chances, scale = exact(case, model, weighted, pairs, contract)
    reverse = ReverseGraph.of(
        DirectedGraph.from_edges(TAILS, HEADS, n_nodes=N),
        means_of(case, model),
        node_weights=WEIGHTS if weighted else None,
        sampler="pairs" if pairs else "coins",
        contract=contract,
        model=model,
    )
    if way.endswith("skips"):
        reverse = skipping(reverse)
        assert (reverse.ways.rates < 0).sum() >= 2
    assert reverse.omits_single_nodes == pairs
    assert reverse.total_weight == pytest.approx(scale)
    assert least_p(drawn(reverse), chances) > LEVEL


@pytest.mark.parametrize("way", ["coins", "skips", "pairs", "lt"])
def test_leaving_a_set_early_counts_the_same_hits(way):
    """For all 63 seed sets: hits of validation, set by set, against the stored sets; exact."""
    model = "lt" if way == "lt" else "ic"
    reverse = ReverseGraph.of(
        DirectedGraph.from_edges(TAILS, HEADS, n_nodes=N),
        means_of("few", model),
        sampler="pairs" if way == "pairs" else "coins",
        contract=way == "coins",
        model=model,
    )
    if way == "skips":
        reverse = skipping(reverse)
    found = drawn(reverse, n_sets=2000)
    if way == "coins":  # the form of large graphs
        assert np.array_equal(drawn(dataclasses.replace(reverse, ways=None), n_sets=2000), found)
    for seeds in range(1, 1 << N):
        marked = np.zeros(reverse.n_components, np.bool_)
        marked[reverse.component[(seeds & BITS) > 0]] = True
        closed = int(BITS[marked[reverse.component]].sum())
        hits, examined = count_hits(reverse, 17, 0, 2000, reverse.owners(np.flatnonzero(marked)))
        assert hits == np.count_nonzero(found & closed)
        assert examined >= 0


@pytest.mark.parametrize("way", ["coins", "skips", "lt"])
@pytest.mark.parametrize("contract", [False, True])
def test_sets_left_at_sentinels_are_parts_of_the_complete_sets(way, contract):
    """Exactly, set by set: without a sentinel the whole set, otherwise a part of it that shows one."""
    for case, sentinels in itertools.product(("few", "certain"), ([0], [2, 5], [1])):
        model = "lt" if way == "lt" else "ic"
        reverse = ReverseGraph.of(
            DirectedGraph.from_edges(TAILS, HEADS, n_nodes=N),
            means_of(case, model),
            sampler="coins",
            contract=contract,
            model=model,
        )
        if way == "skips":
            reverse = skipping(reverse)
        stops = np.unique(reverse.component[sentinels])
        sets = SetCollection(reverse, 17)
        sets.grow(100)
        sets.stop_at(stops)
        sets.grow(3000)
        shown = int(BITS[np.isin(reverse.component, stops)].sum())
        part, examined = bits_of(sets), sets.edges_examined
        sets.complete()
        whole = bits_of(sets)
        assert examined < sets.edges_examined - examined
        assert len(sets.sentinels) == 0
        assert np.array_equal(drawn(reverse, n_sets=100), part[:100])
        assert np.array_equal(whole[:100], part[:100])
        assert np.array_equal(whole[whole & shown == 0], part[whole & shown == 0])
        assert not (part & ~whole).any()
        assert (part[whole & shown > 0] & shown > 0).all()


def test_coins_are_exact_however_small_the_chance():
    """Live just where a 64-bit word is below 2^64 p, in integers; p from 1e-300 to 1, words close to it."""
    rng = np.random.default_rng(5)
    chances = np.concatenate([10 ** rng.uniform(-25, 0, 300), [0.0, 1e-300, 2.0**-64, 1 - 2.0**-53, 1.0]])
    arms = np.arange(len(chances), dtype=np.int32)
    limits, tops = limits_and_tops(np.array([0, 0, len(chances)]), arms, chances)
    assert tops.tolist() == [0.0, 1.0]
    for chance, limit in zip(chances.tolist(), limits.tolist(), strict=True):
        border = math.ceil(Fraction(chance) * 2**64)
        for word in {border - 1, border, border + 1, border + 2**20, int(rng.integers(2**63))}:
            if not 0 <= word < 2**64:
                continue
            first = word >> 33
            live = first < limit or (first == limit and is_below(np.uint64(word), chance))
            assert live == (word < border)
