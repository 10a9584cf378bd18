"""The command ``cmab campaign``: a whole campaign in a terminal, with names, and errors in one sentence."""

import contextlib
import csv
import io
import json

import pytest

from cmab.campaign.folder import CampaignFolder
from cmab.cli import main

FRIENDS = """name_1,name_2
Ann,Bob
Ann,Carl
Bob,Dora
Carl,Dora
Dora,Emil
"Meyer, Zoé",Emil
=1+1,Emil
"""


def run(*words):
    """Run the command; return its exit status, output and errors."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        try:
            status = main(["campaign", *map(str, words)])
        except SystemExit as stopped:
            status = stopped.code
    return status, out.getvalue(), err.getvalue()


def done(*words):
    status, out, err = run(*words)
    assert status == 0, err
    return out


def refused(*words):
    status, out, err = run(*words)
    assert status == 1, (out, err)
    assert err.startswith("cmab: ") and err.count("\n") == 1
    return err


@pytest.fixture
def place(tmp_path):
    (tmp_path / "friends.csv").write_text(FRIENDS, encoding="utf-8")
    return tmp_path


@pytest.fixture
def spring(place):
    done("new", place / "spring", "--network", place / "friends.csv", "--undirected", "--k", 2, "--seed", 1)
    return place / "spring"


def chosen(folder, number=-1):
    return [str(name) for name in CampaignFolder(folder).rounds()[number].names]


def others(folder, number=-1):
    """People that were not asked and that the people who were asked know, in a list with no step left out."""
    of = CampaignFolder(folder)
    graph, asked = of.problem.graph, set(chosen(folder, number))
    ties = {(str(a), str(b)) for a, b in of.problem.oracle._arm_labels()}
    assert graph.n_arcs == len(ties)
    return sorted({b for a, b in ties if a in asked} - asked)


@pytest.mark.slow
def test_a_campaign_from_the_first_round_to_the_export(spring, place):
    out = done("ask", spring)
    assert out.startswith("Round 1: ask\n") and all(f"  {name}: " in out for name in chosen(spring))
    friend = others(spring)[0]
    assert "3 people joined" in done("tell", spring, f"{friend.upper()}=1", "--author", "Eva")
    done("ask", spring)
    assert "2 people joined" in done("tell", spring, "--nobody")
    done("ask", spring, "--without", "Dora")
    assert "Dora" not in chosen(spring)
    out = done("show", spring)
    assert "3 rounds: 2 reported, 1 waiting" in out
    assert "On average 2.5 people joined" in out
    for word in ("arms", "reward", "ticket", "seed"):
        assert word not in out
    done("export", spring, "--out", place / "rounds.csv")
    with (place / "rounds.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["state"] for row in rows] == ["reported", "reported", "waiting"]
    assert [row["joined"] for row in rows] == ["3.0", "2.0", ""]
    done("export", spring, "--table", "history", "--out", place / "all.json")
    assert len(json.loads((place / "all.json").read_text(encoding="utf-8"))) == 6


@pytest.mark.slow
def test_corrections_cancellations_and_undo(spring):
    done("ask", spring)
    friend = others(spring)[0]
    done("tell", spring, "--nobody")
    assert "reported before" in refused("tell", spring, "--round", 1, f"{friend}=1")
    assert "3 people joined" in done("correct", spring, "--round", 1, f"{friend}=1")
    assert CampaignFolder(spring).rounds()[0].corrected
    assert "no longer corrected" in done("undo", spring)
    assert CampaignFolder(spring).rounds()[0].count == 2.0
    assert "no longer reported" in done("undo", spring)
    assert "nothing" not in done("show", spring)
    done("cancel", spring)
    assert "was cancelled" in refused("cancel", spring, "--round", 1)
    assert "no longer cancelled" in done("undo", spring)
    assert "there is no report" in refused("undo", spring)


@pytest.mark.slow
def test_a_name_is_found_as_people_write_it_and_a_wrong_one_is_answered(spring):
    done("ask", spring)
    assert "did you mean 'Meyer, Zoé'" in refused("ask", spring, "--without", "Meyer, Zoe")
    done("ask", spring, "--without", "  meyer,  ZOÉ ")
    assert "rounds that wait for a report: 1, 2" in refused("tell", spring, "--nobody")


@pytest.mark.slow
def test_lists_of_items(place):
    (place / "drinks.txt").write_text("name\ntea\nmilk\njuice\n", encoding="utf-8")
    shop = place / "shop"
    done("new", shop, "--list", place / "drinks.txt", "--k", 2, "--seed", 0)
    for _ in range(2):
        done("ask", shop)
        first, second = chosen(shop)
        done("tell", shop, f"{first}=0.5", "--unknown", second)
    done("ask", shop)
    first, second = chosen(shop)
    done("tell", shop, first)
    assert CampaignFolder(shop).rounds()[-1].results == {first: 1.0, second: 0.0}
    missing = ({"tea", "milk", "juice"} - {first, second}).pop()
    done("ask", shop, "--without", first)
    assert "was not chosen" in refused("tell", shop, first)
    out = done("show", shop)
    assert "By item" in out and "mean result" in out
    assert missing in chosen(shop)


@pytest.mark.slow
def test_formulas_in_names_are_inert_in_tables(place):
    done("new", place / "c", "--network", place / "friends.csv", "--undirected", "--k", 7)
    done("ask", place / "c")
    done("tell", place / "c", "--nobody")
    done("export", place / "c", "--table", "people", "--out", place / "people.csv")
    text = (place / "people.csv").read_text("utf-8-sig")
    cells = [row[0] for row in csv.reader(text.splitlines())]
    assert "'=1+1" in cells and "=1+1" not in cells


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--k", 0], "k must be"),
        (["--k", 99], "at most the number of names"),
        (["--k", 1, "--largest", 5], "no effect on a network"),
    ],
)
def test_a_campaign_that_cannot_be_is_not_made(place, words, why):
    assert why in refused("new", place / "no", "--network", place / "friends.csv", *words)
    assert sorted(path.name for path in place.iterdir()) == ["friends.csv"]


def test_options_say_how_a_network_is_read(place):
    (place / "odd.csv").write_text("Zed,Ann,Bob,7\nYes,Bob,Cy,9\n", encoding="utf-8")
    columns = ("--from", "3", "--to", "2", "--weight", "4", "--no-header")
    text = done("new", place / "odd", "--network", place / "odd.csv", "--directed", "--k", 1, *columns)
    assert "the first ties: Bob and Ann; Cy and Bob" in text
    graph = CampaignFolder(place / "odd").problem.graph
    assert [graph.label(node) for node in graph.tails.tolist()] == ["Bob", "Cy"]
    (place / "names.csv").write_text("Ann\nBob\n", encoding="utf-8")
    assert "no effect on a list" in refused("new", place / "x", "--list", place / "names.csv", "--header")


@pytest.mark.parametrize("text", ["name_1,name_2\n", "a,b\nc\nd,e,f\n", "\n"])
def test_a_network_that_cannot_be_read_is_named_as_the_user_named_it(place, text):
    (place / "wrong.csv").write_text(text, encoding="utf-8")
    error = refused("new", place / "wrong", "--network", place / "wrong.csv", "--undirected", "--k", 1)
    assert "wrong.csv" in error and ".new-" not in error
