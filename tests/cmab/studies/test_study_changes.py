"""Whatever changes what a study would compute is played anew, or refused; nothing else is."""

import importlib
import os
import shutil
import sys

import numpy as np
import pytest
from cmab.reports import report
from cmab.reports.report import write_report

from cmab import Study, StudyFailed
from cmab.studies import _provenance, _registry

FILES = {
    "plug/__init__.py": "from plug.env import Plug\n",
    "plug/env.py": """
import json
from pathlib import Path
import numpy as np
import plughelper
from plug.base import Base
from plughelper import shift
class Plug(Base):
    n_arms = 3
    def __init__(self, lift=0.0):
        factor = json.loads(Path(__file__).with_name("data.json").read_text())["factor"]
        bias = np.frombuffer(Path(__file__).with_name("inner").joinpath("table.bin").read_bytes())[0]
        self.means = (np.array([0.9, 0.5, 0.1]) + 0.0) * factor + shift() + bias + lift
        self.optimum = float(np.sort(self.means)[-1])
        self.support = (-10.0, 10.0)
""",
    "plug/base.py": """
from cmab import Environment, Feedback
class Base(Environment):
    def play(self, super_arm, rng):
        rng.random()
        return Feedback(super_arm, self.means[super_arm], reward=self.expected_reward(super_arm))
    def pull(self, arms, rng):
        return self.means[arms]
    def expected_reward(self, super_arm):
        return float(self.means[super_arm].sum()) + 0.0
""",
    "plug/data.json": '{"factor": 1.0}',
    "plughelper.py": """
import importlib
def shift():
    from plugdeep.constants import DEEP
    modules = importlib.import_module("plugfar.constants"), __import__("plugnear")
    return DEEP + sum(module.DEEP for module in modules) + 0.0
""",
    "plugdeep/constants.py": "DEEP = 0.0\n",  # a package without __init__
    "plugfar/constants.py": "DEEP = 0.0\n",
    "plugnear.py": "DEEP = 0.0\n",
}
PACKAGES = {"plug", "plughelper", "plugdeep", "plugfar", "plugnear"}
SPECIFICATION = {
    "horizon": 12,
    "replications": 2,
    "instances": {
        "own": {"oracle": {"class": "TopK", "n_arms": 3, "k": 1}, "environment": {"class": "Plug"}}
    },
    "learners": {"Random": {"class": "RandomPolicy", "support": [-20.0, 20.0]}},
}


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder with another package's code, which is registered."""
    place = tmp_path / "home"
    for name, text in FILES.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    (place / "plug" / "inner").mkdir()
    (place / "plug" / "inner" / "table.bin").write_bytes(np.zeros(1).tobytes())
    (place / "edges.txt").write_text("# friends\na b\nb c\nc a\n")
    entries = _registry.entries
    ours = {"Plug": _registry.metadata.EntryPoint("Plug", "plug:Plug", "cmab.instances")}
    monkeypatch.setattr(
        _registry, "entries", lambda group: entries(group) | (ours if group == "instances" else {})
    )
    monkeypatch.syspath_prepend(str(place))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    forget()
    yield place
    forget()


def forget():
    """Forget what was imported, as a new process has."""
    for name in [name for name in sys.modules if name.partition(".")[0] in PACKAGES]:
        del sys.modules[name]
    importlib.invalidate_caches()


def study(home, **changes):
    return Study(SPECIFICATION | changes, files=home)


def edit(file, old="0.0", new="0.25"):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def numbers(made, folder):
    return {pair: (r.exact_regret.tolist(), r.optimum) for pair, r in made.results(folder).items()}


def keep_times(file, change):
    before = file.stat()
    change(file)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


