"""Each promise of the page of threats, and 1,000 hostile requests that change and reveal nothing."""

import random
import re

import pytest
from served_pages import HOST, KEY, NETWORK, Page, files_in

pytestmark = pytest.mark.slow
REQUESTS = 1_000
SECRET = "Waldemar"  # a name of a network that nobody without the key may see


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return Page(tmp_path_factory.mktemp("campaigns")).enter()


@pytest.fixture(scope="module")
def spring(page):
    place = page.create(network=NETWORK + f"{SECRET},Ann\n")
    page.choose(place)
    return place


@pytest.fixture
def stranger(page, spring):
    """The same server, without the key."""
    from starlette.testclient import TestClient

    return TestClient(
        page.app, base_url=f"http://{HOST}", follow_redirects=False, raise_server_exceptions=False
    )


def test_without_the_key_nothing_is_told(page, spring, stranger):
    answers = {stranger.get(path).text for path in ("/", spring, f"{spring}/state", "/c/none", "/new", "/x")}
    assert len(answers) == 1 and SECRET not in answers.pop()
    for address in ("/?key=wrong", "/?key=", f"{spring}?key={KEY}"):
        answer = stranger.get(address)
        assert answer.status_code == 403 and "set-cookie" not in answer.headers
    assert stranger.get("/static/page.css").status_code == 200


def test_the_cookie_is_for_this_page_only(page):
    cookie = page.client.get(f"/?key={KEY}").headers["set-cookie"].casefold()
    assert "httponly" in cookie and "samesite=lax" in cookie and "8765" in cookie


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", ""])
def test_foreign_hosts_reach_nothing(page, spring, host):
    answer = page.client.get(spring, headers={"Host": host})
    assert answer.status_code == 400 and SECRET not in answer.text


FOREIGN = ["http://evil.example", "null", "http://127.0.0.1:9999", None]


@pytest.mark.parametrize("origin", FOREIGN)
def test_forms_of_other_pages_are_refused(page, spring, origin):
    before = files_in(page.store.root)
    request = page.client.build_request(
        "POST", f"{spring}/choose", data=page.fields(spring, f"{spring}/choose")
    )
    del request.headers["origin"]
    if origin is not None:
        request.headers["origin"] = origin
    assert page.client.send(request).status_code == 403
    assert files_in(page.store.root) == before


def test_headers_allow_nothing_from_elsewhere(page, spring):
    for path in ("/", spring, f"{spring}/state", "/static/page.css", "/nothing"):
        headers = page.client.get(path).headers
        policy = headers["content-security-policy"]
        assert (
            policy.startswith("default-src 'none'")
            and "script-src 'self';" in policy
            and "unsafe" not in policy
        )
        assert "http" not in policy and "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert "server" not in headers
    assert re.findall(r'(?:src|href)="(?:https?:)?//', page.get(spring).text) == []


def test_large_requests_are_refused(page, spring):
    before = files_in(page.store.root)
    files = {"network": ("x.csv", b"Ann,Bob\n" * 2**20, "text/csv")}
    page.send("/new", "/new", 413, files=files, title="Large", kind="network", k="1")
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    chunks = (b"x" * 2**20 for _ in range(9))  # no header tells the length
    answer = page.client.post(f"{spring}/choose", content=chunks, headers=headers)
    assert answer.status_code == 413 and "At most 8 MB" in answer.text
    assert files_in(page.store.root) == before


OWN_SCRIPT = '<script src="/static/page.js" defer></script>'


def test_names_with_markup_are_text(tmp_path):
    page = Page(tmp_path).enter()
    evil = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7 * 7 }}", "]]><svg/onload=x>"]
    rows = "".join(
        '"{}","{}"\n'.format(a.replace('"', '""'), b.replace('"', '""')) for a in evil for b in evil if a != b
    )
    place = page.create(title="<b>Bold</b>{{ 1 }}", network=rows, k="4")
    page.choose(place)
    page.report(place, 1, nobody="1")
    page.choose(place)
    page.report(place, 2, 400, others="<script>2</script>")
    for path in ("", "/state", "/history", "/export", "/print", "/rounds/2/report"):
        text = page.get(f"{place}{path}").text.replace(OWN_SCRIPT, "")
        assert "<script" not in text and "<img" not in text and "<b>" not in text and "onload=x>" not in text
    assert "&lt;script&gt;alert(1)" in page.get(place).text and "{{ 7 * 7 }}" in page.get(place).text
    assert "<script>" not in page.get("/c/<script>", 404).text


