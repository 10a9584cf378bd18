"""Rules of the house that a test can hold: directions of imports, a light import, numba behind one door."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = {
    "cmab": {"cmab"},
    "oracles": {"oracles", "cmab"},
    "instances": {"instances", "oracles", "cmab"},
}


def _imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module


@pytest.mark.parametrize("package", ALLOWED)
def test_imports_point_one_way(package):
    files = sorted((ROOT / package).rglob("*.py"))
    assert files
    for path in files:
        ours = {name.split(".")[0] for name in _imports(path)} & set(ALLOWED)
        assert ours <= ALLOWED[package], f"{path} imports {ours - ALLOWED[package]}"


def test_pulp_is_imported_in_one_file():
    users = {path.name for path in (ROOT / "oracles").glob("*.py") if "pulp" in set(_imports(path))}
    assert users == {"_pulp_models.py"}


@pytest.mark.parametrize("package", ALLOWED)
def test_numba_is_behind_one_door(package):
    for path in (ROOT / package).rglob("*.py"):
        if path.name != "_kernels.py":
            assert not any(name.split(".")[0] == "numba" for name in _imports(path)), path


def test_import_is_light():
    heavy = ("numba", "scipy", "networkx", "pulp", "highspy", "matplotlib", "joblib", "tqdm")
    code = f"import sys, cmab; print([m for m in {heavy} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert found.stdout.strip() == "[]"
