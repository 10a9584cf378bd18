"""Do more sets as rounds go on pay for a learner of influence? NetHEPT, weighted cascade, k = 50.

Run: python tests/benchmarks/growing_sets.py nethept_imm.txt.gz [seeds]. For each seed, learner and plan:
mean true spread of rounds 1 to 10, 11 to 30, 31 to 50 and 51 to 100, and processor milliseconds a round.
"""

import sys
import time
from dataclasses import dataclass, field, replace

import numpy as np

from cmab import CTS, HierarchicalCTS, Policy, simulate
from instances import IndependentCascade, read_edge_list, weighted_cascade
from oracles import InfluenceMaximization
from oracles.influence.search import Search

ROUNDS, SPANS = 100, ((0, 10), (10, 30), (30, 50), (50, 100))
#: From which round on which quality: a number is a multiple of the sets of "good".
PLANS = {
    "fast": {0: "fast"},
    "good": {0: "good"},
    "fast, then good": {0: "fast", 30: "good"},
    "growing": {0: "fast", 10: "good", 50: 3.0},
    "three times good": {0: 3.0},
}


@dataclass(frozen=True, eq=False)
class Staged(Policy):
    """A rule whose oracle changes with the number of rounds that were told.

    A super arm is a function of state and generator as ever: seeds reproduce, sessions replay. Its ratio is
    the least of its oracles'.
    """

    policy: Policy
    oracles: dict
    stages: dict = field(init=False)

    def __post_init__(self):
        stages = {start: replace(self.policy, oracle=oracle) for start, oracle in self.oracles.items()}
        object.__setattr__(self, "stages", stages)
        object.__setattr__(self, "oracle", min(self.oracles.values(), key=lambda oracle: oracle.alpha))
        object.__setattr__(self, "support", self.policy.support)

    def initial_state(self, rng=None):
        return self.policy.initial_state()

    def select(self, state, rng, context=None):
        return self.stages[max(start for start in self.stages if start <= state.rounds)].select(state, rng)

    def update(self, state, feedback, ticket=None, rng=None):
        self.policy.update(state, feedback)


def main():
    graph = read_edge_list(sys.argv[1], header=True)
    place = IndependentCascade(graph, weighted_cascade(graph), k=50, n_rr_sets=2**18)
    usual = InfluenceMaximization(graph, 50)
    learners = {
        "CTS, Beta(1, 30)": CTS(usual, prior_mean=1 / 31, prior_weight=31.0),
        "HierarchicalCTS": HierarchicalCTS(usual),
    }
    for seed in range(int(sys.argv[2]) if len(sys.argv) > 2 else 3):
        for name, learner in learners.items():
            for plan, stages in PLANS.items():
                oracles = {
                    start: InfluenceMaximization(graph, 50, search=Search(quality=quality))
                    for start, quality in stages.items()
                }
                started, every = time.process_time(), np.arange(1, ROUNDS + 1)
                result = simulate(Staged(learner, oracles), place, ROUNDS, checkpoints=every, rng=seed)
                spent = 1e3 * (time.process_time() - started) / ROUNDS
                spreads = result.reward_per_round[0]
                means = (f"{spreads[first:last].mean():.0f}" for first, last in SPANS)
                print(seed, name, plan, *means, f"{spent:.0f} ms", sep="\t", flush=True)


if __name__ == "__main__":
    main()