CODE = {
    "the class": lambda home: edit(home / "plug/env.py"),
    "its base in another module": lambda home: edit(home / "plug/base.py"),
    "a module that it imports": lambda home: edit(home / "plughelper.py"),
    "what that imports within a function": lambda home: edit(home / "plugdeep/constants.py"),
    "what is imported by a call": lambda home: edit(home / "plugfar/constants.py"),
    "what is imported by the oldest call": lambda home: edit(home / "plugnear.py"),
    "data in the package": lambda home: edit(home / "plug/data.json", "1.0", "1.25"),
    "compiled data below": lambda home: (home / "plug/inner/table.bin").write_bytes(np.ones(1).tobytes()),
    "the class, with the old times": lambda home: keep_times(home / "plug/env.py", edit),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", CODE)
def test_changed_code_in_a_new_process(what, home, tmp_path):
    """What is read in the old folder is what an empty one gets, and the old study keeps its numbers."""
    first = study(home)
    first.run(tmp_path / "old")
    old = numbers(first, tmp_path / "old")
    CODE[what](home)
    forget()
    opened = Study.open(tmp_path / "old")
    assert numbers(opened, tmp_path / "old") == old
    again = study(home)
    assert len(again.missing(tmp_path / "old")) == 2
    again.run(tmp_path / "old")
    again.run(tmp_path / "new")
    assert numbers(again, tmp_path / "old") == numbers(again, tmp_path / "new") != old


@pytest.mark.slow
def test_code_that_was_edited_after_its_import(home, tmp_path):
    first = study(home)
    first.run(tmp_path / "old")
    for file in ("plug/env.py", "plug/base.py", "plughelper.py", "plugdeep/constants.py"):
        edit(home / file)
        with pytest.raises(ValueError, match="restart Python"):
            study(home)
        with pytest.raises(ValueError, match="restart Python"):
            first.run(tmp_path / "old")
        edit(home / file, "0.25", "0.0")
        _provenance._known.clear()
        forget()
        first = study(home)
        assert first.missing(tmp_path / "old") == []


def test_code_edited_before_its_first_study(home):
    """As in a notebook: imported in one cell, edited, used in the next one."""
    importlib.import_module("plug")
    keep_times(home / "plug" / "base.py", edit)
    with pytest.raises(ValueError, match=r"must not change after its import, got changes in .*base\.py"):
        study(home)


def test_data_edited_after_the_study_was_made(home, tmp_path):
    made = study(home)
    edit(home / "plug" / "data.json", "1.0", "1.25")
    with pytest.raises(ValueError, match="must be created again"):
        made.run(tmp_path)


def test_code_edited_while_it_runs(home, tmp_path, monkeypatch):
    made = study(home, replications=4)
    monkeypatch.setattr(_provenance, "_AGAIN_SECONDS", 0.0)

    def change(piece, _):
        if piece.replication == 1:
            edit(home / "plugdeep" / "constants.py")

    with pytest.raises(StudyFailed, match="restart Python"):
        made.run(tmp_path, report=change)
    assert {piece.replication for piece in made.missing(tmp_path)} == {2, 3}


@pytest.mark.slow
def test_reloaded_code(home, tmp_path):
    """Reloaded by all who use it, it is played anew; by some of them, it is refused."""
    first = study(home)
    first.run(tmp_path / "old")
    old = numbers(first, tmp_path / "old")
    edit(home / "plug" / "env.py")
    importlib.reload(sys.modules["plug.env"])
    with pytest.raises(ValueError, match=r"after its module was reloaded, got old objects in plug\.Plug"):
        study(home)
    importlib.reload(sys.modules["plug"])
    with pytest.raises(ValueError, match="must be created again"):
        first.run(tmp_path / "old")
    again = study(home)
    again.run(tmp_path / "old")
    assert numbers(again, tmp_path / "old") != old
    edit(home / "plughelper.py")
    importlib.reload(sys.modules["plughelper"])
    with pytest.raises(ValueError, match=r"got old objects in plug\.env\.shift"):
        study(home)


@pytest.fixture
def no_figures(monkeypatch):
    """They take seconds, and say what the tables say."""
    monkeypatch.setattr(report, "figures", lambda *_: ())


@pytest.mark.usefixtures("no_figures")
def test_old_results_are_told_by_what_was_stored(home, tmp_path):
    """Whatever became of the code: the optimum was stored, and nothing is built."""
    made = study(home)
    made.run(tmp_path)
    table, page = made.table(tmp_path), write_report(tmp_path).read_text(encoding="utf-8")
    edit(home / "plug" / "env.py", "0.9", "7.9")
    for change in (lambda: None, lambda: shutil.rmtree(home / "plug")):
        change()
        forget()
        opened = Study.open(tmp_path)
        assert opened.table(tmp_path) == table
        assert opened.missing(tmp_path) == []
        assert write_report(tmp_path).read_text(encoding="utf-8") == page
    assert table[0]["regret"] > 0


GRAPH = {
    "instances": {
        "net": {
            "oracle": {"class": "GraphicMatroid", "graph": {"file": "edges.txt"}},
            "environment": {
                "class": "SemiBandit",
                "arms": {"class": "BernoulliArms", "means": [0.2, 0.5, 0.8]},
                "oracle": "$oracle",
            },
        }
    }
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "again"),
    [
        ("c a", "c b2\nb2 a\n#", None),  # another number of arms: refused
        ("a b\nb c", "b c\na b", 2),  # the order of the edges, which are the arms
        ("c a", "c d", 2),
        ("a b\nb c\nc a", "a b 1\nb c 2\nc a 3", 2),
        ("# friends", "# acquaintances\n", 0),
        ("c a", "c   a  ", 0),
    ],
)
def test_a_changed_graph_file(old, new, again, home, tmp_path):
    study(home, **GRAPH).run(tmp_path)
    edit(home / "edges.txt", old, new)
    if again is None:
        with pytest.raises(ValueError, match="agree in n_arms"):
            study(home, **GRAPH)
    else:
        assert len(study(home, **GRAPH).missing(tmp_path)) == again


