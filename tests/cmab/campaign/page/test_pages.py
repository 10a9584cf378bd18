"""The pages of a campaign without JavaScript: create, choose, report, correct and export."""

import csv
import io
import re
from datetime import datetime, timedelta
from types import SimpleNamespace

import pytest
from served_pages import NETWORK, Page

from oracles import DirectedGraph

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


def test_a_report_of_who_joined_is_stored(page, spring, asked):
    friend = page.known(spring, asked)[0]
    page.report(spring, asked, joined=friend)
    of = page.rounds(spring)[asked - 1]
    assert of.count == 3.0 and of.joined == {friend: None}
    assert "3 people joined" in page.get(f"{spring}/history").text


def test_a_late_report_and_steps_and_unknown_people(page, spring, asked):
    page.choose(spring)
    known = page.known(spring, asked)
    page.report(spring, asked + 1, nobody="1")
    page.report(spring, asked, others=f"{known[0].upper()} = 1", unknown=known[1])
    of = page.rounds(spring)[asked - 1]
    assert of.joined == {known[0]: 1} and of.unknown == (known[1],)


def test_the_first_reasons_name_the_network_and_waiting_people_are_marked(page):
    place = page.create("First")
    page.choose(place)
    assert "by all reports so far" not in page.get(place).text
    assert 'class="waiting"' not in page.get(place).text
    page.choose(place, without="\n".join(str(name) for name in page.rounds(place)[0].names))
    text = page.get(place).text
    assert text.count('<circle class="waiting"') == 2 and "no report yet</span>" in text


def test_pictures_leave_out_people_without_ties_and_charts_have_whole_numbers(page):
    from cmab.campaign.page.picture import picture_of
    from cmab.campaign.page.web import TEMPLATES

    graph = DirectedGraph.from_edges([0, 1], [1, 2], n_nodes=5, labels=list("abcde"))
    picture = picture_of(graph, ["a", "d"], {"b"}, {"b", "c"})
    kinds = {node.name: node.kind for node in picture.nodes}
    assert kinds == {"a": "asked", "d": "asked", "b": "joined waiting", "c": "waiting"}
    assert (picture.hidden, picture.alone) == (1, 1)
    for most, axis in ((0.5, "0 1 2"), (7, "0 4 8"), (112.4, "0 60 120"), (2_066, "0 1,100 2,200")):
        rounds = [SimpleNamespace(number=at, count=most, names="ab") for at in range(1, 31)]
        chart = TEMPLATES.get_template("_picture.html").module.bars(rounds, True)
        scale = re.findall(r'"scale".*?>(.*?)<', chart)
        assert " ".join(scale[:3]) == axis and scale[3:] == [str(at) for at in range(3, 31, 3)]


def test_the_best_choice_is_that_of_the_state(page):
    """In a ring all pairs of people far from each other are as good."""
    ring = "".join(f"P{i},P{(i + 1) % 30}\n" for i in range(30))
    place = page.create("Ring", network=f"name_1,name_2\n{ring}", k="3")
    for _ in range(2):
        best = re.search(r"(P\d+, P\d+, P\d+)", page.get(f"{place}/state").text)
        page.choose(place, how="best")
        of = page.rounds(place)[-1]
        assert best is not None and {*best[1].split(", ")} == {*map(str, of.names)}
        page.report(place, of.number, others=page.known(place, of.number)[0])


