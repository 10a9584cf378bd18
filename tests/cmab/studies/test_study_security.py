"""A study file and a folder of results are data that may come from anybody: they run and write nothing."""

import json
import os
import subprocess
import sys

import networkx as nx
import pytest
from cmab.reports import report
from places import ROOT, SUPPORT

from cmab import Study
from cmab.cli import main
from cmab.studies import _registry, _specification
from cmab.studies._graphs import GENERATORS, generator
from cmab.studies.store import Store
from tests.cmab.studies.test_study import specification

PATH = {"networkx": "path_graph", "n": 2}
EVIL = "evil.pth"


def described(value):
    """A study with a value where an argument of a learner, an oracle and an environment belongs."""
    given = specification(learners={"CUCB": {"class": "CUCB", "radius_factor": value}})
    given["instances"] |= {
        "b": {"oracle": {"class": "GraphicMatroid", "graph": value}, "environment": value},
        "c": {"oracle": value, "environment": {"class": "BernoulliArms", "means": value}},
    }
    return given


def names():
    """What networkx has, public and private, and roundabout ways to more; of the algorithms, every tenth."""
    everything = [name for name in dir(nx) if callable(getattr(nx, name))]
    touching = [
        name
        for name in everything
        if name.startswith(("_", "read", "write", "parse", "generate", "to_", "from_"))
    ]
    callables = sorted({*touching, *everything[::10]})
    dotted = ["readwrite.edgelist.write_edgelist", "utils.open_file", "generators.path_graph", "os.system"]
    return [*callables, "generators", "__builtins__", "__class__.__base__", *dotted, "", "\0", "ü"]


@pytest.mark.slow
def test_only_generators_are_ever_called(monkeypatch):
    called, call = [], _specification.called
    monkeypatch.setattr(
        _specification,
        "called",
        lambda maker, *rest, **more: (called.append(maker.__name__), call(maker, *rest, **more))[1],
    )
    arguments = {"G": PATH, "path": EVIL}
    tables = {
        f"x{i}": {"class": "CUCB", "radius_factor": {"networkx": name} | arguments}
        for i, name in enumerate(names())
    }
    with pytest.raises(ValueError, match=r"learners\.x0\.radius_factor"):
        Study(specification(learners=tables))
    assert {"path_graph", "TopK"} < set(called)
    assert set(called) <= GENERATORS | {"TopK", "SemiBandit", "BernoulliArms", "CUCB"}
    for name in set(names()) - GENERATORS:
        with pytest.raises(ValueError, match=r"must be a graph generator of networkx"):
            generator(name, "here", "")


def test_generators_are_functions_of_networkx_that_return_graphs():
    known = {name for name in GENERATORS if hasattr(nx, name)}
    assert len(known) > 100
    for name in known:
        home = generator(name, "here", "").__module__
        assert home.startswith(
            ("networkx.generators.", "networkx.algorithms.bipartite.", "networkx.classes.")
        )
    returned = [
        getattr(nx, name) for name in known if name.endswith("_graph") and not _needed(getattr(nx, name))
    ]
    assert len(returned) > 20
    for maker in returned:
        assert isinstance(maker(), nx.Graph)


def _needed(maker):
    import inspect

    parameters = inspect.signature(maker).parameters.values()
    return [
        p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    ]


FILES = [
    "../secret.txt",
    "inner/../../secret.txt",
    "inner/../edges.txt",
    "/etc/passwd",
    "link.txt",
    "linked/secret.txt",
    "ring.txt",
    "inner",
    "pipe",
    "",
    ".",
    "..",
    "~/.bashrc",
    "\0",
    "x" * 5000,
    "file:///etc/passwd",
    "https://localhost/x",
    "none.txt",
    "binary.txt",
    "words.txt",
    "C:\\edges.txt",
    "//edges.txt",
]


