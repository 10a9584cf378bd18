"""P-FWS: the search for the hardest rival, the stop by definition, optimal proportions, and errors."""

import math
from itertools import combinations, permutations

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binom

from cmab import PFWS, Feedback, LinearOracle, identify
from cmab.bounds.times import super_arm_time
from cmab.exploration.pfws import Contest, OracleRivals
from instances import GaussianArms
from oracles import (
    BruteForce,
    Knapsack,
    Matching,
    ShortestPath,
    TopK,
)

STREETS = nx.DiGraph()
for i, j in nx.grid_2d_graph(3, 4):
    STREETS.add_edges_from(((i, j), end) for end in ((i + 1, j), (i, j + 1)) if end[0] < 3 and end[1] < 4)
EDGES = {edge: arm for arm, edge in enumerate(STREETS.edges)}
PATHS = [sorted(EDGES[e] for e in way) for way in nx.all_simple_edge_paths(STREETS, (0, 0), (2, 3))]
PAIRS = list(nx.complete_bipartite_graph(4, 4).edges)
MATCHINGS = [sorted(PAIRS.index((i, 4 + j)) for i, j in enumerate(order)) for order in permutations(range(4))]
LOADS = np.array([1, 2, 2, 3, 4])
SACKS = [list(s) for k in range(6) for s in combinations(range(5), k) if LOADS[list(s)].sum() <= 6]
FAMILIES = {
    "paths": (lambda: ShortestPath(STREETS, (0, 0), (2, 3), sense="max"), PATHS),
    "costs": (lambda: ShortestPath(STREETS, (0, 0), (2, 3)), PATHS),
    "matchings": (lambda: Matching(nx.complete_bipartite_graph(4, 4), perfect=True), MATCHINGS),
    "sacks": (lambda: Knapsack(LOADS, 6), SACKS),
}
DISJOINT = [(0, 1, 2), (3, 4), (5, 6, 7)]


def signs_of(family, best, n):
    """One row for each other super arm: 1 for arms of the best only, -1 for arms of the other only."""
    inside = np.array([np.isin(np.arange(n), arms) for arms in family], float)
    rows = np.isin(np.arange(n), best) - inside
    return rows[np.abs(rows).any(axis=1)]


def heard(rule, means, counts):
    """The rule's state after `counts` outcomes of these means."""
    state = rule.initial_state()
    rule.update(state, Feedback(np.arange(len(means)), means * counts, pulls=counts))
    return state


@pytest.mark.parametrize("name", FAMILIES)
def test_the_oracle_finds_the_hardest_rival_and_proves_only_what_holds(name):
    make, family = FAMILIES[name]
    oracle, rng, proved = make(), np.random.default_rng(0), []
    n = oracle.n_arms
    for trial in range(20):
        values = rng.normal(size=n)
        best = np.sort(oracle.solve(oracle._sign * values, rng))
        prices = np.exp(rng.normal(size=n)) * (trial % 2)
        contest = Contest(values, np.exp(rng.normal(size=n)), prices, 2.0, 0.1)
        signs = signs_of(family, best, n)
        involved = np.abs(signs)
        ratios = (signs @ values + 0.1) ** 2 / ((involved @ contest.spreads) * (2.0 + involved @ prices))
        rivals = OracleRivals(oracle, best, 0.0)
        near = rivals.near(contest)
        assert {row.tobytes() for row in near + 0.0} <= {row.tobytes() for row in signs + 0.0}
        assert contest.ratios(near).min() == pytest.approx(ratios.min(), rel=1e-9)
        # With these spreads, the least ratio is 0.999, and then 1.05.
        assert not rivals.are_beaten(contest._replace(spreads=contest.spreads * ratios.min() / 0.999))
        proved.append(rivals.are_beaten(contest._replace(spreads=contest.spreads * ratios.min() / 1.05)))
    assert sum(proved) >= 18


def has_won(family, means, counts, *, sign=1.0, delta, sigma, epsilon=0.0, log_errors, price=0.0):
    """The stop by definition, from the Notes of the docstring."""
    best = max(family, key=lambda arms: sign * means[list(arms)].sum())
    signs = signs_of(family, best, len(means))
    for c in (10, 100, 1000, 10_000, 100_000):
        effective = counts**2 / (counts + c)
        won = []
        for row in signs:
            arms = np.flatnonzero(row)
            need = math.log(5 / delta) + log_errors + len(arms) * price
            need += sum(math.log(1 + counts[i] / c) / 2 for i in arms)
            gap = sign * (row @ means) + epsilon
            won.append(gap**2 / (2 * sigma**2 * (1 / effective[arms]).sum()) > need)
        if all(won):
            return True
    return False


