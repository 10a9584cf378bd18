"""CL-SG's comparison where each arm is there in half of the rounds, against the best of what is there."""

from __future__ import annotations

from typing import Any

import numpy as np

from cmab import simulate
from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.seeding import Purpose, stream
from instances.arms.arms import BernoulliArms
from instances.contexts.sleeping import SleepingSemiBandit
from instances.experiments._experiment import Experiment, Verdicts
from instances.experiments._explorations import Row
from instances.experiments._figures import draw_regret
from instances.experiments._pairs import has_more, sum_up_beside
from instances.experiments.fixed_budget import is_lower
from instances.experiments.semi_bandits import learners
from oracles import TopK

AVAILABILITY = 0.5
_LEARNERS = ("CTS-B", "CL-SG", "CombUCB", "CTS-G")
# Hu et al. (2026), abstract: CL-SG outperforms CTS-G and CTS-B; where all arms are there CTS-B is first.
_FIRST = "CL-SG"
_CLAIMED = ((_FIRST, "CTS-B"), (_FIRST, "CombUCB"), (_FIRST, "CTS-G"), ("CombUCB", "CTS-G"))


class AtMost(TopK):
    """The k best of what is there, or all of it if that is fewer."""

    def solve_within(self, means: FloatArray, available: BoolArray, rng: np.random.Generator) -> IntArray:
        """Return the k best available arms, or all."""
        free = np.flatnonzero(available)
        return free if len(free) <= self.k else super().solve_within(means, available, rng)

    def is_feasible(self, super_arm: IntArray) -> bool:
        """Return whether there are no more than k arms."""
        return len(super_arm) <= self.k


def cells(quick: bool) -> list[Row]:
    """Return the sizes: means of 0.9 and 0.8, each arm there with probability 1/2.

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
    """Return the regret of each learner at the horizon, all on the same coins and the same arms awake."""
    labels, own = seed.spawn(2)
    rng = stream(labels, Purpose.ENVIRONMENT, replication)
    # Shuffled, for capped indices break ties by the lowest number.
    means = rng.permutation(np.where(np.arange(cell["arms"]) < cell["k"], 0.9, 0.8))
    oracle, horizon = AtMost(cell["arms"], cell["k"]), cell["horizon"]
    place = SleepingSemiBandit(BernoulliArms(means), oracle, availability=AVAILABILITY)
    number = int(stream(own, Purpose.ENVIRONMENT, replication).integers(2**62))
    told: dict[str, Any] = {
        name: simulate(policy, place, horizon, checkpoints=[horizon], rng=number)
        for name, policy in learners(oracle).items()
        if name in _LEARNERS
    }
    return [{"learner": name, "regret": float(run.regret[0, -1])} for name, run in told.items()]


def claims(rows: list[Row]) -> Verdicts:
    """Return what the authors' abstract claims of CL-SG, and the order of the others, at each size.

    CL-SG is compared within replications.
    """
    verdicts: Verdicts = []
    for m in dict.fromkeys(row["arms"] for row in rows):
        table = {row["learner"]: row for row in rows if row["arms"] == m}
        for first, second in _CLAIMED:
            is_paired = first == _FIRST
            verdict = has_more(table[second]) if is_paired else is_lower(table[first], table[second])
            verdicts.append((f"{m} arms, half asleep: {first} has less regret than {second}", verdict))
    return verdicts


SLEEPING_ARMS = Experiment(
    name="sleeping-arms",
    title="Regret on the k best of the arms that are there",
    replications={True: 3, False: 20},
    cells=cells,
    play=play,
    sum_up=sum_up_beside(_FIRST),
    claims=claims,
    draw=draw_regret,
    sources={"CL-SG has less regret than CTS": "Hu et al. (2026), abstract, on the authors' data"},
)
