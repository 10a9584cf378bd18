"""The pages of a campaign without JavaScript: create, choose, report, correct, upload and export."""

import csv
import io
import json

import pytest
from served_pages import NETWORK, Page

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return Page(tmp_path_factory.mktemp("campaigns")).enter()


@pytest.fixture(scope="module")
def spring(page):
    return page.create()


@pytest.fixture
def asked(page, spring):
    """A campaign with a round that waits for its report, and the number of the round."""
    page.choose(spring)
    return len(page.rounds(spring))


def table(*rows):
    return {"table": ("report.csv", "\n".join(rows).encode(), "text/csv")}


def test_a_round_has_names_reasons_and_a_picture(page, spring, asked):
    text = page.get(spring).text
    for name in page.rounds(spring)[-1].names:
        assert f"<h3>{name}</h3>" in text
    assert text.count("90 % interval") >= 2 and "<svg viewBox" in text
    assert "<script" not in text and "style=" not in text
    for word in ("arms", "reward", "ticket"):
        assert word not in text


def test_a_report_of_who_joined_is_stored_with_its_author(page, spring, asked):
    friend = page.known(spring, asked)[0]
    page.report(spring, asked, joined=friend)
    of = page.rounds(spring)[asked - 1]
    assert of.count == 3.0 and of.author == "owner" and of.joined == {friend: None}
    assert "3 people joined" in page.get(f"{spring}/history").text


def test_a_late_report_and_steps_and_unknown_people(page, spring, asked):
    page.choose(spring)
    known = page.known(spring, asked)
    page.report(spring, asked + 1, nobody="1")
    page.report(spring, asked, others=f"{known[0].upper()} = 1", unknown=known[1])
    of = page.rounds(spring)[asked - 1]
    assert of.joined == {known[0]: 1} and of.unknown == (known[1],)


def test_a_person_whom_nobody_can_tell_is_named_and_the_report_is_kept(page):
    place = page.create(
        "Lost", network="name_1,name_2\nAnn,Bob\nBob,Carl\nCarl,Tilda\n", k="1", never="Tilda\nCarl"
    )
    page.choose(place, without="Bob")
    text = page.report(place, 1, 400, others="Tilda").text.replace("&#39;", "'")
    assert "Tilda knows nobody who was asked or who joined. Did you forget somebody in between?" in text
    assert "accept_changes" not in text and "a new campaign from the new file" in text
    assert '<details class="card" open>' in text and ">Tilda</textarea>" in text
    page.report(place, 1, others="Tilda", unknown="Bob\nCarl")
    assert page.rounds(place)[0].joined == {"Tilda": None}


def test_different_people_and_people_who_joined_before(page):
    place = page.create("Twice", network="name_1,name_2\nAnn,Bob\nBob,Carl\n", k="1")
    for number in (1, 2):
        page.choose(place, without="Ann\nCarl")
        form = page.get(f"{place}/rounds/{number}/report").text
        assert ("joined in round 1" in form) == (number == 2)
        answer = page.report(place, number, joined="Ann")
    after = page.get(answer.headers["location"]).text
    assert f'href="{place}/rounds/2/report">Correct it' in after
    text = page.get(f"{place}/state").text
    assert "<dt>Joined, counted in each round</dt><dd>4</dd>" in text
    assert "<dt>Different people who joined</dt><dd>2</dd>" in text
    assert "It is too early to tell" in text and "95 % confidence" not in text
    assert "Different people who joined: 2" in page.get(f"{place}/print").text
    assert page.get(f"{place}/history").text.count(">Correct</a>") == 2


def test_the_first_reasons_name_the_network_and_waiting_people_are_marked(page):
    place = page.create("First")
    page.choose(place)
    assert "by all reports so far" not in page.get(place).text
    assert 'class="waiting"' not in page.get(place).text
    page.choose(place, without="\n".join(str(name) for name in page.rounds(place)[0].names))
    text = page.get(place).text
    assert text.count('<circle class="waiting"') == 2 and "no report yet</span>" in text


def test_only_the_number_of_people(page, spring, asked):
    page.report(spring, asked, count="5")
    of = page.rounds(spring)[asked - 1]
    assert of.count == 5.0 and of.joined is None


