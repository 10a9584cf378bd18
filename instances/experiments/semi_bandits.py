"""Regret on the k best of m arms: the comparison of CL-SG, and index rules for small variances."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from cmab import CTS, CUCB, KLCUCB, CompiledIndexPolicy, GaussianCTS
from cmab.arrays import FloatArray, IntArray
from cmab.policy import AnyPolicy
from cmab.rules import compiled_rule
from cmab.validation import real
from instances.arms import Arms, BernoulliArms, GaussianArms, SemiBandit
from instances.experiments._experiment import Experiment
from instances.experiments._figures import draw_regret
from instances.experiments._rows import (
    Row,
    Verdicts,
    by_name,
    less_regret,
    mean_regrets,
    regrets,
    world_and_coins,
)
from oracles import TopK

GAMMA = 0.1
_LEVELS = {"two levels": (0.9, 0.8), "rare successes": (0.03, 0.01), "narrow outcomes": (0.5, 0.45)}
# From the best to the worst, as in the figures of Hu et al.
_PUBLISHED = ("CTS-B", "CL-SG", "CombUCB", "CTS-G")


@compiled_rule("index")
def wide_gaussian_indices(
    counts: IntArray,
    means: FloatArray,
    deviations: FloatArray,
    memory: FloatArray,
    t: int,
    reals: FloatArray,
    rng: np.random.Generator,
    out: FloatArray,
) -> None:
    """Write the indices of CTS-G: independent draws with a width for a bound of order k."""
    # Hu et al. (2026), CTS-G as in the authors' code: mean + Z_i sqrt(gamma k ln t / (N + 1)).
    width = math.sqrt(reals[0] * math.log(t))
    for i in range(counts.shape[0]):
        out[i] = means[i] + rng.standard_normal() * width / math.sqrt(counts[i] + 1.0)


@dataclass(frozen=True, eq=False)
class _WideGaussianCTS(CompiledIndexPolicy):
    """CTS-G in the comparison of CL-SG."""

    gamma: float = GAMMA
    is_random: ClassVar[bool] = True

    def rule(self) -> Any:
        """Return the compiled rule."""
        return wide_gaussian_indices()

    def parameters(self) -> FloatArray:
        """Return gamma times the size of a super arm."""
        return np.array([real("gamma", self.gamma, 0.0, inside=True) * self.oracle.max_size])


def learners(oracle: TopK) -> dict[str, AnyPolicy]:
    """Return the learners, by their names in the paper or in this library."""
    return {
        "CTS-B": CTS(oracle),
        # The variance is factor * sigma^2 ln t / (N + 1), and sigma is 1/2.
        "CL-SG": GaussianCTS(oracle, "shared", variance_factor=4 * GAMMA),
        "CombUCB": CUCB(oracle),
        "CTS-G": _WideGaussianCTS(oracle),
        "BG-CTS": GaussianCTS(oracle, "boosted"),
        "KL-CUCB": KLCUCB(oracle),
    }


def cells(quick: bool) -> list[Row]:
    """Return the instances: two levels of means as published, and two instances with small variances.

    Examples
    --------
    >>> from instances.experiments.semi_bandits import cells
    >>> cells(quick=True)[0]
    {'instance': 'two levels', 'arms': 10, 'k': 3, 'horizon': 10000}
    """
    sizes = [("two levels", 10, 3), ("two levels", 20, 6), ("two levels", 50, 15)]
    sizes += [("rare successes", 20, 5), ("narrow outcomes", 20, 5)]
    horizon = 10_000 if quick else 100_000
    return [{"instance": name, "arms": m, "k": k, "horizon": horizon} for name, m, k in sizes]


def environment(cell: Row, labels: np.random.Generator) -> SemiBandit:
    """Return the shuffled instance of a cell; capped indices break ties by the lowest index."""
    good, bad = _LEVELS[cell["instance"]]
    means = labels.permutation(np.where(np.arange(cell["arms"]) < cell["k"], good, bad))
    is_narrow = cell["instance"] == "narrow outcomes"
    arms: Arms = GaussianArms(means, 0.01) if is_narrow else BernoulliArms(means)
    return SemiBandit(arms, TopK(cell["arms"], cell["k"]))


def play(cell: Row, seed: np.random.SeedSequence, replication: int) -> list[Row]:
    """Return the regret of each learner at the horizon; all learners use the same random numbers."""
    rng, number = world_and_coins(seed, replication)
    place = environment(cell, rng)
    return regrets(learners(TopK(cell["arms"], cell["k"])), place, cell["horizon"], rng=number)


def claims(rows: list[Row]) -> Verdicts:
    """Return the published order, and the order that narrower bounds imply for small variances."""
    verdicts: Verdicts = []
    for (name, m), table in by_name(rows, "instance", "arms", name="learner").items():
        pairs = list(pairwise(_PUBLISHED))
        if name != "two levels":
            pairs = [("KL-CUCB", "CombUCB")]
        verdicts += less_regret(table, pairs, f"{name}, {m} arms")
    return verdicts


SEMI_BANDITS = Experiment(
    name="semi-bandits",
    title="Regret on the k best of m arms",
    about="Regret of CUCB, KL-CUCB and Thompson rules: the comparison of CL-SG, and small variances.",
    sizes="10,000 rounds and 5 runs instead of 100,000 and 50",
    minutes={True: 0.2, False: 6},
    replications={True: 5, False: 50},
    cells=cells,
    play=play,
    sum_up=mean_regrets,
    claims=claims,
    draw=draw_regret,
    sources={"two levels": "Hu et al. (2026), the comparison of m = 10, 20 and 50"},
)
