"""Broken input of every kind: a graph file, a study file or a command line is used or refused in words."""

import contextlib
import gzip
import io
import string
import warnings

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cmab import cli
from cmab.studies import _registry
from cmab.studies.study import Study
from instances import read_edge_list

# The folder of a test is shared by its examples, each of which writes its file anew.
FILES = settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
FIELDS = st.one_of(
    st.integers(-2, 12).map(str),
    st.floats(allow_nan=True, width=32).map(str),
    st.sampled_from(["1e400", "0x1", "99999999999999999999", "1_0", "--", "#", "a", "\u00b2", "\u0663", "0"]),
)
LINES = st.lists(st.lists(FIELDS, max_size=4).map(" ".join), max_size=6).map("\n".join)


def read(file, **options):
    """Return whether the file is a graph; it must be one or be refused by name."""
    try:
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # a header that was guessed
            graph = read_edge_list(file, **options)
    except ValueError as error:
        assert str(file) in str(error)
        return False
    assert graph.heads.max(initial=-1) < graph.n_nodes
    assert graph.probabilities is None or ((graph.probabilities >= 0) & (graph.probabilities <= 1)).all()
    return True


@pytest.mark.slow
@FILES
@given(LINES, st.booleans(), st.sampled_from([None, True, False]))
@example("0 1 0.5\n1 2 0.25", True, None)
@example("3 1\n0 2", True, True)
def test_lines(tmp_path, text, directed, header):
    file = tmp_path / "graph.txt"
    file.write_text(text, encoding="utf-8")
    read(file, directed=directed, header=header)


@FILES
@given(st.binary(max_size=40), st.booleans(), st.integers(0, 60))
def test_bytes_and_torn_gzip(tmp_path, data, zipped, cut):
    file = tmp_path / "graph.gz"
    file.write_bytes(gzip.compress(data)[:cut] if zipped else data)
    read(file)


def test_the_fuzz_reads_good_files_too(tmp_path):
    file = tmp_path / "graph.txt"
    file.write_text("0 1 0.5\n1 2 1\n")
    assert read(file)


VALUES = st.recursive(
    st.one_of(st.integers(-3, 10**6), st.floats(), st.booleans(), st.text(string.printable, max_size=6)),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)
KEYS = ("horizon", "replications", "seed", "checkpoints", "instances", "policies", "explorers", "max_samples")


def toml(value):
    """Return a value as TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + "".join(f"\\u{ord(c):04x}" for c in value) + '"'
    return f"[{', '.join(map(toml, value))}]" if isinstance(value, list) else repr(value)


@pytest.mark.slow
@FILES
@given(
    st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=6),
    st.dictionaries(st.sampled_from(["class", "means", "oracle", "n_arms", "k", "x"]), VALUES, max_size=4),
    st.sampled_from(["instances.a", "policies.p", "explorers.e", "nonsense", "instances"]),
    st.text(string.printable, max_size=12),
)
def test_study_files(tmp_path, top, table, name, rest):
    file = tmp_path / "study.toml"
    lines = [f"{key} = {toml(value)}" for key, value in top.items()]
    lines += [f"[{name}]", *(f"{key} = {toml(value)}" for key, value in table.items()), rest]
    file.write_text("\n".join(lines), encoding="utf-8")
    with contextlib.redirect_stderr(io.StringIO()) as said, contextlib.redirect_stdout(io.StringIO()):
        assert cli.main(["validate", str(file)]) == 1
    assert said.getvalue().startswith("cmab: ")
    with pytest.raises(ValueError, match=r"\S"):
        Study.load(file)


def tiny(*, n: int = 2, factor: float = 0.5, name: str = "a", swap: bool = False):
    """Yield a row or two.

    Parameters
    ----------
    n : int
        Rows.
    factor : float
        A number.
    name : str
        A word.
    swap : bool
        A switch.
    """
    if not 0 <= n < 5:
        raise ValueError(f"n must be an integer in [0, 4], got {n}")
    for i in range(n):
        yield {"i": i * factor, "name": name, "swap": swap}


WORDS = st.one_of(
    st.sampled_from(
        ["demo", "reproduce", "list", "run", "validate", "report", "tiny", "oracles", "policies"]
    ),
    st.sampled_from(
        ["--n", "3", "--n=-1", "--factor", "nan", "--out", "--out=/dev/null/x", "--jobs", "--swap"]
    ),
    st.sampled_from(["--help", "--", "-", "", "no such file.toml", "/", "--no-swap", "--quick", "\u2603"]),
    st.text(max_size=5),
)


@pytest.mark.slow
@settings(deadline=None, max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(WORDS, max_size=6))
@example(["demo", "tiny", "--n", "3"])
def test_command_lines(monkeypatch, tmp_path, words):
    monkeypatch.chdir(tmp_path)
    entry = _registry.metadata.EntryPoint("tiny", f"{__name__}:tiny", "cmab.demos")
    with monkeypatch.context() as patch, contextlib.ExitStack() as quiet:
        patch.setattr(_registry, "entries", lambda group: {"tiny": entry} if group == "demos" else {})
        out, err = (io.StringIO() for _ in range(2))
        quiet.enter_context(contextlib.redirect_stdout(out))
        quiet.enter_context(contextlib.redirect_stderr(err))
        try:
            status = cli.main(words)
        except SystemExit as stopped:  # argparse: help, or arguments that do not parse
            status = stopped.code
    assert status in (0, 1, 2)
    assert (status == 0) == (not err.getvalue().startswith(("cmab: ", "usage: ")))
