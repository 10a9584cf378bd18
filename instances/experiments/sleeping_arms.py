"""The comparison of CL-SG with each arm available in half of the rounds, against the best available arms."""

from __future__ import annotations

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from instances.arms import BernoulliArms
from instances.contexts import SleepingSemiBandit
from instances.experiments._experiment import Experiment
from instances.experiments._figures import draw_regret
from instances.experiments._rows import (
    Row,
    Verdicts,
    by_name,
    less_regret,
    mean_regrets_beside,
    regrets,
    world_and_coins,
)
from instances.experiments.semi_bandits import learners
from oracles import TopK

AVAILABILITY = 0.5
_LEARNERS = ("CTS-B", "CL-SG", "CombUCB", "CTS-G")
# Hu et al. (2026), abstract: CL-SG outperforms CTS-G and CTS-B. If all arms are available, CTS-B is first.
_FIRST = "CL-SG"
_CLAIMED = ((_FIRST, "CTS-B"), (_FIRST, "CombUCB"), (_FIRST, "CTS-G"), ("CombUCB", "CTS-G"))


class AtMost(TopK):
    """The k best available arms, or all available arms if there are fewer."""

    def solve_within(self, means: FloatArray, available: BoolArray, rng: np.random.Generator) -> IntArray:
        """Return the k best available arms, or all of them."""
        free = np.flatnonzero(available)
        return free if len(free) <= self.k else super().solve_within(means, available, rng)

    def is_feasible(self, super_arm: IntArray) -> bool:
        """Return whether there are at most k arms."""
        return len(super_arm) <= self.k


def cells(quick: bool) -> list[Row]:
    """Return the sizes; means are 0.9 and 0.8, and each arm is available with probability 1/2.

    Examples
    --------
    >>> from instances.experiments.sleeping_arms import cells
    >>> cells(quick=True)[0]
    {'instance': 'half asleep', 'arms': 10, 'k': 3, 'horizon': 2000}
    """
    horizon = 2_000 if quick else 10_000
    sizes = ((10, 3), (20, 6), (50, 15))
    return [{"instance": "half asleep", "arms": m, "k": k, "horizon": horizon} for m, k in sizes]


def play(cell: Row, seed: np.random.SeedSequence, replication: int) -> list[Row]:
    """Return the regret of each learner at the horizon; outcomes and available arms are the same for all."""
    rng, number = world_and_coins(seed, replication)
    # Shuffled, because capped indices break ties by the lowest index.
    means = rng.permutation(np.where(np.arange(cell["arms"]) < cell["k"], 0.9, 0.8))
    oracle = AtMost(cell["arms"], cell["k"])
    place = SleepingSemiBandit(BernoulliArms(means), oracle, availability=AVAILABILITY)
    rules = {name: policy for name, policy in learners(oracle).items() if name in _LEARNERS}
    return regrets(rules, place, cell["horizon"], rng=number)


def claims(rows: list[Row]) -> Verdicts:
    """Return the claims of the authors' abstract on CL-SG, and the order of the others, at each size.

    CL-SG is compared within replications.
    """
    verdicts: Verdicts = []
    for (m,), table in by_name(rows, "arms", name="learner").items():
        verdicts += less_regret(table, _CLAIMED, f"{m} arms, half asleep", paired=_FIRST)
    return verdicts


SLEEPING_ARMS = Experiment(
    name="sleeping-arms",
    title="Regret on the k best of the available arms",
    about="The comparison of CL-SG with each arm available in half of the rounds, against the best"
    " available arms.",
    sizes="2,000 rounds and 3 runs instead of 10,000 and 20",
    minutes={True: 0.7, False: 10},
    replications={True: 3, False: 20},
    cells=cells,
    play=play,
    sum_up=mean_regrets_beside(_FIRST),
    claims=claims,
    draw=draw_regret,
    sources={"CL-SG has less regret than CTS": "Hu et al. (2026), abstract, on the authors' data"},
)
