"""Rules for adversaries, Thompson sampling and CUCB with constant means, and with shifted means."""

from __future__ import annotations

import math

import numpy as np

from cmab import CTS, CUCB, FTPL, BarrierFTRL, LinearOracle
from cmab.policy import AnyPolicy
from cmab.seeding import Purpose, stream
from instances.arms import BernoulliArms, SemiBandit
from instances.experiments._experiment import Experiment
from instances.experiments._figures import draw_learners
from instances.experiments._rows import Row, Verdicts, by_name, is_lower, mean_regrets, regrets, replicated
from oracles import TopK

ARMS, SIZE, GAP = 10, 5, 0.125


class ShiftingMeans(SemiBandit):
    """Means that move up and down together, so that the best super arm and its lead stay the same.

    Zimmert et al. (2019), section 5, as in the authors' code: losses are high in half of the rounds and low
    in the other half, in phases of lengths that grow by a factor of 1.1 to the fifth power.
    """

    def __init__(self, arms: BernoulliArms, oracle: LinearOracle) -> None:
        super().__init__(arms, oracle)
        shifts = (-0.5 * (1.0 - GAP), 0.5 * (1.0 - GAP))
        self.rounds = [
            SemiBandit(BernoulliArms(np.clip(self.means + shift, 0.0, 1.0)), oracle) for shift in shifts
        ]

    def in_round(self, t: int, rng: np.random.Generator) -> SemiBandit:  # noqa: ARG002
        """Return the round with all means shifted down or up as far as possible."""
        return self.rounds[int(math.log(t) / math.log(1.1)) % 10 >= 5]


def learners(oracle: LinearOracle, horizon: int) -> dict[str, AnyPolicy]:
    """Return the learners."""
    return {
        "LBINFV": BarrierFTRL(oracle, horizon=horizon),
        "CTS": CTS(oracle),
        "CUCB": CUCB(oracle),
        "FTPL": FTPL(oracle, horizon=horizon),
    }


def cells(quick: bool) -> list[Row]:
    """Return both environments.

    Examples
    --------
    >>> from instances.experiments.shifting_means import cells
    >>> cells(quick=True)
    [{'world': 'steady', 'horizon': 3000}, {'world': 'shifting', 'horizon': 3000}]
    """
    return [{"world": name, "horizon": 3_000 if quick else 20_000} for name in ("steady", "shifting")]


def play(cell: Row, seed: np.random.SeedSequence, replication: int) -> list[Row]:
    """Return the regret of each learner at the horizon, with arms in random order."""
    labels, horizon = stream(seed, Purpose.ENVIRONMENT, replication), cell["horizon"]
    # Losses of (1 - gap) / 2 and (1 + gap) / 2, written as rewards.
    means = labels.permutation(np.where(np.arange(ARMS) < SIZE, 0.5 * (1 + GAP), 0.5 * (1 - GAP)))
    oracle = TopK(ARMS, SIZE)
    place = (SemiBandit if cell["world"] == "steady" else ShiftingMeans)(BernoulliArms(means), oracle)
    return regrets(learners(oracle, horizon), place, horizon, rng=replicated(seed, replication))


def claims(rows: list[Row]) -> Verdicts:
    """Return whether LBINFV is far better than CUCB if means shift, and close to CTS if not."""
    tables = by_name(rows, "world", name="learner")
    steady, shifting = tables["steady",], tables["shifting",]
    tenth, triple = _times(shifting["CUCB"], 0.1), _times(steady["CTS"], 3.0)
    return [
        ("shifting: LBINFV has a tenth of CUCB's regret", is_lower(shifting["LBINFV"], tenth)),
        ("shifting: LBINFV has less regret than CTS", is_lower(shifting["LBINFV"], shifting["CTS"])),
        ("steady: LBINFV has at most three times CTS's regret", is_lower(steady["LBINFV"], triple)),
    ]


def _times(row: Row, factor: float) -> Row:
    return row | {name: factor * row[name] for name in ("regret", "low", "high")}


SHIFTING_MEANS = Experiment(
    name="shifting-means",
    title="LBINFV with constant means, and with means that an adversary shifts",
    about="LBINFV, CTS, CUCB and FTPL with constant means, and with an adversary's shifts.",
    sizes="3,000 rounds and 3 runs instead of 20,000 and 4",
    minutes={True: 0.5, False: 3},
    replications={True: 3, False: 4},
    cells=cells,
    play=play,
    sum_up=mean_regrets,
    claims=claims,
    draw=lambda rows, out: draw_learners(rows, "world", out / "regret"),
)
