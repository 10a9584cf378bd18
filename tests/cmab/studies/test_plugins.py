"""Packages of others: one entry point makes all their public classes and commands known."""

import importlib
import sys
from pathlib import Path

import pytest

from cmab import cli
from cmab.studies import _registry
from cmab.studies.study import Study

PACKAGE = """
from abc import abstractmethod
import numpy as np
from cmab import CUCB, LUCB1, LinearOracle
from oracles import TopK
__all__ = ["Base", "First", "Gambler", "Seeker", "TopK", "helper"]
class Base(LinearOracle):
    @abstractmethod
    def best(self): ...
class First(Base):
    '''The first arm.'''
    def __init__(self, n_arms):
        self.n_arms = n_arms
    def best(self):
        return 0
    def solve(self, means, rng):
        return np.array([self.best()])
class Gambler(CUCB):
    '''CUCB under another name.'''
class Seeker(LUCB1):
    '''LUCB1 under another name.'''
class Hidden(CUCB):
    '''Not public.'''
def helper():
    '''No class.'''
"""
COMMANDS = """
__all__ = ["two_rows"]
def two_rows():
    '''Two rows.'''
    yield {"name": "first", "value": 1.0}
    yield {"name": "second", "value": 2.0}
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Return what installs a package with some entry points, until the test is over."""
    before = set(sys.modules)

    def installed(name, files, entry_points, *, looked_for=True):
        place = tmp_path / name
        info = place / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(entry_points)
        for file, text in files.items():
            (place / file).parent.mkdir(parents=True, exist_ok=True)
            (place / file).write_text(text)
        monkeypatch.syspath_prepend(str(place))
        importlib.invalidate_caches()
        if looked_for:
            _registry.refresh()

    yield installed
    monkeypatch.undo()
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in {"mine", "theirs"}:
            del sys.modules[name]
    _registry.refresh()


def plugin(name):
    return f"[cmab.plugins]\n{name} = {name}\n"


@pytest.mark.slow
def test_one_entry_point_makes_the_public_classes_of_a_package_known(install):
    ours = {group: set(_registry.entries(group)) for group in _registry.GROUPS}
    install("mine", {"mine/__init__.py": PACKAGE}, plugin("mine"))
    found = {group: set(_registry.entries(group)) - ours[group] for group in _registry.GROUPS}
    assert found == {group: set() for group in _registry.GROUPS} | {
        "oracles": {"First"},
        "policies": {"Gambler"},
        "explorers": {"Seeker"},
    }
    _registry.check_unique("TopK", ("oracles",))  # an export of what is another package's is no claim
    specification = {
        "horizon": 3,
        "replications": 1,
        "instances": {
            "a": {
                "oracle": {"class": "First", "n_arms": 3},
                "environment": {"class": "BernoulliArms", "means": [0.2, 0.5, 0.7]},
            }
        },
        "learners": {"Gambler": {"class": "Gambler"}},
    }
    assert len(Study(specification).pieces) == 1


def test_a_module_without_a_list_of_names_offers_those_without_an_underscore(install):
    text = "from cmab import CUCB\nclass Mine(CUCB):\n    ...\nclass _Own(CUCB):\n    ...\n"
    install("mine", {"mine.py": text}, plugin("mine"))
    found = {name: entry.value for name, entry in _registry.entries("policies").items()}
    assert found["Mine"] == "mine:Mine"
    assert "_Own" not in found
    assert found["CUCB"] == "cmab:CUCB"


def test_commands_of_a_package_run(install, capsys):
    files = {"mine/__init__.py": "", "mine/demos/__init__.py": "", "mine/demos/commands.py": COMMANDS}
    install("mine", files, plugin("mine"))
    assert cli.main(["demo", "two-rows"]) == 0
    assert "second" in capsys.readouterr().out


def test_a_package_that_cannot_be_imported_hides_nothing(install, capsys):
    install("mine", {"mine.py": "raise RuntimeError('out of order')"}, plugin("mine"))
    assert cli.main(["list", "policies"]) == 0
    printed = capsys.readouterr().out
    assert "mine: cannot be loaded (out of order)" in printed
    assert "  CTS(" in printed


def test_single_names_beside_a_plug_in_still_work(install):
    rows = plugin("mine") + "[cmab.policies]\nRisky = mine:Gambler\nGambler = mine:Gambler\n"
    install("mine", {"mine.py": PACKAGE}, rows)
    assert _registry.load("policies", "Risky") is _registry.load("policies", "Gambler")


def test_two_plug_ins_with_one_name_are_told(install):
    for name in ("mine", "theirs"):
        install(name, {f"{name}.py": PACKAGE}, plugin(name))
    with pytest.raises(ValueError, match=r"First must be registered by one package, got .* of (mine|theirs)"):
        _registry.load("oracles", "First")


def test_a_plug_in_installed_later_is_found_by_its_name(install):
    assert "Gambler" not in _registry.entries("policies")
    install("mine", {"mine.py": PACKAGE}, plugin("mine"), looked_for=False)
    assert "Gambler" not in _registry.entries("policies")
    assert _registry.class_of("Gambler", "here").__module__ == "mine"
    assert _registry.entries("policies")["Gambler"].value == "mine:Gambler"


def test_a_plug_in_that_is_edited_and_reloaded_offers_what_it_has_then(install, monkeypatch):
    """Also names that another package has: they are known already, so nothing else would ask again."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    install("mine", {"mine.py": PACKAGE}, plugin("mine"))
    install(
        "theirs", {"theirs.py": "from cmab import CUCB\nclass Theirs(CUCB):\n    ...\n"}, plugin("theirs")
    )
    assert _registry.class_of("Gambler", "here").__module__ == "mine"
    theirs = sys.modules["theirs"]
    file = Path(theirs.__file__)
    file.write_text(file.read_text() + "class Gambler(CUCB):\n    ...\n")
    importlib.reload(theirs)
    with pytest.raises(
        ValueError, match=r"Gambler must be registered by one package, got .* of (mine|theirs)"
    ):
        _registry.class_of("Gambler", "here")
