"""Pictures of cascades, and animations of learning where to start them."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab import Session
from cmab.arrays import IntArray
from cmab.policy import AnyPolicy
from cmab.seeding import Purpose, root, stream
from instances.spreading import IndependentCascade
from oracles import DirectedGraph

if TYPE_CHECKING:
    import networkx as nx

# Largest numbers of drawn nodes, of named nodes, of letters in a name, and of frames.
_DRAWN = 250
_NAMED = 10
_LONGEST_NAME = 21
_FRAMES = 24


def draw_cascade(
    environment: IndependentCascade,
    seeds: IntArray,
    network: nx.Graph[Any] | None = None,
    key: int = 0,
    **drawn: Any,
) -> Any:
    """Draw seeds and one cascade from them, in the whole network or only in the part that it reaches.

    Parameters
    ----------
    environment : IndependentCascade
        The environment that runs the cascade.
    seeds : IntArray
        Node numbers of the seeds.
    network : networkx graph, optional
        A network to draw whole. If omitted, only the reached nodes and the edges between them are drawn.
    key : int
        Seed of the cascade.
    **drawn
        Further arguments of `cmab.plotting.draw_graph`. A title is put before the title of the picture.

    Returns
    -------
    matplotlib Axes
        The axes with the picture.
    """
    from cmab.plotting import draw_graph

    graph = environment.graph
    passed, reached = _cascade(environment, seeds, key)
    if network is None:
        network = _part(graph, reached[:_DRAWN])
    names = [graph.label(node) for node in seeds]
    inside = [graph.label(node) for node in reached[len(seeds) :] if graph.label(node) in network]
    edges = [(graph.label(graph.tails[arm]), graph.label(graph.heads[arm])) for arm in passed]
    edges = [(u, v) for u, v in edges if u in network and v in network]
    cut = f", {len(network):,} drawn" if len(network) < len(reached) else ""
    origin = "1 seed" if len(seeds) == 1 else f"{len(seeds)} seeds"
    title = f"One cascade from {origin} reaches {len(reached):,} of {graph.n_nodes:,} nodes{cut}"
    return draw_graph(
        network,
        nodes={"Seed": names, "Activated": inside},
        edges={"Passed on": edges},
        labels={name: _short(name) for name in names} if len(names) <= _NAMED else (),
        **drawn | {"title": drawn.get("title", "") + title},
    )


def animate_learning(
    policy: AnyPolicy,
    environment: IndependentCascade,
    *,
    horizon: int,
    rng: int,
    path: Path,
    name: str,
    network: nx.Graph[Any] | None = None,
) -> None:
    """Write an animation of the seeds that a policy chooses while it learns, in its replication 0.

    Every frame has a cascade with the same random outcomes, from the seeds of its round.

    Parameters
    ----------
    policy : Policy
        The learner.
    environment : IndependentCascade
        The environment in which it plays.
    horizon : int
        Number of rounds. Up to 24 of them are shown, spaced evenly on a logarithmic scale.
    rng : int
        Seed, as in `cmab.simulate`.
    path : Path
        File to write; its name ends in ``.gif`` or ``.mp4``.
    name : str
        Name of the learner.
    network : networkx graph, optional
        A network to draw whole. If omitted, the nodes reached in any frame are drawn.
    """
    from cmab.plotting import animate, layout

    wanted = set(np.geomspace(1, horizon, _FRAMES).round().astype(int).tolist())
    # The random streams of replication 0 of a study with this seed: the animation shows one of its runs.
    session = Session(policy, stream(root(rng), Purpose.LEARNER, 0))
    coins = stream(root(rng), Purpose.ENVIRONMENT, 0)
    frames = []
    for number in range(1, horizon + 1):
        chosen = session.ask().super_arm
        session.tell(environment.play(chosen, coins))
        if number in wanted:
            frames.append((number, chosen))
    if network is None:
        nodes = np.concatenate([_cascade(environment, chosen, 0)[1] for _, chosen in frames])
        # If there are too many nodes to draw, keep those that were reached first.
        _, first = np.unique(nodes, return_index=True)
        network = _part(environment.graph, nodes[np.sort(first)][:_DRAWN])
    places = layout(network)

    def draw(axes: Any, frame: tuple[int, IntArray]) -> None:
        worth = environment.expected_reward(frame[1])
        title = f"{name}, round {frame[0]:,} of {horizon:,}: seeds worth {worth:.3g} nodes on average\n"
        draw_cascade(environment, frame[1], network, title=title, positions=places, ax=axes)

    animate(draw, frames, path=path)


def whole_network(graph: DirectedGraph) -> nx.Graph[Any] | None:
    """Return the whole graph without directions if it is small enough to be drawn, otherwise None."""
    return _part(graph, np.arange(graph.n_nodes)) if graph.n_nodes <= _DRAWN else None


def _short(name: Hashable) -> str:
    """Return a name without the middle if it is long: many names differ only at the end."""
    text = "".join(letter for letter in str(name) if letter.isprintable())
    if len(text) <= _LONGEST_NAME:
        return text
    end = (_LONGEST_NAME - 3) // 2
    return f"{text[:end]}...{text[-end:]}"


def _cascade(environment: IndependentCascade, seeds: IntArray, key: int) -> tuple[IntArray, IntArray]:
    """Return the arcs that activated their heads in a cascade, and the reached nodes, seeds first."""
    graph = environment.graph
    feedback = environment.play(seeds, np.random.default_rng(key))
    # The feedback of `play` is in order of activation of the tails.
    live = feedback.arms[feedback.outcomes == 1.0]
    passed = _first_activations(graph, seeds, live)
    return passed, np.concatenate((seeds, graph.heads[passed])) if len(passed) else seeds


def _first_activations(graph: DirectedGraph, seeds: IntArray, live: IntArray) -> IntArray:
    """Return those live arcs, given in the order of activation of their tails, that activated their heads."""
    active = set(seeds.tolist())
    first = []
    for arm in live:
        head = int(graph.heads[arm])
        if head not in active:
            active.add(head)
            first.append(arm)
    return np.array(first, np.int64)


def _part(graph: DirectedGraph, nodes: IntArray) -> nx.Graph[Any]:
    """Return the subgraph on `nodes`, without directions."""
    import networkx as nx

    inside = np.zeros(graph.n_nodes, np.bool_)
    inside[nodes] = True
    part: nx.Graph[Hashable] = nx.Graph()
    part.add_nodes_from(graph.label(node) for node in nodes)
    arcs = np.flatnonzero(inside[graph.tails] & inside[graph.heads])
    part.add_edges_from((graph.label(graph.tails[arc]), graph.label(graph.heads[arc])) for arc in arcs)
    return part
