"""Docstrings and pages keep to plain words; `words.py` counts the turns of phrase that readers read twice."""

import pytest
import words
from places import ROOT


@pytest.mark.parametrize("folder", words.FOLDERS)
def test_turns_of_phrase_are_rare(folder):
    above = {turn: rate for turn, rate in words.rates(ROOT / folder).items() if rate > words.TURNS[turn][1]}
    assert not above, f"say these in plain words in {folder}: {above} in 10,000 words"


def test_turns_are_counted(tmp_path):
    (tmp_path / "page.md").write_text(
        "What it says, for it lies there, nobody reads: none.\n```\nwhat\n```\n"
    )
    (tmp_path / "module.py").write_text(
        'def f():\n    """Return what is told.\n\n    Examples\n    --------\n    >>> what\n    """\n'
    )
    found = words.rates(tmp_path)
    n_words = 10 + 4  # ten in the page, four in the docstring
    assert {turn: round(rate * n_words / 1e4) for turn, rate in found.items()} == {
        "what, as a noun": 2,
        "who, nobody": 1,
        "stands, lies, speaks": 1,
        "for, as because": 1,
        "none, as a noun": 1,
    }
