"""Ctrl-C ends the command in words, while it imports its packages as well."""

import os
import signal
import subprocess
import sys

import pytest
from places import ROOT

from cmab import _interrupts

# A `numpy` that is interrupted instead of imported: the first package of others that cmab imports.
_NUMPY = """import os, signal, time
os.kill(os.getpid(), signal.SIGINT)
time.sleep(60)
"""


def interrupted_in_imports(words, folder):
    """Run a program whose import of numpy is interrupted."""
    (folder / "numpy.py").write_text(_NUMPY)
    path = os.pathsep.join([str(folder), str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, *words],
        env={**os.environ, "PYTHONPATH": path},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        # A runner in the background has Ctrl-C ignored, and its children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
@pytest.mark.parametrize("how", ["module", "script"])
def test_an_interrupted_import_ends_in_words(how, tmp_path):
    script = tmp_path / "cmab"
    script.write_text("from cmab.cli import command\ncommand()\n")
    done = interrupted_in_imports(["-m", "cmab", "list"] if how == "module" else [str(script)], tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "cmab: interrupted\n")


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_other_programs_keep_their_own_ending(tmp_path):
    done = interrupted_in_imports(["-c", "from cmab import CUCB"], tmp_path)
    assert done.returncode == -signal.SIGINT
    assert done.stderr.rstrip().endswith("KeyboardInterrupt")


@pytest.mark.parametrize(
    ("program", "given", "expected"),
    [
        ("-m", ["python", "-m", "cmab", "demo"], True),
        ("-m", ["python", "-X", "dev", "-m", "cmab"], True),
        ("-m", ["python", "-m", "pytest", "cmab"], False),
        ("/usr/bin/cmab", ["python", "/usr/bin/cmab"], True),
        ("my_cmab.py", ["python", "my_cmab.py"], False),
        ("-c", ["python", "-c", "import cmab"], False),
        ("", ["python"], False),
    ],
)
def test_the_command_is_recognised(program, given, expected, monkeypatch):
    monkeypatch.setattr(sys, "argv", [program])
    monkeypatch.setattr(sys, "orig_argv", given)
    assert _interrupts.is_command() == expected
