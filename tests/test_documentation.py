"""Every Python snippet of the README and the documentation runs."""

import re
from pathlib import Path

import pytest

from cmab import Study

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
SNIPPET = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_snippets_run(page, tmp_path, monkeypatch):
    """The snippets of a page run in order, in one namespace and an empty folder."""
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": f"snippets_of_{page.stem}"}
    for match in SNIPPET.finditer(page.read_text(encoding="utf-8")):
        line = page.read_text(encoding="utf-8")[: match.start()].count("\n") + 1
        exec(compile("\n" * line + match.group(1), str(page), "exec"), namespace)


@pytest.mark.parametrize(
    "file", sorted((ROOT / "docs" / "studies").glob("*.toml")), ids=lambda file: file.stem
)
def test_studies_are_valid(file):
    assert Study.load(file).pieces