def test_a_person_without_a_path_is_counted_if_the_user_says_so_and_the_tie_can_be_added(page):
    network = "name_1,name_2\nAnn,Bob\nBob,Carl\nCarl,Tilda\n"
    place = page.create("Lost", network=network, k="1")
    page.choose(place, without="Bob, Tilda, Carl")
    text = page.report(place, 1, 400, others="Tilda").text
    assert "leads from the people asked to Tilda." in text and "How did Tilda join?" in text
    page.report(place, 1, others="Tilda", alone="1")
    of = page.rounds(place)[0]
    assert of.count == 2.0 and of.alone == ("Tilda",)
    assert "by another way: Tilda" in page.get(f"{place}/state").text
    page.send(f"{place}/settings", f"{place}/ties", 400, first="Ann", second="ann ")
    tie = page.fields(f"{place}/settings", f"{place}/ties") | {"first": "ann", "second": "Tilda"}
    for _ in range(2):  # a double click
        assert page.client.post(f"{place}/ties", data=tie).status_code == 303
    text = page.send(f"{place}/settings", f"{place}/ties", 400, first="Tilda", second="Ann").text
    assert "The tie of Tilda and Ann exists already." in text
    assert "<li>Ann – Tilda" in page.get(f"{place}/settings").text
    page.report(place, 1, others="Tilda")
    of = page.rounds(place)[0]
    assert of.count == 2.0 and of.alone == () and of.joined == {"Tilda": None} and of.corrected
    remove = f"{place}/settings", f"{place}/ties"
    text = page.send(*remove, 400, remove="Ann – Tilda").text
    assert "Round 1 needs the tie, because of Tilda" in text
    page.send(f"{place}/history", f"{place}/undo")
    page.send(*remove, remove="Ann – Tilda")
    text = page.send(*remove, 400, first="Ann", second="Tillda").text.replace("&#39;", "'")
    assert "did you mean 'Tilda'?" in text and "Tillda: not misspelled, but a new person" in text
    assert "4 people, 3 pairs who know each other" in page.get(f"{place}/settings").text
    page.send(*remove, first="Ann", second="Tillda", new="1")
    assert "5 people, 4 pairs who know each other" in page.get(f"{place}/settings").text
    page.send(*remove, remove="Ann – Tillda")
    assert "4 people, 3 pairs who know each other" in page.get(f"{place}/settings").text
    text = page.get(f"{place}/history").text
    assert "added: Ann – Tillda" in text and "removed: Ann – Tilda" in text


def test_a_report_without_a_person_who_did_not_come_and_with_one_without_a_path(page):
    place = page.create("Both", network="name_1,name_2\nAnn,Bob\nCy,Dan\nEve,Fay\n")
    page.choose(place, without="Bob, Dan, Eve, Fay")
    page.report(place, 1, 400, came=["Ann"], others="Fay")
    page.report(place, 1, came=["Ann"], others="Fay", alone="1")
    (of,) = page.rounds(place)
    assert of.names == ("Ann",) and of.count == 2.0 and of.alone == ("Fay",)
    page.send(f"{place}/history", f"{place}/undo")
    (of,) = page.rounds(place)
    assert of.state == "waiting" and {*of.names} == {"Ann", "Cy"}
    assert "Round 1 is no longer reported." in page.get(f"{place}/history").text
    assert "Undo this" not in page.get(f"{place}/history").text


def test_a_person_who_did_not_come_and_one_who_was_asked_instead(page):
    place = page.create("Absent")
    page.choose(place)
    first, second = map(str, page.rounds(place)[0].names)
    other = next(name for name in ("Ann", "Bob", "Carl") if name not in (first, second))
    page.report(place, 1, came=[first], instead=other, nobody="1")
    (of,) = page.rounds(place)
    assert of.names == (first, other) and of.planned == (first, second) and of.count == 2.0
    assert f"asked: {first}, {other} (not {second}); 2 people" in page.get(f"{place}/history").text
    page.report(place, 1, came=[first, second], nobody="1")  # a correction of who was asked
    assert page.rounds(place)[0].names == (first, second) and page.rounds(place)[0].corrected
    page.send(f"{place}/history", f"{place}/undo")
    assert page.rounds(place)[0].names == (first, other)
    page.choose(place)
    assert [each.number for each in page.rounds(place)] == [1, 2]
    page.report(place, 2, 400, came=[], nobody="1")
    second = str(page.rounds(place)[1].names[0])
    page.report(place, 2, came=[second], nobody="1")
    page.send(f"{place}/history", f"{place}/undo")
    assert [each.state for each in page.rounds(place)] == ["reported", "waiting"]
    assert len(page.rounds(place)[1].names) == 2


def test_a_person_who_did_not_come_is_not_called_new_to_the_campaign(page):
    place = page.create("Missed", network="name_1,name_2\nAnn,Bob\nCy,Dan\n")
    page.choose(place, without="Bob, Dan")
    page.report(place, 1, came=["Ann"], nobody="1")
    page.choose(place, without="Bob, Dan")
    text = page.get(place).text
    assert "Cy included. Chosen in round 1, but did not come or was not asked; " in text
    assert "Ann included. Asked once before; " in text


