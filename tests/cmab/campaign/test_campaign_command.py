"""The command ``cmab campaign``: a whole campaign in a terminal, with names, and errors in one sentence."""

import contextlib
import csv
import io

import pytest

from cmab.campaign.files import names_in
from cmab.campaign.folder import CampaignFolder
from cmab.cli import main

FRIENDS = 'name_1,name_2\nAnn,Bob\nAnn,Carl\nBob,Dora\nCarl,Dora\nDora,Emil\n"Meyer, Zoé",Emil\n=1+1,Emil\n'


def run(wanted, *words):
    """Run the command, compare its exit status, and return its output or its error."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        assert main(["campaign", *map(str, words)]) == wanted
    if wanted:
        assert err.getvalue().startswith("cmab: ") and err.getvalue().count("\n") == 1
    return err.getvalue() if wanted else out.getvalue()


@pytest.fixture
def place(tmp_path):
    (tmp_path / "friends.csv").write_text(FRIENDS, encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_a_campaign_from_the_first_round_to_the_export(place):
    spring = place / "spring"
    run(0, "new", spring, "--network", place / "friends.csv", "--undirected", "--k", 2, "--seed", 1)
    out, folder = run(0, "ask", spring), CampaignFolder(spring)
    asked = folder.rounds()[-1].names
    assert out.startswith("Round 1: ask\n") and all(f"  {name}: " in out for name in asked)
    ties = {(str(a), str(b)) for a, b in folder.problem.oracle._arm_labels()}
    friend = min({b for a, b in ties if a in asked} - {*asked})
    assert "2 people joined" in run(0, "tell", spring, "--nobody")
    assert "reported before" in run(1, "tell", spring, "--round", 1, f"{friend}=1")
    assert "3 people joined" in run(0, "correct", spring, "--round", 1, f"{friend.upper()}=1")
    assert "no longer corrected" in run(0, "undo", spring)
    assert "left out" in run(0, "cancel", spring, "--round", 1)
    assert "no longer left out" in run(0, "undo", spring)
    other = next(name for name in ("Ann", "Bob", "Carl") if name not in asked)
    run(0, "correct", spring, "--round", 1, "--nobody", "--asked", asked[0], other)
    assert CampaignFolder(spring).rounds()[0].names == (asked[0], other)
    run(0, "undo", spring)
    assert "no longer reported" in run(0, "undo", spring)
    run(0, "cancel", spring)
    assert "was cancelled" in run(1, "cancel", spring, "--round", 1)
    assert "no longer cancelled" in run(0, "undo", spring)
    assert "there is no report" in run(1, "undo", spring)
    run(0, "tell", spring, friend)
    assert "did you mean 'Meyer, Zoé'" in run(1, "ask", spring, "--without", "Meyer, Zoe")
    run(0, "ask", spring, "--without", "  meyer,  ZOÉ ", "--without", "=1+1")
    run(0, "ask", spring)
    assert "rounds that wait for a report: 2, 3" in run(1, "tell", spring, "--nobody")
    out = run(0, "show", spring)
    assert "3 rounds: 1 reported, 2 waiting" in out and "On average 3.0 people joined" in out
    assert not any(word in out for word in ("arms", "reward", "ticket", "seed"))
    run(0, "export", spring, "--out", place / "rounds.csv")
    rows = list(csv.DictReader((place / "rounds.csv").read_text("utf-8-sig").splitlines()))
    assert [(row["state"], row["joined"]) for row in rows] == [("reported", "3.0")] + [("waiting", "")] * 2
    run(0, "export", spring, "--table", "history", "--out", place / "all.csv")
    assert len([*csv.DictReader((place / "all.csv").read_text("utf-8-sig").splitlines())]) == 15


@pytest.mark.slow
def test_lists_of_items(place):
    (place / "drinks.txt").write_text("name\ntea\nmilk\njuice\n", encoding="utf-8")
    shop = place / "shop"
    run(0, "new", shop, "--list", place / "drinks.txt", "--k", 2, "--seed", 0)
    for report in (["{0}=0.5", "--unknown", "{1}"], ["{0}"]):
        run(0, "ask", shop)
        names = CampaignFolder(shop).rounds()[-1].names
        run(0, "tell", shop, *(word.format(*names) for word in report))
    assert CampaignFolder(shop).rounds()[-1].results == {names[0]: 1.0, names[1]: 0.0}
    run(0, "ask", shop, "--without", names[0])
    assert "was not chosen" in run(1, "tell", shop, names[0])
    out = run(0, "show", shop)
    assert "By item" in out and "mean result" in out
    (shop / "drinks.txt").write_text("name\ntea\nmilk\ncocoa\n", encoding="utf-8")
    run(0, "export", shop, "--accept-changes", "--table", "history", "--out", place / "all.csv")
    assert "added: cocoa; removed: juice" in (place / "all.csv").read_text("utf-8-sig")


@pytest.mark.parametrize(
    ("text", "words", "why"),
    [
        (FRIENDS, ["--k", 0], "k must be"),
        (FRIENDS, ["--k", 99], "at most the number of names"),
        (FRIENDS, ["--largest", 5], "no effect on a network"),
        ("name_1,name_2\n", [], "wrong.csv"),
        ("a,b\nc\nd,e,f\n", [], "wrong.csv"),
    ],
)
def test_a_campaign_that_cannot_be_is_not_made(place, text, words, why):
    (place / "wrong.csv").write_text(text, encoding="utf-8")
    error = run(1, "new", place / "no", "--network", place / "wrong.csv", "--undirected", *words)
    assert why in error and ".new-" not in error
    assert sorted(path.name for path in place.iterdir()) == ["friends.csv", "wrong.csv"]


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


def test_options_say_how_a_network_is_read(place):
    (place / "odd.csv").write_text("Zed,Ann,Bob,7\nYes,Bob,Cy,9\n", encoding="utf-8")
    columns = ("--from", "3", "--to", "2", "--weight", "4", "--no-header")
    text = run(0, "new", place / "odd", "--network", place / "odd.csv", "--directed", "--k", 1, *columns)
    assert "the first ties: Bob and Ann; Cy and Bob" in text
    (place / "names.csv").write_text("Ann\nBob\n", encoding="utf-8")
    assert "no effect on a list" in run(1, "new", place / "x", "--list", place / "names.csv", "--header")
