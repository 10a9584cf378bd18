"""The page in a real browser: by keyboard, without JavaScript, on phone and desktop, in light and dark."""

import csv
import time
from pathlib import Path

import pytest
from browser import Served, look, open_browser
from served_pages import NETWORK

pytestmark = pytest.mark.slow
LOOKS = [(390, False), (390, True), (1_280, False), (1_280, True)]


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
        for _ in range(100):
            if "token" not in browser.current_url:
                break
            time.sleep(0.1)
        assert browser.current_url == f"{served.base}/"
        yield served


def by(browser, selector):
    return browser.find_element("css selector", selector)


def press(browser, *keys):
    """Press keys, whatever has the focus."""
    from selenium.webdriver.common.action_chains import ActionChains

    chain = ActionChains(browser)
    for key in keys:
        chain.send_keys(key)
    chain.perform()


def tab_to(browser, selector):
    """Move the focus with the Tab key until it reaches an element; assert that each stop is visible."""
    from selenium.webdriver.common.keys import Keys

    goal = by(browser, selector)
    for _ in range(80):
        here = browser.switch_to.active_element
        if here == goal:
            return here
        press(browser, Keys.TAB)
        box = browser.execute_script(
            "const b = document.activeElement.getBoundingClientRect(); return [b.width, b.height]"
        )
        assert min(box) > 0
    raise AssertionError(f"the Tab key does not reach {selector}")


@pytest.fixture(scope="module")
def spring(browser, served, tmp_path_factory):
    """A campaign that is made with the keyboard alone, with two reported rounds and one that waits."""
    from selenium.webdriver.common.keys import Keys

    file = tmp_path_factory.mktemp("files") / "friends.csv"
    file.write_text(NETWORK, encoding="utf-8")
    look(browser, 1_280, is_dark=False)
    browser.get(served.base)
    tab_to(browser, "a[href='/new']")
    press(browser, Keys.ENTER)
    tab_to(browser, "#title")
    press(browser, "Spring")
    by(browser, "#network").send_keys(str(file))  # the dialogue of files is the browser's
    tab_to(browser, "button.main")
    press(browser, Keys.ENTER)
    place = browser.current_url.split("?")[0]
    for nobody in (True, False):
        tab_to(browser, "form[action$='/choose'] button")
        press(browser, Keys.ENTER)
        tab_to(browser, "a.main[href$='/report']")
        press(browser, Keys.ENTER)
        if nobody:
            tab_to(browser, "#nobody")
            press(browser, Keys.SPACE)
        else:
            name = by(browser, ".ticks label").text
            tab_to(browser, "#others")
            press(browser, name)
        tab_to(browser, "button.main")
        press(browser, Keys.ENTER)
        assert "was stored" in by(browser, "[role=status]").text
    tab_to(browser, "form[action$='/choose'] button")
    press(browser, Keys.ENTER)
    return place


def test_a_campaign_is_played_with_the_keyboard_alone(browser, spring):
    browser.get(f"{spring}/history")
    rows = [row.text for row in browser.find_elements("css selector", "tbody tr")]
    assert len(rows) == 6 and "2 people joined" in rows[3] and "3 people joined" in rows[1]


def test_nothing_needs_javascript(browser, spring):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(spring)
        by(browser, "a.main[href$='/report']").click()
        by(browser, "#nobody").click()
        by(browser, "button.main").click()
        assert "was stored" in by(browser, "[role=status]").text
        by(browser, "form[action$='/choose'] button").click()
        assert by(browser, ".reasons h3").text
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


PAGES = ["", "/state", "/estimates", "/history", "/export", "/print", "/upload", "REPORT", "NEW", "HOME"]


@pytest.mark.parametrize("path", PAGES)
def test_accessibility_and_width(browser, served, spring, path):
    axe = Path(pytest.importorskip("axe_core_python").__file__).parent / "axe.min.js"
    special = {"NEW": f"{served.base}/new", "HOME": served.base}
    if path == "REPORT":
        browser.get(spring)
        special["REPORT"] = by(browser, "a.main[href$='/report']").get_attribute("href")
    browser.get(special.get(path, f"{spring}{path}"))
    for width, is_dark in LOOKS:
        look(browser, width, is_dark=is_dark)
        browser.execute_script(axe.read_text(encoding="utf-8"))
        found = browser.execute_async_script(
            "const done = arguments[0]; axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa',"
            " 'wcag22aa', 'best-practice']}).then(r => done(r.violations))"
        )
        told = [(each["id"], [node["html"][:200] for node in each["nodes"][:3]]) for each in found]
        assert not told, (width, is_dark, told)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    look(browser, 1_280, is_dark=False)


