"""An index rule of a user with a memory: both loops call its learning rule; and CUCB end to end."""

import networkx as nx
import numpy as np
import pytest
from cases import PlainBandit

from cmab import CUCB, simulate
from cmab.compiled import learn_kernel
from instances import BernoulliArms, IndependentCascade, SemiBandit
from oracles import InfluenceMaximization, TopK

MEANS = np.random.default_rng(3).permutation(np.linspace(0.1, 0.9, 30))


class Counting(CUCB):
    """CUCB on the lazy loop, with a memory of how often each arm was seen and of the last round."""

    def memory(self):
        return np.zeros(31)

    def learning_rule(self):
        return count


@learn_kernel
def count(arms, n, outcomes, t, reals, memory):
    for j in range(n):
        memory[arms[j]] += 1.0
    memory[30] = t


def test_the_lazy_loop_calls_the_learning_rule():
    oracle = TopK(30, 2)
    runs = [
        simulate(Counting(oracle), kind(BernoulliArms(MEANS), oracle), 400, replications=2, rng=5)
        for kind in (SemiBandit, PlainBandit)
    ]
    assert [run.path for run in runs] == ["compiled", "python"]
    assert np.array_equal(runs[0].rewards, runs[1].rewards)
    for one, other in zip(runs[0].states, runs[1].states, strict=True):
        for name in ("counters", "means", "deviations", "memory", "rounds"):
            assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert np.array_equal(runs[0].states[0].memory, [*runs[0].states[0].counts, 400])


@pytest.mark.slow
def test_cucb_learns_the_seeds_of_the_clairvoyant():
    """Four hubs of different strength: Algorithm 1 ends on the best pair, and loses less and less.

    The best pair is worth a quarter more than the next, so neither the oracle's epsilon nor luck decides.
    """
    graph = nx.DiGraph()
    for hub, (probability, leaves) in {"a": (0.9, 6), "b": (0.7, 6), "c": (0.2, 6), "d": (0.1, 6)}.items():
        graph.add_edges_from(((hub, f"{hub}{i}") for i in range(leaves)), p=probability)
    oracle = InfluenceMaximization(graph, k=2, epsilon=0.1)
    environment = IndependentCascade(graph, "p", k=2)
    assert environment.optimum == pytest.approx(2 + 6 * 0.9 + 6 * 0.7)
    clairvoyant = oracle.solve(environment.means, np.random.default_rng(0))
    result = simulate(CUCB(oracle), environment, 800, checkpoints=[200, 600, 800], rng=0)
    assert set(result.super_arms[0]) == set(clairvoyant)
    assert set(oracle.labels(clairvoyant)) == {"a", "b"}
    per_round = result.reward_per_round[0]
    assert per_round[0] < per_round[2]
    assert per_round[2] > 0.97 * environment.optimum
