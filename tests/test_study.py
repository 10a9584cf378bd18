"""Studies: kill and resume bit for bit, keys by content, faults named with their place."""

import copy
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from cmab import CUCB, Study, simulate
from cmab import study as study_module
from cmab.cli import main
from cmab.store import Store
from instances import BernoulliArms, SemiBandit
from oracles import TopK

ROOT = Path(__file__).resolve().parent.parent
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
grid = {{ scale = [0.25, 1.0] }}

[learners.Clairvoyant]
class = "Clairvoyant"
means = "$means"
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
    wanted = "key, instance, learner, replication, rounds, expected_rewards, rewards"
    try:
        rows = connection.execute(f"SELECT {wanted} FROM pieces").fetchall()
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


def test_a_study_is_what_simulate_gives(file, tmp_path):
    study = Study.load(file)
    study.run(tmp_path)
    results = study.results(tmp_path)
    assert len(results) == 6
    oracle = TopK(4, 2)
    environment = SemiBandit(BernoulliArms(MEANS), oracle)
    expected = simulate(CUCB(oracle, scale=0.25), environment, 200, replications=4, rng=7)
    np.testing.assert_array_equal(results["ads", "CUCB scale=0.25"].regret, expected.regret)
    np.testing.assert_array_equal(results["ads", "CUCB scale=0.25"].rewards, expected.rewards)
    np.testing.assert_allclose(results["tree", "Clairvoyant"].exact_regret, 0, atol=1e-9)


def test_two_workers_give_the_same_numbers(file, tmp_path):
    Study.load(file).run(tmp_path / "one")
    Study.load(file).run(tmp_path / "two", n_jobs=2)
    assert numbers(tmp_path / "one") == numbers(tmp_path / "two")


def test_killed_and_resumed_bit_for_bit(tmp_path):
    """Ten SIGKILLs at random moments; 240 pieces; the rest is done by an eleventh process."""
    file = tmp_path / "study.toml"
    file.write_text(TEXT.format(replications=40).replace("horizon = 200", "horizon = 3000"))
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


def test_nothing_is_done_twice(tmp_path, monkeypatch):
    study = Study(specification())
    study.run(tmp_path)
    monkeypatch.setattr(study_module, "_play", None)
    Study(specification()).run(tmp_path)


@pytest.mark.parametrize(
    ("change", "again"),
    [
        ({"replications": 3}, 2),
        ({"seed": 1}, 4),
        ({"horizon": 51}, 4),
        ({"checkpoints": [50]}, 4),
        ({"learners": {"other name": {"class": "CUCB"}, "CTS": {"class": "CTS"}}}, 0),
        ({"learners": {"CTS": {"class": "CTS"}, "CUCB": {"class": "CUCB", "scale": 0.5}}}, 2),
    ],
)
def test_a_change_runs_what_it_changes(change, again, tmp_path):
    Study(specification()).run(tmp_path)
    assert len(Study(specification(**change)).missing(tmp_path)) == again


def test_changed_code_is_run_again(tmp_path, monkeypatch):
    Study(specification()).run(tmp_path)
    monkeypatch.setattr("cmab._specification._content", lambda package: f"another {package}")
    assert len(Study(specification()).missing(tmp_path)) == 4


def test_an_interrupted_piece_is_not_stored(tmp_path, monkeypatch):
    replicate = study_module.replicate

    def stops(policy, environment, rounds, seed, replication):
        record = replicate(policy, environment, rounds, seed, replication)
        record.interrupted = replication == 1
        return record

    monkeypatch.setattr(study_module, "replicate", stops)
    study = Study(specification())
    with pytest.raises(KeyboardInterrupt):
        study.run(tmp_path)
    assert {piece.replication for piece in study.missing(tmp_path)} == {1}


def test_two_stores_of_one_folder(tmp_path):
    study = Study(specification())
    study.run(tmp_path / "a")
    with Store(tmp_path / "a") as first, Store(tmp_path / "a") as second:
        piece = first.get(study.pieces[0].key)
        second.put(piece)
        assert first.get("nothing") is None
    assert len(numbers(tmp_path / "a")) == 4


def test_pandas_reads_the_table_in_one_line(tmp_path):
    pandas = pytest.importorskip("pandas")
    study = Study(specification())
    study.run(tmp_path)
    with sqlite3.connect(tmp_path / "results.sqlite") as connection:
        table = pandas.read_sql("SELECT * FROM pieces", connection)
    connection.close()
    regret = study.results(tmp_path)["ads", "CTS"].regret[:, -1]
    assert sorted(table[table.learner == "CTS"].final_regret) == sorted(regret)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"horizon": 0}, "horizon must be an integer"),
        ({"repliactions": 3}, "repliactions"),
        ({"instances": {}}, "instances must be a table"),
        ({"learners": {"x": {"class": "UCB"}}}, "learners.x.class must be one of"),
        ({"learners": {"x": {"class": "CUCB", "scale": -1}}}, "learners.x: scale must be"),
        ({"learners": {"x": {"class": "CUCB", "scales": 1}}}, "learners.x: .*scales"),
        ({"learners": {"x": {"class": "CUCB", "grid": {"scale": 1}}}}, "learners.x.grid must hold a list"),
        ({"learners": {"x": {"class": "CTS", "prior_mean": "$truth"}}}, "learners.x.prior_mean must refer"),
        ({"checkpoints": [3, 2]}, "checkpoints must be increasing"),
        (
            {"instances": {"a": {"oracle": {"class": "TopK", "n_arms": 4, "k": 9}, "environment": {}}}},
            "a.oracle: k must",
        ),
        ({"instances": {"a": {"oracle": {"networkx": "no_graph"}, "environment": {}}}}, "a.oracle.networkx"),
    ],
)
def test_faults_are_named_with_their_place(change, message):
    with pytest.raises(ValueError, match=message):
        Study(specification(**change))


def test_all_faults_at_once(tmp_path, capsys):
    file = tmp_path / "bad.toml"
    file.write_text(TEXT.format(replications=1).replace('"CUCB"', '"UCB"').replace("k = 2", "k = 20"))
    assert main(["validate", str(file)]) == 2
    message = capsys.readouterr().err
    assert "instances.ads.oracle: k must be" in message
    assert "learners.CUCB scale=0.25.class must be one of" in message


def test_the_commands(file, tmp_path, capsys):
    out = str(tmp_path / "out")
    assert main(["validate", str(file)]) == 0
    assert main(["run", str(file), "--out", out]) == 0
    assert "24 of 24 pieces to do" in capsys.readouterr().err
    assert main(["run", str(file), "--out", out, "--jobs", "2"]) == 0
    printed = capsys.readouterr()
    assert "0 of 24 pieces to do" in printed.err
    assert "CUCB scale=0.25" in printed.out
    assert main(["run", str(tmp_path / "none.toml"), "--out", out]) == 1
