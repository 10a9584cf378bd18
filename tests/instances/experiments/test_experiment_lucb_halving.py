"""LUCB1 against Halving: verdicts follow the rows, the restart is the explorer's, the figure is drawn."""

import numpy as np
import pytest

from cmab import LUCB1Halving
from cmab.theory.hardness import halving_samples
from instances.experiments import lucb_halving as experiment
from instances.experiments._figures import draw_tolerances

SCALES = {"LUCB1": 1.0, "Halving": 100.0, "LUCB1, then Halving": 1.1}


def table():
    """Rows as the theory has them: 1 / epsilon^2, but for LUCB1 on two groups."""
    for cell in experiment.cells(quick=True):
        for rule, scale in SCALES.items():
            steady = cell["instance"] == "two groups" and rule != "Halving"
            samples = 10.0 * scale * cell["arms"] / (1.0 if steady else cell["epsilon"] ** 2)
            row = {**cell, "explorer": rule, "samples": samples, "most": samples, "s.e.": 1.0, "restarts": 0}
            yield {**row, "failures": 0, "low": 0.0, "high": 0.1}


def verdicts(rows, text):
    found = [verdict for claim, verdict in experiment.claims(rows) if text in claim]
    assert found
    return found


def test_claims_follow_the_rows():
    assert all(verdict for _, verdict in experiment.claims(list(table())))


@pytest.mark.parametrize(
    ("rule", "column", "change", "text"),
    [
        ("Halving", "low", lambda row: 0.11, "errs"),
        ("Halving", "samples", lambda row: row["samples"] * row["epsilon"], "Halving's samples grow"),
        ("LUCB1, then Halving", "most", lambda row: 1e9, "worst case"),
        ("LUCB1, then Halving", "samples", lambda row: 1.6 * row["samples"], "on average"),
        ("LUCB1", "samples", lambda row: row["samples"] / row["epsilon"], "H ln(H / delta)"),
        ("LUCB1", "samples", lambda row: 1e-3, "Theorem 8"),
        ("LUCB1", "samples", lambda row: row["samples"] / row["epsilon"], "hardly depend"),
    ],
)
def test_claims_can_fail(rule, column, change, text):
    rows = list(table())
    for row in rows:
        if row["explorer"] == rule:
            row[column] = change(row)
    assert not any(verdicts(rows, text))


def measured(cell):
    """The rows of a cell, of as many replications as a quick run has."""
    told = [experiment.play(cell, np.random.SeedSequence(0), replication) for replication in range(20)]
    return experiment.sum_up(cell, told)


def test_a_cell_is_measured():
    lucb, halving, both = measured({"instance": "arm 0 bad", "arms": 12, "epsilon": 0.16})
    assert halving["samples"] == halving["most"] == halving_samples(12, 6, epsilon=0.16, delta=0.1)
    assert lucb["samples"] < both["samples"] * 1.1 < halving["samples"]
    assert all(row["failures"] <= 10 for row in (lucb, halving, both))  # more: below 1e-6
    assert both["restarts"] == 0


def test_restarts_are_those_of_the_explorer(monkeypatch):
    monkeypatch.setattr(LUCB1Halving, "most_rounds", 30)
    both = measured({"instance": "arm 0 good", "arms": 12, "epsilon": 0.16})[2]
    assert both["restarts"] == 20
    assert both["samples"] == both["most"] == LUCB1Halving(12, 6, epsilon=0.16, delta=0.1).most_samples
    assert both["failures"] <= 10


@pytest.mark.slow
def test_the_figure_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    draw_tolerances(list(table()), tmp_path)
    assert (tmp_path / "samples.png").stat().st_size > 10_000
