"""What each part of a regret certificate gains: its bound over the true regret, on top-k, trees and paths.

Run: python tests/benchmarks/regret_certificates.py. It takes two minutes. Columns, each a mean bound divided
by the mean regret: the optimum and the played rounds apart, arm by arm (*apart*); both together, arm by arm
(*together*); with the martingale of the outcomes outside the optimum (*outcomes*); with the joint confidence
set (*joint*); and the last two for independent outcomes of a round.
"""

import networkx as nx
import numpy as np

from cmab import CTS, CUCB, simulate
from cmab.bounds.confidence_set import Family, LinearBound, confidence_set
from cmab.bounds.mixtures import share_bounds
from instances import BernoulliArms, SemiBandit
from oracles import GraphicMatroid, ShortestPath, TopK

DELTA, REPLICATIONS = 0.05, 20
STREETS = nx.DiGraph(nx.grid_2d_graph(4, 4).edges)
FAMILIES = {
    "top 5 of 20": TopK(20, 5),
    "tree of 15 edges": GraphicMatroid(nx.complete_graph(6)),
    "path of 24 streets": ShortestPath(STREETS, (0, 0), (3, 3)),
}


def apart(oracle, state):
    """Return the number of rounds times the best sum of upper bounds, minus the lower bounds of all plays."""
    lower, upper = share_bounds(state.counts, state.means, DELTA / (2 * oracle.n_arms))
    best, played = (upper, lower) if oracle.sense == "max" else (lower, upper)
    value = best[oracle.solve(best, np.random.default_rng(0))].sum()
    return float(oracle._sign * (state.rounds * value - (state.counts * played).sum()))


def bounds(oracle, state):
    """Return the bounds of the columns."""
    found = [apart(oracle, state)]
    arms = confidence_set(oracle, state, (0.0, 1.0), DELTA)
    for independent in (False, True):
        family = Family(oracle, np.random.default_rng(0))
        size = min(oracle.max_size, oracle.n_arms)
        plays = state.counts.astype(float)
        bound = LinearBound(family, arms, float(state.rounds), plays, DELTA, size, independent)
        alone = bound.arm_by_arm()
        outside, cost = bound._outside(family.super_arm)
        with_outcomes = min(alone, bound._bound(0.0, outside, cost))
        found += [with_outcomes, bound.tightest(fixed=True)[0]]
        if not independent:
            found.insert(1, alone)
    return found


def main():
    """Print the table."""
    names = ["apart", "together", "outcomes", "joint", "outcomes (independent)", "joint (independent)"]
    print("problem | learner | rounds | regret ± s.e. |", " | ".join(names))
    for name, oracle in FAMILIES.items():
        for learner in (CUCB, CTS):
            for rounds in (300, 3_000, 30_000):
                regrets, found = [], []
                for seed in range(REPLICATIONS):
                    means = np.random.default_rng(seed).random(oracle.n_arms)
                    place = SemiBandit(BernoulliArms(means), oracle)
                    run = simulate(learner(oracle), place, rounds, checkpoints=[rounds], rng=seed)
                    regrets.append(run.regret[0, -1])
                    found.append(bounds(oracle, run.states[0]))
                mean, error = np.mean(regrets), np.std(regrets, ddof=1) / REPLICATIONS**0.5
                ratios = " | ".join(f"{ratio:.1f}" for ratio in np.mean(found, axis=0) / mean)
                print(
                    f"{name} | {learner.__name__} | {rounds:,} | {mean:.0f} ± {error:.0f} | {ratios}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
