"""People to whom no chain of people who joined leads."""

import pytest

from cmab.campaign.progress import different_people
from cmab.campaign.reports import Round, without_path
from oracles import DirectedGraph

NAMES = ("Ann", "Bob", "Carl", "Dora")
LINE = DirectedGraph([0, 1, 2], [1, 2, 3], n_nodes=4, labels=NAMES)


@pytest.mark.parametrize(
    ("joined", "unknown", "lost"),
    [
        (["Carl"], [], ["Carl"]),
        (["Carl"], ["Bob"], []),
        (["Bob", "Carl", "Dora"], [], []),
        (["Dora"], ["Bob"], ["Dora"]),
        (["Dora", "Carl"], [], ["Dora", "Carl"]),
        ([], [], []),
    ],
)
def test_who_can_be_reached(joined, unknown, lost):
    assert without_path(LINE, ["Ann"], joined, unknown) == lost


def test_different_people_are_counted_once():
    known = [Round(at, "", ("Ann",), "reported", count=2.0, joined={"Bob": None}) for at in (1, 2)]
    assert different_people(known) == "2"
    assert different_people([*known, Round(3, "", ("Carl",))]) == "2"
    assert different_people([*known, Round(3, "", ("Carl",), "reported", count=4.0)]) == "at least 3"
