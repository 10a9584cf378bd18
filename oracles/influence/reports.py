"""Conversion of reports about people, in which the outcomes of some edges are hidden.

Conversion of reports about people to the feedback of edges.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import Any, Protocol

import numpy as np

from cmab.arrays import AnyArray, BoolArray, FloatArray, IntArray
from cmab.campaign.names import missing
from cmab.campaign.posterior import Cascade, CascadeFeedback, Network, Unexplained
from cmab.feedback import Feedback
from cmab.validation import integer, shown
from oracles.influence.graph import DirectedGraph
from oracles.influence.sets import Model

_UNKNOWN = -1


def feedback_of_joined(
    oracle: Spreading,
    seeds: IntArray,
    joined: Collection[Hashable] | Mapping[Hashable, int | None],
    unseen: Collection[Hashable],
    known: Mapping[Hashable, float] | None,
) -> Feedback:
    """Return the feedback of joined people, some with their steps, and of some edges."""
    whole: Any = joined
    is_whole = isinstance(joined, Mapping) and None not in joined.values() and known is None
    plain = feedback_of_steps(oracle, seeds, whole, unseen) if is_whole else Feedback([], [])
    if oracle.model == "lt":
        if is_whole:
            return plain
        raise ValueError(
            "joined must give the step of each person, and known must be left out, under linear thresholds,"
            f" got {shown(joined)}. If you know only how many people joined, report it as the reward"
        )
    cascade = _cascade(oracle, seeds, joined, unseen, known)
    if (cascade.steps > 0).any() and (len(cascade.unseen) or (cascade.steps < 0).any()):
        _check_earliest(oracle, cascade)
    active = np.zeros(oracle.graph.n_nodes, np.bool_)
    active[seeds] = active[cascade.joined] = True
    reward = float("nan") if len(cascade.unseen) else worth_of(oracle, active)
    network = Network(oracle.graph.tails, oracle.graph.heads, oracle.graph.n_nodes)
    feedback = CascadeFeedback(
        cascade, network, arms=plain.arms, outcomes=plain.outcomes, reward=reward, has_all=is_whole
    )
    if is_whole and not len(cascade.unseen):
        return feedback  # the steps were compared with the graph
    try:
        _ = feedback.problem
    except Unexplained as error:
        if is_whole:  # the bounded search has found no explanation with people who were not asked
            return plain
        raise _by_name(oracle, cascade, error) from None
    return feedback


def _cascade(
    oracle: Spreading, seeds: IntArray, joined: Any, unseen: Collection[Hashable], known: Any
) -> Cascade:
    graph = oracle.graph
    people = numbers_of("joined", joined, graph.node_numbers)
    steps = np.full(len(people), _UNKNOWN, np.int64)
    if isinstance(joined, Mapping):
        given = [_step(name, step, graph.n_nodes - 1) for name, step in joined.items()]
        steps = np.array(given, np.int64).reshape(-1)
    is_seed = np.isin(people, seeds)
    if (steps[is_seed] > 0).any() or (steps[~is_seed] == 0).any():
        raise ValueError(
            f"only the seeds may join in step 0; other people join from step 1 on, got {shown(joined)}"
        )
    people, first = np.unique(people[~is_seed], return_index=True)
    steps = steps[~is_seed][first]
    hidden = node_flags(oracle, "unseen", unseen)
    hidden[seeds] = False
    if hidden[people].any():
        name = graph.label(int(people[hidden[people]][0]))
        raise ValueError(f"unseen must be people who are not in joined, got {name!r} in both")
    live, dead = _ties(oracle, known)
    possible = hidden.copy()
    possible[people] = possible[seeds] = True
    for arms, ends, what in (
        (live, graph.tails, "from"), (live, graph.heads, "to"), (dead, graph.tails, "from"),
    ):  # fmt: skip
        strange = arms[~possible[ends[arms]]]
        if len(strange):
            edge = graph.arc_labels[int(strange[0])]
            raise ValueError(
                "known must be outcomes of edges that were tried, and edges that succeeded must lead to"
                f" people who joined, got {edge!r} {what} somebody who is neither in joined nor in unseen"
            )
    return Cascade(
        seeds=np.array(seeds, np.int64),
        joined=people,
        steps=steps,
        unseen=np.flatnonzero(hidden),
        live=live,
        dead=dead,
    )


def _check_earliest(oracle: Spreading, cascade: Cascade) -> None:
    """Raise ``ValueError`` if a person joined before any path through possible people can have led there.

    The earliest step of a person is one more than the earliest step of all possible tellers. The
    step of a person with a reported step is that step.
    """
    graph, steps = oracle.graph, dict(zip(cascade.joined.tolist(), cascade.steps.tolist(), strict=True))
    offsets, arms = graph.out_arcs
    possible = {*steps, *cascade.unseen.tolist()}
    earliest = dict.fromkeys(cascade.seeds.tolist(), 0)
    # People with a reported step wait for it. All others tell as soon as they are reached.
    queue, step = {0: list(earliest)}, 0
    for at, when in steps.items():
        if when > 0:
            queue.setdefault(when, []).append(at)
    while queue:
        for at in queue.pop(step, ()):
            for arm in arms[offsets[at] : offsets[at + 1]].tolist():
                head = int(graph.heads[arm])
                if head in possible and head not in earliest:
                    earliest[head] = step + 1
                    if steps.get(head, _UNKNOWN) < 0:
                        queue.setdefault(step + 1, []).append(head)
        step = step + 1 if step + 1 in queue or not queue else min(queue)
    for at, when in steps.items():
        least = earliest.get(at)
        if when > 0 and least is not None and when < least:
            raise ValueError(
                f"joined must give steps that a cascade can have, got {graph.label(at)!r} in step {when}: the"
                f" shortest path from the seeds through people who joined or may have joined reaches"
                f" {graph.label(at)!r} in step {least} at the earliest. Correct the step, or list the people"
                " on a shorter path in unseen"
            )


def _step(name: Hashable, step: Any, last: int) -> int:
    return _UNKNOWN if step is None else integer(f"the step of {name!r}", step, 0, last)


def _ties(oracle: Spreading, known: Any) -> tuple[IntArray, IntArray]:
    """Return the edges that succeeded and those that failed."""
    if known is None:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    if not isinstance(known, Mapping):
        raise ValueError(f"known must be a mapping of edges to outcomes 1 or 0, got {shown(known)}")
    arms = numbers_of("known", list(known), oracle.graph.arc_numbers)
    for edge, outcome in known.items():
        if isinstance(outcome, str) or outcome not in (0, 1):
            raise ValueError(f"known must have outcomes 1 or 0, got {shown(outcome)} of {edge!r}")
    outcomes = np.array(list(known.values()), np.float64)
    return arms[outcomes == 1.0], arms[outcomes == 0.0]


def _by_name(oracle: Spreading, cascade: Cascade, error: Unexplained) -> ValueError:
    name = oracle.graph.label(error.node)
    if error.kind == "path":
        return ValueError(
            f"joined must be people whom the seeds can reach, got {name!r}: no path of edges leads from the"
            f" seeds to {name!r} through people who joined or who were not asked. If people on the way were"
            f" not asked, list them in unseen. Otherwise, add the edge that reached {name!r} to the graph (a"
            " row of its file), and make the campaign again with the new graph and accept_changes=True"
        )
    step = dict(zip(cascade.joined.tolist(), cascade.steps.tolist(), strict=True)).get(error.node, _UNKNOWN)
    when = "without a step" if step < 0 else f"in step {step}"
    return ValueError(
        f"joined must give steps that a cascade can have, got {name!r} {when}, which does not fit the steps"
        " of the others: a person joins one step after the first person who told them. Correct the steps, or"
        " leave a step out (None) if you do not know it"
    )


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
    arms = np.flatnonzero(active[graph.tails] & ~hidden[graph.tails])
    return Feedback(arms, live[arms].astype(np.float64), reward=worth_of(oracle, active))


def _check_reached(oracle: Spreading, seeds: IntArray, active: IntArray, usable: BoolArray) -> None:
    """Raise if no path of edges that may have carried the message leads from the seeds to a joined person."""
    from oracles.influence.spread import reachable

    offsets, arms = oracle.graph.out_arcs
    _, reached = reachable(offsets, arms, oracle.graph.heads, usable, seeds)
    lost = active[~reached[active]]
    if len(lost):
        name = oracle.graph.label(int(lost[0]))
        raise ValueError(
            f"joined must be people to whom edges in carried lead from the seeds, got {name!r} without such"
            f" a path. Add the edge that reached {name!r} to carried; if it is unknown, report steps,"
            " joined={name: step}, without carried"
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
            f" {since[untold[0]]}: no tie of the network leads to {name!r} from a person of step"
            f" {since[untold[0]] - 1}. Correct the steps, or add the tie to the network"
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
