"""Docstrings and pages keep to plain words; `words.py` counts the turns of phrase that readers read twice."""

import pytest
import words
from places import ROOT


@pytest.mark.parametrize("folder", words.FOLDERS)
def test_turns_of_phrase_are_rare(folder):
    above = {turn: rate for turn, rate in words.rates(ROOT / folder).items() if rate > words.TURNS[turn][1]}
    assert not above, f"say these in plain words in {folder}: {above} in 10,000 words"
