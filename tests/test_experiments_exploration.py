"""Experiments on exploration: tables with honest intervals, and the verdicts that hold at quick sizes."""

import numpy as np
import pytest

from cmab import UniformAllocation
from instances import audibert_bubeck_munos, power_gap_means
from instances.experiments import aggregate as experiments_aggregate
from instances.experiments import fixed_budget as experiments_fixed_budget
from instances.experiments._explorations import play_shuffled


def test_fixed_budget_table_and_verdicts():
    rows = measured(experiments_fixed_budget.FIXED_BUDGET, {"problem": 4}, 50)
    assert len(rows) == 9
    assert all(row["samples"] <= row["budget"] and row["low"] <= row["rate"] <= row["high"] for row in rows)
    verdicts = dict(experiments_fixed_budget.claims(rows))
    assert verdicts["problem 4: SuccessiveRejects errs less than uniform allocation"] is not False


def measured(experiment, cell, replications, play=None):
    """The rows of a cell."""
    seed = np.random.SeedSequence
    told = [(play or experiment.play)(cell, seed(1), number) for number in range(replications)]
    return experiment.sum_up(cell, told)


def test_labels_are_shuffled_and_the_rules_meet_the_same_arms():
    means, rules = np.array([0.9, 0.5, 0.1]), {name: UniformAllocation(3, 1, budget=12) for name in "AB"}
    seen = []

    def judge(shuffled, named):
        seen.append(shuffled.tolist())
        return is_wrong(shuffled, named)

    for replication in range(6):
        seed = np.random.SeedSequence(3)
        first, second = play_shuffled(rules, means, is_wrong=judge, seed=seed, replication=replication)
        assert first | {"explorer": "B"} == second
        assert first["samples"] == 12
    assert seen[::2] == seen[1::2]
    assert len({tuple(shuffled) for shuffled in seen}) > 1


def is_wrong(means, named):
    return means[named[0]] < 0.9


@pytest.mark.slow
def test_aggregate_regret_verdicts(monkeypatch):
    """Rates far apart in an independent implementation: .69 and .94, .03 and 0, with 50 runs each.

    CLUCB-PAC takes most of the time and fails never: 25 runs tell that from .69, and one cell needs none.
    """
    rows, slow = [], experiments_aggregate.clucb_pac
    for cell, runs in zip(experiments_aggregate.cells(quick=True), (25, 1), strict=True):
        monkeypatch.setattr(experiments_aggregate, "clucb_pac", lambda *_, **__: [])
        rows += measured(experiments_aggregate.AGGREGATE_REGRET, cell, 50)
        means, budgets = experiments_aggregate._means(cell["instance"], cell["k"]), cell["budgets"]

        def alone(cell, seed, replication, means=means, budgets=budgets):
            return slow(means, cell["k"], budgets=budgets, seed=seed, replication=replication)

        rows += measured(experiments_aggregate.AGGREGATE_REGRET, cell, runs, alone)
    verdicts = dict(experiments_aggregate.claims(rows))
    assert verdicts["TWOGROUP, k=100, 30000 pulls: AdaptiveTopK fails less often than CLUCB-PAC"] is False
    assert (
        verdicts["TWOGROUP, k=100, 50000 pulls: AdaptiveTopK scaled fails less often than OptMAI"]
        is not False
    )
    assert verdicts["UNIFORM, k=100, 30000 pulls: AdaptiveTopK fails less often than OptMAI"] is False


def test_problems_have_a_unique_best_arm_first():
    for problem in range(1, 8):
        means, budget = audibert_bubeck_munos(problem)
        assert (means[1:] < means[0]).all()
        assert budget > len(means)
    assert np.allclose(power_gap_means(10, 3), 1 - np.arange(1, 11) / 10)
