"""Influence with features of arcs, given or computed from the network: IMLinUCB against one mean per arc."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cmab import C2UCB, CTS, CUCB, Clairvoyant, CombLinTS, EpsilonGreedy, simulate
from cmab.arrays import FloatArray
from cmab.policy import AnyPolicy
from instances.experiments._experiment import Experiment
from instances.experiments._rows import Row, Verdicts, by_name, columns, interval, is_lower, world_and_coins
from instances.graphs import weighted_cascade
from instances.spreading import IndependentCascade
from oracles import DirectedGraph, InfluenceMaximization, edge_features

SEEDS, COMMUNITIES = 10, 8
# Probability of an arc for each topic, and probabilities within and between communities.
TOPICS = np.array([0.0, 0.02, 0.05, 0.2])
WITHIN, BETWEEN = 0.12, 0.01


def learners(oracle: InfluenceMaximization, features: FloatArray, means: FloatArray) -> dict[str, AnyPolicy]:
    """Return a policy that knows the means, policies with linear models, and policies with a mean per arc."""
    return {
        "knows all": Clairvoyant(oracle, means),
        # The radius and the ridge (alpha and lambda) of the comparison in the code of IMBandits.
        "IMLinUCB": C2UCB(oracle, features, radius=0.1, ridge=0.3),
        "CombLinTS": CombLinTS(oracle, features),
        "epsilon-greedy": EpsilonGreedy(oracle, epsilon=0.1),
        "CTS": CTS(oracle),
        "CUCB": CUCB(oracle),
    }


def cells(quick: bool) -> list[Row]:
    """Return the networks.

    Examples
    --------
    >>> from instances.experiments.network_features import cells
    >>> cells(quick=True)[0]
    {'network': 'topics', 'people': 200, 'horizon': 150}
    """
    people, horizon = (200, 150) if quick else (400, 300)
    names = ("topics", "weighted cascade", "communities")
    return [{"network": name, "people": people, "horizon": horizon} for name in names]


def network(name: str, n: int, rng: np.random.Generator) -> tuple[DirectedGraph, FloatArray, FloatArray]:
    """Return a network, the probabilities of its arcs, and their features."""
    import networkx as nx

    seed, size = int(rng.integers(2**31)), n // COMMUNITIES
    if name == "communities":
        links = nx.planted_partition_graph(COMMUNITIES, size, 60.0 / n, 4.0 / n, seed=seed)
    else:
        links = nx.powerlaw_cluster_graph(n, 5, 0.3, seed=seed)
    arcs = list(nx.DiGraph(links).edges)
    graph = DirectedGraph.from_edges([u for u, _ in arcs], [v for _, v in arcs], n_nodes=n)
    if name == "topics":
        # The topics of each person; the arcs out of a person have these shares as features.
        shares = rng.dirichlet(np.full(len(TOPICS), 0.3), n)[graph.tails]
        return graph, shares @ TOPICS, shares
    features = edge_features(graph, COMMUNITIES)
    if name == "weighted cascade":
        return graph, weighted_cascade(graph), features
    is_within = graph.tails // size == graph.heads // size
    return graph, np.where(is_within, WITHIN, BETWEEN), features


def play(cell: Row, seed: np.random.SeedSequence, replication: int) -> list[Row]:
    """Return the people that each learner reached per round, in number and relative to "knows all"."""
    rng, number = world_and_coins(seed, replication)
    graph, means, features = network(cell["network"], cell["people"], rng)
    oracle = InfluenceMaximization(graph, SEEDS, epsilon=0.3)
    place = IndependentCascade(graph, means, k=SEEDS, n_rr_sets=2**14)
    reached = {
        name: float(simulate(policy, place, cell["horizon"], rng=number).rewards[0, -1] / cell["horizon"])
        for name, policy in learners(oracle, features, means).items()
    }
    known = reached["knows all"]
    return [{"learner": name, "reached": x, "share": x / known} for name, x in reached.items()]


def sum_up(cell: Row, told: Sequence[list[Row]]) -> list[Row]:
    """Return for each learner the people reached per round, and their share relative to "knows all".

    Because networks differ, each learner is compared with the policy that knows all probabilities of the same
    network.
    """
    rows = []
    for first, shares, runs in columns(told, "share"):
        reached = float(np.mean([run["reached"] for run in runs]))
        row = {"learner": first["learner"], "replications": len(runs), "reached": reached}
        rows.append(cell | row | interval(shares, "share"))
    return rows


def claims(rows: list[Row]) -> Verdicts:
    """Return the order in the comparison of IMBandits, and whether features are as good as the true means."""
    verdicts: Verdicts = []
    for (name,), table in by_name(rows, "network", name="learner").items():
        for worse, better in (("CUCB", "IMLinUCB"), ("epsilon-greedy", "IMLinUCB"), ("CTS", "CombLinTS")):
            verdict = is_lower(table[worse], table[better])
            verdicts.append((f"{name}: {better} reaches more people than {worse}", verdict))
        own, text = table["IMLinUCB"], f"{name}: IMLinUCB reaches nine tenths of what can be reached"
        verdicts.append((text, None if own["low"] <= 0.9 <= own["high"] else own["low"] > 0.9))
    return verdicts


def draw(rows: list[Row], out: Path) -> None:
    """Draw the people that each learner reached, relative to "knows all", in a panel per network."""
    from cmab.plotting import panels_of_bars, save

    panels: dict[str, dict[str, tuple[float, float, float]]] = {}
    for row in rows:
        title = f"{row['network'].capitalize()}, {row['people']} people"
        panels.setdefault(title, {})[row["learner"]] = (row["share"], row["low"], row["high"])
    save(panels_of_bars(panels, x_label="People reached, relative to knowing all"), out / "reached")


NETWORK_FEATURES = Experiment(
    name="network-features",
    title="Influence on networks with features of arcs",
    about="Influence on networks with features of arcs, given or computed: IMLinUCB, CUCB, epsilon-greedy.",
    sizes="200 people, 150 rounds, 3 networks of each kind instead of 400, 300 and 8",
    minutes={True: 0.7, False: 4},
    replications={True: 3, False: 8},
    cells=cells,
    play=play,
    sum_up=sum_up,
    claims=claims,
    draw=draw,
    sources={"IMLinUCB reaches more people than": "README of IMBandits, on networks from Flickr"},
)
