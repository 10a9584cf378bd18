"""The page on names of parameters says what each name stands for that several classes or functions have."""

import inspect
import re
from collections import defaultdict
from importlib import import_module

import pytest
from places import ROOT

SPACES = ("cmab", "cmab.policies", "cmab.exploration", "cmab.offline", "cmab.bounds", "oracles", "instances")
#: What is made by the library and not by users.
RESULTS = {"Comparison", "Identification", "SamplePlan", "Simulation"}
RESULTS |= {"ComparisonInterrupted", "SimulationInterrupted", "StudyFailed"}
RESULTS |= {
    "ArmStatistics",
    "BudgetState",
    "LinearStatistics",
    "RestartState",
    "SafeguardState",
    "WindowStatistics",
}
RESULTS |= {
    "SolverError",
    "OffPolicyEstimate",
    "OfflineChoice",
    "Certificate",
    "RegretCertificate",
    "SolverCertificate",
    "RobustCertificate",
}
RESULTS |= {
    "Request",
    "Ticket",
    "Summary",
    "LoggedRound",
    "Mixture",
    "Bound",
    "RewardGaps",
    "Context",
    "Feedback",
    "Propensity",
}


def kind(annotation):
    """Return an annotation without what is within brackets, and None left out."""
    text = re.sub(r"(\w+\.)+", "", str(annotation))
    while "[" in text:
        text = re.sub(r"\[[^\[\]]*\]", "", text)
    return frozenset(text.split(" | ")) - {"None"}


def uses():
    """Return the type of each use of each parameter, by name and by class or function."""
    found = defaultdict(dict)
    for space in SPACES:
        module = import_module(space)
        for name in set(module.__all__) - RESULTS:
            if callable(thing := getattr(module, name)) and not inspect.isabstract(thing):
                for parameter in inspect.signature(thing).parameters.values():
                    if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                        found[parameter.name][name] = kind(parameter.annotation)
    return {name: each for name, each in found.items() if len(each) > 1}


def rows():
    """Return the rows of the page: types and classes by name, in the order of the page."""
    found = defaultdict(list)
    text = (ROOT / "docs" / "reference" / "names.md").read_text(encoding="utf-8")
    for name, types, owners, meaning in re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \| (.+?) \|$", text, re.M):
        assert meaning.endswith(".")
        found[name].append((set(re.findall(r"`([^`]+)`", types)), re.findall(r"`(\w+)`", owners)))
    return found


USES, ROWS = uses(), rows()


def test_the_page_has_the_names_that_are_shared():
    assert list(ROWS) == sorted(ROWS) and set(ROWS) == set(USES)


@pytest.mark.parametrize("name", sorted(USES))
def test_a_name_has_one_meaning_and_its_types(name):
    """Each use is of one row: that which names its class, else the one that names none."""
    others = set(USES[name]) - {owner for _, owners in ROWS[name] for owner in owners}
    assert len([owners for _, owners in ROWS[name] if not owners]) == bool(others)
    for types, owners in ROWS[name]:
        assert types == {word for owner in owners or others for word in USES[name][owner]}
