"""A simulation of the design for partitioned graphs: sets that cross partitions, by exchange of frontiers.

Each partition has the arcs into its own nodes. In a superstep, it tries the arcs into its part of the
frontier of all sets, and sends each new (set, node) to the partition of the node. The coin of an arc in a set
is keyed by both, so it does not depend on the order of drawing. The sets, the seeds and the counts of hits
are those of one partition. `docs/explanation/scale.md` computes the communication from the same quantities.
"""

import numpy as np
import pytest

from oracles import DirectedGraph

K = 4


def coins(key, sets, arcs):
    """Return a uniform number for each pair of a set and an arc: three rounds of SplitMix64."""
    word = np.uint64(key) + sets.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for part in (arcs.astype(np.uint64), np.uint64(0), np.uint64(1)):
        word = word ^ part
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        word = word ^ (word >> np.uint64(31))
    return (word >> np.uint64(11)) * 2.0**-53


class Part:
    """A partition: its nodes, the arcs into them, and the members of sets among its nodes."""

    def __init__(self, graph, chances, owner, number, n_sets):
        self.arcs = np.flatnonzero(owner[graph.heads] == number)
        self.graph, self.chances, self.owner, self.number = graph, chances, owner, number
        self.is_member = np.zeros((n_sets, graph.n_nodes), bool)  # used in the columns of its nodes only

    def join(self, sets, nodes):
        """Return the messages that are new here."""
        assert (self.owner[nodes] == self.number).all()
        pairs = np.unique(np.stack([sets, nodes]), axis=1)
        fresh = pairs[:, ~self.is_member[pairs[0], pairs[1]]]
        self.is_member[fresh[0], fresh[1]] = True
        return fresh

    def step(self, key, sets, nodes):
        """Try the arcs into new members; return the sets and tails of live arcs, and the tried arcs."""
        out, tried = [np.empty((2, 0), int)], 0
        for i, v in zip(sets, nodes, strict=True):
            arcs = self.arcs[self.graph.heads[self.arcs] == v]
            tried += len(arcs)
            live = arcs[coins(key, np.full(len(arcs), i), arcs) < self.chances[arcs]]
            out.append(np.stack([np.full(len(live), i), self.graph.tails[live]]))
        return np.concatenate(out, axis=1), tried


def drawn(graph, chances, key, n_sets, owner):
    """Return the parts with their sets, the messages between parts, the tried arcs, and the supersteps."""
    parts = [Part(graph, chances, owner, number, n_sets) for number in range(owner.max() + 1)]
    roots = (coins(key + 1, np.arange(n_sets), np.arange(n_sets)) * graph.n_nodes).astype(int)
    mail = np.stack([np.arange(n_sets), roots])
    sent, tried, steps = 0, 0, 0
    while mail.shape[1]:
        steps += 1
        results = []
        for part in parts:
            mine = mail[:, owner[mail[1]] == part.number]
            fresh, arcs = part.step(key, *part.join(*mine))
            # A part sends each pair once in a superstep.
            fresh = np.unique(fresh, axis=1)
            sent += int((owner[fresh[1]] != part.number).sum())
            tried += arcs
            results.append(fresh)
        mail = np.concatenate(results, axis=1)
    return parts, sent, tried, steps


def greedy(parts, owner, n_sets):
    """Return seeds: the parts send their best counts, and the best part sends the sets it covers."""
    covered, seeds = np.zeros(n_sets, bool), []
    for _ in range(K):
        best = []
        for part in parts:
            counts = np.where(owner == part.number, part.is_member[~covered].sum(axis=0), -1)
            best.append((-int(counts.max()), int(counts.argmax()), part.number))
        _, node, number = min(best)
        seeds.append(node)
        covered |= parts[number].is_member[:, node]
    return seeds, int(covered.sum())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_sets_seeds_and_hits_do_not_depend_on_the_partition(seed):
    rng = np.random.default_rng(seed)
    ends = (60 * rng.random((2, 400)) ** 1.5).astype(int)
    ends = ends[:, ends[0] != ends[1]]
    graph = DirectedGraph.from_edges(*ends, n_nodes=60)
    chances = rng.random(graph.n_arcs) * 0.5
    found = []
    for n_parts in (1, 2, 3, 7):
        owner = rng.integers(n_parts, size=60) if n_parts > 1 else np.zeros(60, int)
        owner[:n_parts] = np.arange(n_parts)
        parts, sent, tried, steps = drawn(graph, chances, 11, 80, owner)
        members = np.sum([part.is_member for part in parts], axis=0)
        assert members.max() == 1 and (members.sum(axis=1) >= 1).all()
        found.append((members.tobytes(), tried, steps, greedy(parts, owner, 80)))
        # Messages are live arcs between parts: none within one part, and at most one for each tried arc.
        assert (sent == 0) == (n_parts == 1) and sent < tried
    assert all(one == found[0] for one in found)


def test_the_sets_have_the_distribution_of_reverse_reachable_sets():
    """The share of sets with a node is its spread over the number of nodes; false alarm below 1e-6."""
    graph = DirectedGraph.from_edges([0, 1, 0], [1, 2, 2], n_nodes=3)
    chances, n_sets = np.array([0.5, 0.4, 0.3]), 20_000
    parts, *_ = drawn(graph, chances, 3, n_sets, np.array([0, 1, 0]))
    members = np.sum([part.is_member for part in parts], axis=0)
    reach = np.array([1 + 0.5 + 1 - 0.7 * (1 - 0.5 * 0.4), 1 + 0.4, 1.0]) / 3
    errors = np.sqrt(reach * (1 - reach) / n_sets)
    assert (np.abs(members.mean(axis=0) - reach) < 5.2 * errors).all()
