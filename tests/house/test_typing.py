"""A type checker at its strictest takes what users write: the pages' own code, and a script."""

import re
import sys

import pytest
from places import ROOT

api = pytest.importorskip("mypy.api")
pytestmark = pytest.mark.slow
# Pages leave annotations out of their own functions, and other libraries out of their packages.
_OF_THE_PAGES = {"no-untyped-def", "no-untyped-call", "type-arg", "var-annotated", "import-untyped"}
_SCRIPT = """
import networkx as nx

import cmab
from cmab import CTS, CUCB, LUCB1, Campaign, Clairvoyant, Feedback, Session, compare, identify, simulate
from cmab.policies import SlidingWindow
from instances import BernoulliArms, GaussianArms, IndependentCascade, SemiBandit, read_network
from oracles import GraphicMatroid, InfluenceMaximization, PartitionMatroid, ShortestPath, TopK

oracle = TopK(n_arms=4, k=2)
session = Session(CUCB(oracle), rng=0)
ticket = session.ask()
session.tell(Feedback(arms=ticket, outcomes=[1.0, 0.0]), ticket)
session.tell(Feedback([0, 1], [1, 0], reward=1), session.ask())
means: list[float] = [0.2, 0.6, 0.4, 0.1]
environment = SemiBandit(BernoulliArms(means), oracle)
result = simulate(Clairvoyant(oracle, means), environment, horizon=10, checkpoints=[5, 10], rng=0)
print(result.regret[:, -1].mean(), result.optimum)
found = identify(LUCB1(4, 2, delta=0.1), GaussianArms(means, sigma=0.5), rng=0)
print(found.arms[0], found.samples.mean())
table = compare({"CUCB": CUCB(oracle), "CTS": CTS(oracle)}, environment, horizon=10, rng=0)
print(table.table(), table.plot())
PartitionMatroid([0, 0, 1, 1], 1)
friends: "nx.DiGraph[str]" = nx.DiGraph([("ann", "bob"), ("bob", "cy")])
seeds = InfluenceMaximization(friends, k=1)
cascade = IndependentCascade(friends, [0.5, 0.5], k=1)
print(seeds.labels(Session(CTS(seeds)).ask().super_arm), cascade.optimum)
streets: "nx.Graph[tuple[int, int]]" = nx.grid_2d_graph(3, 3)
print(ShortestPath(streets, (0, 0), (2, 2)).max_size, GraphicMatroid(streets).n_arms)
campaign = Campaign(CTS(seeds), "campaign.db", rng=0)
request = campaign.ask()
campaign.tell(joined=["ann"], carried=[("ann", "bob")])
network = read_network("friends.csv", directed=False)
windowed: SlidingWindow = SlidingWindow(CUCB(oracle), 5)
print(cmab.exploration.SAR(4, 2, budget=9), cmab.__version__)
print(network.told, InfluenceMaximization(network.graph, k=1).k)
"""


def _faults(folder, version):
    """Return what mypy says of the files of a folder."""
    options = ["--strict", "--python-version", version, "--config-file", "", "--cache-dir", str(folder / "c")]
    said, _, status = api.run([*options, *map(str, sorted(folder.glob("*.py")))])
    assert status in (0, 1), said
    return [line for line in said.splitlines() if line.startswith(str(folder)) and ": error:" in line]


def test_pages_and_a_script_are_typed(tmp_path, monkeypatch):
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    monkeypatch.setenv("MYPYPATH", str(ROOT))
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        if blocks := re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S):
            name = re.sub(r"\W", "_", page.stem)
            (tmp_path / f"page_{name}.py").write_text("\n".join(blocks), encoding="utf-8")
    (tmp_path / "script.py").write_text(_SCRIPT, encoding="utf-8")
    (tmp_path / "typing_error.py").write_text("from cmab import CUBC\n", encoding="utf-8")
    told = _faults(tmp_path, version)
    wrong = [line for line in told if "typing_error.py" in line]
    assert len(wrong) == 1 and "CUBC" in wrong[0]
    told = [
        line for line in told if "script.py" in line or not any(f"[{code}]" in line for code in _OF_THE_PAGES)
    ]
    assert told == wrong, "\n".join(told)
