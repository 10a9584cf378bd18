"""Studies when something goes wrong: what is said, what is kept, and the exit status."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from places import ROOT

from cmab import Study, StudyFailed
from cmab.cli import main
from cmab.studies import _registry
from cmab.studies._pieces import Piece
from cmab.studies._progress import Progress
from cmab.studies._results import Score
from cmab.studies.store import Store
from tests.cmab.studies.test_study import TEXT, numbers, specification

NOBODY = 65534


@pytest.fixture
def faulty(monkeypatch):
    """Policies that fail, as another package would register them."""
    entries = _registry.entries
    ours = {
        name: _registry.metadata.EntryPoint(name, f"faulty_policies:{name}", "cmab.policies")
        for name in ("Raises", "Dies")
    }
    monkeypatch.setattr(
        _registry, "entries", lambda group: entries(group) | (ours if group == "policies" else {})
    )


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(TEXT.format(replications=20))
    return path


def command(file, out, *more):
    return [sys.executable, "-m", "cmab.cli", "run", str(file), "--out", str(out), *more]


def start(*arguments, **settings):
    return subprocess.Popen(
        command(*arguments),
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **settings,
    )


def wait_for_pieces(process, folder, more_than):
    while len(numbers(folder)) <= more_than and process.poll() is None:
        time.sleep(0.01)
    assert process.poll() is None, process.stderr.read()


@pytest.mark.slow
def test_two_processes_on_one_folder(file, tmp_path):
    both = [start(file, tmp_path / "both") for _ in range(2)]
    printed = [process.communicate(timeout=300)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], printed
    Study.load(file).run(tmp_path / "one")
    assert numbers(tmp_path / "both") == numbers(tmp_path / "one")


def test_opened_by_many_at_the_same_moment(tmp_path):
    """SQLite says "locked" at once, whatever its timeout, to who opens a file that another one sets up."""
    start = threading.Barrier(6)

    def open_some():
        for number in range(30):
            start.wait(timeout=60)
            with Store(tmp_path / str(number)) as store:
                assert store.missing("simulations", ["a-key"]) == ["a-key"]

    with ThreadPoolExecutor(6) as threads:
        for opened in [threads.submit(open_some) for _ in range(6)]:
            opened.result()


@pytest.mark.slow
def test_two_workers_interrupted_then_killed(tmp_path):
    """Ctrl-C reaches the workers too; SIGKILL only the parent, as the system would send it."""
    file, out = tmp_path / "study.toml", tmp_path / "out"
    file.write_text(TEXT.format(replications=40).replace("horizon = 200", "horizon = 8000"))
    process = start(file, out, "--jobs", "2", start_new_session=True)
    wait_for_pieces(process, out, more_than=0)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    stopped = len(numbers(out))
    assert f"interrupted with {240 - stopped} pieces left; run the same command to continue" in err
    assert "Traceback" not in err
    process = start(file, out, "--jobs", "2", start_new_session=True)
    wait_for_pieces(process, out, more_than=stopped)
    process.kill()
    process.communicate(timeout=120)  # until the workers, which would stay for 300 s, have closed stderr too
    assert stopped < len(numbers(out)) < 240
    Study.load(file).run(out, n_jobs=2)
    Study.load(file).run(tmp_path / "whole")
    assert len(numbers(out)) == 240
    assert numbers(out) == numbers(tmp_path / "whole")


@pytest.mark.slow
def test_a_policy_that_raises(faulty, file, tmp_path, capsys):
    file.write_text(file.read_text() + '[learners.Bad]\nclass = "Raises"\n')
    out = tmp_path / "out"
    assert main(["run", str(file), "--out", str(out)]) == 1
    printed = capsys.readouterr()
    assert "2 pieces failed and are not stored; the first is replication 17 of Bad on ads" in printed.err
    assert "RuntimeError: the oracle has gone" in printed.err
    assert "CUCB radius_factor=1.0" in printed.out
    study = Study.load(file)
    assert len(numbers(out)) == len(study.pieces) - 2 == 158
    assert [(piece.learner, piece.replication) for piece in study.missing(out)] == [("Bad", 17)] * 2
    with pytest.raises(StudyFailed, match="replication 17") as failed:
        study.run(out, n_jobs=2)
    assert [piece.instance for piece, _ in failed.value.failures] == ["ads", "tree"]


@pytest.mark.slow
def test_a_worker_that_dies(faulty, tmp_path):
    study = Study(specification(learners={"CUCB": {"class": "CUCB"}, "Dies": {"class": "Dies"}}))
    with pytest.raises(ChildProcessError, match="a worker process died"):
        study.run(tmp_path, n_jobs=2)


@pytest.fixture
def as_nobody():
    """The rights of a user who owns nothing, if the tests run as root."""
    if os.geteuid() == 0:
        os.seteuid(NOBODY)
        can_read = os.access(ROOT / "cmab" / "cli.py", os.R_OK, effective_ids=True)
        os.seteuid(0)
        if not can_read:
            pytest.skip("the code lies in a folder that only root can enter")
        os.seteuid(NOBODY)
        yield
        os.seteuid(0)
    else:
        yield


@pytest.fixture
def open_folder():
    """A folder that everybody can enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "study.toml").write_text(TEXT.format(replications=1))
        (folder / "locked").mkdir(mode=0o555)
        Study.load(folder / "study.toml").run(folder / "stored")
        (folder / "stored" / "results.sqlite").chmod(0o444)
        (folder / "stored").chmod(0o777)
        yield folder


