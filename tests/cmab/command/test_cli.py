"""The command: exit statuses, messages, and what is on disk after Ctrl-C."""

import csv
import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import ROOT

from cmab import Clairvoyant, cli, simulate
from cmab._options import parameter_texts, parser_of
from cmab.intervals import without_noise
from cmab.results import tables
from cmab.studies import _registry
from cmab.studies._results import regret_row
from instances import BernoulliArms, SemiBandit
from oracles import TopK


def fast(*, n: int = 3, factor: float = 0.5, word: str = "a", swap: bool = False, where: Path | None = None):
    """Three rows.

    Parameters
    ----------
    n : int
        How many rows,
        in all
    factor : float
        A factor
    """
    yield from ({"name": f"{word}{i}", "value": factor * i, "swapped": swap} for i in range(n))


def interrupted():
    """One row, then Ctrl-C."""
    yield {"name": "first", "value": 1.0}
    raise KeyboardInterrupt


def refused():
    """Bad input."""
    raise ValueError("k must be an integer in [1, 3], got 7")


@pytest.fixture(autouse=True)
def plug_ins(monkeypatch):
    """The functions above, as another package would register them."""
    entries = _registry.entries
    made = {name: f"{__name__}:{name}" for name in ("fast", "interrupted", "refused", "absent")}
    ours = {name: _registry.metadata.EntryPoint(name, value, "cmab.demos") for name, value in made.items()}
    monkeypatch.setattr(
        _registry, "entries", lambda group: entries(group) | (ours if group == "demos" else {})
    )


def test_rows_are_printed_and_saved(tmp_path, capsys):
    assert (
        cli.main(["demo", "fast", "--n", "2", "--factor", "0.3", "--swap", "--out", str(tmp_path / "new")])
        == 0
    )
    printed = capsys.readouterr()
    assert printed.out.splitlines()[0].split() == ["name", "value", "swapped"]
    with (tmp_path / "new" / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["value"] for row in rows] == ["0.0", "0.3"]
    assert "name: a1" in printed.err  # a log sees every row when it is there


def test_ctrl_c_keeps_what_is_there(tmp_path, capsys):
    assert cli.main(["demo", "interrupted", "--out", str(tmp_path)]) == 130
    printed = capsys.readouterr()
    assert "first" in printed.out
    assert "interrupted; the results so far are above" in printed.err
    assert "first" in (tmp_path / "table.csv").read_text()


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["demo", "refused"], 1, "k must be an integer in [1, 3], got 7"),
        (["demo", "nothing"], 1, "got 'nothing'"),
        (["reproduce", "nothing"], 1, "got 'nothing'"),
    ],
)
def test_bad_arguments(arguments, status, message, capsys):
    assert cli.main(arguments) == status
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [[], ["dance"], ["demo"], ["demo", "fast", "--n", "x"], ["list", "songs"]]
)
def test_arguments_that_do_not_parse(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(arguments)
    assert stopped.value.code == 2
    assert "usage: cmab" in capsys.readouterr().err


def test_output_folder_is_tried_before_the_run(tmp_path, capsys):
    file = tmp_path / "file"
    file.write_text("")
    assert cli.main(["demo", "interrupted", "--out", str(file)]) == 1
    assert "--out must be a writable folder" in capsys.readouterr().err


def test_help_comes_from_signature_and_docstring(capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["demo", "fast", "--help"])
    assert stopped.value.code == 0
    assert "How many rows, in all (default: 3)" in " ".join(capsys.readouterr().out.split())


def test_list_goes_on_past_what_cannot_be_loaded(capsys):
    assert cli.main(["list"]) == 0
    printed = capsys.readouterr().out
    assert "absent: cannot be loaded" in printed
    assert "influence(graph=None" in printed
    assert "TopK(n_arms, k, sense='max')" in printed


@pytest.mark.parametrize("group", _registry.GROUPS)
def test_everything_registered_loads_and_is_documented(group):
    for name, entry in _registry.entries(group).items():
        if name != "absent":
            thing = entry.load()
            assert thing.__doc__
            if group in ("demos", "experiments"):
                documented = parameter_texts(parser_and_doc(thing))
                assert set(documented) >= set(thing.__kwdefaults__ or {}) - {
                    "n",
                    "factor",
                    "word",
                    "swap",
                    "where",
                }


def parser_and_doc(function):
    """The docstring, once the parser was made without an error."""
    import inspect

    parser_of(function, "cmab")
    return inspect.getdoc(function)


def test_table_text_and_missing_values():
    rows = [{"a": "x", "b": 1.23456}, {"a": "longer", "c": float("nan")}]
    assert tables.text(rows).splitlines() == ["a           b  c", "x       1.235  -", "longer      -  -"]


def run(*arguments, **settings):
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-m", "cmab.cli", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        **settings,
    )


