"""Two disjoint super arms: verdicts follow the rows, the rules are as they should be, the figure is drawn."""

import numpy as np
import pytest

from instances.experiments import two_sets as experiment

RULES = ("CTS", "CTS shared", "CL-SG", "BG-CTS", "CUCB")


def table():
    """Rows as the theory has them: k^2 at most, but for CTS, which loses nearly half of what it could."""
    for cell in experiment.cells(quick=True):
        k = cell["k"]
        for rule in RULES:
            regret = 10.0 * k if rule != "CTS" else 0.4 * 300 * k
            yield {
                "k": k,
                "learner": rule,
                "regret": regret,
                "s.e.": 0.05 * regret,
                "share": regret / (300 * k),
            }


def test_claims_follow_the_rows():
    assert all(verdict for _, verdict in experiment.claims(list(table())))


@pytest.mark.parametrize(
    ("rule", "regret", "text"),
    [
        ("CTS", lambda row: 30.0 * row["k"], "CTS loses"),
        ("CTS", lambda row: 5.0 * row["k"], "CTS shared has less"),
        ("BG-CTS", lambda row: 1e-3 * row["k"] ** 4, "BG-CTS's regret grows"),
        ("CL-SG", lambda row: 200.0 * row["k"], "CL-SG has less"),
    ],
)
def test_claims_can_fail(rule, regret, text):
    rows = list(table())
    for row in rows:
        if row["learner"] == rule:
            row["regret"] = regret(row)
            row["s.e."], row["share"] = 0.01 * row["regret"], row["regret"] / (300 * row["k"])
    found = [verdict for claim, verdict in experiment.claims(rows) if text in claim]
    assert found == [False]


@pytest.mark.slow
def test_one_number_a_round_spares_what_independent_draws_cost(tmp_path):
    """At k = 16, ten runs: a tenth of the regret, and the same rows for the same seed."""
    cell, seed = {"k": 16}, np.random.SeedSequence(0)
    told = [experiment.play(cell, seed, replication) for replication in range(10)]
    rows = experiment.sum_up(cell, told)
    regrets = {row["learner"]: row["regret"] for row in rows}
    assert list(regrets) == list(RULES)
    assert regrets["CTS"] > 5 * regrets["CTS shared"]
    assert regrets["CTS"] > 3 * regrets["BG-CTS"]
    assert experiment.play(cell, np.random.SeedSequence(0), 3) == told[3]
    experiment.draw(rows, tmp_path)
    assert (tmp_path / "regret.png").stat().st_size > 5000