def test_a_reported_round_is_left_out_and_the_others_keep_their_numbers(page):
    place = page.create("Accident")
    for number in (1, 2, 3):
        page.choose(place)
        page.report(place, number, nobody="1")
    before = page.rounds(place)[1]
    page.send(f"{place}/state", f"{place}/rounds/2/cancel")
    assert [of.state for of in page.rounds(place)] == ["reported", "left out", "reported"]
    text = page.get(f"{place}/state").text
    assert "Round 2 was left out: nothing is learned from it." in text and "Average of a round" in text
    assert "The last action that can be taken back: round 2 left out" in page.get(f"{place}/history").text
    page.send(f"{place}/history", f"{place}/undo")
    assert "Round 2 is no longer left out." in page.get(f"{place}/history").text
    assert page.rounds(place)[1].names == before.names and page.rounds(place)[1].count == before.count
    name = page.known(place, 2)[0]
    page.report(place, 2, others=f"{name} = 1")
    page.send(f"{place}/state", f"{place}/rounds/2/cancel")
    assert f"{name} = 1</textarea>" in page.get(f"{place}/rounds/2/report").text
    page.report(place, 2, others=f"{name} = 1")  # it can also be reported again, from the former report
    assert [of.state for of in page.rounds(place)] == ["reported"] * 3


def test_rounds_in_part_are_not_averaged_and_those_left_out_are_not_called_reported(page):
    place = page.create("In part")
    page.choose(place)
    page.send(place, f"{place}/rounds/1/cancel")
    assert "No round waits for a report. All rounds were left out" in page.get(place).text
    page.report(place, 1, nobody="1")
    assert "round 1 reported" in page.get(f"{place}/history").text and not page.rounds(place)[0].corrected
    page.send(f"{place}/history", f"{place}/undo")
    assert "Round 1 is no longer reported." in page.get(f"{place}/history").text
    for number, fields in ((2, {"nobody": "1"}), (3, {"unknown": "Emil"})):
        page.choose(place, without="Emil")
        page.report(place, number, **fields)
    text = page.get(f"{place}/state").text
    for name, value in (("Of them reported in part", 1), ("Average of a round reported in full", "2.0")):
        assert f"<dt>{name}</dt><dd>{value}</dd>" in text


def test_times_are_local_in_tables_and_lists(page, spring, asked, monkeypatch):
    import time

    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    try:
        text = page.get(f"{spring}/export/history.csv").content.decode("utf-8-sig")
        with page.store.held("spring") as opened:
            at = datetime.fromisoformat(opened.folder.history()[0]["at"]) + timedelta(hours=5.5)
        assert next(csv.DictReader(io.StringIO(text)))["time"] == f"{at:%Y-%m-%d %H:%M}"
        assert f"{at.day} {at:%b %Y, %H:%M}" in page.get(f"{spring}/history").text
    finally:
        monkeypatch.undo()
        time.tzset()
    page.get(f"{spring}/export/nothing.csv", 404)


