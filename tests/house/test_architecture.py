"""The direction of imports between files, and what an import loads."""

import ast
import subprocess
import sys

import networkx as nx
import pytest
from places import ROOT

ALLOWED = {"cmab": {"cmab"}, "oracles": {"oracles", "cmab"}, "instances": {"instances", "oracles", "cmab"}}
#: The command and the application of campaigns may import any package inside their functions.
ABOVE = ("cmab.cli", "cmab.campaign.")
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in ALLOWED
    for path in sorted((ROOT / package).rglob("*.py"))
}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in FILES.items()}


def imported(nodes):
    """Yield the modules of ours that statements import."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in FILES else node.module for name in names)


@pytest.mark.parametrize("package", ALLOWED)
def test_imports_point_one_way(package):
    for name, tree in TREES.items():
        if name.split(".")[0] == package:
            nodes = tree.body if name.startswith(ABOVE) else ast.walk(tree)
            ours = {other.split(".")[0] for other in imported(nodes)} & set(ALLOWED)
            assert ours <= ALLOWED[package], f"{name} imports {ours - ALLOWED[package]}"


def test_no_file_imports_itself_by_way_of_others():
    graph = nx.DiGraph((name, other) for name, tree in TREES.items() for other in imported(tree.body))
    assert graph.number_of_edges() > 300
    assert [circle for circle in nx.strongly_connected_components(graph) if len(circle) > 1] == []


@pytest.mark.parametrize("package", ALLOWED)
def test_import_is_light(package):
    """An import loads the standard library, lazy_loader and modules of ours, and nothing else."""
    code = f"import sys; before = set(sys.modules); import {package}; "
    code += "found = {name.partition('.')[0] for name in set(sys.modules) - before}; "
    code += "print(found - set(sys.stdlib_module_names) - {'cmab', 'oracles', 'instances', 'lazy_loader'})"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert found.stdout.strip() == "set()"


def test_the_first_program_loads_few_modules():
    code = """import sys
from cmab import CUCB, simulate
from oracles import TopK
from instances import BernoulliArms, SemiBandit
print(sum(name.partition(".")[0] in ("cmab", "oracles", "instances") for name in sys.modules))"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert int(found.stdout) <= 45
