"""Experiments on exploration: tables with honest intervals, and the verdicts that hold at quick sizes."""

import numpy as np
import pytest

from cmab import UniformAllocation
from instances import audibert_bubeck_munos, synthetic
from instances.experiments import aggregate as experiments_aggregate
from instances.experiments import fixed_budget as experiments_fixed_budget
from instances.experiments._explorations import compare, wilson_interval


def test_fixed_budget_table_and_verdicts():
    cell = {"problem": 4}
    rows = [cell | row for row in experiments_fixed_budget.measure(cell, True, 1, 1)]
    assert len(rows) == 9
    assert all(row["samples"] <= row["budget"] and row["low"] <= row["rate"] <= row["high"] for row in rows)
    verdicts = dict(experiments_fixed_budget.claims(rows))
    assert verdicts["problem 4: SuccessiveRejects errs less than uniform allocation"] is not False


def test_tables_are_the_same_for_any_number_of_workers():
    means, rules = np.array([0.9, 0.5, 0.1]), {"uniform": UniformAllocation(3, 1, budget=12)}
    tables = [compare(rules, means, is_wrong, 20, 3, n_jobs) for n_jobs in (1, 2)]
    assert tables[0] == tables[1]
    assert tables[0][0]["samples"] == 12


def is_wrong(means, named):
    return means[named[0]] < 0.9


@pytest.mark.slow
def test_aggregate_regret_verdicts(monkeypatch):
    """Rates far apart in an independent implementation: .69 and .94, .03 and 0, with 50 runs each.

    CLUCB-PAC takes most of the time and fails never: 15 runs tell that from .69, and one cell needs none.
    """
    rows, slow = [], experiments_aggregate._clucb_pac
    for cell, runs in zip(experiments_aggregate.cells(quick=True), (15, 1), strict=True):
        monkeypatch.setattr(
            experiments_aggregate, "_clucb_pac", lambda m, k, b, _, *rest, r=runs: slow(m, k, b, r, *rest)
        )
        rows += [cell | row for row in experiments_aggregate.measure(cell, True, 1, 1)]
    verdicts = dict(experiments_aggregate.claims(rows))
    assert verdicts["TWOGROUP, k=100, 30000 pulls: AdaptiveTopK fails less often than CLUCB-PAC"] is False
    assert (
        verdicts["TWOGROUP, k=100, 50000 pulls: AdaptiveTopK scaled fails less often than OptMAI"]
        is not False
    )
    assert verdicts["UNIFORM, k=100, 30000 pulls: AdaptiveTopK fails less often than OptMAI"] is False


def test_wilson_interval():
    assert wilson_interval(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson_interval(10, 10)[1] == pytest.approx(1.0)


def test_problems_have_a_unique_best_arm_first():
    for problem in range(1, 8):
        means, budget = audibert_bubeck_munos(problem)
        assert (means[1:] < means[0]).all()
        assert budget > len(means)
    assert np.allclose(synthetic(10, 3), 1 - np.arange(1, 11) / 10)