@pytest.mark.parametrize("mode", ["number", "unknown"])
@pytest.mark.parametrize("name", FAMILIES)
def test_it_stops_when_the_evidence_exceeds_the_threshold(name, mode):
    """A proof by the oracle may be missing close to the threshold, but is never wrong."""
    make, family = FAMILIES[name]
    oracle, rng, ends = make(), np.random.default_rng(1), []
    n = oracle.n_arms
    more = {"n_super_arms": len(family)} if mode == "number" else {}
    errors = n * math.log(1 + 1 / n) if mode == "unknown" else math.log(len(family) - 1)
    price = math.log(n) if mode == "unknown" else 0.0
    for trial in range(24):
        epsilon = 0.1 * (trial % 2)
        rule = PFWS(oracle, delta=0.1, sigma=0.7, epsilon=epsilon, **more)
        counts, means = np.exp(rng.uniform(4, 9, n)).astype(np.int64), rng.normal(size=n)
        expected = has_won(
            family,
            means,
            counts,
            sign=oracle._sign,
            delta=0.1,
            sigma=0.7,
            epsilon=epsilon,
            log_errors=errors,
            price=price,
        )
        found = rule.can_stop(heard(rule, means, counts))
        assert found <= expected
        ends.append((found, expected))
    assert sum(found == expected for found, expected in ends) >= 22
    assert 3 <= sum(found for found, _ in ends) <= 21


def test_the_threshold_holds_for_all_times():
    """Ville's inequality for two arms that are sampled in turns and 2,000 times each: false alarm 1e-6."""
    rng, delta, runs = np.random.default_rng(3), 0.2, 2000
    counts = np.arange(1, 2001)
    squares = sum((rng.standard_normal((runs, 2000)).cumsum(axis=1) / counts) ** 2 for _ in range(2))
    crossed = np.zeros(runs, bool)
    for c in (10, 100, 1000, 10_000, 100_000):
        evidence = counts**2 / (counts + c) * squares / 2
        crossed |= (evidence > math.log(5 / delta) + np.log(1 + counts / c)).any(axis=1)
    assert crossed.sum() <= binom.isf(1e-6, runs, delta)
    # It is not loose by more than a factor of 20: without the prices it fails.
    assert crossed.sum() > runs * delta / 20
    loose = (counts / (counts + 10) * counts * squares / 2 > math.log(5 / delta)).any(axis=1)
    assert loose.sum() > binom.isf(1e-6, runs, delta)


def played(rule, means, samples):
    """The counts after so many noiseless samples; the rule is asked to continue after its stop."""
    state, rng = rule.initial_state(), np.random.default_rng(4)
    while state.counts.sum() < samples:
        arms, pulls = rule.select(state, rng), rule.pulls(state)
        rule.update(state, Feedback(arms, means[arms] * pulls, pulls=np.full(len(arms), pulls)))
    return state.counts


def evidence(family, means, w, sigma=0.5):
    """The least evidence per unit, and its gradient."""
    best = max(family, key=lambda arms: means[list(arms)].sum())
    signs = signs_of(family, best, len(means))
    spreads = np.abs(signs) @ (1 / w)
    own = (signs @ means) ** 2 / (2 * sigma**2 * spreads)
    k = np.argsort(own)[:20]
    return own.min(), own[k, None] / spreads[k, None] * np.abs(signs[k]) / w**2


def best_rounds(family, means):
    """The largest evidence per round over mixtures of super arms, by cutting planes over their shares."""
    inside = np.array([np.isin(np.arange(len(means)), arms) for arms in family], float)
    share, cuts, best = np.full(len(family), 1 / len(family)), [], 0.0
    for _ in range(400):
        least, slopes = evidence(family, means, np.maximum(share @ inside, 1e-9))
        best = max(best, least)
        cuts += list(slopes @ inside.T)
        rows = np.column_stack([-np.array(cuts), np.ones(len(cuts))])
        found = linprog(
            np.append(np.zeros(len(family)), -1.0),
            A_ub=rows,
            b_ub=np.zeros(len(cuts)),
            A_eq=[[1.0] * len(family) + [0.0]],
            b_eq=[1.0],
            bounds=[(0, None)] * len(family) + [(None, None)],
        )
        if -found.fun <= best * 1.005:
            return best
        share = (share + found.x[:-1]) / 2
    raise AssertionError("no optimum")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["paths", "disjoint"])
