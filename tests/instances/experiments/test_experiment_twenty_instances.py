"""Samples over T* ln(1 / delta) on twenty instances: their times, verdicts from rows, and the figure."""

import numpy as np
import pytest

from cmab.theory.characteristic_time import characteristic_time, gaussian_divergence
from instances.experiments import twenty_instances as experiment


def test_there_are_twenty_instances_with_one_best_answer_each():
    names = [cell["instance"] for cell in experiment.cells(quick=False)]
    assert len(set(names)) == 20
    assert len(experiment.cells(quick=True)) == 10
    for name in names:
        means, family, rules = experiment.instance(name)
        k = experiment._BEST_K[name][0] if family is None else 0
        if family is None:
            assert np.sort(means)[-k] > np.sort(means)[-k - 1]
        else:
            sums = sorted(means[arms].sum() for arms in family.super_arms)
            assert sums[-1] > sums[-2] + 1e-9
        assert all(rule.n_arms == len(means) for rule in rules.values())


def test_times_of_known_instances():
    means = experiment.instance("0.5 to 0.4")[0]
    expected = characteristic_time(means, divergence=gaussian_divergence)[1] * experiment.SIGMA**2
    assert experiment.time_of("0.5 to 0.4") == pytest.approx(expected, rel=1e-3)
    # Two disjoint sets of 6 arms, gap 1.2: equal shares, 12 arms of share 1/12.
    assert experiment.time_of("two sets") == pytest.approx(2 * 0.25 * 144 / 1.2**2, rel=2e-3)


def rows(factors, *, error=0.01, errors=0):
    for rule, ratio in factors.items():
        row = {"instance": "two sets", "explorer": rule, "ratio": ratio, "s.e.": error}
        yield row | {"errors": errors, "runs": 100}


@pytest.mark.parametrize(("factors", "fewer"), [((2.0, 4.0, 8.0), True), ((9.0, 4.0, 3.0), False)])
def test_claims_follow_the_rows(factors, fewer):
    names = ("BestKGLR", "lil'CLUCB", "CLUCB")
    table = list(rows(dict(zip(names, factors, strict=True))))
    verdicts = dict(experiment.claims(table))
    assert {verdicts[text] for text in verdicts if "samples than" in text} == {fewer}
    assert {verdicts[text] for text in verdicts if "errs" in text} == {True}
    wide = list(rows(dict(zip(names, factors, strict=True)), error=9.0, errors=30))
    verdicts = dict(experiment.claims(wide))
    assert {verdicts[text] for text in verdicts if "samples than" in text} == {None}
    assert {verdicts[text] for text in verdicts if "errs" in text} == {False}


@pytest.mark.parametrize(("ratio", "fewer"), [(4.0, True), (8.0, False), (7.005, None)])
def test_the_claim_on_pfws_for_the_best_k_follows_the_rows(ratio, fewer):
    table = list(
        rows({"P-FWS": ratio, "BestKGLR": 7.0, "lil'RandLUCB": 15.0, "lil'LUCB": 16.0, "LUCB1": 30.0})
    )
    assert dict(experiment.claims(table))["two sets: P-FWS takes fewer samples than BestKGLR"] is fewer


@pytest.mark.slow
def test_pfws_plays_the_first_replications_only():
    """The other rules have the same seeds in all replications."""
    cell, seed = {"instance": "0.3 lil-exponential, 10 arms"}, np.random.SeedSequence(0, spawn_key=(6,))
    told = [experiment.play(cell, seed, number) for number in (38, 39, 40)]
    found = {row["explorer"]: row for row in experiment.sum_up(cell, told)}
    assert [row["runs"] for row in found.values()] == [3, 3, 2, 3, 3, 3, 3, 3]
    assert list(found)[:3] == ["BestKGLR", "Track-and-Stop", "P-FWS"]
    samples = [run["samples"] for runs in told for run in runs if run["explorer"] == "P-FWS"]
    assert found["P-FWS"]["samples"] == sum(samples) / 2


@pytest.mark.slow
def test_cells_are_played_and_drawn(tmp_path):
    found = []
    for name in ("1-sparse, 10 arms, k = 2", "trees, two levels"):
        told = [experiment.play({"instance": name}, np.random.SeedSequence(1), number) for number in range(3)]
        found += experiment.sum_up({"instance": name}, told)
    table = {(row["instance"], row["explorer"]): row["ratio"] for row in found}
    assert table["trees, two levels", "lil'CLUCB"] < table["trees, two levels", "CLUCB"]
    assert table["1-sparse, 10 arms, k = 2", "BestKGLR"] < table["1-sparse, 10 arms, k = 2", "LUCB1"]
    experiment.draw(found, tmp_path)
    for figure in ("the-k-best-arms.png", "super-arms.png"):
        assert (tmp_path / figure).stat().st_size > 0
