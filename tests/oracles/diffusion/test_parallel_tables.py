"""Sets and answers do not depend on the number of threads."""

import numpy as np
import pytest

from oracles import DirectedGraph, InfluenceMaximization
from oracles.influence import Search
from oracles.influence import sampling as _tables
from oracles.influence.sets import ReverseGraph, SetCollection


def network(n=3000, m=30_000):
    rng = np.random.default_rng(0)
    ends = (n * rng.random((2, m)) ** 2).astype(int)
    ends = ends[:, ends[0] != ends[1]]
    return DirectedGraph.from_edges(*ends, n_nodes=n)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Divide even small samples."""
    monkeypatch.setattr(_tables, "_WORTH_A_THREAD", 64)


@pytest.mark.parametrize("threads", [2, 3, 5])
def test_the_same_sets(threads):
    graph = network()
    reverse = ReverseGraph.of(graph, np.full(graph.n_arcs, 0.05))
    alone, many = SetCollection(reverse, 4), SetCollection(reverse, 4, threads=threads)
    alone.grow(5000)
    many.grow(5000)
    for mine, theirs in zip(alone.index(), many.index(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    _, _, offsets, sets = many.index()
    members = [np.flatnonzero(many.pool[: many.ends[-1]] == v) for v in range(0, 3000, 97)]
    for v, places in zip(range(0, 3000, 97), members, strict=True):
        np.testing.assert_array_equal(
            sets[offsets[v] : offsets[v + 1]], np.searchsorted(many.ends, places, side="right") - 1
        )


@pytest.mark.parametrize("chance", [0.004, 0.05, 0.3])
def test_the_same_answer(chance):
    graph = network()
    found = [
        InfluenceMaximization(graph, 20, epsilon=0.1, search=Search(threads=threads)).solve_certified(
            np.full(graph.n_arcs, chance), np.random.default_rng(2)
        )
        for threads in (1, 4)
    ]
    assert found[0].seeds.tolist() == found[1].seeds.tolist()
    for name in ("ratio", "spread", "standard_error", "rr_sets", "edges_examined"):
        assert getattr(found[0], name) == getattr(found[1], name)
