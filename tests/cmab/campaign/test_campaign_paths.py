"""People to whom no chain of people who joined leads."""

import pytest

from cmab.campaign.files import alike_in_words
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


@pytest.mark.parametrize(
    ("names", "alike"),
    [
        (["John", "Jon", "Bob"], "Jon and John"),
        (["Anna", "Ana", "Ann"], "Ana and Anna"),
        (["Paul Meyer", "Paul Meier"], "Paul Meyer and Paul Meier"),
        (["P10", "P100", "Tim", "Tom", "Maria", "Mario"], None),  # numbers, and other names
        ([f"code{a}{b}x" for a in "abcd" for b in "efgh"], None),
    ],
)
def test_names_that_differ_in_a_letter_are_shown(names, alike):
    line = f"names that look alike and may be one: {alike}"
    assert alike_in_words(names) == ([] if alike is None else [line])


def test_different_people_are_counted_once():
    known = [Round(at, "", ("Ann",), "reported", count=2.0, joined={"Bob": None}) for at in (1, 2)]
    assert different_people(known) == "2"
    assert different_people([*known, Round(3, "", ("Carl",))]) == "2"
    assert different_people([*known, Round(3, "", ("Carl",), "reported", count=4.0)]) == "at least 3"
