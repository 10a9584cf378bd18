"""Seeds in waves, against the best policy by enumeration of worlds and answers."""

from copy import deepcopy
from functools import cache
from itertools import combinations, product

import networkx as nx
import numpy as np
import pytest
from scipy.stats import binom

from oracles import AdaptiveInfluence, DirectedGraph
from oracles.influence.search import Search


def drawn(rng, n=6, arcs=7):
    """A graph with a few arcs anywhere, and a probability for each."""
    pairs = np.array([(u, v) for u in range(n) for v in range(n) if u != v])
    tails, heads = pairs[rng.choice(len(pairs), arcs, replace=False)].T
    return DirectedGraph.from_edges(tails, heads, n_nodes=n), rng.choice([0.2, 0.5, 0.9], arcs)


def outcomes(graph, means, active, seeds):
    """Return {who is active then: probability} by networkx, world by world, coins of active nodes known."""
    arcs = list(zip(graph.tails.tolist(), graph.heads.tolist(), means, strict=True))
    open_arcs = [arc for arc in arcs if not {arc[0], arc[1]} & active]
    found = {}
    for coins in product([0, 1], repeat=len(open_arcs)):
        world = nx.DiGraph()
        world.add_nodes_from(range(graph.n_nodes))
        world.add_edges_from(arc[:2] for arc, coin in zip(open_arcs, coins, strict=True) if coin)
        chance = np.prod([p if coin else 1 - p for (*_, p), coin in zip(open_arcs, coins, strict=True)])
        reached = active.union(seeds, *(nx.descendants(world, seed) for seed in seeds))
        found[reached] = found.get(reached, 0.0) + chance
    return found


class Worlds:
    """Everything about policies on one small graph."""

    def __init__(self, graph, means, k, weights):
        self.k, self.weights = k, weights
        self.after = cache(lambda active, seeds: outcomes(graph, means, active, seeds))
        self.best = cache(self._best)

    def worth(self, active):
        return self.weights[sorted(active)].sum()

    def gain(self, active, seeds):
        """What seeds add in expectation."""
        after = self.after(active, seeds)
        return sum(chance * self.worth(then) for then, chance in after.items()) - self.worth(active)

    def choices(self, active):
        free = [v for v in range(len(self.weights)) if v not in active]
        return list(combinations(free, min(self.k, len(free))))

    def _best(self, active, waves):
        """The value of the best policy: the largest expectation over what the next wave may reach."""
        if waves == 0:
            return self.worth(active)
        return max(
            sum(chance * self.best(then, waves - 1) for then, chance in self.after(active, seeds).items())
            for seeds in self.choices(active)
        )

    def value(self, campaign, means, answers):
        """The value of what a campaign does, which is asked in every state that it may come to."""
        if not campaign.left:
            return self.worth(np.flatnonzero(campaign.active))
        answer = campaign.ask(means, np.random.default_rng(len(answers)))
        active = frozenset(np.flatnonzero(campaign.active).tolist())
        answers.append((active, answer))
        total = 0.0
        for then, chance in self.after(active, tuple(answer.seeds.tolist())).items():
            told = deepcopy(campaign)
            told.tell(sorted(then))
            total += chance * self.value(told, means, answers)
        return total


@pytest.mark.slow
@pytest.mark.parametrize(("k", "waves"), [(1, 2), (1, 3), (2, 2)])
def test_waves_are_worth_what_is_proved_of_the_best_policy(k, waves):
    """Policies by dynamic programming over who is active; each answer's ratio against enumerated gains.

    At an allowed failure of 0.1 a campaign and n answers, more failures than the binomial quantile have a
    chance of 1e-6 a row.
    """
    rng, delta, count, failures = np.random.default_rng(k * 10 + waves), 0.1, 0, 0
    for _ in range(3):
        graph, means = drawn(rng, arcs=6)
        weights = rng.choice([1.0, 2.0], 6)
        worlds = Worlds(graph, means, k, weights)
        campaign = AdaptiveInfluence(
            graph,
            k,
            waves=waves,
            epsilon=0.1,
            delta=delta,
            node_weights=weights,
            search=Search(quality="fast"),
        )
        answers = []
        value, best = worlds.value(campaign, means, answers), worlds.best(frozenset(), waves)
        at_once = max(worlds.gain(frozenset(), seeds) for seeds in combinations(range(6), k * waves))
        assert best >= at_once - 1e-12
        assert campaign.alpha * best <= value <= best + 1e-12
        for active, answer in answers:
            gains = [worlds.gain(active, seeds) for seeds in worlds.choices(active)]
            mine = worlds.gain(active, tuple(answer.seeds.tolist()))
            failures += mine < answer.ratio * max(gains) - 1e-9
        count += len(answers)
    assert failures <= binom.isf(1e-6, count, delta / waves)
