"""Names in a journal: many at once have the same forms as one by one, and keep their places."""

import numpy as np
import pytest

from cmab.campaigns._course import Course
from cmab.campaigns._schema import _are_names
from cmab.campaigns.names import Names, read, read_all, written, written_all

LISTS = [
    [],
    ["a", 1, None, True],
    [("a", "b"), ("b", 3)],
    [("a", "b"), ("a", "b", 1)],
    [("a", ("b", 2)), ("c", "d")],
    ["a", ("b", "c")],
    [1.5, ("a", 2.5)],
    [np.str_("a"), np.int64(3), (np.int64(1), "b")],
    [()],
]


@pytest.mark.parametrize("names", LISTS)
def test_many_names_have_the_same_form_as_single_ones(names):
    forms = written_all(names)
    assert forms == [written(name) for name in names]
    assert list(map(type, forms)) == [type(written(name)) for name in names]
    assert _are_names(forms)
    again = read_all(forms)
    assert again == [read(form) for form in forms] == names
    assert list(map(type, again)) == [type(read(form)) for form in forms]


@pytest.mark.parametrize("wrong", [[object()], [("a", object())], [float("nan")], [{"a": 1}], [("a", {1})]])
def test_names_that_a_journal_cannot_contain_are_refused(wrong):
    with pytest.raises(ValueError, match="names must be strings"):
        written_all(wrong)
    assert not _are_names(wrong)
    assert not _are_names([list(name) if isinstance(name, tuple) else name for name in wrong])


@pytest.mark.parametrize("own", [["a", "b", "c", "d"], ["d", "b", "x", "a"]])
@pytest.mark.parametrize(
    "parts", [[["a", "b", "c", "d"]], [["a", "b"], ["c", "d"]], [["d"], ["a", "c", "b"]]]
)
def test_places_follow_the_order_of_the_journal(own, parts):
    names, listed = Names("arm", list(own)), [name for part in parts for name in part]
    for part in parts:
        names.grow(part)
    assert names.listed == listed and list(names.known) == listed
    assert names.numbers([0, 1, 2, 3]).tolist() == [own.index(n) if n in own else -1 for n in listed]
    there = [number for number, name in enumerate(own) if name in listed]
    assert names.places(np.array(there)) == [listed.index(own[number]) for number in there]
    assert names.unknown() == [name for name in own if name not in listed]
    assert names.gone() == [place for place, name in enumerate(listed) if name not in own]


def test_both_directions_of_an_undirected_edge_are_one_name():
    names = Names("tie", [("a", "b"), ("b", "c")], is_undirected=True)
    names.grow([["b", "a"], ["c", "b"]])
    assert names.listed == [("a", "b"), ("b", "c")] and names.unknown() == []
    with pytest.raises(ValueError, match=r"one place each, got \('a', 'b'\) twice"):
        names.grow([["x", "y"], ["a", "b"]])
    assert names.listed == [("a", "b"), ("b", "c")]


def test_a_description_after_another_check_has_its_own_names():
    first = {"event": "campaign", "choices": ["a"], "names": ["a"]}
    other = {"event": "campaign", "choices": ["b", "c"], "names": ["b"]}
    course = Course()
    for event in (first, other):
        course._described = event, {key: dict.fromkeys(event[key]) for key in ("choices", "names")}
    course.add_names(first)
    assert {key: list(names) for key, names in course._names.items()} == {"choices": ["a"], "names": ["a"]}
