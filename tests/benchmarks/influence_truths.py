"""Which rules learn NetHEPT under four truths: rounds to 90 % of the clairvoyant, and the last 50.

Run as a script: ``influence_truths.py nethept_imm.txt.gz rows.csv [seeds] [rounds]``. A row is appended for
each truth, learner and seed as soon as it is known, and what is in the file is not run again; ``--table`` in
place of numbers prints it, with 95 % intervals over seeds. All of it takes about an hour of one processor.
"""

import sys
import time
from itertools import product
from pathlib import Path

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
from instances import IndependentCascade, read_edge_list, trivalency, weighted_cascade
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


#: The most promising: all seeds of these are run before those of `OTHERS`.
LEARNERS = {
    "adaptive, in-degree": lambda o, g: AdaptiveCTS(o, g),
    "hierarchical, in-degree": lambda o, g: HierarchicalCTS(o, g),
    "explored hierarchical means": lambda o, g: ForcedExploration(
        HierarchicalCTS(o, g, estimate="mean"), c=3.0, form="last"
    ),
    "CTS shared, Beta(1,30)": lambda o, g: CTS(o, **rare(30), coupling="shared"),
    "hierarchical, one group": lambda o, g: HierarchicalCTS(o, 0 * g),
    "CTS, Beta(1,30)": lambda o, g: CTS(o, **rare(30)),
}
OTHERS = {
    "explored greedy 1/31": lambda o, g: ForcedExploration(Greedy(o, **rare(30)), c=3.0, form="last"),
    "hierarchical means, in-degree": lambda o, g: HierarchicalCTS(o, g, estimate="mean"),
    "CTS shared, Beta(1,10)": lambda o, g: CTS(o, **rare(10), coupling="shared"),
    "CTS, Beta(1,10)": lambda o, g: CTS(o, **rare(10)),
    "CTS, flat": lambda o, g: CTS(o),
    "CTS shared, flat": lambda o, g: CTS(o, coupling="shared"),
    "GaussianCTS shared": lambda o, g: GaussianCTS(o),
    "CUCB": lambda o, g: CUCB(o),
}


def first_reached(spreads, best):
    """Return the first round such that it and the next four average 90 % of `best`; nan if there is none."""
    means = np.convolve(spreads, np.full(WINDOW, 1 / WINDOW), mode="valid")
    reached = np.flatnonzero(means >= SHARE * best)
    return float(reached[0] + 1) if len(reached) else np.nan


def rows(path):
    """Return what the file holds: truth, learner, seed and numbers."""
    if not path.exists():
        return []
    lines = (line.split("\t") for line in path.read_text().splitlines())
    return [(truth, name, int(seed), *map(float, numbers)) for truth, name, seed, *numbers in lines]


def run(graph, path, seeds, rounds):
    """Append what is missing."""
    oracle, groups = (
        InfluenceMaximization(graph, 50, epsilon=EPSILON, search=Search(quality="fast")),
        in_degree_groups(graph),
    )
    places = {}
    for truth, make in TRUTHS.items():
        place = IndependentCascade(graph, make(graph, np.random.default_rng(7)), k=50, n_rr_sets=2**18)
        ten = simulate(Clairvoyant(oracle, place.means), place, 10, rng=0).reward_per_round
        places[truth] = place, float(ten.mean())
    for learners, seed in product((LEARNERS, OTHERS), range(seeds)):
        for name, learner in learners.items():
            for truth, (place, best) in places.items():
                if (truth, name, seed) in {row[:3] for row in rows(path)}:
                    continue
                started = time.process_time()
                every = np.arange(1, rounds + 1)
                result = simulate(learner(oracle, groups), place, rounds, checkpoints=every, rng=seed)
                spreads = result.reward_per_round[0]
                spent = 1e3 * (time.process_time() - started) / rounds
                late = spreads[-LATE:]
                numbers = [best, first_reached(spreads, best), late.mean(), late.min(), spent]
                with path.open("a") as file:
                    print(truth, name, seed, *(f"{number:.1f}" for number in numbers), sep="\t", file=file)


def interval(values):
    """Return mean and half the width of Student's 95 % interval."""
    from scipy.stats import t

    half = (
        t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.nan
    )
    return values.mean(), half


def table(path):
    """Print the rounds to 90 % of each seed, and of the last 50 their mean and the worst, as shares."""
    known = rows(path)
    for truth in TRUTHS:
        best = next(row[3] for row in known if row[0] == truth)
        print(f"\n{truth}: clairvoyant {best:.0f}")
        for name in LEARNERS | OTHERS:
            found = np.array([row[4:] for row in known if row[:2] == (truth, name)])
            if len(found):
                mean, half = interval(found[:, 1] / best)
                first = " ".join("-" if np.isnan(t) else f"{t:.0f}" for t in np.sort(found[:, 0]))
                worst = np.nanmin(found[:, 2]) / best
                print(f"{name:32}{first:>22}   {mean:6.1%} +- {half:.1%}  worst {worst:.0%}", end="")
                print(f"{found[:, -1].mean():7.0f} ms")


def main():
    graph, path = read_edge_list(sys.argv[1], header=True), Path(sys.argv[2])
    if "--table" in sys.argv:
        table(path)
        return
    seeds, rounds = (
        (int(n) for n in (*sys.argv[3:], SEEDS, ROUNDS)[:2]) if len(sys.argv) > 4 else (SEEDS, ROUNDS)
    )
    run(graph, path, seeds, rounds)


if __name__ == "__main__":
    main()
