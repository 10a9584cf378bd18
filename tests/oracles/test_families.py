"""Linear families on random small problems by enumeration: values, bounds, members, constraints, limits."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, product
from typing import Any

import networkx as nx
import numpy as np
import pulp
import pytest
from cases import (
    covering,
    cuts,
    disjoint_paths,
    edge_sets,
    flows,
    networks,
    paths,
    slates,
    subsets,
)

from oracles import (
    DisjointPaths,
    GeneralizedAssignment,
    Knapsack,
    LevelAllocation,
    Matching,
    MinCostFlow,
    MinimumCut,
    MultidimensionalKnapsack,
    PuLPOracle,
    SetCover,
    ShortestPath,
    Slate,
    SteinerTree,
    VertexCover,
)

GREEDY = {"time_limit": 0}
BEST = {"time_limit": 60.0, "on_limit": "best"}
STOPPED = {"node_limit": 0, "on_limit": "best"}
GAP = {"gap": 0.2}


def rows_of(rng, shape, bits=(3, 7, 16)):
    """Return rows of weights and their capacities in units, and the unit.

    The units are small integers, tenths, or integers of up to `bits` that some sets fill exactly, or exceed
    by one.
    """
    bits, unit = rng.choice(bits), 1
    weights = rng.integers(2 ** (bits - 2), 2 ** (bits - 1), shape)
    weights[rng.random(shape) < 0.3] = rng.integers(0, 3)
    rooms = [int(row[rng.random(shape[1]) < 0.4].sum()) + int(rng.integers(-1, 2)) for row in weights]
    if bits == 7:
        unit = 10
    return weights, [min(max(room, 0), 2**53) for room in rooms], unit


def fits(weights, rooms, chosen):
    """Return whether chosen columns are within all capacities, in exact integers."""
    return all(sum(row[i] for i in chosen) <= room for row, room in zip(weights.tolist(), rooms, strict=True))


def knapsack(rng):
    weights, rooms, unit = rows_of(rng, (1, int(rng.integers(1, 8))), (3, 7, 20, 24, 32, 44, 52))
    found = [arms for arms in subsets(weights.shape[1]) if fits(weights, rooms, arms)]
    return partial(Knapsack, weights[0] / unit if unit > 1 else weights[0], rooms[0] / unit), found


def knapsacks(rng):
    weights, rooms, unit = rows_of(rng, (int(rng.integers(1, 4)), int(rng.integers(1, 7))))
    found = [arms for arms in subsets(weights.shape[1]) if fits(weights, rooms, arms)]
    given = (weights / unit, np.array(rooms) / unit) if unit > 1 else (weights, rooms)
    return partial(MultidimensionalKnapsack, *given), found


def assignment(rng, complete=False):
    agents, jobs = (int(size) for size in rng.integers(1, 4, 2))
    weights, rooms, unit = rows_of(rng, (agents, jobs))
    found = []
    for owners in product(range(agents + (not complete)), repeat=jobs):
        used = [sum(int(weights[i, j]) for j in range(jobs) if owners[j] == i) for i in range(agents)]
        if all(load <= room for load, room in zip(used, rooms, strict=True)):
            found.append(tuple(sorted(i * jobs + j for j, i in enumerate(owners) if i < agents)))
    given = (weights / unit, np.array(rooms) / unit) if unit > 1 else (weights, rooms)
    sense = "min" if complete or rng.random() < 0.5 else "max"
    return partial(GeneralizedAssignment, *given, complete=complete, sense=sense), found


def levels(rng):
    """Whole costs and tenths."""
    rows = [rng.choice(9, rng.integers(1, 4), replace=False) for _ in range(3)]
    room, unit = int(rng.integers(15)), (1, 10)[rng.integers(2)]
    flat, places = np.concatenate(rows), np.cumsum([0, *map(len, rows)])
    choices = product(*([None, *range(*span)] for span in pairwise(places)))
    found = [tuple(arm for arm in chosen if arm is not None) for chosen in choices]
    given = [row / unit if unit > 1 else row for row in rows]
    return partial(LevelAllocation, given, room / unit), [
        arms for arms in found if flat[list(arms)].sum() <= room
    ]


def set_cover(rng):
    n, n_elements = (int(size) for size in rng.integers(1, 8, 2))
    sets = [set(np.flatnonzero(rng.random(n_elements) < 0.5).tolist()) for _ in range(n)]
    sets[0] |= set(range(n_elements)) - set().union(*sets)
    return partial(SetCover, [sorted(own) for own in sets]), covering(sets, n_elements)


def some_graph(rng, n=5, most=9, *, directed=False, plain=False):
    """Return a graph with a path from 0 to n - 1, parallel edges and loops (if it is not plain)."""
    kind = nx.MultiDiGraph if directed else nx.Graph if plain else nx.MultiGraph
    graph = kind(nx.gnp_random_graph(n, 0.5, seed=int(rng.integers(2**31)), directed=directed))
    while graph.number_of_edges() > most - 4 * (not plain):
        graph.remove_edges_from([list(graph.edges)[rng.integers(graph.number_of_edges())]])
    if not plain:
        graph.add_edges_from([(0, 1), (0, 1), (1, n - 1), (2, 2)])
    elif not graph.number_of_edges():
        graph.add_edge(0, n - 1)
    return graph


def vertex_cover(rng):
    graph = some_graph(rng, int(rng.integers(3, 8)), 20, plain=True)
    edges = list(graph.edges)
    sets = [{i for i, edge in enumerate(edges) if node in edge} for node in graph]
    return partial(VertexCover, graph), covering(sets, len(edges))


def matching(rng, *, sides=False):
    graph = nx.complete_bipartite_graph(3, 3) if sides else some_graph(rng, 6, 9, plain=True)
    if sides:
        graph.remove_edges_from([edge for edge in graph.edges if rng.random() < 0.3])
        graph.add_edge(0, 3)
    else:
        graph.remove_nodes_from([*nx.isolates(graph)])
        graph = graph if graph.number_of_edges() else nx.cycle_graph(4)
    perfect, sense = bool(rng.integers(2)), ("max", "min")[rng.integers(2)]
    return partial(Matching, graph, perfect, sense=sense), edge_sets(graph, perfect)


def acyclic(rng, n=6):
    graph = nx.gnp_random_graph(n, 0.5, seed=int(rng.integers(2**31)), directed=True)
    plan = nx.MultiDiGraph((u, v) for u, v in graph.edges if u < v)
    plan.add_edges_from([(0, 1), (1, n - 1), (0, 2), (2, n - 1)])
    return plan


def path(rng):
    graph = some_graph(rng, directed=bool(rng.integers(2)))
    return partial(ShortestPath, graph, 0, 4), paths(graph, 0, 4)


def acyclic_path(rng):
    graph = acyclic(rng)
    return partial(ShortestPath, graph, 0, 5, sense=("max", "min")[rng.integers(2)]), paths(graph, 0, 5)


def two_paths(rng):
    graph, nodes = some_graph(rng, 5, 11, directed=bool(rng.integers(2))), bool(rng.integers(2))
    graph.add_edges_from([(0, 3), (3, 4)])
    made = partial(DisjointPaths, graph, 0, 4, disjoint="nodes" if nodes else "edges")
    return made, disjoint_paths(graph, (0, 4), 2, nodes)


def acyclic_paths(rng):
    graph, nodes, sense = acyclic(rng, 5), bool(rng.integers(2)), ("max", "min")[rng.integers(2)]
    made = partial(DisjointPaths, graph, 0, 4, disjoint="nodes" if nodes else "edges", sense=sense)
    return made, disjoint_paths(graph, (0, 4), 2, nodes)


def flow(rng):
    graph, units = some_graph(rng, 5, 10, directed=True), int(rng.integers(1, 3))
    demand = {0: -units, 4: units}
    return partial(MinCostFlow, graph, demand), flows(graph, demand)


def cut(rng):
    graph = some_graph(rng, directed=bool(rng.integers(2)))
    return partial(MinimumCut, graph, 0, 4), cuts(graph, 0, 4)


def steiner_tree(rng):
    graph = some_graph(rng)
    terminals = [0, 4, *(node for node in (1, 2, 3) if rng.random() < 0.5 and nx.has_path(graph, 0, node))]
    return partial(SteinerTree, graph, terminals), networks(graph, terminals)


def program(rng):
    """Packing with a continuous and an integer variable that are no arms, which give up to 3.5 more room."""
    n, sense = 6, (pulp.LpMaximize, pulp.LpMinimize)[rng.integers(2)]
    weights, problem = rng.integers(1, 6, (3, n)), pulp.LpProblem("packing", sense)
    x = [problem.add_variable(f"x{i}", cat="Binary") for i in range(n)]
    slack = problem.add_variable("slack", lowBound=0, upBound=1.5)
    extra = problem.add_variable("extra", lowBound=0, upBound=2, cat="Integer")
    for row in weights:
        problem += pulp.lpSum(int(w) * v for w, v in zip(row, x, strict=True)) <= 6 + slack + extra
    problem += pulp.lpSum(x) >= 1
    found = [arms for arms in subsets(n) if arms and (weights[:, arms].sum(axis=1) <= 9.5).all()]
    return lambda **options: PuLPOracle(problem, x, **options), found


def slate(rng):
    groups, quota = rng.integers(0, 2, 4).tolist(), int(rng.integers(1, 4))
    options = {"groups": groups, "quotas": quota} if rng.random() < 0.5 else {}

    def fitting(items):
        counts = np.bincount([groups[item] for item in items], minlength=2) if "groups" in options else [0]
        return max(counts) <= quota

    return partial(Slate, 4, 3, **options), slates(4, 3, fitting)


@dataclass(frozen=True)
class Family:
    """Random problems as (a maker of the oracle, all its super arms), and options of the maker.

    ``positive`` options need means that are not negative. ``include``: arms can be forced in.
    """

    problem: Callable[[np.random.Generator], tuple[Callable[..., Any], list[tuple[int, ...]]]]
    signed: tuple[dict[str, Any], ...] = ({},)
    positive: tuple[dict[str, Any], ...] = ()
    include: bool = True


FAMILIES = {
    "knapsack": Family(knapsack, ({}, GREEDY, BEST, GAP)),
    "knapsacks": Family(knapsacks, ({}, GREEDY, BEST, GAP)),
    "assignment": Family(assignment, ({}, GREEDY, BEST, GAP)),
    "assignment_of_all": Family(partial(assignment, complete=True), ({}, GREEDY, BEST)),
    "levels": Family(levels),
    "set_cover": Family(set_cover, ({}, GREEDY, BEST, STOPPED, GAP), ({"method": "greedy"},)),
    "vertex_cover": Family(vertex_cover, ({}, GREEDY, BEST, STOPPED, GAP), ({"method": "greedy"},)),
    "matching": Family(matching, ({"method": "blossom"}, {"method": "pulp"})),
    "two_sides": Family(
        partial(matching, sides=True), ({"method": "assignment"}, {"method": "blossom"}, {"method": "pulp"})
    ),
    "path": Family(path, (), ({},), include=False),
    "acyclic_path": Family(acyclic_path),
    "two_paths": Family(two_paths, (), ({},), include=False),
    "acyclic_paths": Family(acyclic_paths),
    "flow": Family(flow, (), ({},), include=False),
    "cut": Family(cut),
    "steiner_tree": Family(steiner_tree, ({},), ({"method": "approximate"}, BEST, GREEDY, GAP)),
    "program": Family(program, ({}, GREEDY, BEST, GAP)),
    "slate": Family(slate, (), ({},)),
}


def means_of(n, rng, low):
    """Yield means without and with ties, of every size."""
    yield rng.uniform(low, 1.0, n)
    yield rng.choice([low, 0.0, 0.5, 1.0], n)
    yield rng.uniform(low, 1.0, n) * 10.0 ** float(rng.integers(-300, 300))


def check(oracle, family, means, rng, *, include):
    """Compare an oracle of a small problem with the best of its family."""
    known = {frozenset(arms) for arms in family}
    sign = 1.0 if oracle.sense == "max" else -1.0
    scaled = sign * means / max(np.abs(means).max(), 1e-320)
    slack = 1e-9

    def is_good_enough(chosen, best):
        value = scaled[chosen].sum()
        assert value <= best + slack
        if not np.isnan(oracle.alpha) and sign * best >= 0.0:
            assert value >= oracle.alpha * best - slack

    answer, best = oracle.solve(means, rng), max(scaled[list(arms)].sum() for arms in family)
    assert frozenset(answer.tolist()) in known
    is_good_enough(answer, best)
    if not hasattr(oracle, "solve_certified"):
        return
    found = oracle.solve_certified(means, rng)
    assert found.super_arm.tolist() == answer.tolist()
    assert found.value == pytest.approx(means[answer].sum(), rel=1e-12)
    bound = sign * found.bound / max(np.abs(means).max(), 1e-320)
    assert bound >= best - slack
    if found.certified and (oracle.is_exact or getattr(oracle, "gap", 0.0)):
        assert bound - scaled[answer].sum() <= getattr(oracle, "gap", 0.0) * abs(best) / 0.8 + slack
    if sign * best > slack and not np.isnan(found.ratio):
        assert scaled[answer].sum() >= found.ratio * best - slack
    arms = rng.permutation(oracle.n_arms)[:3]
    forced, gone = np.split(arms, [rng.integers(0, len(arms) + 1) if include else 0])
    left = [one for one in family if set(forced) <= set(one) and not set(gone) & set(one)]
    constrained = oracle.solve_constrained(means, forced, gone, rng)
    assert (constrained is None) == (not left)
    if left:
        assert set(constrained.tolist()) in map(set, left)
        is_good_enough(constrained, max(scaled[list(one)].sum() for one in left))


def compare(family, seeds):
    """Compare random problems of a family with enumeration."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        make, super_arms = family.problem(rng)
        for low, kinds in ((-1.0, family.signed), (0.0, family.positive)):
            for options in kinds:
                if not super_arms:
                    with pytest.raises(ValueError, match="must"):
                        make(**options)
                    continue
                oracle = make(**options)
                assert max(map(len, super_arms)) <= oracle.max_size
                for means in means_of(oracle.n_arms, rng, low):
                    check(oracle, super_arms, means, rng, include=family.include)
                for _ in range(20):
                    arms = np.flatnonzero(rng.random(oracle.n_arms) < rng.random())
                    assert oracle.is_feasible(arms) == (set(arms.tolist()) in map(set, super_arms))


@pytest.mark.parametrize("name", FAMILIES)
def test_answers_are_those_of_enumeration(name):
    compare(FAMILIES[name], range(6))


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_many_answers_are_those_of_enumeration(name):
    compare(FAMILIES[name], range(6, 60))
