"""Which rules learn NetHEPT under four truths: rounds to 90 % of the clairvoyant, and the last 50.

Run as a script: ``influence_truths.py nethept_imm.txt.gz [seeds] [rounds]``. It takes about an hour.
"""

import sys
import time

import numpy as np

from cmab import (
    CTS,
    CUCB,
    AdaptiveCTS,
    Clairvoyant,
    ForcedExploration,
    GaussianCTS,
    Greedy,
    HierarchicalCTS,
    simulate,
)
from instances import IndependentCascade, read_network, trivalency, weighted_cascade
from oracles import InfluenceMaximization, in_degree_groups
from oracles.influence.search import Search

SEEDS, ROUNDS, LATE, WINDOW, SHARE = 5, 100, 50, 5, 0.9
# The guarantee of all rules' oracle, the clairvoyant's too; it costs half of what 0.1 does.
EPSILON = 0.2


def from_features(graph, rng):
    """Return probabilities that are logistic in the logarithms of the degrees at both ends, and in noise."""
    heads, tails = graph.in_degrees[graph.heads], graph.out_degrees[graph.tails]
    logits = -1.5 - 0.7 * np.log(heads) + 0.3 * np.log(tails) + rng.normal(0.0, 0.5, graph.n_arcs)
    return 1.0 / (1.0 + np.exp(-logits))


TRUTHS = {
    "weighted cascade": lambda graph, rng: weighted_cascade(graph),
    "trivalency": trivalency,
    "iid": lambda graph, rng: rng.beta(0.5, 4.5, graph.n_arcs),
    "features": from_features,
}


def rare(n):
    """Return the prior Beta(1, n)."""
    return {"prior_mean": 1 / (1 + n), "prior_weight": 1.0 + n}


LEARNERS = {
    "adaptive, in-degree": lambda o, g: AdaptiveCTS(o, g),
    "hierarchical, in-degree": lambda o, g: HierarchicalCTS(o, g),
    "explored hierarchical means": lambda o, g: ForcedExploration(
        HierarchicalCTS(o, g, estimate="mean"), c=3.0, form="last"
    ),
    "CTS shared, Beta(1,30)": lambda o, g: CTS(o, **rare(30), coupling="shared"),
    "hierarchical, one group": lambda o, g: HierarchicalCTS(o, 0 * g),
    "CTS, Beta(1,30)": lambda o, g: CTS(o, **rare(30)),
    "explored greedy 1/31": lambda o, g: ForcedExploration(Greedy(o, **rare(30)), c=3.0, form="last"),
    "GaussianCTS shared": lambda o, g: GaussianCTS(o),
    "CUCB": lambda o, g: CUCB(o),
}


def first_reached(spreads, best):
    """Return the first round such that it and the next four average 90 % of `best`; nan if there is none."""
    means = np.convolve(spreads, np.full(WINDOW, 1 / WINDOW), mode="valid")
    reached = np.flatnonzero(means >= SHARE * best)
    return float(reached[0] + 1) if len(reached) else np.nan


def played(graph, seeds, rounds):
    """Yield truth, learner and the figures of each seed: first round, late mean, worst late round, time."""
    search = Search(quality="fast")
    oracle, groups = InfluenceMaximization(graph, 50, epsilon=EPSILON, search=search), in_degree_groups(graph)
    for truth, make in TRUTHS.items():
        place = IndependentCascade(graph, make(graph, np.random.default_rng(7)), k=50, n_rr_sets=2**18)
        best = float(simulate(Clairvoyant(oracle, place.means), place, 10, rng=0).reward_per_round.mean())
        for name, learner in LEARNERS.items():
            found = []
            for seed in range(seeds):
                started, every = time.process_time(), np.arange(1, rounds + 1)
                result = simulate(learner(oracle, groups), place, rounds, checkpoints=every, rng=seed)
                spent, spreads = time.process_time() - started, result.reward_per_round[0]
                late = spreads[-LATE:] / best
                found.append((first_reached(spreads, best), late.mean(), late.min(), 1e3 * spent / rounds))
            yield truth, best, name, np.array(found)


def main():
    graph = read_network(sys.argv[1]).graph
    given = [int(number) for number in sys.argv[2:]]
    seeds, rounds = [*given, *(SEEDS, ROUNDS)[len(given) :]]
    for truth, best, name, found in played(graph, seeds, rounds):
        first = " ".join("-" if np.isnan(t) else f"{t:.0f}" for t in np.sort(found[:, 0]))
        means, errors = found.mean(axis=0), found.std(axis=0, ddof=1) / seeds**0.5
        print(f"{truth:18} {best:5.0f}  {name:30}{first:>16}  {means[1]:6.1%} ± {errors[1]:.1%}", end="")
        print(f"  worst {found[:, 2].min():.0%}{means[3]:7.0f} ms", flush=True)


if __name__ == "__main__":
    main()
