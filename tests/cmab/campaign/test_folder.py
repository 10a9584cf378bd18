"""Campaigns in a folder: what can be made and reported, people without a path, and names as typed."""

import csv
import io

import pytest

from cmab.campaign.files import Names, Options, alike_in_words
from cmab.campaign.folder import CampaignFolder, create_folder
from cmab.campaign.progress import different_people, expected, exported, reasons_of
from cmab.campaign.reports import Report, Round, UnreachableError, entries_in, results_of, without_path
from oracles import DirectedGraph

FRIENDS = 'name_1,name_2\nAnn,Bob\nAnn,Carl\nBob,Dora\nCarl,Dora\nDora,Emil\n"Meyer, Zoé",Emil\n'


@pytest.mark.parametrize(
    ("text", "options", "why"),
    [
        (FRIENDS, {"k": 0}, "k must be"),
        (FRIENDS, {"k": 99}, "k must be"),
        (FRIENDS, {"largest": -1.0}, "largest must be"),
        ("name_1,name_2\n", {}, "wrong.csv"),
        ("a,b\nc\nd,e,f\n", {}, "wrong.csv"),
    ],
)
def test_a_campaign_that_cannot_be_is_not_made(tmp_path, text, options, why):
    with pytest.raises(ValueError, match=why) as error:
        new = Options(title="x", network="wrong.csv", directed=False, **options)
        create_folder(tmp_path / "no", new, {"wrong.csv": text.encode()})
    assert str(tmp_path) not in str(error.value) and not [*tmp_path.iterdir()]


def test_results_of_a_list_are_words_numbers_or_not_known(tmp_path):
    options = Options(title="Shop", names="drinks.txt", k=2, seed=0)
    folder = create_folder(tmp_path / "shop", options, {"drinks.txt": b"name\ntea\nmilk\njuice\n"})
    of = folder.ask()
    for texts, whys in (
        (["2", "many"], ["from 0 to 1, got 2", "must be a number, got many"]),
        (["50 %", "1.000"], ["number such as 50", "write 1000 or 1.0"]),
        (["unknown", ""], ["at least one item"]),
    ):
        with pytest.raises(ValueError, match="\n".join(whys).replace("\n", ".*\n.*")):
            results_of(of, texts, 1.0)
    assert folder.tell(of, results_of(of, ["0,5", ""], 1.0)).results == {of.names[0]: 0.5}
    of = folder.ask()
    assert folder.tell(of, results_of(of, ["yes", "no"], 1.0)).results == dict(
        zip(of.names, (1.0, 0.0), strict=True)
    )
    assert of.names[0] not in folder.ask([of.names[0]]).names
    again = CampaignFolder(tmp_path / "shop")
    assert again.options == options and repr(again.rounds()) == repr(folder.rounds())
    rows = table(folder, "rounds")
    assert [row["result"] for row in rows] == ["0.5", "", "1", "0", "", ""] and rows[2]["item"] == of.names[0]
    estimates = {row["item"]: float(row["estimated result"]) for row in table(folder, "items")}
    (best,) = expected(folder, [chosen := folder.problem.oracle.labels(folder.best())])
    assert best == pytest.approx(sum(estimates[name] for name in chosen), abs=0.002)


def table(folder, name):
    return [*csv.DictReader(io.StringIO(exported(folder, name).decode("utf-8-sig")))]


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


