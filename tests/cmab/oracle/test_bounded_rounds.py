"""The number of calls of an oracle in a round is bounded, and known beforehand."""

import warnings
from collections import Counter

import networkx as nx
import numpy as np
import pytest
from cases import ORACLES

import cmab.oracle as linear
from cmab import CTS, ESCB, Feedback, ForcedExploration, Session
from cmab.run.workers import progress_bar
from oracles import GraphicMatroid, Matching, ShortestPath, TopK


@pytest.fixture
def choices(monkeypatch):
    """The number of choices that searches among all sets of k arms kept."""
    kept = []

    class Counting(linear.SetSearch):
        def run(self):
            try:
                return super().run()
            finally:
                kept.append(self.kept)

    monkeypatch.setattr(linear, "SetSearch", Counting)
    return kept


def hard_numbers(n_arms, seed):
    """Return means and squared widths of arms that are nearly alike."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(18, 26, n_arms)
    return rng.binomial(counts, 0.5) / counts, 300.0 / counts


def test_the_search_among_sets_ends(choices):
    """Where all outcomes have the same mean ESCB meets rounds that did not end in minutes."""
    oracle, rng = TopK(100, 10), np.random.default_rng(2)
    oracle.root_limit = 20
    session = Session(ESCB(oracle), rng=0)
    with pytest.warns(RuntimeWarning, match=r"root_limit = 20 linear problems.*at most 1e.* below"):
        for _ in range(60):
            ticket = session.ask()
            session.tell(Feedback(ticket.super_arm, (rng.random(10) < 0.5).astype(np.float64)), ticket)
    assert max(choices) <= 1.2 * 20_000


ROOTS = ["acyclic_path", "bottom_k", "graphic_matroid", "graphic_matroid_min", "matching", "top_k"]


@pytest.mark.parametrize("limit", [1, 4])
@pytest.mark.parametrize("name", ROOTS)
def test_the_loss_of_an_ended_search_is_bounded(name, limit):
    """The number in the warning is an upper bound on the loss, by enumeration."""
    case = next(case for case in ORACLES if case.name == name)
    oracle, family = case.make(), [np.array(arms, np.int64) for arms in case.super_arms()]
    oracle.root_limit = limit
    for seed in range(5):
        means, squares = hard_numbers(oracle.n_arms, seed)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found = oracle.solve_root(means, squares, np.random.default_rng(0))
        values = [
            oracle._sign * means[arms].sum() + np.sqrt(squares[arms].sum()) for arms in (found, *family)
        ]
        told = float(str(said[0].message).split("at most ")[1].split()[0]) if said else 0.0
        assert values[0] >= max(values) - told - 1e-9


def test_without_a_limit_the_search_is_exact():
    oracle = TopK(12, 5)
    means, squares = hard_numbers(12, 3)
    oracle.root_limit = None
    best = oracle.solve_root(means, squares, np.random.default_rng(0))
    with pytest.raises(ValueError, match="root_limit"):
        oracle.root_limit = 0
        oracle.solve_root(means, squares, np.random.default_rng(0))
    del oracle.root_limit
    assert sorted(best) == sorted(oracle.solve_root(means, squares, np.random.default_rng(0)))


GRID = nx.convert_node_labels_to_integers(nx.grid_2d_graph(8, 8))
TIED = {
    "matching": lambda: Matching(nx.complete_bipartite_graph(8, 8), method="assignment"),
    "path": lambda: ShortestPath(GRID, 0, 63),
    "tree": lambda: GraphicMatroid(nx.gnm_random_graph(40, 100, seed=1)),
}


@pytest.mark.parametrize("name", TIED)
def test_an_exploring_round_plays_another_super_arm(name):
    """Paths and matchings, of which no entry can be exchanged alone, as well as trees, of which one can."""
    oracle, rng = TIED[name](), np.random.default_rng(0)
    policy = ForcedExploration(CTS(oracle), c=1.0, form="last")
    for _ in range(5):
        chosen = oracle.solve(rng.random(oracle.n_arms), rng)
        other = policy._exchanged(chosen, None, rng)
        assert oracle.is_feasible(np.sort(other))
        exchanged = len(np.setdiff1d(chosen, other))
        assert exchanged == 1 if name == "tree" else exchanged > 0


def test_exchanges_of_a_tree():
    """A random edge, then a random one that fits: Pearson's statistic, false alarm 1e-6."""
    from scipy.stats import chi2

    case = next(case for case in ORACLES if case.name == "graphic_matroid")
    oracle = case.make()
    policy, rng = ForcedExploration(CTS(oracle), form="last"), np.random.default_rng(0)
    chosen = oracle.solve(rng.random(oracle.n_arms), rng)
    trees = [set(arms) for arms in case.super_arms()]
    near = {edge: [t for t in trees if set(chosen) - t == {edge}] for edge in chosen.tolist()}
    near = {edge: others for edge, others in near.items() if others}  # bridges cannot be exchanged
    expected = {
        tuple(sorted(tree)): 1_000 / len(near) / len(others) for others in near.values() for tree in others
    }
    seen = Counter(tuple(sorted(policy._exchanged(chosen, None, rng).tolist())) for _ in range(1_000))
    assert set(seen) <= set(expected)
    statistic = sum((seen[tree] - count) ** 2 / count for tree, count in expected.items())
    assert statistic <= chi2.isf(1e-6, len(expected) - 1)


@pytest.mark.parametrize("name", ["graphic_matroid", "transversal_matroid", "perfect_matching"])
def test_every_arm_is_explored(name):
    """Also by a rule that plays one super arm: of perfect matchings two edges are exchanged at once."""
    if name == "perfect_matching":
        oracle = Matching(nx.complete_bipartite_graph(3, 3), method="assignment", perfect=True)
        arms = set(range(9))
    else:
        case = next(case for case in ORACLES if case.name == name)
        oracle, arms = case.make(), set().union(*case.super_arms())
    policy, rng = ForcedExploration(CTS(oracle), form="last"), np.random.default_rng(0)
    chosen = oracle.solve(rng.random(oracle.n_arms), rng)
    shown = set(chosen.tolist())
    # The probability of each exchange is at least 1 / 12: 300 draws miss one of them by less than 1e-9.
    for _ in range(300):
        shown |= set(policy._exchanged(chosen, None, rng).tolist())
    assert shown == arms


class Terminal:
    """A stream that claims to be a terminal."""

    closed = False

    def __init__(self):
        self.text = ""

    def isatty(self):
        return True

    def flush(self):
        pass

    def write(self, text):
        self.text += text
        return len(text)


@pytest.mark.parametrize(
    ("quiet", "seconds", "shown"), [("", 2.0, True), ("", 0.1, False), ("1", 2.0, False)]
)
def test_progress_from_a_second_on(quiet, seconds, shown, monkeypatch):
    terminal, clock = Terminal(), [0.0]
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("CMAB_QUIET", quiet)
    monkeypatch.setattr("tqdm.std.time", lambda: clock[0])
    with progress_bar(None, total=3, unit=" rounds") as bar:
        for _ in range(3):
            clock[0] += seconds
            if bar is not None:
                bar.update()
    assert ("rounds" in terminal.text) == shown
