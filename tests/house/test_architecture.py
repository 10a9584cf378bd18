"""Rules of the house that a test can hold and `ruff` cannot: directions of imports, a light import."""

import ast
import importlib
import subprocess
import sys

import networkx as nx
import pytest
from places import ROOT

ALLOWED = {
    "cmab": {"cmab"},
    "oracles": {"oracles", "cmab"},
    "instances": {"instances", "oracles", "cmab"},
}
# The rooms of `cmab`, from the ground up: a file or a folder imports only from the floors below it.
FLOORS = [
    {"namespaces", "former_arguments"},
    {
        "arrays",
        "description",
        "renamed",
        "states",
        "errors",
        "_interrupts",
        "_metering",
        "_old_verbs",
        "_options",
        "_streams",
        "_watched",
    },
    {"_faults", "validation", "intervals", "compiled", "spelling"},
    {"seeding", "declared", "edges"},
    {"guards"},
    {"feedback", "smoothness", "kernels", "context"},
    {"oracle", "environment", "statistics", "ticket", "rules"},
    {"policy", "goals", "confidence", "linear", "saving", "cascades"},
    {"plotting", "propensities"},
    {"explorer", "models", "results"},
    {"theory"},
    {"policies"},
    {"_ask_tell", "_former_defaults", "certificates", "exploration"},
    {"session"},
    {"running", "campaigns"},
    {"studies", "testing", "logs"},
    {"reports", "offline"},
    {"arena"},
    {"cli"},
    {"__main__"},
]
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in ALLOWED
    for path in sorted((ROOT / package).rglob("*.py"))
}


def _imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


@pytest.mark.parametrize("package", ALLOWED)
def test_imports_point_one_way(package):
    files = sorted((ROOT / package).rglob("*.py"))
    assert files
    for path in files:
        ours = {name.split(".")[0] for name in _imports(path)} & set(ALLOWED)
        assert ours <= ALLOWED[package], f"{path} imports {ours - ALLOWED[package]}"


@pytest.mark.parametrize("package", ["oracles", "instances"])
def test_plug_ins_need_only_public_names(package):
    """What ours can do, a package of somebody else can: no part of a name begins with an underscore."""
    for path in (ROOT / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                assert not any(a.name.startswith("cmab.") and "._" in a.name for a in node.names), path
            if not isinstance(node, ast.ImportFrom) or node.module.split(".")[0] != "cmab":
                continue
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            private = {name for name in names if "._" in name}
            assert not private, (path, private)


@pytest.mark.parametrize("package", ["cmab", "oracles", "instances"])
def test_import_is_light(package):
    """An import loads the standard library and modules of ours, and nothing else."""
    code = f"import sys; before = set(sys.modules); import {package}; "
    code += "found = {name.partition('.')[0] for name in set(sys.modules) - before}; "
    code += "print(sorted(found - set(sys.stdlib_module_names) - {'cmab', 'oracles', 'instances'}))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert found.stdout.strip() == "[]"


def modules(path):
    """Yield the modules of ours that a file imports, also within its functions, but not for types alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for statement in tree.body:
        if isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING":
            tree.body.remove(statement)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in FILES)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                if name in FILES or node.module in FILES:
                    yield name if name in FILES else node.module


@pytest.mark.slow
def test_no_file_imports_itself_by_way_of_others():
    graph = nx.DiGraph((name, other) for name, path in FILES.items() for other in modules(path))
    assert graph.number_of_edges() > 500
    assert [circle for circle in nx.strongly_connected_components(graph) if len(circle) > 1] == []


def test_every_room_stands_on_a_floor():
    rooms = {name.split(".")[1] for name in FILES if name.startswith("cmab.")}
    assert rooms == set().union(*FLOORS)
    assert sum(map(len, FLOORS)) == len(rooms)


def test_imports_go_down():
    floor = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
    for name, path in FILES.items():
        if not name.startswith("cmab."):
            continue
        room = name.split(".")[1]
        below = {other.split(".")[1] for other in modules(path) if "." in other} - {room}
        assert all(floor[other] < floor[room] for other in below), f"{name} imports {below}"


@pytest.mark.slow
def test_modules_that_calls_import_search_for_no_name():
    # A module's `__getattr__` is asked for `__path__` at each `from module import`: 1 us of every call.
    trees = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in FILES.items()}
    searching = {
        name
        for name, path in FILES.items()
        if path.name != "__init__.py"
        and "__getattr__" in {n for node in trees[name].body for n in names(node)}
    }
    assert "cmab.policies.windowed" in searching
    calls = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    inner = [node for call in calls for node in ast.walk(call) if isinstance(node, ast.ImportFrom)]
    assert {node.module for node in inner} & searching == set()


def names(node):
    """Return the names that a statement of a module defines."""
    if isinstance(node, ast.ImportFrom):
        return [alias.asname or alias.name for alias in node.names]
    return [getattr(node, "name", "")]


@pytest.mark.parametrize("package", ALLOWED)
def test_kernels_stand_beside_what_they_serve(package):
    at_the_top = {path.name for path in (ROOT / package).glob("*kernels*.py")}
    assert at_the_top == ({"kernels.py"} if package == "cmab" else set())


def test_folders_hold_three_files_and_say_what_lives_there():
    for name, path in FILES.items():
        if path.name != "__init__.py" or name in ALLOWED:
            continue
        others = [file for file in path.parent.glob("*.py") if file != path]
        assert len(others) >= 2, f"{name} has {len(others)} files beside its __init__"
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), name


@pytest.mark.parametrize("name", [name for name in FILES if "." in name and "__main__" not in name])
def test_no_name_hides_a_module(name):
    """A function with the name of a module beside it would be what `from package import name` gives."""
    package, _, last = name.rpartition(".")
    assert getattr(importlib.import_module(package), last, None) in (None, importlib.import_module(name))
