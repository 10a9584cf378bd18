"""The names that each package and each namespace has."""

import subprocess
import sys
from importlib import import_module
from types import ModuleType

import pytest
from places import ROOT

PACKAGES = ("cmab", "oracles", "instances")
NAMESPACES = [
    file.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
    for package in PACKAGES
    for file in sorted((ROOT / package).rglob("*.pyi"))
]


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_a_namespace_is_documented_and_has_the_names_of_its_stub(namespace):
    module = import_module(namespace)
    assert module.__doc__
    assert dir(module) == sorted(module.__all__)
    for name in module.__all__:
        assert getattr(module, name).__doc__, name


def test_a_name_has_one_namespace():
    homes = [
        name
        for space in NAMESPACES
        if space not in PACKAGES
        for name in import_module(space).__all__
        if not isinstance(getattr(import_module(space), name), ModuleType)
    ]
    assert len(homes) == len(set(homes)) > 100


def test_a_star_import_gives_all_names():
    code = "from cmab import *; print(CUCB.__name__, BernsteinLUCB.__name__, clcb.__name__)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert shown.stdout.split() == ["CUCB", "BernsteinLUCB", "clcb"]
