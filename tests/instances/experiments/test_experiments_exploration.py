"""Experiments on exploration: tables with honest intervals, and the verdicts that hold at quick sizes."""

import numpy as np
import pytest

from cmab import UniformAllocation
from instances import audibert_bubeck_munos, power_gap_means
from instances.experiments import aggregate as experiments_aggregate
from instances.experiments import fixed_budget as experiments_fixed_budget
from instances.experiments._experiment import page
from instances.experiments._rows import play_shuffled


@pytest.mark.slow
def test_fixed_budget_table_and_verdicts():
    rows = measured(experiments_fixed_budget.FIXED_BUDGET, {"problem": 4}, 50)
    assert len(rows) == 11
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


def test_a_lead_is_larger_where_it_is_beyond_two_standard_errors():
    def row(instance, explorer, rate):
        plain = {"instance": instance, "k": 100, "budget": 10_000, "explorer": explorer, "rate": rate}
        return plain | {"low": rate, "high": rate, "replications": 100}

    rates = {"UNIFORM": (0.5, 0.6), "SYNTHETIC-.5": (0.1, 0.9), "SYNTHETIC-6": (0.5, 0.62)}
    ours, others = ("AdaptiveTopK", "AdaptiveTopK scaled"), ("OptMAI", "CLUCB-PAC")
    rows = [row(cell, name, own) for cell, (own, _) in rates.items() for name in ours]
    rows += [row(cell, name, other) for cell, (_, other) in rates.items() for name in others]
    verdicts = dict(experiments_aggregate.claims(rows))
    # .8 against .1, with errors of .04 and .07; then .12 against .1, which nobody can tell.
    assert verdicts["SYNTHETIC-.5, k=100: AdaptiveTopK leads OptMAI by more than on UNIFORM"] is True
    assert verdicts["SYNTHETIC-6, k=100: AdaptiveTopK leads OptMAI by more than on UNIFORM"] is None


def test_the_page_counts_what_holds_and_tells_the_papers_claims_from_ours():
    rates = {"UGapEb": 0.5, "uniform": 0.3, "SuccessiveRejects": 0.1, "UCB-E c=1": 0.3, "CR-A": 0.15}
    rows = [
        {"problem": 4, "explorer": name, "rate": rate, "low": rate - 0.01, "high": rate + 0.01}
        for name, rate in rates.items()
    ]
    rows += [{**rows[0], "explorer": name} for name in ("UGapEb c=1",)]
    told = page(experiments_fixed_budget.FIXED_BUDGET, rows, runs=400, rng=7)
    assert "2 claims hold, 1 are open, 3 do not hold." in told
    assert "Seed 7, 400 runs of each cell, cmab " in told
    paper, _ = told.split("## Claims of ours")
    assert "| problem 4: SuccessiveRejects errs less than uniform allocation | Audibert et al." in paper
    assert "| problem 4: CR-A errs less than SuccessiveRejects | Wang et al." in paper
