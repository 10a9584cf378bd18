"""Index rules against Thompson sampling: the instances, the paper's CTS-G, verdicts by intervals."""

import math

import numpy as np
import pytest

from instances.experiments import semi_bandits
from instances.experiments._rows import mean_regrets
from oracles import TopK


def rows(regrets):
    """A table as measured: these regrets by learner, intervals of 10 % to either side, in every cell."""
    return [
        {**cell, "learner": name, "regret": x, "low": 0.9 * x, "high": 1.1 * x}
        for cell in semi_bandits.cells(quick=True)
        for name, x in regrets.items()
    ]


def test_verdicts_go_by_intervals():
    regrets = {"CTS-B": 1.0, "CL-SG": 2.0, "CombUCB": 3.0, "CTS-G": 4.0, "KL-CUCB": 2.0}
    verdicts = dict(semi_bandits.claims(rows(regrets)))
    assert len(verdicts) == 3 * 3 + 2
    assert all(verdict is True for verdict in verdicts.values())
    backwards = dict(zip(regrets, [4.0, 3.0, 2.0, 1.0, 4.0], strict=True))
    assert {verdict for _, verdict in semi_bandits.claims(rows(backwards))} == {False}


@pytest.mark.parametrize("cell", semi_bandits.cells(quick=True), ids=lambda cell: cell["instance"])
def test_instances_have_k_good_arms_anywhere(cell):
    first, second = (semi_bandits.environment(cell, np.random.default_rng(seed)).means for seed in (0, 1))
    assert sorted(first) == sorted(second) and first.tolist() != second.tolist()
    assert (first == first.max()).sum() == cell["k"] and len(set(first)) == 2


@pytest.mark.slow
def test_the_width_of_cts_g_is_that_of_the_authors():
    """Four thousand draws of round 50, variance gamma k ln t / (N + 1): false alarm 1e-4."""
    policy = semi_bandits.learners(TopK(3, 2))["CTS-G"]
    state, rng = policy.initial_state(), np.random.default_rng(0)
    state.counters[:], state.means[:], state.rounds = [0, 3, 24], [0.0, 0.5, 0.8], 49
    draws = np.array([policy.indices(state, rng) for _ in range(4000)])
    wanted = 0.1 * 2 * math.log(50) / (state.counts + 1.0)
    np.testing.assert_allclose(draws.var(axis=0) / wanted, 1.0, atol=4 * math.sqrt(2 / 4000))
    np.testing.assert_allclose(draws.mean(axis=0), state.means, atol=4 * math.sqrt(wanted.max() / 4000))


@pytest.mark.slow
def test_a_replication_tells_every_learner_and_is_the_same_again():
    cell = {**semi_bandits.cells(quick=True)[0], "horizon": 200}
    seed = np.random.SeedSequence
    told = semi_bandits.play(cell, seed(5), 1)
    assert [row["learner"] for row in told] == list(semi_bandits.learners(TopK(10, 3)))
    assert told == semi_bandits.play(cell, seed(5), 1) != semi_bandits.play(cell, seed(5), 2)
    (first, *_) = mean_regrets(cell, [told, semi_bandits.play(cell, seed(5), 2)])
    assert first["low"] < first["regret"] < first["high"] and first["replications"] == 2


@pytest.mark.slow
def test_the_figure_is_drawn(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    semi_bandits.SEMI_BANDITS.draw(rows({"CTS-B": 1.0, "CombUCB": 3.0, "CTS-G": 4.0}), tmp_path)
    assert (tmp_path / "regret.png").stat().st_size > 5000
