"""Every public object documents its parameters and has an example (which the doctests run)."""

import inspect
import re

import pytest
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
