"""Scores of the arena against a plain reference, written from their definitions."""

import math
import statistics

import numpy as np
import pytest

from cmab.arena import Curves, Played, Standings
from cmab.arena._scores import FLOOR, interval, resampled, summarised

ROUNDS = [1, 10, 50, 100]
ENTRIES = ("CTS", "A", "B", "C")


def standings(seed=0, n=6):
    """Return standings of four problems; C does not play the last two, and regrets of `flat` are tiny."""
    rng = np.random.default_rng(seed)
    problems = tuple(
        Played(name, "top-k", "a test", held_out, 100)
        for name, held_out in (("one", False), ("two", False), ("flat", False), ("held", True))
    )
    curves = {}
    for problem in problems:
        worth = np.tile(5.0 * np.array(ROUNDS), (n, 1))
        for i, entry in enumerate(ENTRIES):
            if entry == "C" and problem.name in ("flat", "held"):
                continue
            size = 0.0001 if problem.name == "flat" else 1.0 + i
            regret = np.cumsum(size * rng.gamma(2.0, 1.0, (n, len(ROUNDS))), axis=1)
            curves[problem.name, entry] = Curves(np.array(ROUNDS), regret, worth, rng.random(n))
    return Standings(problems, ENTRIES, curves)


def reference(given, part):
    """Return the scores of a part by loops over plain numbers."""
    ratios = {entry: [] for entry in given.entries}
    tails = {entry: [] for entry in given.entries}
    for problem in given.problems:
        if problem.held_out != (part == "held out"):
            continue
        own = {e: given.curves[problem.name, e] for e in given.entries if (problem.name, e) in given.curves}
        for rounds in (10, 100):
            place = ROUNDS.index(rounds)
            floor = 0.001 * 5.0 * rounds
            means = {e: max(floor, statistics.fmean(c.regret[:, place])) for e, c in own.items()}
            middle = max(floor, statistics.median(own["CTS"].regret[:, place]))
            for entry, mean in means.items():
                ratios[entry].append(mean / min(means.values()))
                high = max(floor, float(np.percentile(own[entry].regret[:, place], 95)))
                tails[entry].append(high / middle)
    return {
        entry: {
            "mean": math.prod(values) ** (1.0 / len(values)),
            "worst": max(values),
            "close": sum(v <= 1.5 for v in values) / len(values),
            "largest tail": max(tails[entry]),
            "median tail": statistics.median(tails[entry]),
        }
        for entry, values in ratios.items()
        if values
    }


@pytest.mark.parametrize("part", ["open", "held out"])
def test_scores_agree_with_the_reference(part):
    given = standings()
    rows = {row["entry"]: row for row in given.scores()}
    wanted = reference(given, part)
    assert set(rows) == set(ENTRIES)
    for entry, scores in wanted.items():
        for name, value in scores.items():
            assert rows[entry][f"{part} {name}"] == pytest.approx(value), (entry, name)
    if part == "held out":
        assert math.isnan(rows["C"]["held out mean"])


def test_equal_tiny_regrets_have_ratio_one():
    """The floor is a thousandth of the benchmark: 0.05 after ten rounds, with regrets below 0.01."""
    assert FLOOR == 0.001
    assert set(standings().ratios("flat").values()) == {(1.0, 1.0)}


def test_ratios_are_at_least_one_and_the_best_has_one():
    given = standings()
    for problem in ("one", "two", "held"):
        ratios = given.ratios(problem)
        assert min(value for _, value in ratios.values()) == 1.0 == ratios[given.best(problem)][1]


def test_scores_after_part_of_the_rounds():
    given = standings()
    both, first, last = ({r["entry"]: r for r in given.scores(after=a)} for a in ("both", "a tenth", "all"))
    for entry in ENTRIES:
        product = first[entry]["open mean"] * last[entry]["open mean"]
        assert both[entry]["open mean"] == pytest.approx(math.sqrt(product))
        assert both[entry]["open worst"] == max(first[entry]["open worst"], last[entry]["open worst"])


def test_bootstrap_is_paired():
    """If every replication of an entry has twice the regret of another, each resample has the same ratio."""
    given = standings()
    curves = dict(given.curves)
    for name in ("one", "two"):
        base = curves[name, "CTS"]
        for entry, factor in (("A", 2.0), ("B", 3.0), ("C", 4.0)):
            curves[name, entry] = Curves(base.rounds, factor * base.regret, base.worth, base.seconds)
    paired = Standings(given.problems[:2], ENTRIES, curves)
    row = next(row for row in paired.scores() if row["entry"] == "B")
    assert (row["open low"], row["open mean"], row["open high"]) == pytest.approx((3.0, 3.0, 3.0))


def test_interval_covers_the_truth():
    """The interval of a ratio of means of 40 replications covers the ratio 2.

    With 400 runs and a coverage of at least 0.9, fewer than 330 covering intervals have probability below
    1e-6 (binomial). The seed is fixed.
    """
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(400):
        values = rng.gamma(4.0, 1.0, (40, 2)) * [1.0, 2.0]
        means = np.einsum("br,re->be", resampled(40, 300, rng), values)
        low, high = interval(summarised((means / means[:, :1])[:, None])["mean"])
        covered += low[1] <= 2.0 <= high[1]
    assert covered >= 330


def test_matches_have_means_and_errors():
    given = standings()
    rows = given.matches()
    assert len(rows) == 2 * len(given.curves)
    row = next(r for r in rows if (r["problem"], r["entry"], r["rounds"]) == ("two", "B", 100))
    values = given.curves["two", "B"].regret[:, -1].tolist()
    assert row["regret"] == pytest.approx(statistics.fmean(values))
    assert row["s.e."] == pytest.approx(statistics.stdev(values) / math.sqrt(len(values)))


def test_entries_of_some_kinds_come_last():
    given = standings()
    curves = {pair: c for pair, c in given.curves.items() if pair[1] != "C" or pair[0] == "one"}
    assert Standings(given.problems, ENTRIES, curves).scores()[-1]["entry"] == "C"
