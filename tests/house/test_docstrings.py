"""Public objects document their parameters, have an example (which the doctests run), and take names."""

import inspect
import re

import pytest
from bad_arguments import RESULTS
from places import ROOT

import cmab
import cmab.bounds
import cmab.testing
import instances
import instances.datasets
import oracles

PUBLIC = [
    pytest.param(getattr(module, name), id=f"{module.__name__}.{name}")
    for module in (cmab, cmab.testing, cmab.bounds, oracles, instances, instances.datasets)
    for name in module.__all__
    if callable(getattr(module, name))
]


#: Bases and parts of rules.
PARTS = {"CompiledIndexPolicy", "Goal", "LLR", "LUCBRule", "LogRadius", "PhasedExplorer", "RuledExplorer"}


@pytest.mark.parametrize("thing", PUBLIC)
def test_public_objects_have_an_example(thing):
    assert ">>>" in inspect.getdoc(thing)


@pytest.mark.parametrize("thing", PUBLIC)
def test_every_parameter_is_documented(thing):
    if inspect.isabstract(thing) or (inspect.isclass(thing) and issubclass(thing, BaseException)):
        pytest.skip("not made by users")
    listed = re.findall(r"^([\w, *]+?)(?: :|$)", inspect.getdoc(thing), re.MULTILINE)
    documented = {name.strip().lstrip("*") for names in listed for name in names.split(",")}
    missing = set(inspect.signature(thing).parameters) - documented - {"args", "kwargs"}
    assert not missing


def test_public_methods_have_a_docstring_of_their_own_or_of_a_base():
    for parameter in PUBLIC:
        (thing,) = parameter.values
        for name, method in vars(thing).items() if inspect.isclass(thing) else ():
            if not name.startswith("_") and inspect.isfunction(method):
                assert inspect.getdoc(getattr(thing, name)), f"{thing.__name__}.{name}"


def test_every_rule_says_when_to_use_it():
    for space in (cmab.policies, cmab.exploration):
        for name in set(space.__all__) - PARTS:
            text = " ".join(str(getattr(space, name).__doc__).split())
            assert re.search(r"\bUse this (policy|explorer|wrapper)\b", text), name


def test_pages_name_every_rule_that_can_be_chosen():
    """A reader of the pages finds each explorer and each policy on a page."""
    pages = [
        page.read_text(encoding="utf-8")
        for folder in ("start", "how-to")
        for page in (ROOT / "docs" / folder).glob("*.md")
    ]
    named = set(re.findall(r"`(?:cmab\.)?(\w+)[`(]", "\n".join(pages)))
    for space in (cmab.policies, cmab.exploration):
        assert set(space.__all__) - PARTS <= named


#: A pair of terminals, as networkx has it, or three arguments that belong together.
THREE = {oracles.DisjointPaths, oracles.MinimumCut, oracles.MostReliablePath, oracles.ShortestPath}
THREE |= {cmab.ModelPolicy, cmab.PBMUCB, cmab.Smoothness}
MADE = {
    thing
    for module in (cmab, oracles, instances)
    for thing in [getattr(module, name) for name in module.__all__]
    if inspect.isclass(thing) and not RESULTS.fullmatch(thing.__name__)
}


@pytest.mark.parametrize("kind", sorted(MADE - {cmab.Certify, cmab.LoggedRound}, key=str), ids=str)
def test_constructors_take_the_third_argument_by_name(kind):
    if not issubclass(kind, BaseException):
        parameters = inspect.signature(kind).parameters.values()
        in_order = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        assert len(in_order) <= (3 if kind in THREE else 2), in_order
