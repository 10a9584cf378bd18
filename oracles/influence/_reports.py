"""What people report of a cascade, as the feedback of its edges."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import Any, Protocol

import numpy as np

from cmab.arrays import AnyArray, BoolArray, FloatArray, IntArray
from cmab.campaigns.names import missing
from cmab.feedback import Feedback
from cmab.validation import integer, shown
from oracles.diffusion.directed_graph import DirectedGraph
from oracles.diffusion.reverse_sets import Model

_NEVER = -1


class Spreading(Protocol):
    """What of an oracle of influence says how a report is to be read."""

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
    """Return the coins of all edges out of people who joined and were looked at."""
    graph = oracle.graph
    if oracle.model == "lt":
        raise ValueError(
            "carried must be left out under linear thresholds, where people join by all their ties"
        )
    active, hidden = _flags(oracle, "joined", joined), _flags(oracle, "unseen", unseen)
    active[seeds] = True
    live = np.zeros(oracle.n_arms, np.bool_)
    live[_numbers("carried", carried, graph.arc_numbers)] = True
    strange = np.flatnonzero(live & ~(active[graph.tails] & active[graph.heads]))
    if len(strange):
        edge = graph.arc_labels[int(strange[0])]
        raise ValueError(f"carried must be edges between people who joined, got {edge!r}")
    usable = live | hidden[graph.tails]
    _check_reached(oracle, seeds, np.flatnonzero(active), usable)
    if isinstance(joined, Mapping):
        _check_steps(oracle, _steps_of(oracle, seeds, joined), live, usable)
    arms = np.flatnonzero(active[graph.tails] & ~hidden[graph.tails])
    return Feedback(arms, live[arms].astype(np.float64), reward=_worth(oracle, active))


def _check_reached(oracle: Spreading, seeds: IntArray, active: IntArray, usable: BoolArray) -> None:
    """Raise if somebody joined to whom no edge that may have carried the message leads from the seeds."""
    from oracles.diffusion._kernels_cascade import reachable

    offsets, arms = oracle.graph.out_arcs
    _, reached = reachable(offsets, arms, oracle.graph.heads, usable, seeds)
    lost = active[~reached[active]]
    if len(lost):
        name = oracle.graph.label(int(lost[0]))
        raise ValueError(
            f"joined must be people to whom edges in carried lead from the seeds, got {name!r} besides. Add"
            f" the edge that told {name!r} to carried; if it is not known, report steps,"
            " joined={name: step}, without carried"
        )


def _check_steps(oracle: Spreading, since: IntArray, live: BoolArray, usable: BoolArray) -> None:
    """Raise if the edges that carried, or that nobody looked at, do not make people join in these steps."""
    graph = oracle.graph
    tails, heads = since[graph.tails], since[graph.heads]
    # A live edge may lead to somebody who had joined already, but lets nobody join later than by itself.
    late = np.flatnonzero(live & (heads > tails + 1))
    if len(late):
        edge = int(late[0])
        raise ValueError(
            f"carried must be edges whose head joined in the step after their tail, or before, got"
            f" {graph.arc_labels[edge]!r} from step {tails[edge]} to step {heads[edge]}"
        )
    told = np.zeros(graph.n_nodes, np.bool_)
    told[graph.heads[usable & (tails != _NEVER) & (heads == tails + 1)]] = True
    untold = np.flatnonzero((since > 0) & ~told)
    if len(untold):
        name = graph.label(int(untold[0]))
        raise ValueError(
            f"joined must be people to whom an edge carried from the step before, got {name!r} in step"
            f" {since[untold[0]]}"
        )


def _steps_of(oracle: Spreading, seeds: IntArray, joined: Mapping[Hashable, int]) -> IntArray:
    """Return in which step each node joined, the seeds in step 0."""
    since, last = np.full(oracle.graph.n_nodes, _NEVER), oracle.graph.n_nodes - 1
    steps = [integer(f"the step of {name!r}", step, 0, last) for name, step in joined.items()]
    since[_numbers("joined", joined, oracle.graph.node_numbers)] = steps
    if (since[seeds] > 0).any() or (np.delete(since, seeds) == 0).any():
        raise ValueError(
            f"seeds alone must join in step 0, and whom they tell in step 1, got {shown(joined)}"
        )
    since[seeds] = 0
    return since


def feedback_of_steps(
    oracle: Spreading,
    seeds: IntArray,
    joined: Collection[Hashable] | Mapping[Hashable, int],
    unseen: Collection[Hashable],
) -> Feedback:
    """Return the coins of the edges that were alone in trying their head in a step."""
    graph = oracle.graph
    if not isinstance(joined, Mapping):
        raise ValueError(
            "joined must say in which step each person joined, such as {name: 1}, unless carried is given,"
            f" got {shown(joined)}. If neither steps nor edges are known, tell {{}} and, as reward, the"
            " number of people who joined, seeds included: nothing is learned of the edges"
        )
    hidden, since = _flags(oracle, "unseen", unseen), _steps_of(oracle, seeds, joined)
    active = since != _NEVER
    hidden[seeds] = False
    if (active & hidden).any():
        name = graph.label(int(np.flatnonzero(active & hidden)[0]))
        raise ValueError(f"unseen must be people who are not in joined, got {name!r} in both")
    tails, heads = since[graph.tails], since[graph.heads]
    # What somebody unseen may have done to a head makes all attempts at it uncertain.
    clouded = np.zeros(graph.n_nodes, np.bool_)
    clouded[graph.heads[hidden[graph.tails]]] = True
    told = np.zeros(graph.n_nodes, np.bool_)
    told[graph.heads[(tails != _NEVER) & (heads == tails + 1)]] = True
    untold = np.flatnonzero((since > 0) & ~told & ~clouded)
    if len(untold):
        name = graph.label(int(untold[0]))
        raise ValueError(
            f"joined must be people whom somebody can have told in the step before, got {name!r} in step"
            f" {since[untold[0]]}: no edge of the graph leads to {name!r} from a person of step"
            f" {since[untold[0]] - 1}. Correct the steps, or add the edge to the graph"
        )
    # An edge tries its head in the step after its tail joined, unless the head had joined by then.
    tries = np.flatnonzero((tails != _NEVER) & ((heads == _NEVER) | (heads > tails)))
    alone = tries[_are_alone(graph.heads[tries], tails[tries], oracle.model == "lt")]
    arms = alone[~(clouded | hidden)[graph.heads[alone]]]
    outcomes = (heads[arms] == tails[arms] + 1).astype(np.float64)
    return Feedback(arms, outcomes, reward=np.nan if hidden.any() else _worth(oracle, active))


def _are_alone(heads: AnyArray, steps: IntArray, first: bool) -> BoolArray:
    """Return which attempts were the only ones at their head in their step; `first`: and none was before."""
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


def _flags(oracle: Spreading, what: str, names: Collection[Hashable]) -> BoolArray:
    flags = np.zeros(oracle.graph.n_nodes, np.bool_)
    flags[_numbers(what, names, oracle.graph.node_numbers)] = True
    return flags


def _numbers(what: str, names: Any, numbers: Mapping[Hashable, int]) -> IntArray:
    if isinstance(names, str) or not isinstance(names, Collection):
        raise ValueError(f"{what} must be a list of names, got {shown(names)}")
    found = []
    for name in names:
        key = _as_name(name)
        try:
            found.append(numbers[key])
        except (KeyError, TypeError) as error:  # TypeError: what has no hash
            hint = missing(key, numbers, is_tie=what == "carried") if isinstance(error, KeyError) else ""
            raise ValueError(f"{what} must hold names of the graph, got {shown(name)}{hint}") from None
    return np.array(found, np.int64)


def _as_name(name: Any) -> Any:
    """Return a name of a form that came as JSON, which has lists for tuples, at any depth."""
    return tuple(map(_as_name, name)) if isinstance(name, list | tuple) else name


def _worth(oracle: Spreading, active: BoolArray) -> float:
    weights = oracle.node_weights
    return float(active.sum() if weights is None else weights[active].sum())
