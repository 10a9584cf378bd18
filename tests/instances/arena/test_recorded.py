"""The recorded results of the arena: they are those of the present code, and the page shows them."""

import re

import numpy as np
import pytest
from places import ROOT

from cmab.arena import play
from cmab.arena.recorded import read_recorded
from instances.arena import ENTRIES, PROBLEMS, RECORDED

BY_NAME = {entry.name: entry for entry in ENTRIES}
#: Matches of a second or less: all families, compiled and not.
MATCHES = [
    ("top 5 of 20", "CTS"),
    ("tree of a 5 x 5 grid", "CUCB x 0.1"),
    ("matching 12 x 15, narrow", "HierarchicalCTS"),
    ("events of 18 women", "Greedy, 5 hopeful outcomes"),
    ("list, 5 of 50", "KLCUCB"),
    ("assortment 4 of 20", "MNLUCB, short"),
    ("delays, top 5 of 40", "CTS shared"),
    ("drift, 4 of 20", "CTS, window"),
]


@pytest.fixture(scope="module")
def recorded():
    return read_recorded(RECORDED)


def test_all_problems_and_entries_are_recorded(recorded):
    assert {p.name: p.held_out for p in recorded.problems} == {n: p.held_out for n, p in PROBLEMS.items()}
    assert set(recorded.entries) == set(BY_NAME)
    assert {p.name: p.horizon for p in recorded.problems} == {n: p.horizon for n, p in PROBLEMS.items()}
    assert (recorded.seed, recorded.level) == (0, "quick")


@pytest.mark.slow
@pytest.mark.parametrize(("problem", "entry"), MATCHES)
def test_recorded_regrets_are_those_of_the_code(recorded, problem, entry):
    """Recorded numbers have five digits. If they differ, a policy or problem has changed: record again."""
    match = play(PROBLEMS[problem], BY_NAME[entry], 0)
    curves = recorded.curves[problem, entry]
    own = match.regret[np.isin(match.rounds, curves.rounds)]
    np.testing.assert_allclose(curves.regret[0], own, rtol=1e-4, atol=1e-4 * abs(own[-1]))


def test_the_page_shows_the_recorded_scores(recorded):
    page = (ROOT / "docs" / "explanation" / "arena.md").read_text(encoding="utf-8")
    shown = re.search(r"<!-- scores -->\n(.*?)\n<!-- end -->", page, re.DOTALL)
    assert shown is not None
    assert shown[1].strip() == recorded.table(form="github").strip()
