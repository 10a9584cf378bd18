"""Garivier and Kaufmann's table: its races against plain loops, and verdicts from rows."""

import math

import numpy as np
import pytest

from instances.experiments import track_and_stop as experiment
from instances.experiments._races import chernoff_race, kl_race
from instances.experiments.commands import track_and_stop


def divergence(p, q):
    """kl(p, q) of coins."""
    return sum(a * math.log(a / b) for a, b in [(p, q), (1 - p, 1 - q)] if a > 0)


def plain_race(means, delta, rng, is_worse):
    """Every arm once; then all that are left, and after each round the worst of them may go."""
    left, wins = list(range(len(means))), {i: float(rng.random() < m) for i, m in enumerate(means)}
    rounds, samples = 1, len(means)
    while len(left) > 1:
        for i in left:
            wins[i] += rng.random() < means[i]
        rounds, samples = rounds + 1, samples + len(left)
        best, worst = (pick(left, key=wins.get) for pick in (max, min))
        if is_worse(
            wins[best] / rounds, wins[worst] / rounds, math.log((1 + math.log(samples)) / delta) / rounds
        ):
            left.remove(worst)
    return left[0], samples


def by_ratio(best, worst, level):
    middle = (best + worst) / 2
    return divergence(best, middle) + divergence(worst, middle) > level


def by_intervals(best, worst, level):
    """Whether some mean between them is too far from both."""
    low, high = worst, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if divergence(worst, middle) <= level else (low, middle)
    return low < best and divergence(best, low) > level


@pytest.mark.parametrize(("race", "test"), [(chernoff_race, by_ratio), (kl_race, by_intervals)])
def test_races_are_those_of_a_plain_loop(race, test):
    """A deterministic race exactly; means of random ones agree but with probability 1e-6 by chance."""
    for means in ([1.0, 0.0], [0.0, 1.0, 0.0]):
        sure = np.array(means), 0.1, np.random.default_rng(0)
        assert race(*sure) == plain_race(*sure, test)
    means = np.array([0.9, 0.3, 0.2])
    rng, other = np.random.default_rng(1), np.random.default_rng(2)
    own = np.array([race(means, 0.1, rng) for _ in range(60)])
    plain = np.array([plain_race(means, 0.1, other, test) for _ in range(60)])
    spread = math.hypot(own[:, 1].std(), plain[:, 1].std()) / math.sqrt(60)
    assert abs(own[:, 1].mean() - plain[:, 1].mean()) < 4.9 * spread
    assert (own[:, 0] != 0).mean() < 0.1


def rows(factor, *, error=0.5):
    """The published means times `factor`, with their standard errors."""
    for name, means in experiment._PUBLISHED.items():
        for rule, samples in zip(experiment._RULES, means, strict=True):
            row = {"means": name, "explorer": rule, "published": samples, "samples": factor * samples}
            yield row | {"s.e.": error, "s.d.": error, "low": 0.0, "high": 0.01}


@pytest.mark.parametrize(
    ("factor", "error", "near"), [(1.05, 0.5, True), (1.2, 0.5, False), (1.05, 1e4, None)]
)
def test_claims_follow_the_rows(factor, error, near):
    verdicts = dict(experiment.claims(list(rows(factor, error=error))))
    assert {verdicts[text] for text in verdicts if "within a tenth" in text} == {near}
    assert {verdicts[text] for text in verdicts if "fewer samples" in text} <= {True, None}
    assert {verdicts[text] for text in verdicts if "errs" in text} == {True}
    wrong = [row | {"low": 0.2, "high": 0.3} for row in rows(1.0)]
    assert {v for text, v in experiment.claims(wrong) if "errs" in text} == {False}


@pytest.mark.slow
def test_a_cell_is_played_and_drawn(tmp_path):
    found = []
    for cell in experiment.cells(quick=True):
        told = [experiment.play(cell, np.random.SeedSequence(1), number) for number in range(3)]
        found += experiment.sum_up(cell, told)
    assert {row["explorer"] for row in found} > set(experiment._RULES)
    assert all(row["samples"] > 0.2 * row["least possible"] for row in found)
    track_and_stop.experiment.draw(found, tmp_path)
    assert (tmp_path / "samples.png").stat().st_size > 0
