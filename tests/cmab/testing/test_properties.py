"""The list of properties: each check has a reason, and the documentation shows the list."""

from pathlib import Path

import pytest

from cmab.testing import properties

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "properties.md"


def row(one):
    """Return the row of the page."""
    return f"| {one.name} | {one.statement} {one.reason} | {one.confidence} | {one.look_at} |"


@pytest.mark.parametrize("kind", ["oracle", "policy", "environment", "explorer"])
def test_the_page_lists_each_property(kind):
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    assert [row(one) for one in properties(kind) if row(one) not in lines] == []


def test_a_property_says_what_why_and_how_sure():
    for one in properties():
        assert one.statement.endswith("."), one
        assert one.reason.endswith("."), one
        assert one.confidence.startswith(("exact", "1e-")), one


def test_kinds_are_checked():
    with pytest.raises(ValueError, match="kind must be one of oracle"):
        properties("oracles")