def test_options_stay_if_the_campaign_cannot_be_opened_again(page, monkeypatch):
    from cmab.campaign import folder as module

    place = page.create("Stays")
    with page.store.held("stays") as opened:
        monkeypatch.setattr(module, "Campaign", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            opened.folder.change(ties=(("Ann", "Emil"),))
        monkeypatch.undo()
        assert module.CampaignFolder(opened.folder.path).options == opened.folder.options
    page.get(place)


def test_lists_with_commas_semicolons_repetitions_and_dates(page, spring, asked):
    first, second, *_ = page.known(spring, asked)
    names = {str(name) for name in page.rounds(spring)[-1].names}
    other = next(name for name in ("Emil", "Fay", "Dora", "Bob") if name not in names | {first, second})
    text = f"{first}; {second}, {first}\n{second}\t4.03.2026\n{other} = 2026-03-04, Meyer, Zoé"
    page.report(spring, asked, others=text, joined=[first], unknown="", alone="1")
    joined = set(page.rounds(spring)[-1].joined)
    assert joined == {first, second, other, "Meyer, Zoé"} - names


def test_a_round_keeps_its_number_when_people_are_left_out(page):
    place = page.create("Left")
    page.choose(place, without="Fay", how="best")
    gone, kept = ["Fay"], str(page.rounds(place)[0].names[1])
    for _ in range(2):
        name = next(str(name) for name in page.rounds(place)[0].names if str(name) != kept)
        page.send(place, f"{place}/rounds/1/leave-out", name=name)
        gone.append(name)
        text, names = page.get(place).text, {*map(str, page.rounds(place)[0].names)}
        assert f"{name} was left out of round 1, and {(names - {kept}).pop()} was chosen instead." in text
        assert (
            kept in names
            and not {*gone} & names
            and all(name in text.partition("Left out: ")[2] for name in gone)
        )
        assert len(re.findall('known">best (?:by the shape|of those)', text)) == 2  # the mode of the choice
    (of,) = page.rounds(place)
    assert of.state == "waiting" and of.number == 1
    page.send(f"{place}/history", f"{place}/undo")  # the choice without the second person is taken back
    (of,) = page.rounds(place)
    assert of.state == "waiting" and gone[2] in map(str, of.names)
    assert "Round 1 has its former people again." in page.get(f"{place}/history").text
    assert {*map(str, of.left_out)} == {*gone[:2]}
    page.send(f"{place}/history", f"{place}/undo")
    assert gone[1] in map(str, page.rounds(place)[0].names)
    text = page.get(f"{place}/history").text
    assert "Undo this" not in text and text.count("Round 1 chosen again") == 2
    assert text.count("<td>Round 1 chosen") == 3 and text.count("<td>Round 1 has its former") == 2
    page.choose(place)
    assert [each.number for each in page.rounds(place)] == [1, 2]


def test_the_best_choice_and_new_people_only(page):
    place = page.create("New only")
    text = page.choose(place, status=400, without="Annn, Bob, Karl", how="best").text
    assert all(f"did you mean &#39;{name}&#39;?" in text for name in ("Ann", "Carl"))
    assert "Annn, Bob, Karl" in text
    page.choose(place, how="best")
    asked = page.rounds(place)[0].names
    others = ", ".join({"Ann", "Bob", "Carl", "Dora", "Emil", "Fay", "Gus", "Meyer, Zoé"} - {*asked})
    page.choose(place, without=others, how="best")
    text = page.get(place).text
    assert text.count("Asked in round 1, which waits for its report; among the best") == 2
    assert "explored" not in text and "Never asked before" not in text
    page.send(place, f"{place}/rounds/2/cancel")
    page.report(place, 1, nobody="1")
    page.choose(place, how="learn", aim="new")
    new = page.rounds(place)[2]
    assert new.is_new_only and not {*asked} & {*new.names}
    assert len(re.findall("who joins? for the first time, ", page.get(place).text)) == 2
    page.report(place, 3, others=str(asked[0]), alone="1")
    assert (
        "3 people joined, those who were asked included, 2 of them for the first time"
        in page.get(f"{place}/state").text
    )
    assert "; only people who join for the first time count" in page.get(f"{place}/history").text
    text = page.get(place).text
    assert 'name="aim" value="new" checked' in text and "counted (as in round 3)" in text


def test_sentences_before_and_after_the_first_report(page):
    place = page.create("Sentences")
    page.choose(place)
    for path in ("", "/state", "/print"):
        assert not re.search(r"brings about", page.get(f"{place}{path}").text)
    page.report(place, 1, nobody="1")
    page.choose(place)
    state = page.get(f"{place}/state").text
    assert "brings about" in state and "% interval" not in state and "chance that" in state
    bring = [float(x) for x in re.findall(r'"name">[^<]*</th><td class="right">([\d.]+)', state)]
    assert 2 <= len(bring) <= 4 and bring == sorted(bring, reverse=True) and max(bring) <= 9.0
    numbers = [float(x) for x in re.findall(r"(?:about <strong>|to |more than )(\d+\.\d)", state)]
    assert numbers and max(numbers) <= 9.0  # no more people than the network has


def test_title_notes_and_deletion(page):
    place = page.create("Rename me")
    assert "Another campaign has the title rename me" in page.show(400, title="rename me")[1]
    other = page.create("Other")
    assert (
        "has the title Rename me"
        in page.send(f"{other}/settings", f"{other}/settings", 400, title="Rename me", notes="").text
    )
    page.send(f"{place}/settings", f"{place}/settings", title="Renamed", notes="Bring cake")
    assert "Renamed" in page.get("/").text and "Bring cake" in page.get(place).text
    page.send(f"{place}/settings", f"{place}/delete", 400)
    page.send(f"{place}/settings", f"{place}/delete", sure="1")
    page.get(place, 404)
    assert "Renamed was deleted" in page.get("/").text and (page.store.root / ".deleted/rename-me").is_dir()


STATES = "new, waiting, two waiting, left out, tie added, reported, count, not asked, undone, corrected, gone"


@pytest.mark.parametrize("kind", ["network", "list"])
def test_every_page_is_shown_in_every_state(page, kind):
    """Templates refuse names that they are not given, so each of them is rendered in each state."""
    given = {"network": "name_1,name_2\nAnn,Bob\nBob,Cy\n", "k": "1"}
    if kind == "list":
        given = {"files": {}, "kind": "list", "names": "Ann\nBob\nCy", "k": "1"}
    place = page.create(f"All {kind}", **given)
    told = {"result-0": "yes"} if kind == "list" else {"nobody": "1"}
    number = {"result-0": "unknown"} if kind == "list" else {"count": "2"}
    pages = ["", "/state", "/history", "/export", "/print", "/settings"]
    pages.append("/rounds/1/report")
    for state in STATES.split(", "):
        match state:
            case "waiting" | "two waiting":
                page.choose(place, **{"aim": "new"} if kind == "network" else {})
            case "left out":
                name = str(page.rounds(place)[1].names[0])
                page.send(place, f"{place}/rounds/2/leave-out", name=name)
            case "tie added" if kind == "network":
                page.send(f"{place}/settings", f"{place}/ties", first="Ann", second="Cy")
            case "reported":
                page.report(place, 1, **told)
            case "count":
                page.report(place, 2, 400 if kind == "list" else 303, **number)
            case "not asked":
                page.choose(place)
                page.send(place, f"{place}/rounds/{len(page.rounds(place))}/cancel")
            case "undone":
                page.send(f"{place}/history", f"{place}/undo")
            case "corrected":
                page.report(place, 1, **told)
            case "gone":
                page.send(f"{place}/state", f"{place}/rounds/1/cancel")
        for path in pages:
            if state != "new" or "rounds" not in path:
                page.get(f"{place}{path}")
    page.get("/new")
    page.get("/c/nothing", 404)


def test_the_key_stays_the_same_after_a_restart(tmp_path):
    from cmab.campaign.page.command import key_in

    first = key_in(tmp_path)
    assert key_in(tmp_path) == first
    assert (tmp_path / ".page-key").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, "mark that nobody joined"),
        ({"others": "nobody, n/a"}, "mark that nobody joined"),
        ({"others": "MEYER ZOE"}, "did you mean 'Meyer, Zoé'?"),
        ({"nobody": "1", "others": "Ann"}, "cannot both be true"),
        ({"count": "3", "nobody": "1"}, "not both"),
        ({"count": "many"}, "whole number"),
        ({"others": "Bob = soon\nBobb"}, "The number after 'Bob' must be"),
        ({"others": "Bob = soon\nBobb"}, "that the network lacks can be added under Settings"),
    ],
)
def test_a_wrong_report_is_answered_and_the_form_keeps_its_contents(page, spring, asked, fields, why):
    text = page.report(spring, asked, 400, **fields).text.replace("&#39;", "'")
    assert why in text and "Nothing was stored" in text
    assert fields.get("others", "") in text
    assert page.rounds(spring)[asked - 1].state == "waiting"


