"""The size of the library: a budget of lines and files for each folder, which is lowered and never raised."""

import pytest
from places import ROOT

#: Lines and files of Python at most. Raise a number only with a reason in `docs/changes`.
BUDGETS = {
    "cmab": (41_020, 114),
    "oracles": (15_930, 41),
    "instances": (7_010, 30),
    "tests": (36_140, 205),
}


@pytest.mark.parametrize("folder", BUDGETS)
def test_a_folder_keeps_its_budget(folder):
    files = [*(ROOT / folder).rglob("*.py")]
    lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)
    most_lines, most_files = BUDGETS[folder]
    assert lines <= most_lines
    assert len(files) <= most_files