UPWARDS = ["../", "..%2f", "%2e%2e/", "..\\", "%00", "....//", "/%5c../", "%c0%ae%c0%ae/"]
GOALS = [
    "etc/passwd",
    "campaign.json",
    "events.sqlite",
    "page.css",
    ".new-x/folder",
    ".page-key",
]
NUMBERS = ["0", "-1", "99999999", "1e9", "1%00", "٣", "9" * 40]
FILES = ["../../evil.csv", "/etc/cron.d/x", "x\x00.csv", "a" * 5_000, "C:\\x.csv", ".bashrc"]
ENTITY = b"<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><graphml>&e;</graphml>"
CONTENTS = [b"", b"\x1f\x8b\x08junk", b"\x00" * 500, b"a,b\n" * 3 + b"\xff\xfe", b"[" * 50_000, ENTITY]
BODIES = ["[" * 100_000, "{", '{"version": {"$gt": 0}}', '{"version": 1e999}', b"\xed\xa0\x80"]
VERSIONS = ["0", "1", "", "999", "1 OR 1=1", "null"]
HEADERS = [
    {"Content-Length": "-1"},
    {"Content-Length": "9" * 30},
    {"Authorization": "Bearer " + "x" * 9_000},
    {"Cookie": "cmab-8765=" + "x" * 4_000},
    {"Host": "evil"},
    {"X-HTTP-Method-Override": "DELETE"},
]
QUERIES = ["sort=__class__", "page=-9", "page=" + "9" * 30, "search=%27%3B--", "done=__init__", "round=%00"]


def hostile(rng, place):
    """Return a request that an attacker may send, with or without the key."""
    pick = rng.choice
    up, goal, number = pick(UPWARDS) * rng.randint(1, 6), pick(GOALS), pick(NUMBERS)
    match rng.randrange(10):
        case 0:
            roots = ["/c/", "/static/", f"{place}/export/", "/"]
            return "GET", pick(roots) + up + goal, {}
        case 1:
            return "GET", f"{place}/export/{up}{goal}.{pick(['csv', 'json', 'toml', 'sqlite'])}", {}
        case 2:
            action = pick(["report", "cancel", "leave-out"])
            return "POST", f"{place}/rounds/{number}/{action}", {"data": {"mark": number}}
        case 3:
            body, boundary = rng.randbytes(rng.randint(0, 400)), pick(["x", "", "x" * 300, "\x01"])
            headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
            return "POST", "/new", {"content": body, "headers": headers}
        case 4:
            data = {"version": pick(VERSIONS), "without": "x" * rng.randint(0, 9_000)}
            return "POST", f"{place}/{pick(['choose', 'undo', 'delete'])}", {"data": data}
        case 5:
            data = {"title": pick(["", "x" * 5_000, "\x00"]), "k": number}
            return "POST", "/new", {"data": data, "files": {"network": (pick(FILES), pick(CONTENTS))}}
        case 6:
            headers = {"Content-Type": "application/json"}
            return "POST", f"{place}/choose", {"content": pick(BODIES), "headers": headers}
        case 7:
            return "GET", place, {"headers": pick(HEADERS)}
        case 8:
            return pick(["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND"]), place, {}
    return "GET", f"{place}{pick(['', '/state'])}?{pick(QUERIES)}", {}