def test_lists_and_other_formats_of_networks(page):
    made = page.create("Drinks", files={}, kind="list", names="tea\nmilk\njuice", k="1", largest="5")
    page.choose(made)
    text = page.get(f"{made}/rounds/1/report").text
    assert "Result, from 0 to 5" in text
    page.report(made, 1, **{"result-0": "2,5"})
    assert list(page.rounds(made)[0].results.values()) == [2.5]
    assert "largest result of an item is 5." in page.get(f"{made}/settings").text
    assert '"row">Items</th>' in page.get(f"{made}/export").text
    list_of = {"files": {}, "kind": "list", "k": "1"}
    text = page.show(names="1\tTea, green\n2\tMilk", **list_of)[1]
    assert "The names are those of the column 2." in text and "names: Tea, green; Milk" in text
    assert "Read once, although it is in several lines: Ann." in page.show(names="Ann\nAnn", **list_of)[1]
    words = "The list must have one name in a line, got two columns of names, as those of people who know"
    assert words in page.show(400, names="name,friend\nAnn,Bob\nBob,Cy", **list_of)[1]
    network, words = (
        "from,to\nAnn,Bob\n",
        "Ties go one way, from the first name to the second, because a title",
    )
    assert words in page.show(network=network, k="1")[1]
    gml = b'graph [ node [ id 0 label "a" ] node [ id 1 label "b" ] edge [ source 0 target 1 ] ]'
    place = page.create("Two", files={"network": ("../Our x.gml", gml, "text/plain")}, k="1")
    assert "The file Our x.gml is" in page.get(f"{place}/settings").text
    page.choose(place, without="b")
    assert page.rounds(place)[0].names == ("a",)


