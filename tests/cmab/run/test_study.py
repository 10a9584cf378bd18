"""Studies: the numbers of `simulate`, kill and resume bit for bit, keys by content, workers and clusters."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from places import ROOT

from cmab import CTS, CUCB, LUCB1, Clairvoyant, RandomPolicy, Study, StudyFailed, compare, identify, simulate
from cmab.run.workers import in_workers
from instances import BernoulliArms, SemiBandit
from oracles import TopK

MEANS = [0.5, 0.1, 0.9]
ORACLE = {"class": TopK, "n_arms": 3, "k": 1}
ADS = {"class": SemiBandit, "arms": {"class": BernoulliArms, "means": MEANS}, "oracle": ORACLE}
LEARNERS = {"narrow": {"class": CUCB, "radius_factor": 0.5}, "Thompson": "cmab:CTS"}
ENVIRONMENT = SemiBandit(BernoulliArms(MEANS), TopK(3, 1))
SETTINGS = {"instances": {"ads": ADS}, "learners": LEARNERS, "horizon": 60, "replications": 3, "seed": 5}


def study(folder, **changes):
    return Study(folder / "study.sqlite", **(SETTINGS | changes))


def numbers(found):
    return {
        pair: (result.rewards.tobytes(), result.regret.tobytes()) for pair, result in found.results().items()
    }


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_numbers_are_those_of_simulate(tmp_path, n_jobs):
    found = study(tmp_path)
    assert len(found.missing()) == 6
    found.run(n_jobs=n_jobs)
    assert found.missing() == []
    learners = {"narrow": CUCB(ENVIRONMENT.oracle, radius_factor=0.5), "Thompson": CTS(ENVIRONMENT.oracle)}
    for name, learner in learners.items():
        alone = simulate(learner, ENVIRONMENT, 60, replications=3, rng=5)
        np.testing.assert_array_equal(found.results()["ads", name].rewards, alone.rewards)
        np.testing.assert_array_equal(found.results()["ads", name].regret, alone.regret)
    called = compare(learners, ENVIRONMENT, horizon=60, replications=3, rng=5)
    assert list(found.comparisons()["ads"].tests()) == list(called.tests())
    means = [row["mean"] for row in found.table()]
    assert means == pytest.approx([called[name].regret[:, -1].mean() for name in learners])


def test_explorers_and_other_oracles(tmp_path):
    instance = {"oracle": ORACLE, "environment": ADS | {"oracle": "$oracle"}}
    found = Study(
        tmp_path / "x",
        instances={"a": instance, "b": {"class": BernoulliArms, "means": np.array(MEANS)}},
        learners={"LUCB": {"class": LUCB1, "k": 1, "delta": 0.1}},
        replications=2,
    )
    found.run()
    alone = identify(LUCB1(3, 1, delta=0.1), BernoulliArms(MEANS), replications=2, rng=0)
    for name in "ab":
        assert found.results()[name, "LUCB"].samples.tolist() == alone.samples.tolist()
        assert found.comparisons()[name].deltas == {"LUCB": 0.1}
    told = study(tmp_path, learners={"true": {"class": Clairvoyant, "means": "$means"}})
    told.run()
    assert told.comparisons()["ads"].informed == ["true"]


def test_a_piece_is_found_by_its_content(tmp_path):
    study(tmp_path).run()
    assert study(tmp_path, learners={"other name": CTS}).missing() == []
    assert study(tmp_path, replications=2).missing() == []
    assert len(study(tmp_path, replications=4).missing()) == 2
    for change in (
        {"version": "2"},
        {"seed": 6},
        {"horizon": 61},
        {"instances": {"ads": ADS | {"oracle": TopK}}},
    ):
        assert len(study(tmp_path, **change).missing()) == 6, change


class Fails(RandomPolicy):
    broken = True

    def select(self, state, rng, context=None):
        if self.broken:
            raise ZeroDivisionError("no spread")
        return super().select(state, rng, context)


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_failed_pieces_are_told_and_tried_again(tmp_path, monkeypatch, n_jobs):
    found = study(tmp_path, learners={"fails": Fails, "r": RandomPolicy})
    words = r"3 pieces failed .* replication 0 of fails on ads:\n(.|\n)*no spread"
    with pytest.raises(StudyFailed, match=words) as caught:
        found.run(n_jobs=n_jobs)
    assert [piece.replication for piece, _ in caught.value.failures] == [0, 1, 2]
    assert {piece.learner for piece in found.missing()} == {"fails"}
    assert found.comparisons() == {}
    monkeypatch.setattr(Fails, "broken", False)
    found.run()
    assert found.missing() == []


def test_comparisons_of_unfinished_studies_use_common_replications(tmp_path):
    study(tmp_path, replications=2).run()
    study(tmp_path, learners={"Thompson": CTS}).run()
    (row,) = study(tmp_path).comparisons()["ads"].tests()
    assert row["pairs"] == 2


def rows_of(seed, replication, more):
    return [{"draw": float(np.random.default_rng(seed).random()), "sum": np.int64(replication + more)}]


def test_trials_may_be_any_function(tmp_path):
    found = Study(tmp_path / "x", trials={"t": {"class": rows_of, "more": 10}}, replications=2, seed=3)
    found.run()
    draw = float(np.random.default_rng(3).random())
    assert found.trial_rows() == {"t": [[{"draw": draw, "sum": 10}], [{"draw": draw, "sum": 11}]]}
    assert repr(found) == "Study(1 trials x 2 replications)"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"learners": {}}, "either instances and learners, or trials"),
        ({"replications": 0}, "replications must be"),
        ({"horizon": 0}, "horizon must be"),
        ({"learners": {"a": CUCB(ENVIRONMENT.oracle)}}, r"learners\.a must be a class, .* got CUCB"),
        (
            {"learners": {"a": {"class": CUCB, "prior": lambda: 0}}},
            r"learners\.a\.prior must be a plain value",
        ),
        ({"learners": {"a": "cmab:Nobody"}}, r"learners\.a must have an import path module:Name"),
        ({"learners": {"a": {"class": CUCB, "radius": 1}}}, r"learners\.a: .*radius"),
        ({"learners": {"a": {"class": CUCB, "oracle": "$nothing"}}}, r"learners\.a\.oracle must refer to"),
        ({"instances": {"x": ADS | {"oracle": {**ORACLE, "k": 9}}}}, r"instances\.x\.oracle: k must"),
        ({"horizon": None}, r"learners\.narrow on ads: explorer must be an Explorer"),
    ],
)
def test_what_describes_no_study_is_refused(tmp_path, changes, words):
    with pytest.raises(ValueError, match=words):
        study(tmp_path, **changes).run()


def test_other_files_are_refused(tmp_path):
    (tmp_path / "study.sqlite").write_text("some text that is long enough to be read as a header")
    with pytest.raises(OSError, match=r"study\.sqlite cannot be used as the file of a study"):
        study(tmp_path).run()


class Slow(CUCB):
    """A piece of it takes so long that no machine ends the study before it is told to stop."""

    def initial_state(self, rng=None):
        time.sleep(0.2)
        return super().initial_state(rng)


MANY = SETTINGS | {"learners": LEARNERS | {"slow": Slow}, "horizon": 200, "replications": 20}
SCRIPT = """
import sys
from cmab import Study
from tests.cmab.run.test_study import MANY
Study(sys.argv[1], **MANY).run(n_jobs=int(sys.argv[2]))
"""


def started(path, n_jobs):
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(path), str(n_jobs)],
        env=os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests/support'}"},
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "n_jobs"), [(signal.SIGKILL, 2), (signal.SIGTERM, 1), (signal.SIGTERM, 2), (signal.SIGINT, 2)]
)
def test_ended_and_resumed_bit_for_bit(tmp_path, number, n_jobs):
    """After two ends amid the pieces, the rest gives the numbers of a run without an end."""
    found = study(tmp_path, **MANY)
    for _ in range(2):
        before, process = len(found.missing()), started(found.path, n_jobs)
        while len(found.missing()) > before - 5 and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
        assert process.returncode != 0
        assert number == signal.SIGKILL or "KeyboardInterrupt" in errors
    assert 0 < len(found.missing()) < 60
    found.run()
    (tmp_path / "whole").mkdir()
    whole = study(tmp_path / "whole", **MANY)
    whole.run()
    assert numbers(found) == numbers(whole)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["dask", "ray"])
def test_clusters_give_the_same_numbers(tmp_path, name):
    """Two threads of a Dask worker must not share an oracle."""
    from joblib import parallel_config

    study(tmp_path).run()
    other = Study(tmp_path / name, **SETTINGS)
    if name == "dask":
        distributed = pytest.importorskip("distributed")
        with (
            distributed.LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None) as cluster,
            distributed.Client(cluster),
            parallel_config(backend="dask"),
        ):
            other.run(n_jobs=-1)
    else:
        ray = pytest.importorskip("ray")
        from ray.util.joblib import register_ray

        ray.init(address="local", num_cpus=2, log_to_driver=False)
        register_ray()
        try:
            with parallel_config(backend="ray"):
                other.run(n_jobs=-1)
        finally:
            ray.shutdown()
    assert numbers(other) == numbers(study(tmp_path))


@pytest.mark.slow
def test_a_dead_worker_is_told():
    with pytest.raises(ChildProcessError, match="a worker process died"):
        list(in_workers(os._exit, [3, 3], 2))