@pytest.mark.slow
def test_no_permission(open_folder, as_nobody, capsys):
    file = str(open_folder / "study.toml")
    assert main(["run", file, "--out", str(open_folder / "locked")]) == 1
    assert "--out must be a writable folder" in capsys.readouterr().err
    more = open_folder / "stored" / "study.toml"
    more.write_text(TEXT.format(replications=2))
    assert main(["run", str(more), "--out", str(open_folder / "stored")]) == 1
    assert "readonly database; allow writing to the file and its folder" in capsys.readouterr().err


class Stream:
    """A terminal, or not."""

    def __init__(self, is_terminal):
        self.isatty = lambda: is_terminal
        self.flush, self.closed = lambda: None, False
        self.lines = []
        self.write = self.lines.append


@pytest.fixture
def now(monkeypatch):
    """What the bar's clock says."""
    now = [0.0]
    monkeypatch.setattr("tqdm.std.time", lambda: now[0])
    return now


def test_progress_on_a_terminal(monkeypatch, now):
    monkeypatch.setenv("COLUMNS", "200")
    stream = Stream(True)
    progress = Progress(10, 2, stream)
    for i, (learner, regret) in enumerate((("A", 5.0), ("B", 3.0), ("A", 7.0), ("B", 4.0))):
        now[0] = 10.0 + 2 * i
        progress(Piece("key", "ads", learner, i), Score("regret", regret))
    bars = [line.strip() for line in stream.lines if line.startswith("\r")]
    assert bars[0].startswith("30%|###")
    assert bars[0].endswith("3/10 [00:00<?, ? pieces/s, ads: A leads with regret 5]")
    # Two seconds a piece: what was there before and the first piece are not in the rate.
    assert bars[-1].endswith("6/10 [00:06<00:08,  2.00s/ pieces, ads: B leads with regret 3.5]")
    assert max(map(len, bars)) < 200
    progress(Piece("key", "web", "A", 0), Score("reward", 3.0))
    progress(Piece("key", "web", "B", 0), Score("reward", 4.0))
    progress.close()
    assert "web: B leads with reward 4" in stream.lines[-2]
    assert stream.lines[-1] == "\n"


def test_progress_in_a_log_is_a_plain_line_a_minute(now):
    stream = Stream(False)
    progress = Progress(1000, 0, stream)
    for second in range(150):
        now[0] = float(second)
        progress(Piece("key", "ads", "A", second), Score("samples", 100.0))
    progress.close()
    assert stream.lines == [
        "61 of 1000 pieces, 1 a second, 15:39 left, ads: A leads with samples 100\n",
        "121 of 1000 pieces, 1 a second, 14:39 left, ads: A leads with samples 100\n",
    ]


CELL = """
import tempfile
from cmab import Study
study = Study({
    "horizon": 20,
    "replications": 3,
    "instances": {"ads": {
        "oracle": {"class": "TopK", "n_arms": 3, "k": 1},
        "environment": {
            "class": "SemiBandit",
            "arms": {"class": "BernoulliArms", "means": [0.5, 0.1, 0.9]},
            "oracle": "$oracle",
        },
    }},
    "learners": {"CUCB": {"class": "CUCB"}},
})
with tempfile.TemporaryDirectory() as folder:
    study.run(folder%s)
"""


@pytest.mark.slow
def test_a_notebook_shows_a_bar_and_nothing_else(monkeypatch):
    """Text or a widget; nothing when it is not wanted."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("CMAB_QUIET", "1")
    ways = (
        ", progress=True",
        ", progress=False",
        ", report=lambda *_: 0",
        "",
    )  # quiet by the variable
    cells = [nbformat.v4.new_code_cell(CELL % more) for more in ways]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(ROOT)}}).execute()
    shown, *others = ([*cell.outputs] for cell in notebook.cells)
    # A widget's text is that of its beginning.
    text = "".join(output.get("text") or output["data"]["text/plain"] for output in shown)
    for line in text.strip().split("\r"):
        # The bar before the first piece names no leader, and is erased by blanks.
        assert re.fullmatch(
            r" *(\d+%\|.+\| \d/3 \[.* pieces/s(, ads: CUCB leads with regret .*)?\])?", line
        ), text
    assert others == [[], [], []]
