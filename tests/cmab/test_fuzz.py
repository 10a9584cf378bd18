"""Broken input of every kind: a graph file or a command line is used or refused in words."""

import gzip

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from instances import read_network

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
        graph = read_network(file, **options).graph
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
    assert read(file, directed=directed, header=header) or text != "0 1 0.5\n1 2 0.25"


@FILES
@given(st.binary(max_size=40), st.booleans(), st.integers(0, 60))
def test_bytes_and_torn_gzip(tmp_path, data, zipped, cut):
    file = tmp_path / "graph.gz"
    file.write_bytes(gzip.compress(data)[:cut] if zipped else data)
    read(file)
