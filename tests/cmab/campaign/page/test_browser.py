"""The page in a real browser, as people use it: clicks, double clicks, back, reload, tabs, phone, print."""

import re
import time
from contextlib import suppress
from pathlib import Path

import pytest
from browser import Served, look, open_browser
from served_pages import NETWORK

pytestmark = pytest.mark.slow
LOOKS = [(390, True), (1_280, False)]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    pytest.importorskip("starlette", reason="cmab[serve] serves the page")
    browser = open_browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.quit()


@pytest.fixture(scope="module")
def served(browser, tmp_path_factory):
    with Served(tmp_path_factory.mktemp("campaigns")) as served:
        browser.get(served.address)
        wait(lambda: "key" not in browser.current_url)
        assert browser.current_url == f"{served.base}/"
        yield served


def wait(condition):
    """Wait until a condition holds, for half a minute at most."""
    from selenium.common.exceptions import WebDriverException

    for _ in range(300):
        with suppress(WebDriverException):  # the next page has just come
            if found := condition():
                return found
        time.sleep(0.1)
    raise AssertionError("the condition does not come true")


def by(browser, selector):
    return browser.find_element("css selector", selector)


def texts(browser, selector):
    return [each.text for each in browser.find_elements("css selector", selector)]


def click(browser, text):
    """Click a link, a button or a label by its words, as a reader does, and wait for the next page."""
    kinds = "self::a or self::button or self::label or self::summary"
    found = browser.find_element("xpath", f"//*[({kinds}) and contains(normalize-space(.), '{text}')]")
    before = by(browser, "html") if found.tag_name in ("a", "button") else None
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", found)
    found.click()
    if before is not None:
        wait(lambda: by(browser, "html") != before)  # the next page is there
        wait(lambda: browser.execute_script("return document.readyState") == "complete")


def fill(browser, label, text):
    """Type into the field with this label."""
    found = browser.find_element("xpath", f"//label[starts-with(normalize-space(.), '{label}')]")
    by(browser, f"#{found.get_attribute('for')}").send_keys(text)


def told(browser):
    return by(browser, "[role=status]").text


def new_campaign(browser, served, folder, title):
    """Make a campaign with clicks, and return its address."""
    browser.get(served.base)
    click(browser, "New campaign")
    fill(browser, "Title", title)
    fill(browser, "File of the network", written(folder, NETWORK))
    click(browser, "Show what is read")
    assert told(browser) == "8 people, 9 pairs who know each other"
    click(browser, "Create the campaign")
    assert told(browser) == f"The campaign {title} was created."
    return browser.current_url


def written(folder, text):
    """Write a file to upload, and return its path."""
    file = folder / "friends.csv"
    file.write_text(text, encoding="utf-8")
    return str(file)


FORM = (
    "Timestamp,Your name,Who do you talk to?,hours\n2024-03-06 09:08,Ann Lee,Bob,3\n"
    '2024-03-06 09:10,bob,"Cy, Dan",1\n2024-03-06 09:12,Eve,,2\n'
)


def report(browser, n=1):
    """Report that the first `n` people of the form joined, and return their names."""
    click(browser, "Enter the report")
    labels = browser.find_elements("css selector", "label[for^=joined]")[:n]
    names = [label.text for label in labels]
    for label in labels:
        label.click()
    if not n:
        click(browser, "Nobody joined")
    click(browser, "Store the")
    return names


def asked(browser):
    return texts(browser, ".reasons h3")


