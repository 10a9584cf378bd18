"""Exact oracles beside the libraries that a user would choose instead: one table in Markdown.

Run: python tests/benchmarks/oracle_peers.py FOLDER [NAME ...]. FOLDER has the public instances of
`public_instances.py`. NAME selects rows by a part of their name. A time is the least processor time of some
calls, in milliseconds, after a first call that compiles. Calls of oracle and peers alternate. A peer gets its
own data structure, which is not timed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
from public_instances import problems
from scipy import sparse

from oracles import CapacitatedFlow, GraphicMatroid, Matching, MinCostFlow
from oracles.programs import import_highs, silent_highs

#: The time limit of HiGHS in seconds.
LIMIT = 120.0


class Row(NamedTuple):
    """An instance with a function that returns the value of the oracle, and those of its peers."""

    name: str
    ours: Callable[[], float]
    peers: dict[str, Callable[[], float]]
    repeats: int = 5


def highs(
    costs: np.ndarray, matrix: Any, low: np.ndarray, high: np.ndarray, room: np.ndarray, whole: bool
) -> Callable[[], float]:
    """Return a function that minimises costs over ``low <= matrix x <= high`` and ``0 <= x <= room``."""
    module, matrix = import_highs(), sparse.csr_array(matrix)

    def solve() -> float:
        program, lp = silent_highs()(), module.HighsLp()
        for name, value in {"threads": 1, "mip_rel_gap": 0.0, "time_limit": LIMIT}.items():
            program.setOptionValue(name, value)
        lp.num_col_, lp.num_row_ = len(costs), len(low)
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = costs.astype(float), np.zeros(len(costs)), room
        lp.row_lower_, lp.row_upper_ = low.astype(float), high.astype(float)
        lp.a_matrix_.format_ = module.MatrixFormat.kRowwise
        lp.a_matrix_.start_, lp.a_matrix_.index_ = matrix.indptr, matrix.indices
        lp.a_matrix_.value_ = matrix.data.astype(float)
        if whole:
            lp.integrality_ = [module.HighsVarType.kInteger] * len(costs)
        program.passModel(lp)
        program.run()
        is_done = program.getModelStatus() == module.HighsModelStatus.kOptimal
        return float(program.getInfo().objective_function_value) if is_done else np.nan

    return solve


def value(oracle: Any, means: np.ndarray) -> Callable[[], float]:
    return lambda: float(oracle.expected_reward(oracle.solve(means, 0), means))


def assignments() -> Iterator[Row]:
    from scipy.optimize import linear_sum_assignment

    for n in (500, 1_000):
        costs = np.random.default_rng(0).random((n, n))
        rows, columns = np.indices((n, n)).reshape(2, -1)
        oracle = Matching(np.column_stack([rows, n + columns]), True, sense="min")
        peers = {"SciPy": lambda c=costs: float(c[linear_sum_assignment(c)].sum())}
        if find_spec("lap"):
            import lap

            peers["lapx"] = lambda c=costs: float(lap.lapjv(c)[0])
        yield Row(f"`Matching`, {n} x {n} assignment", value(oracle, costs.ravel()), peers, 15)


def spanning_trees() -> Iterator[Row]:
    import rustworkx
    from scipy.sparse.csgraph import minimum_spanning_tree

    n, rng = 100_000, np.random.default_rng(0)
    edges = np.unique(np.sort(rng.integers(0, n, (1_000_000, 2)), axis=1), axis=0)
    edges = edges[edges[:, 0] < edges[:, 1]]
    means = rng.random(len(edges))
    # SciPy has minimum spanning trees, so it gets 2 minus the means.
    table = sparse.csr_array((2.0 - means, tuple(edges.T)), (n, n))
    graph: Any = rustworkx.PyGraph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(
        [(u, v, w) for (u, v), w in zip(edges.tolist(), (2.0 - means).tolist(), strict=True)]
    )

    def by_scipy() -> float:
        tree = minimum_spanning_tree(table)
        return float(2.0 * tree.nnz - tree.sum())

    def by_rustworkx() -> float:
        found = rustworkx.minimum_spanning_edges(graph, weight_fn=float)
        return 2.0 * len(found) - sum(map(itemgetter(2), found))

    peers = {"rustworkx": by_rustworkx, "SciPy": by_scipy}
    yield Row(f"`GraphicMatroid`, {len(edges):,} edges", value(GraphicMatroid(edges), means), peers)


def matchings() -> Iterator[Row]:
    import rustworkx

    rng = np.random.default_rng(0)
    for n, m in ((400, 4_831), (2_500, 4_831)):
        graph, means = nx.gnm_random_graph(n, m, seed=1), rng.random(m)
        other: Any = rustworkx.PyGraph()
        other.add_nodes_from(range(n))
        other.add_edges_from([(u, v, i) for i, (u, v) in enumerate(graph.edges)])

        whole = (means * 2**40).astype(np.int64).tolist()

        def matched(other: Any = other, means: np.ndarray = means, whole: list[int] = whole) -> float:
            pairs = rustworkx.max_weight_matching(other, weight_fn=whole.__getitem__)
            return float(sum(means[other.get_edge_data(*pair)] for pair in pairs))

        yield Row(
            f"`Matching`, {n:,} nodes, {m:,} edges", value(Matching(graph), means), {"rustworkx": matched}
        )


def flows() -> Iterator[Row]:
    for n, m, units in ((1_000, 8_000, 300), (8_000, 32_000, 200)):
        rng, graph = np.random.default_rng(0), nx.MultiDiGraph()
        nx.add_cycle(graph, rng.permutation(n).tolist())
        graph.add_edges_from(rng.integers(0, n, (m - n, 2)).tolist())
        ends = rng.permutation(n)[: 2 * units].tolist()
        demand = {v: 1 - 2 * (i < units) for i, v in enumerate(ends)}
        oracle: Any = MinCostFlow(graph, demand)
        costs, table = rng.random(m), incidence(oracle)
        peer = highs(costs, table, oracle._supply, oracle._supply, np.ones(m), False)
        yield Row(f"`MinCostFlow`, {n:,} nodes, {m:,} arcs", value(oracle, costs), {"HiGHS": peer})
    for n, m in ((1_000, 8_000), (8_000, 32_000)):
        rng, graph = np.random.default_rng(0), nx.MultiDiGraph()
        nx.add_cycle(graph, rng.permutation(n).tolist(), capacity=500 * n)
        for u, v in rng.integers(0, n, (m - n, 2)).tolist():
            graph.add_edge(u, v, capacity=int(rng.integers(1, 1_000)))
        for u, v in rng.permutation(n)[: n // 10].reshape(-1, 2).tolist():
            graph.nodes[u]["demand"], graph.nodes[v]["demand"] = -500, 500
        costs = rng.integers(1, 10_000, m).astype(float)
        for (*_, data), cost in zip(graph.edges(data=True), costs.tolist(), strict=True):
            data["weight"] = int(cost)
        oracle = CapacitatedFlow(graph)
        room = oracle.capacity.astype(float)
        peers = {"HiGHS": highs(costs, incidence(oracle), oracle._supply, oracle._supply, room, False)}
        if n == 1_000:
            peers["networkx"] = lambda g=graph: float(nx.network_simplex(g)[0])
        yield Row(f"`CapacitatedFlow`, {n:,} nodes, {m:,} arcs", value(oracle, costs), peers, 2)


def incidence(oracle: Any) -> Any:
    """Return the matrix with 1 at the tail and -1 at the head of each arc."""
    m, arcs = oracle.n_arms, np.arange(oracle.n_arms)
    signs = np.repeat([1.0, -1.0], m)
    ends = np.concatenate([oracle._tails, oracle._heads])
    return sparse.coo_array((signs, (ends, np.tile(arcs, 2))), (len(oracle._supply), m))


def programs(folder: Path) -> Iterator[Row]:
    """Yield the public instances that both solve within the limit."""
    for name, problem, options in problems(folder):
        kind, means = problem.oracle_class.__name__, problem.means
        n, oracle = len(means), problem.oracle(**options)
        if kind == "Knapsack" and name.startswith("knapPI"):
            program = highs(
                -means,
                oracle.weights[None],
                np.array([-np.inf]),
                np.array([oracle.capacity]),
                np.ones(n),
                True,
            )
            peer = lambda program=program: -program()  # noqa: E731
        elif name in {"C125.9", "scp41", "scpa1"}:
            covers = oracle._incidence
            rows = np.repeat(np.arange(len(covers.firsts) - 1), np.diff(covers.firsts))
            table = sparse.coo_array((np.ones(len(rows)), (rows, covers.arms)), (len(covers.firsts) - 1, n))
            ones = np.ones(table.shape[0])
            peer = highs(means, table, ones, np.inf * ones, np.ones(n), True)
        elif name in {"steiner_007", "steiner_046"}:
            peer = highs(*multicommodity(oracle, means), True)
        else:
            continue
        yield Row(f"`{kind}`, {name}", value(oracle, means), {"HiGHS": peer}, 1)


def multicommodity(
    oracle: Any, costs: np.ndarray
) -> tuple[np.ndarray, Any, np.ndarray, np.ndarray, np.ndarray]:
    """Return the program in which a unit flows from the first terminal to each other one over chosen arcs."""
    m, n = oracle.n_arms, oracle._n_nodes
    root, *others = oracle._terminals.tolist()
    both = np.concatenate([oracle._tails, oracle._heads]), np.concatenate([oracle._heads, oracle._tails])
    arcs = np.arange(2 * m)
    signs, ends = np.repeat([1.0, -1.0], 2 * m), np.concatenate(both)
    balance = sparse.coo_array((signs, (ends, np.tile(arcs, 2))), (n, 2 * m))
    k, eye = len(others), sparse.eye_array(2 * m)
    chosen = sparse.hstack([sparse.eye_array(m), sparse.eye_array(m)])
    # Columns: edges, arcs, and the flow of each terminal. At most one arc of a chosen edge carries flow.
    table = sparse.block_array(
        [
            [-sparse.eye_array(m), chosen, None],
            [None, sparse.vstack([-eye] * k), sparse.eye_array(2 * m * k)],
            [None, None, sparse.block_diag([balance] * k)],
        ]
    )
    supply = np.zeros((k, n))
    supply[:, root], supply[np.arange(k), others] = 1.0, -1.0
    capacity = np.zeros(m + 2 * m * k)
    low = np.concatenate([np.full(len(capacity), -np.inf), supply.ravel()])
    high, size = np.concatenate([capacity, supply.ravel()]), table.shape[1]
    return np.concatenate([costs, np.zeros(size - m)]), table, low, high, np.ones(size)


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    started = time.process_time()
    return call(), 1e3 * (time.process_time() - started)


def compared(row: Row) -> str:
    """Return the line of an instance."""
    calls = {"": row.ours, **row.peers}
    row.ours()  # compiles
    times: dict[str, list[float]] = {name: [] for name in calls}
    values = {}
    for _ in range(row.repeats):
        for name, call in calls.items():
            values[name], took = timed(call)
            times[name].append(took)
    least = {name: min(each) for name, each in times.items()}
    ours = least.pop("")
    best = min(least.values())
    is_equal = all(np.isclose(other, values[""], rtol=1e-6) for name, other in values.items() if name)
    others = ", ".join(f"{name} {rounded(took)}" for name, took in least.items())
    verdict = "yes" if is_equal else values
    return f"| {row.name} | {rounded(ours)} | {others} | {rounded(best / ours)} | {verdict} |"


def rounded(number: float) -> str:
    return f"{number:,.0f}" if number >= 100.0 else f"{number:.3g}"


def main() -> None:
    """Print the table."""
    folder, names = Path(sys.argv[1]), sys.argv[2:]
    print("| oracle and instance | call, ms | peers, ms | best peer / oracle | equal values |")
    print("|---|---|---|---|---|")
    for rows in (assignments(), spanning_trees(), matchings(), flows(), programs(folder)):
        for row in rows:
            if not names or any(name in row.name for name in names):
                print(compared(row), flush=True)


if __name__ == "__main__":
    main()
