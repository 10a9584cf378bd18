"""A served folder within the process of a test, and what a browser does with it."""

import re
from html import unescape

import pytest

NETWORK = """name_1,name_2
Ann,Bob
Ann,Carl
Bob,Dora
Carl,Dora
Dora,Emil
Emil,Fay
Fay,Gus
Gus,Ann
"Meyer, Zoé",Emil
"""
HOST = "127.0.0.1:8765"
KEY = "key-of-the-page"


class Page:
    """A browser without JavaScript: it follows addresses and sends the forms of a page."""

    def __init__(self, folder):
        pytest.importorskip("starlette.testclient", reason="cmab[serve] and httpx serve the page")
        from starlette.testclient import TestClient

        from cmab.campaign.page.store import Store
        from cmab.campaign.page.web import application

        self.store = Store(folder)
        self.app = application(self.store, KEY, port=8765, hosts=["127.0.0.1"])
        self.client = TestClient(
            self.app, base_url=f"http://{HOST}", follow_redirects=False, raise_server_exceptions=False
        )
        self.client.headers["Origin"] = f"http://{HOST}"  # browsers send it with each form

    def enter(self):
        assert self.client.get(f"/?key={KEY}").status_code == 303
        return self

    def get(self, address, status=200):
        answer = self.client.get(address)
        assert answer.status_code == status, answer.text
        return answer

    def fields(self, address, action):
        """Return the hidden fields and the people who came in the form with this action on a page."""
        text = self.get(address).text
        forms = re.findall(r"<form[^>]*>.*?</form>", text, re.DOTALL)
        form = next(form for form in forms if f'action="{action}"' in form)
        hidden = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', form)
        came = re.findall(r'<input type="checkbox" id="[^"]*" name="came" value="([^"]*)" checked', form)
        return {name: unescape(value) for name, value in hidden} | (
            {"came": [*map(unescape, came)]} if came else {}
        )

    def send(self, address, action, status=303, files=None, **fields):
        """Send the form of a page with some fields, and return the answer."""
        data = self.fields(address, action) | fields
        answer = self.client.post(action, data=data, files=files)
        assert answer.status_code == status, answer.text
        return answer

    def show(self, status=200, *, network=NETWORK, files=None, **fields):
        """Send the form of a new campaign, and return the fields and the page that shows what was read."""
        files = {"network": ("friends.csv", network.encode(), "text/csv")} if files is None else files
        given = {"title": "Shown first", "kind": "network", "k": "2", **fields}
        data = self.fields("/new", "/new") | given
        answer = self.client.post("/new", data=data, files=files or None)
        assert answer.status_code == status, answer.text
        seen = re.search(r'name="seen" value="([^"]*)"', answer.text).group(1)
        return data | {"seen": seen}, answer.text

    def create(self, title="Spring", **given):
        """Make a campaign in two steps, and return its address."""
        data, _ = self.show(title=title, **given)
        answer = self.client.post("/new", data=data | {"step": "create"})
        assert answer.status_code == 303, answer.text
        return answer.headers["location"]

    def choose(self, place, **fields):
        return self.send(place, f"{place}/choose", **fields)

    def report(self, place, number, status=303, **fields):
        address = f"{place}/rounds/{number}/report"
        return self.send(address, address, status, **fields)

    def rounds(self, place):
        with self.store.held(place.rsplit("/", 1)[1]) as opened:
            return opened.folder.rounds()

    def known(self, place, number):
        """Return the people that those who were asked know, as the form of the report lists them."""
        text = self.get(f"{place}/rounds/{number}/report").text
        return [unescape(name) for name in re.findall(r'name="joined" value="([^"]*)"', text)]


def files_in(folder):
    """Return the contents of all files, but of databases their events."""
    import sqlite3

    found = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".sqlite":
            connection = sqlite3.connect(path)
            found[str(path)] = list(connection.iterdump())
            connection.close()
        elif path.is_file() and not path.name.endswith(("-wal", "-shm")):
            found[str(path)] = path.read_bytes()
    return found
