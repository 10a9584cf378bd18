"""Published experiments: every one runs and resumes, and orders learners by paired runs."""

from dataclasses import replace

import numpy as np
import pytest

from cmab import ArmStatistics
from cmab.cli import main
from instances.reproduce import experiment as engine
from instances.reproduce.experiment import experiments, order, run
from instances.reproduce.identification import LessSampled
from instances.reproduce.regret import family_of

#: Short cells, in place of the first cell of the quick form.
SHORT = {
    "aggregate-regret": {"instance": "TWOGROUP", "k": 100, "budget": 3_000},
    "lil-rand-lucb": {"instance": "0.3-exponential", "k": "2", "arms": 10},
    "lucb-halving": {"instance": "two groups", "arms": 12, "epsilon": 0.5},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", experiments())
def test_a_run_has_measures_for_every_learner(name):
    experiment = experiments()[name]
    cell = SHORT.get(name, experiment.cells(True)[0])
    if "horizon" in cell:
        cell = cell | {"horizon": 300}
    found = experiment.play(cell, np.random.default_rng(1), 2)
    again = experiment.play(cell, np.random.default_rng(1), 2)
    assert found == again
    assert all(np.isfinite(measures[experiment.measure]) for measures in found.values())
    named = {learner for pair in experiment.orders for learner in pair}
    cells = experiment.cells(False)
    assert named & found.keys() or len(cells) > 10
    rows = engine.summarised(experiment, cell, [found, again])
    assert [row["learner"] for row in rows] == [*found]


def coins(cell, rng, seed):
    value = rng.random()
    return {
        "a": {"regret": value, "wrong": False},
        "b": {"regret": value + cell["gap"], "wrong": True},
        "c": {"regret": rng.random(), "wrong": seed % 2 == 0},
    }


TINY = engine.Experiment(
    "a test",
    "regret",
    lambda quick: [{"gap": gap} for gap in (0.1, -0.1)],
    coins,
    (8, 9),
    (1, 1),
    [("a", "b"), ("a", "c")],
)


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(engine, "experiments", lambda: {"tiny": TINY})


def test_rows_orders_and_resumed_runs(tiny, tmp_path, monkeypatch):
    rows, orders = run("tiny", quick=True, folder=tmp_path)
    assert len(rows) == 6
    first = rows[0]
    assert (first["gap"], first["learner"], first["wrong"], first["low"]) == (0.1, "a", 0.0, 0.0)
    assert first["high"] == pytest.approx(1.0 - 0.025 ** (1 / 8))
    assert orders[0] == "a < b: holds in 1, does not hold in 1"
    assert orders[1].startswith("a < c: ")
    monkeypatch.setattr(engine, "experiments", lambda: {"tiny": replace(TINY, play=None)})
    assert run("tiny", quick=True, folder=tmp_path) == (rows, orders)


@pytest.mark.slow
def test_workers_do_not_change_numbers():
    found = [run("fixed-budget", quick=True, n_jobs=n_jobs) for n_jobs in (1, 2)]
    assert found[0] == found[1]


def test_orders_are_paired():
    found = [{"a": {"x": value}, "b": {"x": value + 0.03}} for value in (1.0, 5.0, 2.0, 9.0)]
    assert order(found, "x", "a", "b") is True
    assert order(found, "x", "b", "a") is False
    assert order(found[:1], "x", "a", "b") is None
    assert order([{"a": {"x": x}, "b": {"x": 1.0}} for x in (0.0, 2.0)], "x", "a", "b") is None


def test_the_command_prints_each_row_once(tiny, tmp_path, capsys):
    assert main(["reproduce", "tiny", "--quick", "--jobs", "1", "--out", str(tmp_path)]) == 0
    told = capsys.readouterr()
    assert (
        len([line for line in told.out.splitlines() if line.split()[:2] in (["0.1", "a"], ["-0.1", "a"])])
        == 2
    )
    assert {path.name for path in tmp_path.iterdir()} == {
        "runs.sqlite",
        "table.csv",
        "figure-1.png",
        "figure-1.pdf",
    }


@pytest.mark.parametrize(("counts", "expected"), [([9, 5, 7], 1), ([5, 9, 7], 0), ([7, 7, 7], 1)])
def test_the_critical_arm_with_fewer_samples_is_taken(counts, expected):
    state = ArmStatistics.empty(3)
    state.counters[:], state.means[:], state.rounds = counts, [0.9, 0.5, 0.0], 21
    explorer = LessSampled(3, 1, delta=0.1, mode="heuristic")
    state.memory = explorer.initial_state().memory
    chosen = {int(arm) for seed in range(9) for arm in explorer.critical(state, np.random.default_rng(seed))}
    assert chosen == {expected}


def test_families_have_their_known_sizes():
    sizes = {name: len(family_of(name).super_arms) for name in ("paths", "matchings", "trees")}
    assert sizes == {"paths": 20, "matchings": 24, "trees": 125}
