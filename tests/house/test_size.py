"""The size of the library: a budget of lines and files for each folder."""

import pytest
from places import ROOT

#: Lines and files of Python at most. Raise a number only with a reason in the message of the commit.
BUDGETS = {
    "cmab": (32_580, 106),
    "oracles": (13_150, 36),
    "instances": (5_650, 23),
    "tests": (24_700, 162),
}

#: Words of the Markdown pages at most.
MOST_WORDS = 45_000


@pytest.mark.parametrize("folder", BUDGETS)
def test_a_folder_keeps_its_budget(folder):
    files = [*(ROOT / folder).rglob("*.py")]
    lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)
    most_lines, most_files = BUDGETS[folder]
    assert lines <= most_lines and len(files) <= most_files, f"{folder}: {lines} lines, {len(files)} files"


def test_the_pages_keep_their_budget():
    docs = ROOT / "docs"
    pages = [
        page for page in docs.rglob("*.md") if "api" not in page.parts and "auto_gallery" not in page.parts
    ]
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in pages) <= MOST_WORDS