def test_each_action_with_clicks(browser, served, tmp_path):
    """Choose, leave out, report, correct, undo, cancel, settings, delete: only words that the reader sees."""
    place = new_campaign(browser, served, tmp_path, "Clicks")
    click(browser, "Choose 2 people")
    assert told(browser) == "Round 1 was chosen."
    first = asked(browser)[0]
    click(browser, "Leave out")
    assert f"{first} was left out of round 1, and" in told(browser) and first not in asked(browser)
    assert by(browser, "h1").text == "Round 1" and f"Left out: {first}" in by(browser, "main").text
    names = report(browser, 1)
    assert "The report of round 1 was stored." in told(browser)
    click(browser, "Correct it")
    assert by(browser, "#joined-1").is_selected()
    fill(browser, "Others who joined", f"{names[0]}, {names[0]}")
    click(browser, "Store the correction")
    assert "corrected" in told(browser)
    click(browser, "History")
    assert "The last action that can be taken back: round 1 corrected" in by(browser, "main").text
    click(browser, "Undo this")
    assert told(browser) == "Round 1 is no longer corrected."
    click(browser, "Undo this")
    assert told(browser) == "Round 1 is no longer reported."
    click(browser, "Round")
    click(browser, "Enter the report")
    came = texts(browser, "label[for^=came]")
    click(browser, came[1])
    click(browser, "Others were asked instead")
    other = next(name for name in ("Ann", "Bob", "Carl") if name not in came)
    by(browser, "#instead").send_keys(other)
    click(browser, "Nobody joined")
    click(browser, "Store the report")
    click(browser, "State")
    assert f"Round 1: {came[0]}, {other} – 2 people joined" in by(browser, "main").text
    click(browser, "Round")
    click(browser, "Use: the best")
    click(browser, "Choose 2 people")
    click(browser, "Leave out this round")
    assert told(browser) == "Round 2 was left out: nothing is learned from it. Undo"
    click(browser, "Settings")
    fill(browser, "Name", "Ann")
    fill(browser, "knows", "Emil")
    click(browser, "Add the tie")
    assert told(browser) == "The tie of Ann and Emil was added."
    click(browser, "Remove")
    assert told(browser) == "The tie Ann – Emil was removed."
    click(browser, "Export")
    for name in ("History", "State"):
        click(browser, name)
        assert name in by(browser, "h1").text
    click(browser, "Settings")
    click(browser, "Delete Clicks")
    by(browser, "form[action$='/delete'] button").click()
    wait(lambda: browser.current_url == f"{served.base}/")
    assert "Clicks was deleted." in told(browser) and "Not done" in visited(browser, place)


def visited(browser, address):
    browser.get(address)
    return by(browser, "main").text


@pytest.fixture(scope="module")
def spring(browser, served, tmp_path_factory):
    """A campaign with a long word as title, two reported rounds and one that waits."""
    place = new_campaign(browser, served, tmp_path_factory.mktemp("files"), 11 * "Long")
    for n in (0, 1):
        click(browser, "Choose 2 people")
        report(browser, n)
    click(browser, "Choose 2 people")
    return place


def test_double_clicks_reloads_back_and_two_tabs_act_once(browser, served, tmp_path):
    from selenium.webdriver.common.action_chains import ActionChains

    place = new_campaign(browser, served, tmp_path, "Twice")
    button = by(browser, "form[action$='/choose'] button")
    ActionChains(browser).double_click(button).perform()
    wait(lambda: "Round 1 was chosen." in by(browser, "main").text)
    browser.refresh()
    assert by(browser, "h1").text == "Round 1" and not browser.find_elements("css selector", "[role=status]")
    click(browser, "Enter the report")
    click(browser, "Store the report")
    assert "mark that nobody joined" in by(browser, "[role=alert]").text
    click(browser, "Nobody joined")
    ActionChains(browser).double_click(by(browser, "form.stack button.main")).perform()
    wait(lambda: "The report of round 1 was stored." in by(browser, "main").text)
    browser.back()  # to the form that was refused
    wait(lambda: browser.find_elements("css selector", "#nobody"))
    browser.get(place)
    first = browser.current_window_handle
    browser.switch_to.new_window("tab")
    browser.get(place)
    click(browser, "Choose 2 people")
    browser.close()
    browser.switch_to.window(first)
    click(browser, "Choose 2 people")  # this tab is older
    assert re.search("Round 2 was chosen|The campaign has changed", by(browser, "main").text)
    browser.get(f"{place}/history")
    chosen = [row for row in texts(browser, "tbody tr") if "chosen" in row]
    assert len(chosen) == 2, chosen


def test_a_half_filled_report_survives_a_reload_and_the_way_back(browser, served, tmp_path):
    new_campaign(browser, served, tmp_path, "Half")
    click(browser, "Choose 2 people")
    click(browser, "Enter the report")
    browser.find_element("css selector", "label[for^=joined]").click()
    click(browser, "Others were asked instead")
    by(browser, "#instead").send_keys("Ann")
    fill(browser, "Others who joined", "Meyer, Zoé")
    browser.refresh()
    assert by(browser, "#others").get_attribute("value") == "Meyer, Zoé"
    click(browser, "Round")
    browser.back()
    assert by(browser, "#others").get_attribute("value") == "Meyer, Zoé"
    assert by(browser, "#joined-1").is_selected() and by(browser, "#instead").is_displayed()
    by(browser, "#others").clear()
    by(browser, "#instead").clear()
    click(browser, "Store the report")
    click(browser, "Correct it")
    assert by(browser, "#others").get_attribute("value") == ""


