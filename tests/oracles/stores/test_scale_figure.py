"""The table and the picture of the page on graphs of any size."""

import importlib.util

import numpy as np
import pytest
from places import ROOT

pyplot = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture
def figure():
    spec = importlib.util.spec_from_file_location("scale_figure", ROOT / "tests/benchmarks/scale_figure.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_computed_rows_follow_from_the_last_measured_row(figure):
    table = figure.rows()
    assert [row.arcs for row in table] == [10.0**power for power in range(4, 11)]
    last = [row for row in table if row.is_measured][-1]
    assert last.arcs == 1e8
    for row in table:
        # The table rounds to two digits.
        assert row.memory == pytest.approx(row.arcs * row.per_arc / 1e9, rel=0.06)
        if not row.is_measured:
            assert row.per_arc == last.per_arc
            assert row.cascade == pytest.approx(last.cascade * row.arcs / last.arcs, rel=0.03)


def test_the_picture_is_that_of_the_table(figure, tmp_path):
    figure.draw(tmp_path / "scale.png")
    drawn, kept = (pyplot.imread(file) for file in (tmp_path / "scale.png", figure.PICTURE))
    assert drawn.shape == kept.shape
    # Up to a version's way to draw letters.
    assert np.abs(drawn - kept).mean() < 0.01
