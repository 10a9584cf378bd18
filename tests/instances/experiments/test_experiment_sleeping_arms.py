"""CL-SG's comparison with arms that come and go: verdicts by intervals, the family, and one replication."""

import numpy as np
import pytest

from cmab import CUCB, simulate
from instances import BernoulliArms, SleepingSemiBandit
from instances.experiments import sleeping_arms as experiment
from oracles import Knapsack

CELL = experiment.cells(quick=True)[0]


def verdicts(runs):
    """The verdicts on replications with these regrets, by claim, and their table."""
    told = [[{"learner": name, "regret": x} for name, x in run.items()] for run in runs]
    table = experiment.SLEEPING_ARMS.sum_up(CELL, told)
    return {text.partition(": ")[2]: verdict for text, verdict in experiment.claims(table)}, table


def test_verdicts_go_by_intervals():
    names = ["CL-SG", "CTS-B", "CombUCB", "CTS-G"]
    for regrets, verdict in (((1.0, 2.0, 3.0, 4.0), True), ((4.0, 3.0, 2.0, 1.0), False), ((1.0,) * 4, None)):
        runs = [dict(zip(names, (x + 0.01 * run for x in regrets), strict=True)) for run in range(3)]
        found, _ = verdicts(runs)
        assert len(found) == 4 and set(found.values()) == {verdict}


def test_cl_sg_is_compared_within_replications():
    """Worlds that differ by 60, and a lead of 1 or 2 in each: eight runs decide, by Student's interval."""
    worlds = [40.0, 10.0, 70.0, 20.0, 50.0, 30.0, 60.0, 25.0]
    more = {"CTS-B": 1.0, "CL-SG": 0.0, "CombUCB": 500.0, "CTS-G": 1_000.0}
    runs = [{name: world + x * (1 + run % 2) for name, x in more.items()} for run, world in enumerate(worlds)]
    found, table = verdicts(runs)
    assert found["CL-SG has less regret than CTS-B"] is True
    own = table[0]
    # 1 and 2 four times each: mean 1.5, standard error sqrt(2 / 7) / sqrt(8); the quantile is 2.3646.
    half = 2.3646 * (2 / 7) ** 0.5 / 8**0.5
    assert (own["more"], own["more low"], own["more high"]) == pytest.approx(
        (1.5, 1.5 - half, 1.5 + half), rel=1e-4
    )
    swapped = [run | {"CL-SG": run["CTS-B"], "CTS-B": run["CL-SG"]} for run in runs]
    assert verdicts(swapped)[0]["CL-SG has less regret than CTS-B"] is False
    # In one run more the other one is far ahead: the mean is what it was but for little, and nothing is sure.
    odd = [*runs, {"CTS-B": 20.0, "CL-SG": 30.0, "CombUCB": 500.0, "CTS-G": 1_000.0}]
    assert verdicts(odd)[0]["CL-SG has less regret than CTS-B"] is None


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