@pytest.fixture
def folder(tmp_path):
    home = tmp_path / "home"
    (home / "inner").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("0 1\n")
    (home / "edges.txt").write_text("0 1\n1 2\n")
    (home / "inner" / "edges.txt").write_text("0 1\n1 2\n")
    (home / "binary.txt").write_bytes(bytes(range(256)))
    (home / "words.txt").write_text("one two three four\n")
    (home / "link.txt").symlink_to(tmp_path / "secret.txt")
    (home / "linked").symlink_to(tmp_path)
    (home / "ring.txt").symlink_to(home / "ring.txt")
    os.mkfifo(home / "pipe")
    return home


@pytest.mark.parametrize("name", FILES, ids=lambda name: repr(name)[:20])
def test_files_elsewhere_are_not_read(name, folder):
    with pytest.raises(ValueError, match=r"instances\.b\.oracle\.graph\.file") as refused:
        Study(described({"file": name}), files=folder)
    assert "secret" not in str(refused.value).replace(repr(name), "")


@pytest.mark.slow
def test_files_in_the_folder_and_below_are_read(folder):
    for name in ("edges.txt", "inner/edges.txt", "./edges.txt"):
        tree = {"class": "GraphicMatroid", "graph": {"file": name}}
        instance = {"oracle": tree, "environment": {"class": "BernoulliArms", "means": [0.5, 0.5]}}
        assert Study(specification(instances={"a": instance}), files=folder).pieces
        with pytest.raises(ValueError, match=r"needs a folder; pass `files`"):
            Study(specification(instances={"a": instance}))


