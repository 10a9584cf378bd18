"""The command whose terminal goes away, was never there, or cannot show what it is told."""

import csv
import io
import os
import signal
import subprocess
import sys
import time

import pytest
from places import ROOT

from cmab import _faults, cli
from cmab._streams import Lossy, lossy_streams, printable
from cmab.results import tables

STUDY = """
replications = 3
[instances.arms.environment]
class = "BernoulliArms"
means = [0.9, 0.2]
[explorers."LUCB α=1 \\u001b]0;x\\u0007"]
class = "LUCB1"
k = 1
delta = 0.1
[explorers."=1+1"]
class = "LUCB1"
k = 1
delta = 0.2
"""
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}


@pytest.fixture
def study(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(STUDY, encoding="utf-8")
    return file


def shell(line, **names):
    """Run a line of bash, in which $cmab is the command; return what came of it."""
    names = {"cmab": f"{sys.executable} -m cmab", **{name: str(path) for name, path in names.items()}}
    return subprocess.run(
        ["bash", "-c", line],
        env=ENVIRONMENT | names,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        "$cmab run $file --out $out 2>&-",
        "$cmab run $file --out $out >&- 2>&- <&-",
        "$cmab run $file --out $out --jobs 2 2>&-",
        "$cmab run $file --out $out 2>&1 | true; exit ${PIPESTATUS[0]}",
        "$cmab run $file --out $out > /dev/null 2> /dev/full",
        "$cmab run $file --out $out",  # in ASCII, with a letter that it lacks
    ],
)
def test_everything_is_played_and_stored_without_a_reader(study, tmp_path, line):
    """Status 0 means that nothing is missing."""
    done = shell(line, file=study, out=tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    with (tmp_path / "out" / "identifications.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["replications"] for row in rows] == ["3", "3"]
    assert [row["explorer"] for row in rows] == ["LUCB α=1 \x1b]0;x\x07", "'=1+1"]
    assert "\x1b" not in done.stdout + done.stderr
    if line.endswith("$out"):
        assert r"LUCB \u03b1=1 \x1b]0;x\x07" in done.stdout


@pytest.mark.slow
def test_output_that_cannot_be_written_is_an_error():
    assert shell("$cmab list > /dev/full").returncode == 1


class Broken(io.StringIO):
    """A stream that raises what it is told to."""

    def __init__(self, error):
        super().__init__()
        self.error = error

    def write(self, text):
        raise self.error

    def flush(self):
        raise self.error


@pytest.mark.parametrize(
    "error", [BrokenPipeError(), OSError(5, "EIO"), OSError(28, "full"), ValueError("closed")]
)
def test_no_error_of_stderr_ends_a_run(error, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Broken(error))
    with lossy_streams():
        print("message", file=sys.stderr)
        sys.stderr.flush()
        assert not sys.stderr.isatty()
    assert isinstance(sys.stderr, Broken)


def test_stdout_may_lack_a_reader_only():
    Lossy(Broken(BrokenPipeError()), (BrokenPipeError,)).write("text")
    with pytest.raises(OSError, match="full"):
        Lossy(Broken(OSError(28, "full")), (BrokenPipeError,)).write("text")
    assert Lossy(None, ()).write("text") == 4
    Lossy(None, ()).flush()


def test_control_characters_do_not_reach_the_terminal():
    for code in (*range(32), 127, 0x85, 0x9B, 0x202E, 0x2028):
        assert printable(f"a{chr(code)}b").isprintable()
        assert tables.text([{"name": chr(code), "n": 1}]).replace("\n", "").isprintable()
    assert printable("Thompson α") == "Thompson α"


def test_cells_are_no_formulas(tmp_path):
    names = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "plain", ""]
    tables.write_csv(tmp_path / "t.csv", [{"name": name, "=n": -1.5} for name in names])
    with (tmp_path / "t.csv").open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == ["name", "'=n"]
    assert [row[0] for row in rows] == [*(f"'{name}" for name in names[:6]), "plain", ""]
    assert {row[1] for row in rows} == {"-1.5"}


@pytest.mark.slow
def test_version_and_module():
    import cmab

    shown = shell("$cmab --version")
    assert shown.stdout.split() == ["cmab", cmab.__version__]
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        cmab.nothing  # noqa: B018


@pytest.mark.slow
def test_pictures_need_no_import_of_their_own():
    code = "import sys, cmab; assert 'cmab.plotting' not in sys.modules; print(cmab.plotting.band.__name__)"
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True)
    assert done.stdout.strip() == "band", done.stderr


def test_messages_name_the_file_not_the_number(tmp_path, capsys):
    assert cli.main(["validate", str(tmp_path / "none.toml")]) == 1
    told = f"{tmp_path / 'none.toml'}: No such file or directory; check the name, or put the file back"
    assert capsys.readouterr().err == f"cmab: {told}\n"
    assert "/dev/shm" in _faults.sentence(OSError(28, "No space left on device"))


@pytest.mark.parametrize("word", ["demo", "reproduce"])
def test_a_missing_name_is_asked_for_with_the_names(word, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main([word])
    assert stopped.value.code == 2
    message = capsys.readouterr().err
    assert "NAME is required, one of: " in message
    assert "arguments" not in message.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
def test_ctrl_c_at_any_moment_prints_no_traceback(study, tmp_path):
    """Also twice, and while the process ends; not while Python itself and cmab are imported."""
    code = (
        "import sys, signal, cmab.cli; print('ready', file=sys.stderr, flush=True);"
        f"sys.argv = ['cmab', 'run', {str(study)!r}, '--out', {str(tmp_path / 'out')!r}, '--jobs', '2'];"
        "cmab.cli.command()"
    )
    for delay, times in ((0.05, 1), (0.3, 2), (0.8, 1), (1.5, 2)):
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            env=ENVIRONMENT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        first = process.stderr.readline()
        time.sleep(delay)
        for _ in range(times):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGINT)
                time.sleep(0.02)
        _, err = process.communicate(timeout=120)
        assert first == "ready\n"
        assert process.returncode in (0, 130, -signal.SIGINT), err
        assert "Traceback" not in err


@pytest.mark.slow
def test_two_workers_without_standard_streams(tmp_path):
    """As a service has it: descriptors closed, and None in their place in `sys`."""
    script = tmp_path / "script.py"
    script.write_text(
        "import os, sys\n"
        "if __name__ == '__main__':\n"
        "    for descriptor in range(3):\n"
        "        os.close(descriptor)\n"
        "    sys.stdin = sys.stdout = sys.stderr = None\n"
        "    from cmab.studies._workers import spread\n"
        "    done = sorted(spread(abs, [(-1,), (-2,)], 2))\n"
        "    sys.exit(0 if done == [1, 2] and sys.stdout is None else 3)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    assert subprocess.run([sys.executable, script], env=environment, timeout=200).returncode == 0