FORM = (
    "Survey 2024,,,\nTimestamp,Your name,Who do you talk to?,hours\n2024-03-06 09:08,Ann Lee,Bob,3\n"
    '2024-03-06 09:10,bob,"Cy, Dan",1\n2024-03-06 09:12,Eve,,2\n# a comment\n'
)


def test_what_was_read_is_shown_and_can_be_changed_before_the_campaign_is_made(page):
    before = page.store.slugs()
    data, text = page.show(network=FORM, title="Shown")
    for words in (
        "5 people, 3 pairs who know each other",
        "<li>The file friends.csv is a list of ties separated by commas",
        "Timestamp<br>not used",
        'Your name<br><span class="badge known">person',
        "hours<br>not used",
        '<option value="" selected>found from the file: Your name</option>',
        "<td>Ann Lee</td><td>Bob</td><td>3</td>",
        "Left out above the header: Survey 2024",
        "Lines that begin with # or % are left out: 1",
        "differ in capitals only are one person: bob and Bob",
        "1 name has no tie: Eve",
        "<p>Ann Lee; Bob; Cy; Dan; Eve</p>",
        "Ties go both ways, because the file gives no direction",
    ):
        assert words in text, words
    assert page.store.slugs() == before
    # Other columns are shown first, also if the button to create is pressed.
    changed = data | {"to_column": "hours", "step": "create"}
    answer = page.client.post("/new", data=changed)
    assert answer.status_code == 200 and 'hours<br><span class="badge known">person' in answer.text
    answer = page.client.post("/new", data=data | {"step": "create"})
    assert answer.headers["location"] == "/c/shown"
    with page.store.held("shown") as opened:
        assert len(opened.folder.problem.names.labels) == 5


@pytest.mark.parametrize(
    ("network", "fields", "errors"),
    [
        ("", {}, ["The file friends.csv is empty."]),
        (
            "a,b\nc,d,e\nf,g,h\n",
            {},
            ["line 2: a line must have two names", "line 3: a line must have two names"],
        ),
        (
            "a,a\n",
            {"k": "0"},
            ["in a round: enter a whole number, 1 or more", "friends.csv must have a tie between two people"],
        ),
        (NETWORK, {"k": "99"}, ["At most 8 names can be chosen in a round"]),
        (
            "person,friend,strength\na,b,2\nb,c\nd,e,x,y\n",
            {"k": "many", "title": " "},
            [
                "title must have",
                "1 or more, got many",
                "friends.csv, line 3: a line must have 3 cells",
                "friends.csv, line 4: a line must have 3 cells",
            ],
        ),
        ("Name\nAnn\nBob\n", {}, ["got one column; names alone are a list of items without ties."]),
    ],
)
def test_all_errors_of_a_new_campaign_are_shown_and_the_file_is_kept(page, network, fields, errors):
    before = page.store.slugs()
    data, text = page.show(400, network=network, **fields)
    assert all(error in text for error in errors), text
    listed = text.partition('role="alert"')[2].partition("</ul>")[0]
    assert listed.count("<li>") == len(errors) and str(page.store.root) not in text
    assert ("friends.csv is kept" in text) is ("," in network)
    assert ('<option value="strength">strength</option>' in text) is ("strength" in network)
    assert page.client.post("/new", data=data | {"step": "create"}).status_code == 400
    assert page.store.slugs() == before
