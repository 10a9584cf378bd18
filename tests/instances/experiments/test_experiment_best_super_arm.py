"""The best super arm: large families, CombGame's learner by definition, verdicts, and the figure."""

import math

import networkx as nx
import numpy as np
import pytest

from cmab import Feedback, identify
from instances import GaussianArms
from instances.experiments import best_super_arm as experiment
from oracles import TopK


def test_the_large_families_have_as_many_super_arms_as_their_names_say():
    streets, _ = experiment._large(experiment.LARGE[0])
    ways = {(0, 0): 1}
    for i in range(13):
        for j in range(13):
            ways[i, j] = max(1, ways.get((i - 1, j), 0) + ways.get((i, j - 1), 0))
    trees = round(np.linalg.det(nx.laplacian_matrix(nx.complete_graph(9)).toarray()[1:, 1:]))
    numbers = [ways[12, 12], math.prod(range(1, 11)), trees]
    assert [f"{n:,}" for n in numbers] == [name.split()[0] for name in experiment.LARGE]
    assert numbers == [experiment._large(name)[1] for name in experiment.LARGE]
    assert streets.n_arms == 2 * 12 * 13


def test_every_instance_has_one_best_super_arm_and_all_rules():
    for cell in experiment.cells(quick=False):
        means, rules = experiment.problem(cell["instance"])
        assert len(rules) == 5
        assert all(rule.n_arms == len(means) for rule in rules.values())


def test_the_learner_of_combgame_is_adahedge():
    """The weights over 40 plays without noise, against the definitions of AdaHedge and of the rival."""
    means, sigma = np.array([1.0, 0.7, 0.2]), 0.5
    rule, rng = experiment.CombGame(TopK(3, 1), delta=0.1, sigma=sigma, growth=0.0), np.random.default_rng(0)
    state, counts = rule.initial_state(), np.ones(3)
    rule.update(state, Feedback(np.arange(3), means))
    gains, gap, weights = np.zeros(3), 0.0, np.ones(3)
    for t in range(3, 43):
        if gap == 0.0:
            w = (gains == gains.max()) / (gains == gains.max()).sum()
        else:
            w = np.exp(math.log(3) / gap * (gains - gains.max()))
            w /= w.sum()
        v = np.maximum(w, 1e-9)
        pairs = [((means[0] - means[j]) ** 2 / (1 / v[0] + 1 / v[j]), j) for j in (1, 2)]
        j = min(pairs)[1]
        move = (means[0] - means[j]) / (1 / v[0] + 1 / v[j]) / v * np.isin(np.arange(3), (0, j))
        gained = (move + np.sqrt(2 * sigma**2 * math.log(t) / counts)) ** 2 / (2 * sigma**2)
        eta = math.log(3) / gap if gap else math.inf
        mix = gained[w > 0].max() if eta == math.inf else math.log(w @ np.exp(eta * gained)) / eta
        gap, gains = gap + max(0.0, mix - w @ gained), gains + gained
        weights += w * (t > 3)
        assert state.memory[0] == pytest.approx(gap, rel=1e-6)
        assert state.memory[4:] == pytest.approx(weights, rel=1e-6)
        arm = rule.critical(state, rng)
        assert arm == np.argmin(counts - weights)
        counts[arm] += 1
        rule.update(state, Feedback(arm, means[arm]))


@pytest.mark.slow
def test_combgame_names_the_best_arm():
    found = identify(
        experiment.CombGame(TopK(4, 2), delta=0.1),
        GaussianArms([0.9, 0.1, 0.8, 0.2], 0.5),
        replications=3,
        rng=0,
        max_samples=100_000,
    )
    assert found.correct.all()


def rows(samples, *, error=1.0, errors=0):
    for rule, number in samples.items():
        row = {"instance": "two sets", "explorer": rule, "samples": number, "s.e.": error}
        yield row | {"errors": errors, "runs": 100}


@pytest.mark.parametrize(("numbers", "fewer"), [((20.0, 40.0, 80.0), True), ((90.0, 40.0, 30.0), False)])
def test_claims_follow_the_rows(numbers, fewer):
    names = ("P-FWS", "lil'CLUCB", "CLUCB")
    verdicts = dict(experiment.claims(list(rows(dict(zip(names, numbers, strict=True))))))
    assert {verdicts[text] for text in verdicts if "samples than" in text} == {fewer}
    assert {verdicts[text] for text in verdicts if "errs" in text} == {True}
    wide = list(rows(dict(zip(names, numbers, strict=True)), error=900.0, errors=30))
    verdicts = dict(experiment.claims(wide))
    assert {verdicts[text] for text in verdicts if "samples than" in text} == {None}
    assert {verdicts[text] for text in verdicts if "errs" in text} == {False}


@pytest.mark.slow
def test_cells_are_played_and_drawn(tmp_path):
    cell = {"instance": "two sets"}
    told = [experiment.play(cell, np.random.SeedSequence(1), number) for number in range(2)]
    found = experiment.sum_up(cell, told)
    table = {row["explorer"]: row["ratio"] for row in found}
    assert 1.0 < table["P-FWS"] < table["lil'CLUCB"] < table["CLUCB"]
    experiment.draw(found + [row | {"instance": experiment.LARGE[0]} for row in found], tmp_path)
    for figure in ("listed-super-arms.png", "millions-of-super-arms.png"):
        assert (tmp_path / figure).stat().st_size > 0