def test_a_report_typed_before_another_tab_acts_is_kept_until_it_is_stored(browser, served, tmp_path):
    place = new_campaign(browser, served, tmp_path, "Tabs")
    click(browser, "Choose 2 people")
    click(browser, "Enter the report")
    fill(browser, "Others who joined", "Meyer, Zoé")
    gone, first = texts(browser, "label[for^=came]")[0], browser.current_window_handle
    browser.switch_to.new_window("tab")
    browser.get(place)
    click(browser, "Leave out")
    browser.close()
    browser.switch_to.window(first)
    click(browser, "Store the report")
    assert "What you typed is kept" in by(browser, "main").text
    click(browser, "Back to the campaign")
    click(browser, "Enter the report")
    assert by(browser, "#others").get_attribute("value") == "Meyer, Zoé"
    assert by(browser, "#kept").is_displayed()
    assert gone not in texts(browser, "label[for^=came]") and by(browser, "#came-1").is_selected()
    by(browser, "#others").clear()
    click(browser, "Nobody joined")
    click(browser, "Store the report")
    click(browser, "Correct it")
    assert not by(browser, "#kept").is_displayed()


PAGES = ["", "/state", "/history", "/export", "/print", "/settings", "REPORT", "NEW", "READ", "HOME"]


@pytest.mark.parametrize("path", PAGES)
def test_accessibility_and_width(browser, served, spring, path, tmp_path):
    axe = Path(pytest.importorskip("axe_core_python").__file__).parent / "axe.min.js"
    special = {"NEW": f"{served.base}/new", "HOME": served.base}
    if path == "REPORT":
        browser.get(spring)
        special["REPORT"] = by(browser, "a.main[href$='/report']").get_attribute("href")
    browser.get_log("browser")
    browser.get(special.get(path, f"{served.base}/new" if path == "READ" else f"{spring}{path}"))
    if path == "READ":
        fill(browser, "Title", "A form")
        fill(browser, "File of the network", written(tmp_path, FORM))
        click(browser, "Show what is read")
    assert [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")] == []
    elsewhere = "e => new URL(e.name).origin != location.origin"
    assert not browser.execute_script(f"return performance.getEntriesByType('resource').filter({elsewhere})")
    for width, is_dark in LOOKS:
        look(browser, width, is_dark=is_dark)
        browser.execute_script(axe.read_text(encoding="utf-8"))
        found = browser.execute_async_script(
            "const done = arguments[0]; axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa',"
            " 'wcag22aa', 'best-practice']}).then(r => done(r.violations))"
        )
        why = [(each["id"], [node["html"][:200] for node in each["nodes"][:3]]) for each in found]
        assert not why, (width, is_dark, why)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        small = browser.execute_script(
            "return [...document.querySelectorAll('a, button')].filter(e => !e.closest('p, li, td'))"
            ".filter(e => e.getClientRects().length && e.getBoundingClientRect().height < 24)"
        )
        assert [each.text for each in small] == []
    look(browser, 1_280, is_dark=False)


def test_a_round_is_printed_on_one_sheet(browser, spring):
    import base64

    browser.get(f"{spring}/print")
    assert len(texts(browser, "ol.blank li")) == 60
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"paperWidth": 8.27, "paperHeight": 11.69})
    assert len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(printed["data"]))) == 1


def test_the_picture_of_120_people_has_few_labels_that_do_not_meet(browser, served, tmp_path):
    import networkx as nx

    graph = nx.planted_partition_graph(6, 20, 0.18, 0.008, seed=5)
    rows = "".join(f"Person {a},Person {b}\n" for a, b in graph.edges)
    browser.get(f"{served.base}/new")
    fill(browser, "Title", "Many")
    fill(browser, "File of the network", written(tmp_path, f"name_1,name_2\n{rows}Alone,\n"))
    by(browser, "#k").clear()
    fill(browser, "How many to choose", "5")
    click(browser, "Show what is read")
    click(browser, "Create the campaign")
    click(browser, "Choose 5 people")
    labels = browser.execute_script(
        "return [...document.querySelectorAll('svg > text')].map(e => e.getBoundingClientRect().toJSON())"
    )
    people = set().union(*graph.edges)
    assert len(browser.find_elements("css selector", "svg > g > circle")) == len(people)
    assert 5 <= len(labels) <= 13
    assert "Not shown: 1 further person (1 without ties)." in by(browser, "figcaption").text
    for at, one in enumerate(labels):
        for other in labels[:at]:
            apart = one["right"] < other["left"] or other["right"] < one["left"]
            assert apart or one["bottom"] < other["top"] + 6 or other["bottom"] < one["top"] + 6
    look(browser, *LOOKS[0][:1], is_dark=False)
    quiet = by(browser, "svg > g:not(:has(.asked))")
    name = quiet.find_element("css selector", "text")
    assert not name.is_displayed()
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", quiet)
    box = browser.execute_script("return arguments[0].getBoundingClientRect().toJSON()", quiet)
    point = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [point]})
    browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    wait(name.is_displayed)
    look(browser, *LOOKS[1][:1], is_dark=False)
