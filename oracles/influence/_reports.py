"""Conversion of reports about people to the feedback of edges."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import Any, Protocol

import numpy as np

from cmab.arrays import AnyArray, BoolArray, FloatArray, IntArray
from cmab.campaign.names import missing
from cmab.compiled.forms import call_kernel
from cmab.feedback import Feedback
from cmab.validation import integer, shown
from oracles.diffusion.directed_graph import DirectedGraph
from oracles.diffusion.reverse_sets import Model

_NEVER = -1


class Spreading(Protocol):
    """The attributes of an influence oracle that are needed to read a report."""

    graph: DirectedGraph
    model: Model
    node_weights: FloatArray | None
    n_arms: int


def feedback_of_ties(
    oracle: Spreading,
    seeds: IntArray,
    joined: Collection[Hashable],
    carried: Collection[Hashable],
    unseen: Collection[Hashable],
) -> Feedback:
    """Return the outcomes of all edges out of joined people with observed edges."""
    graph = oracle.graph
    if oracle.model == "lt":
        raise ValueError(
            "carried must be left out under linear thresholds, where several ties together make a person join"
        )
    active, hidden = node_flags(oracle, "joined", joined), node_flags(oracle, "unseen", unseen)
    active[seeds] = True
    live = np.zeros(oracle.n_arms, np.bool_)
    live[numbers_of("carried", carried, graph.arc_numbers)] = True
    strange = np.flatnonzero(live & ~(active[graph.tails] & active[graph.heads]))
    if len(strange):
        edge = graph.arc_labels[int(strange[0])]
        raise ValueError(f"carried must be edges between people who joined, got {edge!r}")
    usable = live | hidden[graph.tails]
    _check_reached(oracle, seeds, np.flatnonzero(active), usable)
    if isinstance(joined, Mapping):
        _check_steps(oracle, _steps_of(oracle, seeds, joined), live, usable)
    arms = np.flatnonzero(active[graph.tails] & ~hidden[graph.tails])
    return Feedback(arms, live[arms].astype(np.float64), reward=worth_of(oracle, active))


def _check_reached(oracle: Spreading, seeds: IntArray, active: IntArray, usable: BoolArray) -> None:
    """Raise if no path of edges that may have carried the message leads from the seeds to a joined person."""
    from oracles.diffusion._kernels_cascade import reachable

    offsets, arms = oracle.graph.out_arcs
    _, reached = call_kernel(reachable, offsets, arms, oracle.graph.heads, usable, seeds)
    lost = active[~reached[active]]
    if len(lost):
        name = oracle.graph.label(int(lost[0]))
        raise ValueError(
            f"joined must be people to whom edges in carried lead from the seeds, got {name!r} without such"
            f" a path. Add the edge that reached {name!r} to carried; if it is unknown, report steps,"
            " joined={name: step}, without carried"
        )


def _check_steps(oracle: Spreading, since: IntArray, live: BoolArray, usable: BoolArray) -> None:
    """Raise if the edges that carried the message, or were not observed, contradict the reported steps."""
    graph = oracle.graph
    tails, heads = since[graph.tails], since[graph.heads]
    # A live edge may lead to a person who had joined already. Otherwise, its head joins in the next step.
    late = np.flatnonzero(live & (heads > tails + 1))
    if len(late):
        edge = int(late[0])
        raise ValueError(
            f"carried must be edges whose head joined at most one step after their tail, got"
            f" {graph.arc_labels[edge]!r} from step {tails[edge]} to step {heads[edge]}"
        )
    told = np.zeros(graph.n_nodes, np.bool_)
    told[graph.heads[usable & (tails != _NEVER) & (heads == tails + 1)]] = True
    untold = np.flatnonzero((since > 0) & ~told)
    if len(untold):
        name = graph.label(int(untold[0]))
        raise ValueError(
            f"joined must be people reached by an edge in carried from the step before, got {name!r} in step"
            f" {since[untold[0]]}"
        )


def _steps_of(oracle: Spreading, seeds: IntArray, joined: Mapping[Hashable, int]) -> IntArray:
    """Return the step in which each node joined; the seeds join in step 0."""
    since, last = np.full(oracle.graph.n_nodes, _NEVER), oracle.graph.n_nodes - 1
    steps = [integer(f"the step of {name!r}", step, 0, last) for name, step in joined.items()]
    since[numbers_of("joined", joined, oracle.graph.node_numbers)] = steps
    if (since[seeds] > 0).any() or (np.delete(since, seeds) == 0).any():
        raise ValueError(
            f"only the seeds may join in step 0; other people join from step 1 on, got {shown(joined)}"
        )
    since[seeds] = 0
    return since


def feedback_of_steps(
    oracle: Spreading,
    seeds: IntArray,
    joined: Mapping[Hashable, int],
    unseen: Collection[Hashable],
) -> Feedback:
    """Return the outcomes of the edges that were alone in trying their head in a step."""
    graph = oracle.graph
    hidden, since = node_flags(oracle, "unseen", unseen), _steps_of(oracle, seeds, joined)
    active = since != _NEVER
    hidden[seeds] = False
    if (active & hidden).any():
        name = graph.label(int(np.flatnonzero(active & hidden)[0]))
        raise ValueError(f"unseen must be people who are not in joined, got {name!r} in both")
    tails, heads = since[graph.tails], since[graph.heads]
    # An unseen person may have tried the same head, so all attempts at this head are uncertain.
    clouded = np.zeros(graph.n_nodes, np.bool_)
    clouded[graph.heads[hidden[graph.tails]]] = True
    told = np.zeros(graph.n_nodes, np.bool_)
    told[graph.heads[(tails != _NEVER) & (heads == tails + 1)]] = True
    untold = np.flatnonzero((since > 0) & ~told & ~clouded)
    if len(untold):
        name = graph.label(int(untold[0]))
        raise ValueError(
            f"joined must be people whom somebody can reach from the step before, got {name!r} in step"
            f" {since[untold[0]]}: no edge of the graph leads to {name!r} from a person of step"
            f" {since[untold[0]] - 1}. Correct the steps, or add the edge to the graph"
        )
    # An edge tries its head one step after its tail joined, unless the head had joined by then.
    tries = np.flatnonzero((tails != _NEVER) & ((heads == _NEVER) | (heads > tails)))
    alone = tries[_are_alone(graph.heads[tries], tails[tries], oracle.model == "lt")]
    arms = alone[~(clouded | hidden)[graph.heads[alone]]]
    outcomes = (heads[arms] == tails[arms] + 1).astype(np.float64)
    return Feedback(arms, outcomes, reward=np.nan if hidden.any() else worth_of(oracle, active))


def _are_alone(heads: AnyArray, steps: IntArray, first: bool) -> BoolArray:
    """Return which attempts were alone at their head in their step; with `first`, also the first."""
    order = np.lexsort((steps, heads))
    pairs = np.stack([heads[order], steps[order]])
    starts = np.ones(len(order), np.bool_)
    starts[1:] = (pairs[:, 1:] != pairs[:, :-1]).any(axis=0)
    group = np.cumsum(starts) - 1
    alone = np.bincount(group, minlength=len(order))[group] == 1
    if first:
        alone[1:] &= pairs[0, 1:] != pairs[0, :-1]
    flags = np.empty(len(order), np.bool_)
    flags[order] = alone
    return flags


def node_flags(oracle: Spreading, what: str, names: Collection[Hashable]) -> BoolArray:
    """Return which nodes have one of these names."""
    flags = np.zeros(oracle.graph.n_nodes, np.bool_)
    flags[numbers_of(what, names, oracle.graph.node_numbers)] = True
    return flags


def numbers_of(what: str, names: Any, numbers: Mapping[Hashable, int]) -> IntArray:
    """Return the numbers of nodes or arcs with these names."""
    if isinstance(names, str) or not isinstance(names, Collection):
        raise ValueError(f"{what} must be a list of names, got {shown(names)}")
    found = []
    for name in names:
        key = _as_name(name)
        try:
            found.append(numbers[key])
        except (KeyError, TypeError) as error:  # TypeError: the name is not hashable
            hint = missing(key, numbers, is_tie=what == "carried") if isinstance(error, KeyError) else ""
            raise ValueError(f"{what} must hold names of the graph, got {shown(name)}{hint}") from None
    return np.array(found, np.int64)


def _as_name(name: Any) -> Any:
    """Return a name that was stored as JSON with each list, at any depth, converted to a tuple."""
    return tuple(map(_as_name, name)) if isinstance(name, list | tuple) else name


def worth_of(oracle: Spreading, active: BoolArray) -> float:
    """Return the reward of a cascade with these active nodes."""
    weights = oracle.node_weights
    return float(active.sum() if weights is None else weights[active].sum())