def test_a_correction_starts_from_the_report_and_undo_takes_it_back(page, spring, asked):
    first, second = page.known(spring, asked)[:2]
    page.report(spring, asked, joined=first)
    form = page.get(f"{spring}/rounds/{asked}/report").text
    assert "Correct the report" in form and f'value="{first}" checked' in form
    page.report(spring, asked, joined=[first, second])
    assert page.rounds(spring)[asked - 1].count == 4.0
    page.send(f"{spring}/history", f"{spring}/undo")
    assert page.rounds(spring)[asked - 1].count == 3.0


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, "mark that nobody joined"),
        ({"others": "Annn"}, "did you mean"),
        ({"nobody": "1", "others": "Ann"}, "cannot both be true"),
        ({"count": "3", "nobody": "1"}, "not both"),
        ({"count": "many"}, "whole number"),
        ({"others": "Bob = soon"}, "whole number"),
    ],
)
def test_a_wrong_report_is_answered_and_the_form_keeps_its_contents(page, spring, asked, fields, why):
    text = page.report(spring, asked, 400, **fields).text.replace("&#39;", "'")
    assert why in text and "Nothing was stored" in text
    assert fields.get("others", "") in text
    assert page.rounds(spring)[asked - 1].state == "waiting"


def test_leaving_people_out_cancels_and_chooses_again(page, spring, asked):
    gone, address = [], spring
    for _ in range(2):
        number = len(page.rounds(spring))
        name = str(page.rounds(spring)[-1].names[0])
        action = f"{spring}/rounds/{number}/leave-out"
        address = page.send(address, action, name=name).headers["location"]
        before = {str(each) for each in page.rounds(spring)[number - 1].names}
        gone.append(name)
        text = page.get(address).text
        assert f"{name} was left out." in text and "Left out: " in text
        for other in before - {name} - {str(each) for each in page.rounds(spring)[-1].names}:
            assert f"{other} is replaced, too." in text
        assert page.rounds(spring)[number - 1].state == "cancelled"
        assert not {*gone} & {str(each) for each in page.rounds(spring)[-1].names}


def test_a_table_is_stored_whole_or_not_at_all(page, spring, asked):
    friend = page.known(spring, asked)[0]
    rows = ["round,name,result", f'{asked},"{friend}",yes', f"{asked},Nobody,yes", "999,Ann,yes"]
    answer = page.send(f"{spring}/upload", f"{spring}/upload", 400, files=table(*rows))
    assert "2 lines were refused" in answer.text
    assert "<td>3</td>" in answer.text and "<td>4</td>" in answer.text
    assert page.rounds(spring)[asked - 1].state == "waiting"
    answer = page.send(f"{spring}/upload", f"{spring}/upload", text="\n".join(rows), accept="1")
    stored = page.get(answer.headers["location"]).text
    assert f"Round {asked}: 3 people joined" in stored and friend in stored.split('role="status"')[1][:400]
    assert page.rounds(spring)[asked - 1].count == 3.0
    again = page.send(f"{spring}/upload", f"{spring}/upload", 400, files=table(*rows[:2]))
    assert "was reported before" in again.text
    page.send(f"{spring}/upload", f"{spring}/upload", files=table(*rows[:2]), replace="1")
    assert page.rounds(spring)[asked - 1].corrected


def test_the_table_to_fill_in_can_be_uploaded(page, spring, asked):
    text = page.get(f"{spring}/template.csv?round={asked}").content.decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["name"] for row in rows] == page.known(spring, asked)
    page.send(f"{spring}/upload", f"{spring}/upload", files=table(text))
    assert page.rounds(spring)[asked - 1].count == 2.0


def test_the_state_and_the_estimates(page, spring, asked):
    page.report(spring, asked, nobody="1")
    text = page.get(f"{spring}/state").text
    assert "expected to bring" in text and "Who brings most" in text
    rows = page.get(f"{spring}/estimates?search=ann&sort=to&down=0").text
    cell = '<td class="name">'
    ends = [row.split("</td>")[:2] for row in rows.split(f"<tr>{cell}")[1:]]
    heads = [head.replace(cell, "") for _, head in ends]
    assert heads == sorted(heads, key=str.casefold) and all(
        "Ann" in (a, b.replace(cell, "")) for a, b in ends
    )
    assert 'aria-sort="ascending"' in rows


def test_exports_agree_with_the_campaign(page, spring, asked):
    page.report(spring, asked, nobody="1")
    rounds = page.rounds(spring)
    text = page.get(f"{spring}/export/rounds.csv").content.decode("utf-8-sig")
    assert [int(row["round"]) for row in csv.DictReader(io.StringIO(text))] == [of.number for of in rounds]
    content = json.loads(page.get(f"{spring}/export/all.json").content)
    assert [row["state"] for row in content["rounds"]] == [of.state for of in rounds]
    parquet = pytest.importorskip("pyarrow.parquet")
    read = parquet.read_table(io.BytesIO(page.get(f"{spring}/export/history.parquet").content))
    assert read.column("author").to_pylist()[-1] == "owner"
    page.get(f"{spring}/export/nothing.csv", 404)
    page.get(f"{spring}/print")


