"""CL-SG's comparison with arms that come and go: verdicts by intervals, the family, and one replication."""

import numpy as np
import pytest

from cmab import CUCB, simulate
from instances import BernoulliArms, SleepingSemiBandit
from instances.experiments import sleeping_arms as experiment
from oracles import Knapsack


def rows(regrets):
    return [
        {**cell, "learner": name, "regret": x, "low": 0.9 * x, "high": 1.1 * x}
        for cell in experiment.cells(quick=True)
        for name, x in regrets.items()
    ]


def test_verdicts_go_by_intervals():
    verdicts = experiment.claims(rows({"CL-SG": 10.0, "CTS-B": 11.0, "CombUCB": 40.0, "CTS-G": 90.0}))
    assert len(verdicts) == 3 * 4
    assert {verdict for text, verdict in verdicts if "CTS-B" in text} == {None}
    assert {verdict for text, verdict in verdicts if "CTS-B" not in text} == {True}
    backwards = experiment.claims(rows({"CL-SG": 90.0, "CTS-B": 10.0, "CombUCB": 30.0, "CTS-G": 20.0}))
    assert {verdict for _, verdict in backwards} == {False}


def test_the_family_is_that_of_a_knapsack_of_equal_weights():
    """The k best of what is there, or all of it if that is less: the same play on the same coins."""
    arms, runs = BernoulliArms([0.9, 0.8, 0.9, 0.8, 0.8]), []
    for oracle in (experiment.AtMost(5, 3), Knapsack([1] * 5, 3)):
        place = SleepingSemiBandit(arms, oracle, availability=0.5)
        runs.append(simulate(CUCB(oracle), place, 200, rng=0))
    assert np.array_equal(runs[0].optima, runs[1].optima)
    assert (runs[0].states[0].counts > 20).all()


@pytest.mark.slow
def test_a_replication_tells_every_learner_and_is_the_same_again(tmp_path):
    cell, seed = {**experiment.cells(quick=True)[0], "horizon": 100}, np.random.SeedSequence
    told = experiment.play(cell, seed(5), 1)
    assert [row["learner"] for row in told] == ["CTS-B", "CL-SG", "CombUCB", "CTS-G"]
    assert told == experiment.play(cell, seed(5), 1) != experiment.play(cell, seed(5), 2)
    table = experiment.SLEEPING_ARMS.sum_up(cell, [told, experiment.play(cell, seed(5), 2)])
    experiment.SLEEPING_ARMS.draw(table, tmp_path)
    assert list(tmp_path.glob("regret*"))
