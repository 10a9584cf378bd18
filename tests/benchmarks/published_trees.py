"""Print the rounds of P-FWS on the published graph of 20 edges, and a lower bound for its threshold.

The graph, the means and the numbers of rounds are in the repository of Tzeng et al. (2023): 1,176 rounds of
P-FWS, 1,277 of CombGame and 2,043 of uniform sampling, over 100 runs with unit variance, delta = 0.1 and the
threshold ``ln((1 + ln t) / delta)``, which is not proven. The second number is the mean number of rounds that
the two edges of the closest pair alone need for this evidence if every round samples both of them.
"""

import math

import networkx as nx
import numpy as np

from cmab import PFWS, identify
from instances import GaussianArms
from oracles import GraphicMatroid

# The other end of the edges of node 1, 2, ...; an edge belongs to its lower node.
ENDS = [[2, 3, 4, 6, 8], [3, 4, 6, 8], [5, 7, 8], [5, 6, 7], [6, 7, 8], [7], [8]]
MEANS = [
    *(2.4286026902098756, 2.9278098614715438, 3.3104332915251566, 2.3192637823065003, 0.4463388480766708),
    *(1.7002558778637291, 2.618873245666574, 0.10000000000000009, 4.507735529508414, 1.423127099976139),
    *(3.289604313299193, 2.1368657275423733, 0.16091523531229424, 3.7297673669250604, 7.244247635832336),
    *(0.5243765457591305, 2.9177253680575124, 2.5200009727764567, 3.931194157566085, 1.6734792361258473),
]
DELTA, RUNS, PAIR_RUNS, MOST = 0.1, 20, 4000, 20_000


class Published(PFWS):
    """The rule with the threshold of the experiment."""

    def _has_won(self, state, best, near):
        """Return whether the evidence against all exchanges exceeds the threshold."""
        contest = self._contest(state, best, 2.0 * self.sigma**2 / state.counts, np.zeros(self.n_arms), 1.0)
        rounds = state.counts.sum() / len(best)
        return bool(contest.ratios(near).min() > math.log((1.0 + math.log(rounds)) / self.delta))


def main():
    """Print both numbers with their standard errors."""
    graph = nx.Graph()
    graph.add_nodes_from(range(1, 9))
    graph.add_edges_from((node, end) for node, ends in enumerate(ENDS, 1) for end in ends)
    oracle = GraphicMatroid(graph, sense="max")
    rule = Published(oracle, delta=DELTA, sigma=1.0, plays="super arms", growth=0.0)
    found = identify(rule, GaussianArms(MEANS, 1.0), replications=RUNS, rng=0, max_samples=200_000)
    rounds = found.samples / 7
    print(f"P-FWS: {rounds.mean():.0f} +- {rounds.std(ddof=1) / RUNS**0.5:.0f}, {found.correct.sum()} right")
    best, means = oracle.solve(np.array(MEANS), np.random.default_rng(0)), np.array(MEANS)
    gap = min(means[i] - means[j] for i, j in oracle.exchange_pairs(best))
    rng, t = np.random.default_rng(0), np.arange(1, MOST + 1)
    need, first = np.log((1.0 + np.log(t)) / DELTA), []
    for _ in range(PAIR_RUNS):
        sums = np.cumsum(gap + math.sqrt(2.0) * rng.standard_normal(MOST))
        first.append(1 + int(np.argmax(sums**2 / (4.0 * t) > need)))
    print(f"closest pair, gap {gap:.4f}: {np.mean(first):.0f} +- {np.std(first) / PAIR_RUNS**0.5:.0f}")


if __name__ == "__main__":
    main()
