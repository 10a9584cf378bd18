"""Two disjoint super arms of k arms: the cost of independent draws, and the gain of one draw per round."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cmab import CTS, CUCB, GaussianCTS, Oracle
from cmab.policy import AnyPolicy
from cmab.seeding import Purpose, stream
from instances.arms import BernoulliArms, SemiBandit
from instances.experiments._experiment import Experiment
from instances.experiments._rows import (
    Row,
    Verdicts,
    columns,
    is_positive,
    mean_and_error,
    regrets,
    replicated,
)
from oracles import BruteForce

GOOD, BAD, HORIZON = 0.9, 0.8, 3000


def learners(oracle: Oracle) -> dict[str, AnyPolicy]:
    """Return the learners."""
    return {
        "CTS": CTS(oracle),
        "CTS shared": CTS(oracle, coupling="shared"),
        "CL-SG": GaussianCTS(oracle, support=None, sigma=0.5),
        "BG-CTS": GaussianCTS(oracle, "boosted", support=None, sigma=0.5),
        "CUCB": CUCB(oracle),
    }


def cells(quick: bool) -> list[Row]:
    """Return the sizes of the super arms.

    Examples
    --------
    >>> from instances.experiments.two_sets import cells
    >>> cells(quick=True)
    [{'k': 4}, {'k': 12}, {'k': 24}]
    """
    return [{"k": k} for k in ((4, 12, 24) if quick else (2, 4, 8, 12, 16, 20, 24, 32))]


def play(cell: Row, seed: np.random.SeedSequence, replication: int) -> list[Row]:
    """Return the regret of each learner on Bernoulli arms with means 0.9 and 0.8.

    The better super arm is chosen at random, because ties go to the first one.
    """
    k, own = cell["k"], replicated(seed, replication)
    means = np.repeat([GOOD, BAD], k)
    if stream(seed, Purpose.ENVIRONMENT, replication).random() < 0.5:
        means = means[::-1].copy()
    oracle = BruteForce(2 * k, [range(k), range(k, 2 * k)])
    place = SemiBandit(BernoulliArms(means), oracle)
    return regrets(learners(oracle), place, HORIZON, rng=own)


def sum_up(cell: Row, told: Sequence[list[Row]]) -> list[Row]:
    """Return for each learner its mean regret, the standard error, and its share of the largest regret."""
    rows, most = [], HORIZON * cell["k"] * (GOOD - BAD)
    for first, values, _ in columns(told, "regret"):
        measured = mean_and_error(values, "regret") | {"share": float(values.mean() / most)}
        rows.append(cell | {"learner": first["learner"]} | measured)
    return rows


def claims(rows: list[Row]) -> Verdicts:
    """Return the claims and whether the table supports them, by two standard errors."""
    table = {(row["k"], row["learner"]): row for row in rows}
    largest = max(row["k"] for row in rows)
    worst = table[largest, "CTS"]
    # A learner that starts with the good super arm keeps it, so about half of the runs have no regret.
    text = f"k = {largest}: CTS loses more than a quarter of what it could"
    verdicts: Verdicts = [(text, _exceeds(worst, worst["regret"] / worst["share"] / 4))]
    for name in ("CTS shared", "CL-SG", "BG-CTS"):
        other = table[largest, name]
        verdict = _exceeds(worst, other["regret"] + 2 * other["s.e."])
        verdicts.append((f"k = {largest}: {name} has less regret than CTS", verdict))
        # Jin et al. (2026), abstract: m k k* B^2 / gap, and the gap is k / 10, so k^2 with B = 1.
        least = min(row["k"] for row in rows)
        grown = (largest / least) ** 2 * table[least, name]["regret"]
        verdicts.append(
            (f"{name}'s regret grows no faster than k^2", other["regret"] - 2 * other["s.e."] < grown)
        )
    return verdicts


def draw(rows: list[Row], out: Path) -> None:
    """Draw regret against the size of a super arm, with two standard errors on each side."""
    from cmab.plotting import panels_of_curves, save

    curves: dict[str, list[tuple[float, float, float, float]]] = {}
    for row in rows:
        mean, margin = row["regret"], 2 * row["s.e."]
        point = (float(row["k"]), mean, max(mean - margin, 0.5), mean + margin)
        curves.setdefault(row["learner"], []).append(point)
    sizes = sorted({row["k"] for row in rows})
    lost = {k: HORIZON * k * (GOOD - BAD) for k in sizes}
    curves["always the bad super arm"] = [(float(k), loss, loss, loss) for k, loss in lost.items()]
    title = f"Two super arms of k arms, {HORIZON:,} rounds"
    axes = panels_of_curves(
        {title: curves}, x_label="k", y_label="Regret", columns=1, log_y=True, ticks=sizes
    )
    save(axes, out / "regret")


def _exceeds(row: Row, level: float) -> bool | None:
    """Return whether a regret is above a level, None if the difference is within two standard errors."""
    return is_positive(row["regret"] - level, 2 * row["s.e."])


TWO_SETS = Experiment(
    name="two-sets",
    title="Two disjoint super arms: Thompson sampling with independent draws, and with one draw per round",
    about="Two disjoint super arms of k arms: Thompson sampling with independent draws, one draw per"
    " round, or boosted.",
    sizes="Three sizes and 10 runs instead of eight and 40",
    minutes={True: 0.5, False: 5},
    replications={True: 10, False: 40},
    cells=cells,
    play=play,
    sum_up=sum_up,
    claims=claims,
    draw=draw,
)
