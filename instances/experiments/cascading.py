"""Cascading bandits: Table 1 of Kveton et al. (2015), with Thompson sampling added."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cmab import CTS, CUCB, KLCUCB
from cmab.policy import AnyPolicy
from instances.experiments._experiment import Experiment
from instances.experiments._figures import draw_learners
from instances.experiments._rows import (
    Row,
    Verdicts,
    by_name,
    columns,
    less_regret,
    mean_and_error,
    mean_regrets,
    regrets,
    world_and_coins,
)
from instances.lists import CascadeModel
from oracles import RankedTopK

_TOP, _HORIZON = 0.2, 100_000
#: Published regret and standard error of CascadeUCB1 and CascadeKL-UCB, by items, length and gap.
_PUBLISHED = {
    (16, 2, 0.15): ((1290.1, 11.3), (357.9, 5.5)),
    (16, 4, 0.15): ((986.8, 10.8), (275.1, 5.8)),
    (16, 8, 0.15): ((574.8, 7.9), (149.1, 3.2)),
    (32, 2, 0.15): ((2695.9, 19.8), (761.2, 10.4)),
    (32, 4, 0.15): ((2256.8, 12.8), (633.2, 7.0)),
    (32, 8, 0.15): ((1581.0, 20.3), (435.4, 5.7)),
    (16, 2, 0.075): ((2077.0, 32.9), (766.0, 18.0)),
    (16, 4, 0.075): ((1520.4, 23.4), (538.5, 12.5)),
    (16, 8, 0.075): ((725.4, 12.0), (321.0, 16.3)),
}
_NAMES = ("CascadeUCB1", "CascadeKL-UCB")


def learners(oracle: RankedTopK) -> dict[str, AnyPolicy]:
    """Return the two rules of the paper, and Thompson sampling."""
    return {
        # The paper does not cap its bound at 1. This one is capped at 100, with the same radius.
        "CascadeUCB1": CUCB(oracle, support=(0.0, 100.0), radius_factor=0.01),
        "CascadeKL-UCB": KLCUCB(oracle, loglog=3.0),
        "CTS": CTS(oracle),
    }


def cells(quick: bool) -> list[Row]:
    """Return the rows of the table (items, length of a list, gap), or three of them if `quick`.

    Examples
    --------
    >>> from instances.experiments.cascading import cells
    >>> cells(quick=True)[0]
    {'arms': 16, 'k': 2, 'gap': 0.15, 'horizon': 100000}
    """
    rows = [(m, k, gap) for m, k, gap in _PUBLISHED if not quick or (m == 16 and gap == 0.15)]
    return [{"arms": m, "k": k, "gap": gap, "horizon": _HORIZON} for m, k, gap in rows]


def environment(cell: Row, labels: np.random.Generator) -> CascadeModel:
    """Return the instance of a cell: k items with attraction 0.2, the others 0.2 minus the gap, shuffled."""
    m, k = cell["arms"], cell["k"]
    means = labels.permutation(np.where(np.arange(m) < k, _TOP, _TOP - cell["gap"]))
    return CascadeModel(means, RankedTopK(m, k))


def play(cell: Row, seed: np.random.SeedSequence, replication: int) -> list[Row]:
    """Return the regret of each learner at the horizon; all learners have the same users."""
    rng, number = world_and_coins(seed, replication)
    place = environment(cell, rng)
    return regrets(learners(place.oracle), place, cell["horizon"], rng=number)


def sum_up(cell: Row, told: Sequence[list[Row]]) -> list[Row]:
    """Return one row for each learner: its mean regret, a 95 % interval, and the published values."""
    rows = []
    published = dict(zip(_NAMES, _PUBLISHED[cell["arms"], cell["k"], cell["gap"]], strict=True))
    for row, (_, values, _) in zip(mean_regrets(cell, told), columns(told, "regret"), strict=True):
        error = mean_and_error(values, "regret")["s.e."]
        there, there_error = published.get(row["learner"], (math.nan, math.nan))
        rows.append(row | {"s.e.": error, "published": there, "published s.e.": there_error})
    return rows


def claims(rows: list[Row]) -> Verdicts:
    """Return whether each number is within two standard errors of the published one, and which is better."""
    verdicts: Verdicts = []
    for (m, k, gap), table in by_name(rows, "arms", "k", "gap", name="learner").items():
        place = f"{k} of {m} items, gap {gap:g}"
        for name in _NAMES:
            row = table[name]
            margin = 2.0 * math.hypot(row["s.e."], row["published s.e."])
            told = f"{row['published']:,.0f} ± {row['published s.e.']:.0f}"
            is_met = abs(row["regret"] - row["published"]) <= margin if math.isfinite(margin) else None
            verdicts.append(
                (f"{place}: {name}'s regret is {told}, within two standard errors of both", is_met)
            )
        verdicts += less_regret(table, [("CascadeKL-UCB", "CascadeUCB1")], place)
    return verdicts


CASCADING_BANDITS = Experiment(
    name="cascading-bandits",
    title="Lists in the cascade model",
    about="Table 1 of Cascading Bandits: lists in which a user clicks the first attractive item.",
    sizes="Three rows of the table and 5 runs instead of nine and 20",
    minutes={True: 0.5, False: 3},
    replications={True: 5, False: 20},
    cells=cells,
    play=play,
    sum_up=sum_up,
    claims=claims,
    draw=lambda rows, out: draw_learners(
        [row | {"instance": _title(row)} for row in rows], "instance", out / "regret"
    ),
)


def _title(row: Row) -> str:
    return f"{row['k']} of {row['arms']}, gap {row['gap']:g}"
