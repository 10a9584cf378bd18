"""The list of properties: each check has a reason, and the documentation shows the list."""

from pathlib import Path

import pytest

from cmab.testing import properties
from cmab.testing._untested import SHARED as UNTESTED
from cmab.testing.environments import ENVIRONMENTS
from cmab.testing.explorers import EXPLORERS
from cmab.testing.oracles import ORACLES
from cmab.testing.policies import POLICIES

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "properties.md"


def row(one):
    """Return the row of the page."""
    return f"| {one.name} | {one.statement} {one.reason} | {one.confidence} | {one.look_at} |"


@pytest.mark.parametrize("kind", ["oracle", "policy", "environment", "explorer"])
def test_the_page_lists_each_property(kind):
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    assert [row(one) for one in properties(kind) if row(one) not in lines] == []


@pytest.mark.parametrize(
    "kind", [ORACLES, POLICIES, ENVIRONMENTS, EXPLORERS], ids=lambda kind: kind.of.__name__
)
def test_the_page_lists_what_is_not_tested(kind):
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    assert len(kind.untested) >= 3
    assert [each for each in (*UNTESTED, *kind.untested) if f"- {each}" not in lines] == []


def test_a_property_says_what_why_and_how_sure():
    for one in properties():
        assert one.statement.endswith("."), one
        assert one.reason.endswith("."), one
        assert one.confidence.startswith(("exact", "1e-")), one


def test_kinds_are_checked():
    with pytest.raises(ValueError, match="kind must be one of oracle"):
        properties("oracles")