def test_proportions_of_samples_are_nearly_optimal(name):
    """Without noise, the least evidence is within 7 % of 1 / T*, with arms and with super arms."""
    if name == "disjoint":
        oracle, family, means = BruteForce(8, DISJOINT), DISJOINT, np.array([0.9] * 3 + [0.8] * 2 + [0.7] * 3)
    else:
        oracle, family = FAMILIES["paths"][0](), PATHS
        means = np.random.default_rng(5).permutation(np.linspace(0.1, 0.9, oracle.n_arms))
    uniform = evidence(family, means, np.full(len(means), 1 / len(means)))[0]
    time = super_arm_time(means, family)[1]
    rule = PFWS(oracle, n_super_arms=len(family), delta=0.1, growth=0.1)
    counts = played(rule, means, 200_000)
    found = evidence(family, means, counts / counts.sum())[0]
    assert found * time > 0.93 > uniform * time
    rule = PFWS(oracle, n_super_arms=len(family), delta=0.1, growth=0.1, plays="super arms")
    counts = played(rule, means, 200_000)
    # Each super arm of these families plays its arms once a round.
    size = counts.sum() if name == "disjoint" else counts.sum() / len(PATHS[0])
    if name == "disjoint":
        size = counts[0] + counts[3] + counts[5]
    assert evidence(family, means, counts / size)[0] > 0.93 * best_rounds(family, means)


@pytest.mark.slow
@pytest.mark.parametrize("plays", ["arms", "super arms"])
def test_errors_are_at_most_delta(plays):
    """A sound rule fails this with probability below 1e-6; tiny gaps against the noise."""
    rule = PFWS(BruteForce(8, DISJOINT), n_super_arms=3, delta=0.3, plays=plays, growth=1.0)
    arms = GaussianArms([0.9, 0.9, 0.9, 1.1, 1.0, 0.6, 0.7, 0.7], 0.5)
    found = identify(rule, arms, replications=100, rng=3, max_samples=100_000)
    assert (~(found.correct & found.stopped)).sum() <= binom.isf(1e-6, 100, 0.3)
    assert found.certified.all()


def test_super_arms_are_played_as_a_whole():
    oracle = FAMILIES["matchings"][0]()
    rule, rng = PFWS(oracle, delta=0.1, plays="super arms", growth=0.0), np.random.default_rng(0)
    state, family = rule.initial_state(), {tuple(arms) for arms in MATCHINGS}
    arms = GaussianArms(np.where(np.arange(16) % 5, 0.2, 0.8), 0.5)
    for step in range(60):
        chosen = rule.step(state, rng)
        assert tuple(sorted(chosen.tolist())) in family
        assert (state.counts.min() > 0) == (step >= 4)
        rule.update(state, arms.sample(chosen, 1, rng))
    # Forced exploration: every arm has at least sqrt(t / n) samples.
    assert state.counts.min() >= math.ceil(math.sqrt(60 / 16))


class Listed(LinearOracle):
    """The best of a list, without constraints."""

    n_arms = 8

    def solve(self, means, rng):
        return np.array(max(DISJOINT, key=lambda arms: means[list(arms)].sum()))


def test_bad_parameters():
    dead_end = nx.DiGraph([(0, 1), (1, 2), (0, 2), (1, 3)])
    for make, error, said in (
        (lambda: PFWS(ShortestPath(nx.cycle_graph(4), 0, 2), delta=0.1), ValueError, "use LilCLUCB"),
        (lambda: PFWS(Listed(), delta=0.1), TypeError, "oracle must define solve_constrained"),
        (lambda: PFWS(TopK(3, 1), n_super_arms=0, delta=0.1), ValueError, "n_super_arms must be"),
        (lambda: PFWS(TopK(3, 1), plays="sets", delta=0.1), ValueError, "plays must be"),
        (
            lambda: PFWS(ShortestPath(dead_end, 0, 2), plays="super arms", delta=0.1),
            ValueError,
            "arm 3 is in none; use plays='arms'|arm . is in none",
        ),
    ):
        with pytest.raises(error, match=said):
            make()