@pytest.mark.slow
def test_help_imports_no_heavy_library():
    code = "import sys\nfrom cmab.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
    heavy = {"networkx", "numba", "matplotlib", "scipy", "starlette", "pyarrow"}
    code += f"print({sorted(heavy)}, set({sorted(heavy)}) & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert found.stdout.splitlines()[-1].endswith("] set()")


@pytest.mark.slow
def test_ctrl_c_in_a_real_process(tmp_path):
    """The signal comes when the first learner is done; the second has far to go."""
    process = run("demo", "top-k", "--rounds", "2000000", "--replications", "1", "--out", str(tmp_path))
    first = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert first.startswith("learner: Learner")
    assert process.returncode == 130, err
    assert "Learner" in out
    assert "interrupted" in err
    assert "Traceback" not in err
    assert (tmp_path / "table.csv").is_file()
    assert (tmp_path / "curves.csv").is_file()


@pytest.mark.slow
def test_a_closed_pipe_is_no_error():
    process = run("list")
    process.stdout.close()
    assert process.wait(timeout=60) in (0, 1)
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()


def test_numbers_of_a_column_align():
    """Without exponents, and with four digits, as far as they are near each other."""
    values = [(684.0, 54131.7, 1e-12, 0.00123), (111.52, 3.0, 5.0, 12.0)]
    rows = [dict(zip("abcd", line, strict=True)) for line in values]
    assert tables.text(rows).splitlines() == [
        "    a        b      c        d",
        "684.0  54131.7  1e-12  0.00123",
        "111.5      3.0      5       12",
    ]
    assert tables.shown(math.nan) == tables.shown(None) == "-"
    assert (tables.shown(math.inf), tables.shown(0.0), tables.shown(123456.7)) == ("inf", "0", "123457")
    for exponent in range(-300, 300, 7):
        text = tables.text([{"x": 1.2345 * 10.0**exponent}]).splitlines()[1]
        assert float(text) == pytest.approx(1.2345 * 10.0**exponent, rel=1e-3)


@pytest.mark.slow
@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=5))
def test_no_number_is_shown_as_another(values):
    """Two digits at least are right, and only zero is shown as zero."""
    for value, text in zip(values, tables.text([{"x": value} for value in values]).split()[1:], strict=True):
        assert float(text) == pytest.approx(value, rel=0.06, abs=0.0)


def test_rounding_is_no_regret():
    """A clairvoyant's sums differ from rounds times the optimum by rounding, which is shown as 0."""
    oracle = TopK(3, 1)
    result = simulate(
        Clairvoyant(oracle, [0.1, 0.7, 0.3]), SemiBandit(BernoulliArms([0.1, 0.7, 0.3]), oracle), 10_000
    )
    assert result.exact_regret[0, -1] != 0.0
    assert regret_row(("instance", "clairvoyant"), result)["regret"] == 0.0
    assert without_noise(np.array([1e-3, -1e-3, np.nan]), 0.7, rounds=10_000).tolist()[:2] == [1e-3, -1e-3]
