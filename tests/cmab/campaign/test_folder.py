"""Campaigns in a folder: what can be made and reported, people without a path, and names as typed."""

import pytest

from cmab.campaign.files import Options, alike_in_words, names_in
from cmab.campaign.folder import CampaignFolder, create_folder
from cmab.campaign.progress import different_people
from cmab.campaign.reports import Round, report_of, without_path
from oracles import DirectedGraph

FRIENDS = 'name_1,name_2\nAnn,Bob\nAnn,Carl\nBob,Dora\nCarl,Dora\nDora,Emil\n"Meyer, Zoé",Emil\n'


@pytest.mark.parametrize(
    ("text", "options", "why"),
    [
        (FRIENDS, {"k": 0}, "k must be"),
        (FRIENDS, {"k": 99}, "at most the number of names"),
        (FRIENDS, {"largest": 5.0}, "no effect on a network"),
        (FRIENDS, {"names": "names.txt"}, "either a network or a list"),
        ("name_1,name_2\n", {}, "wrong.csv"),
        ("a,b\nc\nd,e,f\n", {}, "wrong.csv"),
    ],
)
def test_a_campaign_that_cannot_be_is_not_made(tmp_path, text, options, why):
    with pytest.raises(ValueError, match=why) as error:
        new = Options(title="x", network="wrong.csv", directed=False, **options)
        create_folder(tmp_path / "no", new, {"wrong.csv": text.encode()})
    assert ".new-" not in str(error.value) and not [*tmp_path.iterdir()]


def test_results_of_a_list_are_words_numbers_or_not_known(tmp_path):
    options = Options(title="Shop", names="drinks.txt", k=2, seed=0)
    folder = create_folder(tmp_path / "shop", options, {"drinks.txt": b"name\ntea\nmilk\njuice\n"})

    def told(entries, unknown=()):
        of = folder.rounds()[-1]
        return report_of(of, folder.problem.names, entries, is_network=False, unknown=unknown)

    first, second = map(str, folder.ask().names)
    for entry, why in (
        ("cocoa", "not a name"),
        (f"{first}=2", "from 0 to 1"),
        (f"{first}=many", "yes, no or"),
    ):
        with pytest.raises(ValueError, match=why):
            told([entry])
    assert folder.tell(told([f"{first.upper()} = 0,5"], [second])).results == {first: 0.5}
    names = list(map(str, folder.ask().names))
    assert folder.tell(told([f"{names[0]}=yes", f"{names[1]}=no"])).results == dict(
        zip(names, (1.0, 0.0), strict=True)
    )
    of = folder.ask([names[0]])
    assert names[0] not in of.names
    with pytest.raises(ValueError, match="was not chosen"):
        told([names[0]])
    again = CampaignFolder(tmp_path / "shop")
    assert again.options == options and again.rounds() == folder.rounds()


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
    ("text", "names"),
    [
        ("id,name\n1,Ann\n2,Bob\n", "Ann|Bob"),
        ("Tea, green\nMilk\n", "Tea, green|Milk"),
        ("1\tTea, green, hot\n2\tMilk", "Tea, green, hot|Milk"),
        ("id;Drink\n1;Tea\n2;Milk", "Tea|Milk"),
        ("Ann, Bob; x, Cy", "Ann|Bob; x|Cy"),
        ('"#metoo"\n# a comment\nplain', "#metoo|plain"),
        ("Ann\nnobody\n-\nN/A\nBob", "Ann|Bob"),
        ("id,name\n1,Ann\n\nfrom,to\n1,2\n", "line 4: a second table must not follow"),
        ("name,cost\nAnn,3\n\nTotal,3\n", "line 4: a second table must not follow"),
        ("Ann\nAnn\n", "line 2: Ann must be listed once"),
    ],
)
def test_lists_as_people_bring_them(text, names):
    if ":" in names:
        with pytest.raises(ValueError, match=names):
            names_in(text)
    else:
        assert "|".join(names_in(text)[0]) == names


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