@pytest.mark.parametrize("has_key", [False, True])
def test_hostile_requests_change_and_reveal_nothing(page, spring, stranger, has_key):
    import httpx

    rng, statuses = random.Random(30 + has_key), {}
    client = page.client if has_key else stranger
    before = files_in(page.store.root)
    for _ in range(REQUESTS // 2):
        method, address, parts = hostile(rng, spring)
        try:
            answer = client.request(method, address, **parts)
        except (httpx.InvalidURL, UnicodeError):  # the client refuses to send it
            continue
        statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1
        assert answer.status_code < 500, (method, address, parts, answer.text)
        assert "root:" not in answer.text and "Traceback" not in answer.text, (method, address)
        assert str(page.store.root) not in answer.text, (method, address, answer.text)
        if not has_key:
            assert SECRET not in answer.text and answer.status_code >= 400, (method, address)
    assert files_in(page.store.root) == before
    assert sum(statuses.values()) > REQUESTS // 3 and len(statuses) >= (4 if has_key else 2), statuses


def test_links_out_of_the_folder_are_not_followed(tmp_path):
    page = Page(tmp_path / "served").enter()
    outside = Page(tmp_path / "outside").enter()
    outside.create(title="Private")
    (page.store.root / "private").symlink_to(outside.store.root / "private")
    assert "Private" not in page.get("/").text
    page.get("/c/private", 404)
    page.get("/c/.new-x", 404)


def test_compressed_bombs_are_refused(page):
    import gzip
    import io
    import zipfile

    book, before = io.BytesIO(), page.store.slugs()
    with zipfile.ZipFile(book, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("xl/worksheets/sheet1.xml", b" " * 100_000_000)
    for name, data, why in (
        ("friends.csv.gz", gzip.compress(b"Ann,Bob"), "must not be compressed"),
        ("friends.xlsx", book.getvalue(), "must not be larger than 64 MB unpacked"),
    ):
        _, text = page.show(400, files={"network": (name, data, "application/octet-stream")})
        assert why in text
    assert page.store.slugs() == before


def test_error_pages_tell_nothing_of_the_machine(page, spring, monkeypatch):
    from cmab.campaign.page import views

    def broken(*_):
        raise RuntimeError("/secret/path")

    monkeypatch.setattr(views, "state_of", broken)
    text = page.get(f"{spring}/state", 500).text
    assert "secret" not in text and "Nothing was changed" in text


DISGUISED = [
    "＝6+6",
    "＋1",
    "－1",
    "＠SUM(A1)",
    "\u200b=5+5",
    "\u200d\u2060=1",
    "\u00a0=4+4",
    "\ufeff=1",
    "'=1",
    "\x01=1",
]


@pytest.mark.parametrize("name", DISGUISED)
def test_disguised_formulas_are_inert(name):
    from cmab.run.tables import inert

    row = [name, f"x {name}", "(x)", "", -1.5]
    assert [inert(cell) for cell in row] == [f"'{name}", f"x {name}", "(x)", "", -1.5]


def test_a_damaged_campaign_is_refused_in_words_and_the_others_work(tmp_path):
    page = Page(tmp_path).enter()
    for title in ("Whole", "Empty", "Former"):
        page.choose(page.create(title=title))
    for opened in page.store._opened.values():
        opened.folder.close()
    for path in (tmp_path / "empty").glob("events.sqlite*"):
        path.write_bytes(b"")
    (tmp_path / "former/campaign.json").write_text('{"title": "Former", "colour": "red"}')
    page = Page(tmp_path).enter()
    home = page.get("/").text
    for slug, why in (("empty", "must have the events"), ("former", "must have the options")):
        assert home.count(why) == 1
        for address in (f"/c/{slug}", f"/c/{slug}/state"):
            text = page.get(address, 400).text
            assert why in text and str(tmp_path) not in text and "/tmp" not in text
    page.get("/c/whole")


@pytest.mark.parametrize(
    "fields",
    [{"count": count} for count in ("-1", "1", "2.5", "1e6", "Infinity", "NaN", "9" * 30)]
    + [{"others": others} for others in ("\udc80", f"Bob = 1{'0' * 400}", "7")],
)
def test_impossible_numbers_and_texts_are_refused(page, fields):
    place = page.create(f"Impossible {len(page.store.slugs())}")
    page.choose(place)
    before = files_in(page.store.root)
    given = {name: value.encode("utf-8", "surrogateescape") for name, value in fields.items()}
    assert "codec" not in page.report(place, 1, 400, **given).text
    assert files_in(page.store.root) == before
