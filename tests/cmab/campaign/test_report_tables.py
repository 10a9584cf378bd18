"""Tables of reports: what can be read in two ways is refused with the reason, and nothing else is."""

import pytest

from cmab.campaign.files import Names
from cmab.campaign.reports import Round, entries_in, reports_in


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (["{0},no", "{1},no"], "header"),
        (["round,name,results", "{n},{0},no"], "results"),
        (["round,name,result,note", "{n},{0},no,ill"], "note"),
        (["round,name,result,joined", "{n},{0},no,yes"], "one column result"),
        (["round,name,person,result", "{n},{0},{1},yes"], "one column name"),
        (["name,result", "{0},no", "{0},yes"], "line 3 has another one"),
        (["name,result", "{0},yes", "{0},unknown"], "line 3 has another one"),
        (["name,result", "{asked},unknown"], "was asked"),
        (["name,result,step", "{0},no,zz"], "step"),
        (["name,result,step", "{0},unknown,1"], "step"),
        (["name,result", "{0},no,yes"], "without a header"),
        (["name,result", ",no", "{0},yes"], "nobody joined"),
        (["name,result", "{0},yes", ",no"], "nobody joined"),
        (["name,result", ",no", "{0},unknown"], "nobody joined"),
        (["name,result", "#note,yes", "{0},yes"], "begins with #"),
        (["round,name", "{n},{0}", ",{1}"], "an empty cell"),
        (["round,name", ",{0}", "{n},{1}"], "an empty cell"),
        (["name,round", "{0},{n}", "{1}"], "an empty cell"),
        (["# a table", "name,result", "{0},yes"], "begins with #"),
    ],
)
def test_a_table_that_can_be_read_in_two_ways_is_refused_with_the_reason(rows, why):
    text = "\n".join(row.format("Bob", "Cy", asked="Ann", n=1) for row in rows)
    try:
        refused = reports_in(text, [Round(1, "", ("Ann",))], Names(["Ann", "Bob", "Cy"]), is_network=True)[1]
    except ValueError as error:
        refused = [("", "", str(error))]
    assert any(why in reason for _, _, reason in refused), refused


@pytest.mark.parametrize("number", [None, 1, 2])
@pytest.mark.parametrize(
    ("text", "told", "wrong"),
    [
        ("round,name\n1,Bob\n,Cy\n", {1: ["Bob"]}, [3]),
        ("round,name\n,Cy\n1,Bob\n", {1: ["Bob"]}, [2]),
        ("name,round,result\nBob,1\nCy,,yes\nDan\n", {1: ["Bob"]}, [3, 4]),
        ("round,name,result\n1,Bob,yes\n,,\n,,no\n", {1: ["Bob"]}, [4]),
        ("round,name\n1,Bob\n2,Cy\n", {1: ["Bob"], 2: ["Cy"]}, []),
        ("round,name\n,Bob\n,Cy\n", {2: ["Bob", "Cy"]}, []),
    ],
)
def test_a_line_without_a_round_below_lines_with_one_is_refused(text, told, wrong, number):
    """A spreadsheet with merged cells has the round in the first of its lines only."""
    rounds = [Round(1, "", ("Ann",), state="reported"), Round(2, "", ("Ann",))]
    reports, refused = reports_in(
        text, rounds, Names(["Ann", "Bob", "Cy", "Dan"]), is_network=True, number=number
    )
    found = {report.number: list(report.joined) for report in reports}
    if number is None:
        assert found == told
    elif wrong or len(told) > 1:
        assert found == {at: names for at, names in told.items() if at == number}
    else:
        assert list(found) == [number]
    assert set(wrong) <= {each.line for each in refused}
    assert all("an empty cell" in each.reason for each in refused if each.line in wrong)


def test_people_with_names_like_comments_are_reported():
    rounds, names = [Round(1, "", ("Ann",))], Names(["Ann", "#hash", "Bob"])
    for text in ("name,result\n#hash,yes\nBob,no\n", "#hash\n", "name,result\nBob,no\n#hash,\n"):
        reports, refused = reports_in(text, rounds, names, is_network=True)
        assert not refused and list(reports[0].joined) == ["#hash"]


def test_dates_absent_people_and_repeated_lines_are_accepted():
    text = "name,result,joined on,step\nBob,yes,4.03.2026,\nBob,joined,,2026-03-04\nAnn,no,,\n"
    reports, refused = reports_in(
        text, [Round(1, "", ("Ann", "Cy"))], Names(["Ann", "Bob", "Cy"]), is_network=True
    )
    assert not refused and reports[0].joined == {"Bob": None} and reports[0].absent == ["Ann"]
    assert reports[0].lines == [2, 3, 4]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Ann, Bob;Meyer, Zoé\nANN", ["Ann", "Bob", "Meyer, Zoé", "ANN"]),
        ("Ann\t4.03.2026\nBob = 2026-03-04 10:15", ["Ann", "Bob"]),
        ("Bob = 2, Zed = 1", ["Bob = 2", "Zed = 1"]),
        (" ;, ", []),
    ],
)
def test_names_of_a_text(text, found):
    assert entries_in(text, Names(["Ann", "Bob", "Meyer, Zoé"])) == found
