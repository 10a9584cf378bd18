"""Studies: kill and resume bit for bit, keys by content, faults named with their place."""

import copy
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import joblib
import numpy as np
import pytest
from places import ROOT
from refusals import refused
from threadpoolctl import threadpool_info, threadpool_limits

from cmab import CUCB, LUCB1, SAR, Study, StudyFailed, identify, simulate
from cmab.cli import main
from cmab.studies import _pieces as _study_pieces
from cmab.studies import _workers as _study_workers
from cmab.studies._workers import limited_threads, spread
from cmab.studies.store import Store
from instances import BernoulliArms, SemiBandit
from oracles import TopK

MEANS = [0.9, 0.7, 0.5, 0.3]
TEXT = """
horizon = 200
replications = {replications}
seed = 7

[instances.ads]
oracle = {{ class = "TopK", n_arms = 4, k = 2 }}
[instances.ads.environment]
class = "SemiBandit"
arms = {{ class = "BernoulliArms", means = [0.9, 0.7, 0.5, 0.3] }}
oracle = "$oracle"

[instances.tree]
oracle = {{ class = "GraphicMatroid", graph = {{ networkx = "path_graph", n = 4 }} }}
[instances.tree.environment]
class = "SemiBandit"
arms = {{ class = "BernoulliArms", means = [0.1, 0.2, 0.3] }}
oracle = "$oracle"

[learners.CUCB]
class = "CUCB"
grid = {{ radius_factor = [0.25, 1.0] }}

[learners.Clairvoyant]
class = "Clairvoyant"
means = "$means"
"""
EXPLORERS = """
replications = {replications}
seed = 7
max_samples = 5000

[instances.best]
environment = {{ class = "BernoulliArms", means = [0.9, 0.7, 0.5, 0.3] }}

[instances.matroid]
oracle = {{ class = "TopK", n_arms = 3, k = 1 }}
environment = {{ class = "BernoulliArms", means = [0.9, 0.8, 0.1] }}

[explorers.LUCB]
class = "LUCB1"
k = 1
grid = {{ delta = [0.05, 0.2] }}

[explorers.SAR]
class = "SAR"
k = 1
budget = 300
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(TEXT.format(replications=4))
    return path


def numbers(folder):
    """Everything stored that is not a time or a place, by key."""
    if not (Path(folder) / "results.sqlite").exists():
        return {}
    connection = sqlite3.connect(Path(folder) / "results.sqlite", timeout=60)
    shared = "key, instance, learner, replication, "
    try:
        rows = [
            *connection.execute(f"SELECT {shared} rounds, expected_rewards, rewards FROM simulations"),
            *connection.execute(f"SELECT {shared} samples, correct, stopped, arms FROM identifications"),
        ]
    except sqlite3.OperationalError:  # made just now, and still empty
        rows = []
    connection.close()
    return {row[0]: row[1:] for row in rows}


def specification(**changes):
    given = {
        "horizon": 50,
        "replications": 2,
        "instances": {
            "ads": {
                "oracle": {"class": "TopK", "n_arms": 4, "k": 2},
                "environment": {
                    "class": "SemiBandit",
                    "arms": {"class": "BernoulliArms", "means": MEANS},
                    "oracle": "$oracle",
                },
            }
        },
        "learners": {"CUCB": {"class": "CUCB"}, "CTS": {"class": "CTS"}},
    }
    return copy.deepcopy(given) | changes


@pytest.mark.slow
def test_a_study_is_what_simulate_gives(file, tmp_path):
    study = Study.load(file)
    study.run(tmp_path)
    results = study.results(tmp_path)
    assert len(results) == 6
    oracle = TopK(4, 2)
    environment = SemiBandit(BernoulliArms(MEANS), oracle)
    expected = simulate(CUCB(oracle, radius_factor=0.25), environment, 200, replications=4, rng=7)
    np.testing.assert_array_equal(results["ads", "CUCB radius_factor=0.25"].regret, expected.regret)
    np.testing.assert_array_equal(results["ads", "CUCB radius_factor=0.25"].rewards, expected.rewards)
    np.testing.assert_allclose(results["tree", "Clairvoyant"].exact_regret, 0, atol=1e-9)


@pytest.mark.slow
def test_an_exploring_study_is_what_identify_gives(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(EXPLORERS.format(replications=3))
    study = Study.load(file)
    study.run(tmp_path, n_jobs=2)
    found = study.identifications(tmp_path)
    assert len(found) == 6
    assert study.results(tmp_path) == {}
    environment = BernoulliArms(MEANS)
    for name, explorer in (("LUCB delta=0.2", LUCB1(4, 1, delta=0.2)), ("SAR", SAR(4, 1, budget=300))):
        expected = identify(explorer, environment, replications=3, rng=7, max_samples=5000)
        got = found["best", name]
        for column in ("arms", "samples", "correct", "stopped", "certified"):
            np.testing.assert_array_equal(getattr(got, column), getattr(expected, column))
    capped = found["matroid", "LUCB delta=0.05"]
    assert capped.samples.max() <= 5000
    row = next(row for row in study.identification_table(tmp_path) if row["explorer"] == "SAR")
    assert row["samples"] <= 300
    assert row["certified"] == 0
    assert row["stopped"] == row["replications"] == 3


@pytest.mark.slow
def test_both_kinds_in_one_study(tmp_path):
    given = specification(explorers={"CLUCB": {"class": "CLUCB", "delta": 0.1}}, max_samples=10_000)
    study = Study(given)
    study.run(tmp_path)
    assert set(study.identifications(tmp_path)) == {("ads", "CLUCB")}
    assert len(study.results(tmp_path)) == 2
    again = Study(given | {"max_samples": 9_999})
    assert {piece.learner for piece in again.missing(tmp_path)} == {"CLUCB"}


@pytest.mark.slow
def test_a_study_is_opened_by_later_code(tmp_path, monkeypatch):
    Study(specification()).run(tmp_path)
    monkeypatch.setattr("cmab.studies._provenance.content_of", lambda package: f"another {package}")
    study = Study.open(tmp_path)
    assert study.table(tmp_path)[0]["replications"] == 2
    assert study.missing(tmp_path) == []
    with pytest.raises(ValueError, match=r"must be made by Study or Study\.load to run"):
        study.run(tmp_path)
    monkeypatch.undo()
    more = Study(specification(replications=3))
    monkeypatch.setattr("cmab.studies._provenance.content_of", lambda package: f"another {package}")
    with pytest.raises(ValueError, match="must be created again after its code has changed"):
        more.run(tmp_path)
    monkeypatch.setattr(Study, "check_current", lambda study: None)  # as on a machine of a cluster
    with pytest.raises(StudyFailed, match="must run the code with which the study was started"):
        more.run(tmp_path)
    with pytest.raises(ValueError, match="must be a folder in which a study ran"):
        Study.open(tmp_path / "nothing")


@pytest.mark.slow
def test_two_workers_give_the_same_numbers(file, tmp_path):
    Study.load(file).run(tmp_path / "one")
    Study.load(file).run(tmp_path / "two", n_jobs=2)
    assert numbers(tmp_path / "one") == numbers(tmp_path / "two")


def threads(_):
    """Threads of the numerical libraries that are loaded here."""
    return {pool["num_threads"] for pool in threadpool_info()}


def test_numerical_libraries_get_one_thread():
    with threadpool_limits(2):
        with limited_threads():
            assert threads(None) == {1}
        assert threads(None) == {2}
        _study_workers._limit_threads.cache_clear()
        assert list(spread(threads, [(None,)], n_jobs=1)) == [{1}]  # as a worker, which limits its own


def results_come_one_by_one(file):
    """Yield tasks, the first of which ends once the result of another one was used."""

    def task(number):
        deadline = time.monotonic() + 120
        while number == 0 and not file.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        return number if number or file.exists() else None

    task = joblib.wrap_non_picklable_objects(task)  # workers do not know this module
    for number in spread(task, [(number,) for number in range(8)], n_jobs=2):
        file.touch()
        yield number


@pytest.mark.slow
def test_results_come_one_by_one_from_pools_too(tmp_path):
    """As from Ray, whose back end is such a pool: joblib itself gives their results as a list at the end."""
    with joblib.parallel_config(backend="multiprocessing"):
        assert sorted(results_come_one_by_one(tmp_path / "used")) == list(range(8))


@pytest.mark.slow
def test_killed_and_resumed_bit_for_bit(tmp_path):
    """Ten SIGKILLs at random moments; 240 pieces; the rest is done by an eleventh process."""
    file = tmp_path / "study.toml"
    file.write_text(TEXT.format(replications=40).replace("horizon = 200", "horizon = 12_000"))
    rng = np.random.default_rng(0)
    command = [sys.executable, "-m", "cmab.cli", "run", str(file), "--out", str(tmp_path / "killed")]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    count = 0
    for _ in range(10):
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while len(numbers(tmp_path / "killed")) == count and process.poll() is None:
            time.sleep(0.002)  # loading takes most of the time; the kill must come among the pieces
        time.sleep(rng.uniform(0.0, 0.03))
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        after = len(numbers(tmp_path / "killed"))
        assert count < after < 240
        count = after
    subprocess.run(command, env=environment, check=True, capture_output=True)
    Study.load(file).run(tmp_path / "whole")
    assert len(numbers(tmp_path / "whole")) == 240
    assert numbers(tmp_path / "killed") == numbers(tmp_path / "whole")


@pytest.mark.slow
def test_nothing_is_done_twice(tmp_path, monkeypatch):
    study = Study(specification())
    study.run(tmp_path)
    monkeypatch.setattr("cmab.studies.folder.play", None)
    Study(specification()).run(tmp_path)


@pytest.mark.parametrize(
    ("change", "again"),
    [
        ({"replications": 3}, 2),
        ({"seed": 1}, 4),
        ({"horizon": 51}, 4),
        ({"checkpoints": [50]}, 4),
        ({"learners": {"other name": {"class": "CUCB"}, "CTS": {"class": "CTS"}}}, 0),
        ({"learners": {"CTS": {"class": "CTS"}, "CUCB": {"class": "CUCB", "radius_factor": 0.5}}}, 2),
    ],
)
def test_a_change_runs_what_it_changes(change, again, tmp_path):
    Study(specification()).run(tmp_path)
    missing = Study(specification(**change)).missing(tmp_path)
    assert len(missing) == again
    assert "learners" not in change or {piece.learner for piece in missing} <= {"CUCB"}


@pytest.mark.slow
def test_changed_code_is_run_again(tmp_path, monkeypatch):
    Study(specification()).run(tmp_path)
    monkeypatch.setattr("cmab.studies._provenance.content_of", lambda package: f"another {package}")
    assert len(Study(specification()).missing(tmp_path)) == 4


def test_an_interrupted_piece_is_not_stored(tmp_path, monkeypatch):
    replicate = _study_pieces.replicate

    def stops(policy, environment, rounds, seed, replication, **late):
        record = replicate(policy, environment, rounds, seed, replication, **late)
        record.interrupted = replication == 1
        return record

    monkeypatch.setattr(_study_pieces, "replicate", stops)
    study = Study(specification())
    with pytest.raises(KeyboardInterrupt):
        study.run(tmp_path)
    assert {piece.replication for piece in study.missing(tmp_path)} == {1}


def test_two_stores_of_one_folder(tmp_path):
    study = Study(specification())
    study.run(tmp_path / "a")
    with Store(tmp_path / "a") as first, Store(tmp_path / "a") as second:
        piece = first.get("simulations", study.pieces[0].key)
        second.put("simulations", piece)
        assert first.get("simulations", "nothing") is None
    assert len(numbers(tmp_path / "a")) == 4


@pytest.mark.parametrize(
    ("package", "reader"),
    [("pandas", "read_sql"), pytest.param("polars", "read_database", marks=pytest.mark.slow)],
)
def test_one_line_reads_the_table(package, reader, tmp_path):
    read = getattr(pytest.importorskip(package), reader)
    study = Study(
        specification(
            learners={
                "CTS": {"class": "CTS"},
                "Python": {"class": "RarelySwitchingCUCB"},
            }
        )
    )
    study.run(tmp_path)
    with sqlite3.connect(tmp_path / "results.sqlite") as connection:
        table = read("SELECT * FROM simulations ORDER BY replication", connection)
    connection.close()
    results = study.results(tmp_path)
    assert list(table["learner"]) == ["CTS", "Python"] * 2
    for column, name in (("final_regret", "regret"), ("final_expected_reward", "expected_rewards")):
        expected = [
            getattr(results["ads", learner], name)[r, -1] for r in (0, 1) for learner in ("CTS", "Python")
        ]
        np.testing.assert_array_equal(np.array(table[column]), expected)
    assert set(table["numpy"]) == {np.__version__}
    assert set(table["cores"]) == {os.cpu_count()}
    inside, outside, seconds = (
        np.array(table[n], float) for n in ("oracle_seconds", "outside_seconds", "seconds")
    )
    clocked = np.array(table["path"]) != "compiled"
    assert clocked.tolist() == [False, True] * 2
    np.testing.assert_allclose((inside + outside)[clocked], seconds[clocked])
    assert np.isnan(inside[~clocked]).all()


test_a_specification_is_a_dict = refused(
    ("study.toml", r"specification must be a dict, got 'study.toml'; load a file by Study.load"),
    (["study.toml"], "specification must be a dict"),
    (None, "specification must be a dict"),
    by=Study,
)


test_faults_are_named_with_their_place = refused(
    ({"horizon": 0}, "horizon must be an integer"),
    ({"repliactions": 3}, "repliactions"),
    ({"instances": {}}, "instances must be a non-empty table"),
    ({"learners": {"x": {"class": "UCB"}}}, "learners.x.class must be a name"),
    ({"learners": {"x": {"class": "CUCB", "radius_factor": -1}}}, "learners.x: radius_factor must be"),
    (
        {"learners": {"x": {"class": "CUCB", "radius_factors": 1}}},
        "learners.x must only have .*radius_factors",
    ),
    (
        {"learners": {"x": {"class": "CUCB", "grid": {"radius_factor": 1}}}},
        "learners.x.grid must map parameters to non-empty lists",
    ),
    ({"learners": {"x": {"class": "CTS", "prior_mean": "$truth"}}}, "learners.x.prior_mean must refer"),
    ({"checkpoints": [3, 2]}, "checkpoints must be increasing"),
    ({"max_samples": 5}, "without explorers must not have max_samples"),
    ({"learners": {"x": {"class": "LUCB1"}}}, "learners.x must only have .*oracle"),
    ({"explorers": {"x": {"class": "CUCB"}}}, "explorers.x must describe an explorer"),
    ({"explorers": {"x": {"class": "LUCB"}}}, "explorers.x.class must be a name"),
    ({"explorers": {"CTS": {"class": "CLUCB", "delta": 0.1}}}, "must have different names, got .'CTS'"),
    ({"explorers": {"x": {"class": "LUCB1", "k": 1, "delta": 2}}}, "explorers.x: delta must be"),
    (
        {"explorers": {"x": {"class": "SAR", "k": 1, "budget": 9, "n_arms": 5}}},
        "x on instances.ads: .*arms",
    ),
    (
        {"instances": {"a": {"oracle": {"class": "TopK", "n_arms": 4, "k": 9}, "environment": {}}}},
        "a.oracle: k must",
    ),
    ({"instances": {"a": {"oracle": {"networkx": "no_graph"}, "environment": {}}}}, "a.oracle.networkx"),
    by=lambda change: Study(specification(**change)),
)


def test_all_faults_at_once(tmp_path, capsys):
    file = tmp_path / "bad.toml"
    file.write_text(TEXT.format(replications=1).replace('"CUCB"', '"UCB"').replace("k = 2", "k = 20"))
    assert main(["validate", str(file)]) == 1
    message = capsys.readouterr().err
    assert "instances.ads.oracle: k must be" in message
    assert (
        "learners.CUCB radius_factor=0.25.class must be a name that `cmab list` shows (did you mean"
        in message
    )


@pytest.mark.slow
def test_the_commands(file, tmp_path, capsys):
    out = str(tmp_path / "out")
    assert main(["validate", str(file)]) == 0
    assert main(["run", str(file), "--out", out]) == 0
    assert "24 of 24 pieces to do" in capsys.readouterr().err
    assert main(["run", str(file), "--out", out, "--jobs", "2"]) == 0
    printed = capsys.readouterr()
    assert "0 of 24 pieces to do" in printed.err
    assert "CUCB radius_factor=0.25" in printed.out
    assert main(["run", str(tmp_path / "none.toml"), "--out", out]) == 1


@pytest.mark.slow
def test_learners_inside_learners_get_the_oracle_too(tmp_path):
    """Behind one and behind two, with the oracle left out as for all learners, or named."""
    kinds = {"CTS": {"coupling": "shared"}, "KLCUCB": {}, "GaussianCTS": {}, "BayesUCB": {}}
    kinds |= {"HierarchicalCTS": {"groups": [0, 1, 1, 0], "estimate": "mean"}, "RandomPolicy": {}}
    learners = {}
    for name, parameters in kinds.items():
        once = {"class": "ForcedExploration", "policy": {"class": name} | parameters}
        learners |= {f"{name} 1": once, f"{name} 2": {"class": "ForcedExploration", "policy": once, "c": 1.0}}
    given = specification(learners=learners, replications=1)
    with Study(given).at(tmp_path / "out") as folder:
        folder.run()
        assert len(folder.results()) == len(learners)
    named = specification(
        learners={"x": {"class": "ForcedExploration", "policy": {"class": "CTS", "oracle": "$oracle"}}}
    )
    Study(named)
    inside = {"class": "LUCB1", "n_arms": 4, "k": 2, "delta": 0.1}
    with pytest.raises(ValueError, match=r"learners\.x: policy must have an oracle"):
        Study(specification(learners={"x": {"class": "ForcedExploration", "policy": inside}}))