def test_the_browser_complains_of_nothing(browser, spring):
    browser.get_log("browser")
    for path in ("", "/state", "/estimates", "/history", "/export", "/print"):
        browser.get(f"{spring}{path}")
    assert [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")] == []
    elsewhere = browser.execute_script(
        "return performance.getEntriesByType('resource').map(e => new URL(e.name).origin)"
        ".filter(o => o !== location.origin)"
    )
    assert elsewhere == []


def test_a_table_is_downloaded_filled_in_and_uploaded(browser, spring, tmp_path):
    browser.execute_cdp_cmd("Page.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    browser.get(spring)
    by(browser, "a[href*='template.csv']").click()
    for _ in range(100):
        files = list(tmp_path.glob("*.csv"))
        if files:
            break
        time.sleep(0.1)
    rows = list(csv.DictReader(files[0].read_text(encoding="utf-8-sig").splitlines()))
    assert rows and set(rows[0]) == {"round", "name", "result", "step"}
    rows[0]["result"] = "yes"
    lines = [",".join(rows[0]), *(",".join(f'"{cell}"' for cell in row.values()) for row in rows)]
    files[0].write_text("\n".join(lines), encoding="utf-8")
    browser.get(f"{spring}/upload")
    by(browser, "#table").send_keys(str(files[0]))
    by(browser, "button.main").click()
    assert "The table was stored" in by(browser, "[role=status]").text


def click(browser, text):
    """Click a link or a button by its words, as a reader does."""
    from selenium.common.exceptions import StaleElementReferenceException

    words = f"//*[(self::a or self::button) and contains(normalize-space(.), '{text}')]"
    for _ in range(20):
        try:
            return browser.find_element("xpath", words).click()
        except StaleElementReferenceException:  # the page of the click before has just arrived
            time.sleep(0.1)
    raise AssertionError(f"the page changes all the time before a click on {text!r}")


def mark(browser, n):
    """Mark the first people in the form of the report, and return their names."""
    labels = browser.find_elements("css selector", ".ticks label")[:n]
    for label in labels:
        label.click()
    return [label.text for label in labels]


def test_a_reader_plays_four_rounds_with_one_late_and_one_corrected_report(browser, served, tmp_path):
    """Only words that the reader sees are used: no address and no knowledge of the page."""
    file = tmp_path / "friends.csv"
    file.write_text(NETWORK, encoding="utf-8")
    browser.get(served.base)
    click(browser, "New campaign")
    browser.find_element("xpath", "//label[text()='Title']/following::input").send_keys("Four rounds")
    browser.find_element("xpath", "//label[text()='File of the network']/following::input").send_keys(
        str(file)
    )
    click(browser, "Create the campaign")
    for number in (1, 2, 3, 4):
        click(browser, "Choose 2 people")
        if number == 2:
            continue  # its report is late
        if number == 3:
            browser.find_element(
                "xpath", "//section[contains(., 'Round 3:')]//a[contains(., 'report')]"
            ).click()
        else:
            click(browser, "Enter the report")
        mark(browser, 1)
        click(browser, "Store the report")
        if number == 3:
            click(browser, "Enter the report")
            assert "Report of round 2" in by(browser, "h1").text
            mark(browser, 1)
            click(browser, "Store the report")
    click(browser, "State")
    browser.find_element("css selector", "a[aria-label='Correct the report of round 1']").click()
    mark(browser, 2)
    click(browser, "Store the correction")
    browser.execute_cdp_cmd("Page.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    click(browser, "Export")
    browser.find_element("css selector", "a[aria-label='Rounds as csv']").click()
    for _ in range(100):
        if files := list(tmp_path.glob("*rounds.csv")):
            break
        time.sleep(0.1)
    rows = list(csv.DictReader(files[0].read_text(encoding="utf-8-sig").splitlines()))
    assert [row["state"] for row in rows] == ["reported"] * 4
    assert [row["corrected"] for row in rows] == ["True", "False", "False", "False"]
    assert [float(row["joined"]) for row in rows[1:]] == [3.0] * 3
    assert rows[0]["joined"] == "3.0"  # the first mark was taken away, and the second set
