"""The command: exit statuses, one-sentence errors, the list of classes, Ctrl-C and SIGTERM, closed pipes."""

import inspect
import os
import signal
import subprocess
import sys
import time
from importlib.metadata import EntryPoint

import pytest
from places import ROOT

import cmab
import oracles
from cmab import cli


def greet(parser):
    """Greet."""
    parser.add_argument("--name", default="you")
    return lambda options: iter([f"hello {options.name}"])


def refuse(parser):
    def run(options):
        yield "before"
        raise ValueError("k must be an integer in [1, 3],\ngot 7")

    return run


def break_down(parser):
    def run(options):
        yield {}["missing"]

    return run


@pytest.fixture(autouse=True)
def other_package(monkeypatch):
    """The functions above, as another package registers them."""
    made = [
        EntryPoint(name, f"{__name__}:{name}", "cmab.commands") for name in ("greet", "refuse", "break_down")
    ]
    monkeypatch.setattr(cli, "entry_points", lambda group: made)


def test_a_command_of_another_package_prints_its_lines(capsys):
    assert cli.main(["greet", "--name", "Ann \x1b[0m"]) == 0
    assert capsys.readouterr().out == "hello Ann \\x1b[0m\n"


def test_errors_are_one_sentence(capsys):
    assert cli.main(["refuse"]) == 1
    told = capsys.readouterr()
    assert (told.out, told.err) == ("before\n", "cmab: k must be an integer in [1, 3], got 7\n")
    assert cli.main(["break_down"]) == 1
    assert "KeyError: 'missing'; this is a bug" in capsys.readouterr().err
    assert cli.main(["--debug", "refuse"]) == 1
    assert "Traceback" in capsys.readouterr().err
    assert cli.main(["demo", "influence", "--graph", "absent.csv"]) == 1
    assert "absent.csv: No such file" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [[], ["unknown"], ["greet", "--colour"], ["list", "shapes"], ["reproduce", "x"]]
)
def test_arguments_that_do_not_parse(words, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(words)
    assert stopped.value.code == 2
    assert "usage: cmab" in capsys.readouterr().err


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_a_help(name, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main([name, "--help"])
    assert stopped.value.code == 0
    assert f"usage: cmab {name}" in capsys.readouterr().out


def test_the_list_has_all_public_classes_with_their_parameters(capsys):
    assert cli.main(["list"]) == 0
    told = capsys.readouterr().out
    assert "  TopK(n_arms, k, *, sense='max')\n" in told
    assert "LUCB1(n_arms, k, *, delta" in told
    found = cli.classes()
    for group, base, home in (("policies", cmab.Policy, cmab), ("oracles", cmab.Oracle, oracles)):
        kinds = {name: getattr(home, name) for name in dir(home)}
        public = {name for name, kind in kinds.items() if isinstance(kind, type) and issubclass(kind, base)}
        missing = public - found[group].keys() - found["explorers"].keys()
        assert missing <= {name for name in public if inspect.isabstract(kinds[name])}


def run(*words, **settings):
    return subprocess.Popen(
        [sys.executable, "-m", "cmab", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        **settings,
    )


@pytest.mark.slow
def test_help_imports_no_heavy_library():
    code = "import sys\nfrom cmab.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
    code += "print({'networkx', 'numba', 'numpy', 'matplotlib', 'scipy', 'starlette'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert found.stdout.splitlines()[-1] == "set()"


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_run_and_keeps_its_results(number, tmp_path):
    words = ("reproduce", "twelve-instances", "--quick", "--jobs", "1", "--out", str(tmp_path))
    process, file = run(*words), tmp_path / "runs.sqlite"
    while not file.exists() or (b"explorer" not in file.read_bytes() and file.stat().st_size < 20_000):
        assert process.poll() is None
        time.sleep(0.1)
    process.send_signal(number)
    _, err = process.communicate(timeout=120)
    assert (process.returncode, "Traceback" in err) == (130, False)
    assert "interrupted; finished results are stored" in err
    assert not [*tmp_path.glob("table.csv")]


@pytest.mark.slow
def test_a_closed_pipe_is_no_error():
    process = run("list")
    process.stdout.close()
    assert process.wait(timeout=60) in (0, 1)
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()