@pytest.mark.slow
def test_what_changes_nothing_is_not_played_again(home, tmp_path):
    study(home).run(tmp_path)
    study(home, **GRAPH).run(tmp_path)
    for file in ("plug/env.py", "plughelper.py", "edges.txt"):
        (home / file).touch()
    (home / "plug" / "__pycache__").mkdir()
    (home / "plug" / "__pycache__" / "env.pyc").write_bytes(b"anything")
    (home / "another.py").write_text("x = 1\n")
    (home / "edges.txt").rename(home / "ties.txt")
    forget()
    moved = {
        "net": GRAPH["instances"]["net"]
        | {"oracle": {"class": "GraphicMatroid", "graph": {"file": "ties.txt"}}}
    }
    assert study(home).missing(tmp_path) == []
    assert study(home, instances=moved).missing(tmp_path) == []


@pytest.mark.parametrize("name", ["gnm_random_graph", "watts_strogatz_graph", "random_labeled_tree"])
def test_random_graphs_need_a_seed(name, home):
    arguments = {"gnm_random_graph": {"m": 9}, "watts_strogatz_graph": {"k": 2, "p": 0.1}}.get(name, {})
    graph = {"networkx": name, "n": 6} | arguments
    for given, message in (({}, "must have a seed"), ({"seed": 1.5}, "seed must be an integer")):
        tree = {"class": "GraphicMatroid", "graph": graph | given}
        with pytest.raises(ValueError, match=rf"instances\.net\.oracle\.graph.*{message}"):
            study(home, instances={"net": {"oracle": tree, "environment": {"class": "Plug"}}})


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_other_versions_are_played_again_or_accepted_and_told(home, tmp_path, monkeypatch):
    study(home).run(tmp_path)
    with monkeypatch.context() as later:
        newer = _provenance._versions() | {"numpy": "99.0", "cmab": "9.9"}
        later.setattr(_provenance, "_versions", lambda: newer)
        content = _provenance.content_of
        changed = {"cmab": "another"}
        later.setattr(_provenance, "content_of", lambda name: changed.get(name) or content(name))
        assert len(study(home).missing(tmp_path)) == 2
        more = Study(SPECIFICATION | {"replications": 3}, accept_versions=True)
        assert [piece.replication for piece in more.missing(tmp_path)] == [2]
        more.run(tmp_path)
        assert len(more.results(tmp_path)["own", "Random"].seconds) == 3
        # Another package's own code is never accepted.
        edit(home / "plug" / "env.py")
        forget()
        assert len(Study(SPECIFICATION, accept_versions=True).missing(tmp_path)) == 2
    opened = Study.open(tmp_path)
    assert opened.accept_versions
    assert opened.missing(tmp_path) == []
    page = write_report(tmp_path).read_text(encoding="utf-8")
    assert "Pieces by version" in page
    assert "99.0" in page
    assert np.__version__ in page