def test_people_by_another_way_and_those_who_may_have_joined_are_columns_of_the_table(tmp_path):
    options = Options(title="Spring", network="friends.csv", directed=False, k=1, seed=0)
    folder = create_folder(tmp_path / "spring", options, {"friends.csv": FRIENDS.encode()})
    of = folder.ask(["Bob", "Carl", "Dora", "Emil", "Meyer, Zoé"])
    with pytest.raises(UnreachableError, match="leads from the people asked to Emil"):
        folder.tell(of, Report(joined={"Bob": 1, "Emil": None}))
    with pytest.raises(ValueError, match="round 1: the numbers after the names do not fit"):
        folder.tell(of, Report(joined={"Bob": 3}))
    folder.tell(of, Report(joined={"Bob": 1, "Emil": None}, alone=True))
    of = folder.ask(["Ann", "Bob", "Carl", "Dora", "Meyer, Zoé"])
    folder.tell(of, Report(joined={"Dora": None}, unknown=["Bob", "Carl"]))
    first, second = table(folder, "rounds")
    assert (first["people who joined"], first["besides those asked"]) == ("3", "Bob = 1; Emil")
    assert (first["of them by another way"], first["may have joined"]) == ("Emil", "")
    assert (second["people who joined"], second["besides those asked"]) == ("", "Dora")
    assert (second["of them by another way"], second["may have joined"]) == ("", "Bob; Carl")
    text = exported(folder, "history").decode("utf-8-sig")
    assert "3 people joined, those who were asked included; joined: Bob; joined by another way: Emil" in text
    folder.change(title="Summer", ties=(("Ann", "Neu"),))
    assert CampaignFolder(folder.path).options == folder.options and "Neu" in folder.problem.names
    assert "added: Ann – Neu" in exported(folder, "history").decode("utf-8-sig")
    folder.cancel(folder.ask(["Ann", "Bob", "Carl", "Dora", "Emil", "Meyer, Zoé"]))
    last = table(folder, "rounds")[2]
    assert (last["chosen"], last["asked"], last["people who joined"]) == ("Neu", "", "")
    with pytest.raises(ValueError, match="Neu was chosen or reported"):
        folder.change(ties=())
    with pytest.raises(ValueError, match="must be a new or an empty folder"):
        create_folder(folder.path, options, {})
    assert repr(CampaignFolder(folder.path).rounds()) == repr(folder.rounds())


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
    assert different_people([*known, Round(3, "", ("Carl",), "reported", count=4.0)]) == "at least 4"


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("Ann, Bob\tDora;nobody\n\n bob ", "Ann| Bob| Dora| bob|"),
        ("Meyer, Zoé = 2; Ann", "Meyer, Zoé|2 Ann|"),
        ("Ann = 1, Bob\nBob=2\tAnn; = 3", "Ann|1 Bob| Bob|2 Ann| |3"),
        ("Ann\t4.03.2026\nBob = 2026-03-04 10:15\nDora\t12 Nov 2026", "Ann| Bob| Dora|"),
        ("Ann\t12-Nov-26\nBob (3 December 2026)", "Ann| Bob|"),
        ("=1+1\nx=1 = 3\nMeyer, Eva", "=1+1| x=1|3 Meyer| Eva|"),
        ("Who joined\tDate\nAnn (3/5/2024)\n1. Bob (3 Dec)\n2) Dora: 2\n3. Eva", "Ann| Bob| Dora|2 3. Eva|"),
        ("Names:\n- Ann\n• Bob\nEverybody\nNobody.", "Ann| Bob| Everybody|"),
    ],
)
def test_entries_as_people_type_them(text, entries):
    names = Names(["Ann", "Bob", "Dora", "Meyer, Zoé", "=1+1", "x=1"])
    assert " ".join("|".join(entry) for entry in entries_in(text, names)) == entries


def test_choices_tables_and_reasons_have_the_same_estimates_which_depend_on_reports_only(tmp_path):
    options = Options(title="Same", network="friends.csv", directed=False, k=2, seed=0)
    folder = create_folder(tmp_path / "same", options, {"friends.csv": f"{FRIENDS}Lone,\n".encode()})
    of = folder.ask(["Bob", "Carl", "Dora", "Emil", "Meyer, Zoé"])
    assert {row["name"]: row["is_alone"] for row in reasons_of(folder, of)} == {"Ann": False, "Lone": True}
    folder.tell(of, Report(joined={"Bob": None, "Dora": None}))
    pair, *single = before = expected(folder, [("Ann", "Emil"), "Ann", "Emil"])
    counts, rows = folder.campaign.beliefs().counts, {row["person"] for row in table(folder, "people")}
    assert max(single) < pair <= sum(single) and rows >= {*folder.problem.oracle.labels(folder.best())}
    folder.cancel(folder.ask())
    folder.campaign.undo()
    assert folder.rounds()[1].state == "waiting"
    folder.cancel(folder.rounds()[1])
    assert expected(folder, [("Ann", "Emil"), "Ann", "Emil"]) == before
    of = folder.tell(folder.rounds()[1], Report(joined={"Carl": None}))
    folder.cancel(of)
    assert of.count == 3.0 and folder.campaign.beliefs().counts == pytest.approx(counts)


def test_a_round_of_new_people_only_has_reasons_after_all_others_joined(tmp_path):
    options = Options(title="New", network="friends.csv", directed=False, k=2, seed=0)
    folder = create_folder(tmp_path / "new", options, {"friends.csv": FRIENDS.encode()})
    first, second = folder.ask(), folder.ask(is_new_only=True)
    others = {*folder.problem.names.labels} - {*first.names, *second.names}
    folder.tell(first, Report(joined=dict.fromkeys(others), alone=True))
    assert [row["name"] for row in reasons_of(folder, second)] == [*second.names]
    with pytest.raises(ValueError, match="left out or are not new"):
        folder.ask(is_new_only=True)
