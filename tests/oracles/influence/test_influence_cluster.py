"""Influence maximisation on a Dask cluster gives the answer of one machine, bit by bit."""

import pickle
import time

import numpy as np
import pytest

from oracles import DirectedGraph, InfluenceMaximization
from oracles.influence import Search, cover
from oracles.influence import cluster as _cluster
from oracles.influence import sentinels as _sentinels
from oracles.influence.cluster import Cluster, RemoteSets
from oracles.influence.sets import ReverseGraph, SetCollection

distributed = pytest.importorskip("distributed", reason="Dask is not installed")
# What the packages of the clusters warn about is theirs.
pytestmark = pytest.mark.filterwarnings("ignore")


class Now:
    """A client that runs each task at once, in this process."""

    def submit(self, function, *arguments, **_):
        return function(*arguments)

    def gather(self, futures):
        return futures

    def scatter(self, value, **_):
        return value

    def nthreads(self):
        return {"here": 3}


def network(seed, n=400, m=2400):
    rng = np.random.default_rng(seed)
    ends = (n * rng.random((2, m)) ** 2).astype(int)
    ends[1] = rng.permutation(n)[ends[1]]
    ends = ends[:, ends[0] != ends[1]]
    return DirectedGraph.from_edges(*ends, n_nodes=n)


def chances_of(graph, kind):
    rng = np.random.default_rng(9)
    if kind == "wc":
        return 1.0 / graph.in_degrees[graph.heads]
    if kind == "mixed":
        return np.where(rng.random(graph.n_arcs) < 0.2, 1.0, rng.random(graph.n_arcs) * 0.2)
    return np.full(graph.n_arcs, float(kind))


def values(answer):
    return (answer.seeds.tolist(), answer.ratio, answer.certified, answer.spread, answer.standard_error,
            answer.rr_sets, answer.edges_examined, answer.n_components)  # fmt: skip


def options(case):
    """Return a problem: graph, means, and the arguments of the oracle."""
    kind = ["wc", "0.02", "0.1", "mixed", "0.3"][case % 5]
    graph = network(case)
    search = Search(sampler="sentinels" if case == 7 else "auto")
    more = {"search": search, "epsilon": 0.15}
    if case % 3 == 1:
        more["candidates"] = np.arange(0, 400, 2)
    if case % 4 == 3:
        more["node_weights"] = np.random.default_rng(case).random(400)
    return graph, chances_of(graph, kind), {"k": 3 + case, **more}


def placed_here(oracle):
    oracle._cluster = Cluster(Now())
    return oracle


@pytest.mark.parametrize("case", range(10))
def test_tasks_in_one_process_give_the_local_answer(case):
    graph, means, arguments = options(case)
    wanted = InfluenceMaximization(graph, **arguments).solve_certified(means, np.random.default_rng(case))
    oracle = placed_here(InfluenceMaximization(graph, **arguments))
    assert values(oracle.solve_certified(means, np.random.default_rng(case))) == values(wanted)


def crowd(n=900, core=150):
    """Return a graph whose large sets share a dense core, and probabilities; most sets have one node."""
    rng = np.random.default_rng(2)
    tails, heads = rng.integers(core, size=(2, 40 * core))
    tails = np.concatenate((tails, rng.integers(core, size=n - core)))
    heads = np.concatenate((heads, np.arange(core, n)))
    kept = tails != heads
    graph = DirectedGraph(tails[kept], heads[kept], n_nodes=n)
    return graph, np.where(graph.heads < core, 0.05, 0.01)


@pytest.mark.parametrize("are_dropped", [False, True])
def test_calls_that_switch_from_pairs_to_sentinels_give_the_local_answer(are_dropped, monkeypatch):
    """Also if a sample drops the sentinels, and the workers draw their sets again."""
    graph, means = crowd()
    events = []
    # This graph is small, so sentinels would not be worth their risk.
    monkeypatch.setattr(_sentinels, "_WORTH_ARCS", 4000)
    if not are_dropped:
        monkeypatch.setattr(cover, "_MOST_COST", 10.0)
    for kind in (SetCollection, RemoteSets):
        monkeypatch.setattr(kind, "stop_at", noted(events, kind.stop_at))
    monkeypatch.setattr(SetCollection, "complete", noted(events, SetCollection.complete))
    wanted = InfluenceMaximization(graph, 3).solve_certified(means, np.random.default_rng(1))
    here, events[:] = list(events), []
    assert ReverseGraph.of(graph, means).omits_single_nodes
    assert here == (["stop_at", "complete"] if are_dropped else ["stop_at"])
    oracle = placed_here(InfluenceMaximization(graph, 3))
    assert values(oracle.solve_certified(means, np.random.default_rng(1))) == values(wanted)
    # Each shard ends its sets at the sentinels by itself.
    assert events.count("stop_at") > 2
    assert ("complete" in events) == are_dropped


def noted(events, method):
    def found(*arguments):
        events.append(method.__name__)
        return method(*arguments)

    return found


def test_a_client_is_required():
    with pytest.raises(ValueError, match="backend must be a synchronous client of Dask"):
        InfluenceMaximization(network(0), 2, backend="tcp://localhost:8786")
    assert InfluenceMaximization(network(0), 2).backend is None


def test_copies_do_not_carry_the_client():
    oracle = placed_here(InfluenceMaximization(network(0), 2))
    assert pickle.loads(pickle.dumps(oracle)).backend is None


@pytest.fixture(scope="module")
def expected():
    return {
        case: values(
            InfluenceMaximization(graph, **arguments).solve_certified(means, np.random.default_rng(case))
        )
        for case, (graph, means, arguments) in ((case, options(case)) for case in range(10))
    }


def cluster(n_workers, **more):
    return distributed.LocalCluster(
        n_workers=n_workers, threads_per_worker=1, dashboard_address=None, memory_limit=0, **more
    )


def slow_draw(*arguments):
    time.sleep(0.3)
    return _cluster.drawn_sets(*arguments)


@pytest.mark.slow
@pytest.mark.parametrize("change", ["killed", "all killed", "added", "slow"])
def test_workers_come_and_go(change, expected, monkeypatch):
    """A worker is killed during the call, or all of them, one is added, or all draw slowly."""
    case = 0
    graph, means, arguments = options(case)
    happened = []
    with cluster(2) as workers, distributed.Client(workers) as client:
        oracle = InfluenceMaximization(graph, **arguments, backend=client)
        real = RemoteSets.grow

        def grow(self, n_sets, most_entries=None):
            real(self, n_sets, most_entries)
            if n_sets < 256 or happened:
                return
            happened.append(n_sets)
            if change == "added":
                workers.scale(3)
                client.wait_for_workers(3, timeout=60)
            if "killed" in change:
                for worker in list(workers.workers.values())[: 1 if change == "killed" else 2]:
                    worker.process.process._process.kill()

        monkeypatch.setattr(RemoteSets, "grow", grow)
        if change == "slow":
            monkeypatch.setattr(_cluster, "drawn_sets", slow_draw)
        assert values(oracle.solve_certified(means, np.random.default_rng(case))) == expected[case]
        assert happened
        # The next call on the same cluster is correct, too.
        assert values(oracle.solve_certified(means, np.random.default_rng(case))) == expected[case]