def watched(home, *allowed):
    """Return what Python saw that must not be, in a process of its own."""
    script = SUPPORT / "watched_studies.py"
    caches = home.parent / "caches"
    caches.mkdir()
    done = subprocess.run(
        [sys.executable, str(script), str(ROOT), str(home), str(caches), "/dev/null", *map(str, allowed)],
        env=os.environ
        | {
            "NUMBA_DISABLE_JIT": "1",
            "MPLBACKEND": "Agg",
            "TMPDIR": str(caches),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def mailed(folder, given):
    """A folder whose study is another one than ran, with a right checksum, as an attacker writes it."""
    Study(specification()).run(folder)
    with Store(folder) as store:
        _, pairs = store.last_study()
        store.put_study("theirs", json.dumps(given), pairs)


def hostile():
    """Specifications by what they try."""
    writers = [
        "write_edgelist",
        "write_gml",
        "write_gpickle",
        "write_graphml",
        "read_edgelist",
        "read_gpickle",
        "read_gml",
        "_lazy_import",
        "from_agraph",
        "nx_agraph",
        "draw",
        "parse_edgelist",
        "write_network_text",
    ]
    arguments = [
        {"G": PATH, "path": EVIL, "delimiter": "\nimport os; os.system('id > ran')\n", "data": False},
        {"path": "../secret.txt"},
        {"fullname": "canary_module"},
        {"graph": PATH, "path": EVIL},
    ]
    values = [{"networkx": name} | extra for name in writers for extra in arguments]
    values += [
        {"networkx": name, "path": EVIL, "backend": "canary", "seed": 0, "n": 3}
        for name in sorted(GENERATORS)
    ]
    values += [
        {"networkx": name, "n": EVIL, "G": EVIL, "create_using": EVIL, "seed": EVIL}
        for name in sorted(GENERATORS)
    ]
    values += [
        {"networkx": "Graph", "incoming_graph_data": EVIL},
        {"networkx": "ego_graph", "G": "../secret.txt", "n": 0},
    ]
    values += [
        {"class": name}
        for name in ("canary_module:Thing", "os:system", "subprocess.Popen", "builtins.exec", "eval")
    ]
    values += [
        {"class": "CUCB", "oracle": EVIL},
        "$oracle.__class__",
        "$__class__",
        "{0.__class__}",
        "%s",
        "../secret.txt",
    ]
    values += [{"file": name} for name in FILES if name not in ("pipe",)]
    known = [
        name
        for group in ("oracles", "instances", "policies", "explorers")
        for name in _registry.entries(group)
    ]
    for name in known:  # text where anything may stand
        import inspect

        parameters = inspect.signature(_specification.class_of(name, name)).parameters
        values.append({"class": name} | dict.fromkeys(parameters, EVIL))
        values.append({"class": name} | dict.fromkeys(parameters, PATH))
    return [described(value) for value in values]


@pytest.mark.slow
def test_hostile_files_and_folders_write_and_start_nothing(folder):
    """Watched by Python itself: each file that is opened to be written, each process, socket and import."""
    given = hostile()
    (folder / "specifications.json").write_text(json.dumps(given))
    (folder / "canary_module.py").write_text("raise SystemExit('imported')\n")
    (folder / "evil.toml").write_text(
        'horizon = 3\n[instances.a]\noracle = { class = "TopK", n_arms = 3, k = 1 }\n'
        'environment = { class = "BernoulliArms", means = [0.5, 0.5, 0.5] }\n'
        '[learners.CUCB]\nclass = "CUCB"\n[learners.CUCB.radius_factor]\nnetworkx = "write_edgelist"\n'
        f'G = {{ networkx = "path_graph", n = 2 }}\npath = "{EVIL}"\n'
    )
    mailed(folder / "mailed", given[0])
    mailed(
        folder / "mailed2",
        specification(
            learners={"CUCB": {"class": "canary_module:Thing"}, "CTS": given[0]["learners"]["CUCB"]}
        ),
    )
    before = set(folder.rglob("*"))
    assert watched(folder, folder / "results", folder / "mailed") == []  # also mailed2
    new = {path.relative_to(folder).parts[0] for path in set(folder.rglob("*")) - before}
    assert new <= {"results", "mailed", "mailed2"}


@pytest.mark.slow
def test_the_watch_sees_what_it_must(folder):
    """The instrument of the test above, against writers that do write."""
    (folder / "canary_module.py").write_text("")
    (folder / "specifications.json").unlink(missing_ok=True)
    assert {"open", "subprocess.Popen", "os.mkdir", "import"} <= {event for event, _ in watched(folder)}


@pytest.mark.slow
def test_nothing_is_built_to_read_results(tmp_path, monkeypatch):
    made = Study(specification())
    monkeypatch.setattr(report, "_FORMATS", (".svg",))  # the others take as long, and show the same
    made.run(tmp_path)
    expected = made.table(tmp_path)

    def refuse(*_, **__):
        raise AssertionError("built")

    monkeypatch.setattr(_specification.Builder, "build", refuse)
    monkeypatch.setattr(_specification, "class_of", refuse)
    monkeypatch.setattr(_registry.metadata.EntryPoint, "load", refuse)
    opened = Study.open(tmp_path)
    assert opened.table(tmp_path) == expected
    assert opened.missing(tmp_path) == []
    assert list(opened.results(tmp_path)) == [("ads", "CUCB"), ("ads", "CTS")]
    assert main(["report", str(tmp_path)]) == 0
    assert "SemiBandit(BernoulliArms" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_name_claimed_by_two_packages_is_refused(tmp_path, monkeypatch):
    """As an installed package that registers a built-in's name, in the same group or another."""
    for group in ("policies", "oracles"):
        info = tmp_path / group / "intruder-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: intruder\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[cmab.{group}]\nCUCB = canary_module:CUCB\n")
        with monkeypatch.context() as patched:
            patched.syspath_prepend(str(tmp_path / group))
            _registry.refresh()
            assert _registry.entries("policies")["CUCB"].value == "cmab:CUCB"
            with pytest.raises(ValueError, match=r"CUCB must be registered by one package, got .*intruder"):
                Study(specification())
            assert Study(specification(learners={"CTS": {"class": "CTS"}})).pieces
        _registry.refresh()
    assert Study(specification()).pieces