def test_lists_costs_and_other_formats_of_networks(page):
    made = (
        page.send("/new", "/new", title="Drinks", kind="list", names="tea\nmilk\njuice", k="1", largest="5")
        .headers["location"]
        .split("?")[0]
    )
    page.choose(made)
    text = page.get(f"{made}/rounds/1/report").text
    assert "Result, from 0 to 5" in text
    page.report(made, 1, **{"result-0": "2,5"})
    assert list(page.rounds(made)[0].results.values()) == [2.5]
    gml = b'graph [ node [ id 0 label "a" ] node [ id 1 label "b" ] edge [ source 0 target 1 ] ]'
    costs = ("costs.csv", b"name,cost\na,1\nb,3\n", "text/csv")
    files = {"network": ("../../x.gml", gml, "text/plain"), "costs": costs}
    paid = page.send("/new", "/new", files=files, title="Paid", kind="network", budget="2", k="", never="")
    place = paid.headers["location"].split("?")[0]
    page.choose(place)
    assert page.rounds(place)[0].names == ("a",)


@pytest.mark.parametrize(
    ("network", "fields", "why"),
    [
        ("", {}, "choose the file"),
        ("a,a\n", {}, "tie between two people"),
        (NETWORK, {"k": "99"}, "at most the number of people"),
        (NETWORK, {"budget": "5"}, "table of costs"),
        (NETWORK, {"title": " "}, "title must be a text"),
        (NETWORK, {"never": "Nobody"}, "not a name"),
    ],
)
def test_a_campaign_that_cannot_be_is_not_made(page, network, fields, why):
    before = page.store.slugs()
    files = {"network": ("friends.csv", network.encode(), "text/csv")}
    given = {"title": "No", "kind": "network", "ties": "both", "k": "2", **fields}
    answer = page.send("/new", "/new", 400, files=files, **given)
    assert why in answer.text.casefold() or why in answer.text
    assert str(page.store.root) not in answer.text
    assert page.store.slugs() == before


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (["{0},no", "{1},no"], "header"),
        (["round,name,results", "{n},{0},no"], "results"),
        (["round,name,result,note", "{n},{0},no,ill"], "note"),
        (["round,name,result,joined", "{n},{0},no,yes"], "one column result"),
        (["round,name,person,result", "{n},{0},{1},yes"], "one column name"),
        (["name,result", "{0},no", "{0},yes"], "line 3 has it"),
        (["name,result", "{0},yes", "{0},no"], "line 3 has it"),
        (["name,result", "{0},unknown", "{0},yes"], "line 3 has it"),
        (["name,result", "{0},yes", "{0},unknown"], "line 3 has it"),
        (["name,result", "{0},yes", "{0},yes"], "line 3 has it"),
        (["name,result", "{asked},no"], "was asked"),
        (["name,result", "{asked},unknown"], "was asked"),
        (["name,result,step", "{0},no,zz"], "step"),
        (["name,result,step", "{0},unknown,1"], "step"),
        (["name,result", "{0},no,yes"], "without a header"),
        (["name,result", ",no", "{0},yes"], "nobody joined"),
        (["name,result", "{0},yes", ",no"], "nobody joined"),
        (["name,result", ",no", "{0},unknown"], "nobody joined"),
        (["name,result", ",no", ",no"], "line 3 has it"),
        (["name,result", "#note,yes", "{0},yes"], "begins with #"),
        (["round,name", "{n},{0}", ",{1}"], "an empty cell"),
        (["round,name", ",{0}", "{n},{1}"], "an empty cell"),
        (["name,round", "{0},{n}", "{1}"], "an empty cell"),
        (["# a table", "name,result", "{0},yes"], "begins with #"),
    ],
)
def test_a_table_that_can_be_read_in_two_ways_is_refused_with_the_reason(page, spring, asked, rows, why):
    known = ['"{}"'.format(name.replace('"', '""')) for name in page.known(spring, asked)]
    names = {"asked": f'"{page.rounds(spring)[asked - 1].names[0]}"', "n": asked}
    before = page.rounds(spring)
    # The other rounds are reported, so that the tables need no column for the round.
    for of in before[: asked - 1]:
        if of.state == "waiting":
            page.report(spring, of.number, nobody="1")
    data = table(*(row.format(*known, **names) for row in rows))
    answer = page.send(f"{spring}/upload", f"{spring}/upload", 400, files=data)
    assert why in answer.text and page.rounds(spring)[asked - 1].state == "waiting"


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
    from cmab.campaign.files import Names
    from cmab.campaign.reports import Round, reports_in

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


def test_people_with_names_like_comments_are_reported(tmp_path):
    from cmab.campaign.files import Names
    from cmab.campaign.reports import Round, reports_in

    rounds, names = [Round(1, "", ("Ann",))], Names(["Ann", "#hash", "Bob"])
    for text in ("name,result\n#hash,yes\nBob,no\n", "#hash\n", "name,result\nBob,no\n#hash,\n"):
        reports, refused = reports_in(text, rounds, names, is_network=True)
        assert not refused and list(reports[0].joined) == ["#hash"]
