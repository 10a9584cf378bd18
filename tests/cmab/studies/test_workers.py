"""Workers of a study: they end with their parent, and listen to nobody but it."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from places import ROOT
from tests.cmab.command.test_streams import ENVIRONMENT, STUDY

from cmab import Greedy, simulate
from cmab.studies._workers import spread
from instances import BernoulliArms, SemiBandit
from oracles import TopK

ORACLE = TopK(2, 1)
PROC = Path("/proc")
LISTENERS = """
import sys
import psutil
from cmab.studies._workers import backend, spread
with backend(sys.argv[1]):
    assert sorted(spread(abs, [(-1,), (-2,)], 2)) == [1, 2]
    own = psutil.Process()
    for process in (own, *own.children(recursive=True)):
        try:
            connections = process.net_connections("inet")
        except psutil.NoSuchProcess:  # a cluster's helpers come and go: this one ended since it was listed
            continue
        for found in connections:
            if found.status == psutil.CONN_LISTEN:
                print("listens on", found.laddr.ip)
"""


def session(leader):
    """Yield the commands of the processes of a session that still run."""
    for folder in PROC.glob("[0-9]*"):
        try:
            state, _, _, number = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
            command = (folder / "cmdline").read_text().replace("\0", " ")
        except OSError:  # it has just ended
            continue
        if int(number) == leader and state != "Z":
            yield command


@pytest.mark.slow
@pytest.mark.skipif(not PROC.is_dir(), reason="looks for processes in /proc")
def test_no_worker_outlives_a_parent_killed_while_they_start(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY.replace("replications = 3", "replications = 3000"))
    command = [sys.executable, "-m", "cmab", "run", str(tmp_path / "study.toml"), "--jobs", "2", "--out"]
    started = []
    for number in range(6):
        process = subprocess.Popen(
            [*command, str(tmp_path / str(number))],
            env=ENVIRONMENT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = time.monotonic() + 120
        while not any("loky" in line for line in session(process.pid)) and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.002)
        time.sleep(0.15 * number)
        process.kill()
        process.wait()
        started.append(process.pid)
    deadline = time.monotonic() + 60
    while left := [line for pid in started for line in session(pid)]:
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dask", "ray"])
def test_clusters_started_here_listen_on_the_loopback_only(name):
    """Who reaches a scheduler runs code."""
    pytest.importorskip({"dask": "distributed", "ray": "ray"}[name])
    pytest.importorskip("psutil")
    done = subprocess.run(
        [sys.executable, "-c", LISTENERS, name],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    # Ray has things to say there too, as of a token that it has made.
    told = [line.rsplit(" ", 1) for line in done.stdout.split("\n")]
    addresses = {words[1] for words in told if words[0] == "listens on"}
    assert addresses
    assert addresses <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}


@pytest.mark.slow
def test_runs_say_that_a_worker_died():
    class Dies(SemiBandit):
        def play(self, super_arm, rng):
            os._exit(3)

    with pytest.raises(ChildProcessError, match="a worker process died"):
        simulate(Greedy(ORACLE), Dies(BernoulliArms([0.1, 0.9]), ORACLE), 5, replications=2, n_jobs=2, rng=0)


def test_absurd_numbers_of_workers_are_refused():
    with pytest.raises(ValueError, match=r"n_jobs must be .*4096.*, got 1000000000"):
        next(spread(abs, [(1,)], 10**9))
