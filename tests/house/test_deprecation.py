"""The policy of deprecation in CONTRIBUTING.md: changes list former names, which end with their version."""

import re
from importlib import import_module

import pytest
from places import ROOT

import cmab
from cmab import kernels
from cmab.former_arguments import former_arguments
from cmab.namespaces import FORMER, LEFT, REPLACED
from cmab.renamed import PARAMETERS

SPACES = (
    "cmab",
    "cmab.policies",
    "cmab.exploration",
    "cmab.logs",
    "oracles",
    "oracles.influence",
    "instances",
)


def formers():
    """Return all former names, sorted."""
    found = {*FORMER, *REPLACED, *LEFT, "borrows", "part", "start", "select_for", "learn", "cmab.offline"}
    for parameters in PARAMETERS.values():
        found |= set(parameters.values())
    for space in SPACES:
        module = import_module(space)
        for name in module.__all__:
            found |= set(former_arguments(getattr(module, name)))
    return sorted(found)


#: The changes of the present minor version, of all its patches.
MINOR = cmab.__version__.rpartition(".")[0]
CHANGES = "\n".join(
    file.read_text(encoding="utf-8") for file in sorted((ROOT / "docs" / "changes").glob(f"{MINOR}.*.md"))
)


@pytest.mark.parametrize("name", formers())
def test_former_names_are_listed_in_the_minor_version_that_deprecated_them(name):
    """When the next minor version begins, its changes do not list the name: it has to go."""
    assert re.search(rf"`{re.escape(name)}(?:\(.*?\))?[`=(]", CHANGES), (
        f"{name} is not listed as deprecated in {MINOR}: list it, or remove it if an earlier version did"
    )


def test_all_former_names_are_looked_at():
    """Of every kind there is one, so that `formers` cannot miss a kind."""
    assert {"Windowed", "factor", "seed", "max_rr_sets", "borrows", "learn"} <= set(formers())


@pytest.mark.parametrize("name", ["borrows", "part"])
def test_former_helpers_of_kernels_warn(name):
    with pytest.warns(DeprecationWarning, match=f"{name} is deprecated"):
        assert callable(getattr(kernels, name)(lambda x: x))


def test_the_versions_agree():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(rf"^version: \"?{re.escape(cmab.__version__)}\"?$", text, re.M)
    assert f'"version": "{MINOR}"' in (ROOT / "docs" / "versions.json").read_text(encoding="utf-8")
