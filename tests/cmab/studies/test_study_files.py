"""Study files of every kind: whatever is wrong is a message that names the place, and is said at once."""

import copy
import datetime
import tomllib

import numpy as np
import pytest
from places import ROOT
from refusals import refused

from cmab import Study, plotting
from cmab.cli import main
from cmab.studies._graphs import read_graph
from cmab.studies.store import Store
from instances import read_edge_list
from tests.cmab.studies.test_study import MEANS, specification

STUDIES = sorted((ROOT / "docs" / "studies").glob("*.toml"))


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    for number, text in enumerate(["0 1\n1 2\n", "# ties\n0 1\n1 2\n"]):
        (tmp_path / f"{number}.txt").write_text(text, encoding="utf-8-sig")
        graph = read_graph({"file": f"{number}.txt"}, tmp_path, "graph")
        plain = read_edge_list(tmp_path / f"{number}.txt")
        assert list(graph.edges) == [(0, 1), (1, 2)] == list(zip(plain.tails, plain.heads, strict=True))


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


HOSTILE = [
    0,
    -1,
    1,
    3,
    0.5,
    -0.0,
    1e308,
    2**53 + 1,
    2**63,
    10**30,
    True,
    "",
    "x",
    "$oracle",
    "$means",
    "$n_arms",
    [],
    {},
    [0.9, 0.5],
    [[1], [2, 3]],
    ["a", "b"],
    nested(300),
    {"class": "TopK"},
    {"class": "TopK", "n_arms": 3, "k": 1},
    {"class": 3},
    {"class": "BernoulliArms", "means": MEANS},
    {"class": "CUCB"},
    {"class": "LUCB1", "k": 1, "delta": 0.1},
    {"networkx": "path_graph", "n": 3},
    {"networkx": "path_graph", "n": 2**63},
    {"networkx": "DiGraph"},
    {"file": "x"},
    {"grid": {"a": [1]}},
    {"networkx": "grid_graph", "dim": [0]},
    {"networkx": "complete_graph", "n": [["a"]]},
]


def places(value, path=()):
    """Yield the path of everything in nested tables and lists, but for the entries of long lists."""
    yield path
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    )
    for key, entry in entries:
        yield from places(entry, (*path, key))


def changed(tables, rng):
    """Return a copy of a study with one or two places changed."""
    tables = copy.deepcopy(tables)
    for _ in range(rng.integers(1, 3)):
        paths = [path for path in places(tables) if path]
        path = paths[rng.integers(len(paths))]
        inner = tables
        for key in path[:-1]:
            inner = inner[key]
        value = copy.deepcopy(HOSTILE[rng.integers(len(HOSTILE))])
        how = rng.integers(4)
        if how == 0 and isinstance(inner, dict):
            del inner[path[-1]]
        elif how == 1 and isinstance(inner, dict):
            inner["k" if rng.random() < 0.5 else "surplus"] = value
        else:
            inner[path[-1]] = value
    return tables


@pytest.mark.slow
@pytest.mark.parametrize("file", STUDIES, ids=lambda file: file.stem)
def test_changed_studies_are_used_or_refused_in_words(file):
    tables, rng, refused = tomllib.loads(file.read_text(encoding="utf-8")), np.random.default_rng(0), 0
    for _ in range(60):
        try:
            Study(changed(tables, rng), files=file.parent)
        except ValueError as error:
            refused += 1
            assert str(error).isprintable() or "\n" in str(error)
            # Python's own words for a call name neither the argument's place nor what is asked for.
            assert "object has no attribute" not in str(error).partition("got")[0]
    assert 30 < refused < 60


@pytest.mark.slow
@pytest.mark.parametrize("file", STUDIES, ids=lambda file: file.stem)
def test_torn_and_flipped_files(file, tmp_path, capsys):
    text, rng, path = file.read_bytes(), np.random.default_rng(1), tmp_path / "study.toml"
    for number in range(60):
        data = bytearray(text)
        if number % 3 == 0:
            data = data[: rng.integers(len(data))]
        else:
            for at in rng.integers(len(data), size=3):
                data[at] = (
                    rng.choice(list(b'x"[]{}=.,-0 \n\xff'))
                    if number % 3 == 1
                    else data[at] ^ 1 << rng.integers(8)
                )
        path.write_bytes(data)
        assert main(["validate", str(path)]) in (0, 1)
        printed = capsys.readouterr()
        assert printed.err.startswith("cmab: ") or "no errors found" in printed.out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"replications": 10**9}, r"at most 10,000,000 pieces, got 2,000,000,000: 1 instances x 2 learners"),
        ({"replications": 2**63}, "at most 10,000,000 pieces"),
        (
            {"learners": {"x": {"class": "CUCB", "grid": {c: [*range(1000)] for c in "abc"}}}},
            r"at most 10,000,000 pieces, got 2,000,000,000: 1 instances x 1,000,000,000 learners",
        ),
        ({"horizon": 10**30}, r"horizon must be an integer in \[1, .*got 10{30}"),
        ({"seed": -1}, "seed must be an integer"),
        (
            {"learners": {"x": {"class": "CUCB", "radius_factor": nested(100_000)}}},
            "at most 50 levels of nesting",
        ),
        (
            {"learners": {"x": {"class": "CUCB", "radius_factor": nested(700)}}},
            "at most 50 levels of nesting",
        ),
        (
            {"learners": {"x": {"class": "CUCB", "radius_factor": {"networkx": "path_graph", "n": 2**63}}}},
            r"learners\.x\.radius_factor\.n must be at most 1,000,000 in a graph, got 9223372036854775808",
        ),
        (
            {"learners": {"x": {"class": "TopK", "n_arms": 2**70, "k": 1}}},
            r"learners\.x must only have .* oracle",
        ),
    ],
    ids=lambda value: "" if isinstance(value, str) else next(iter(value)),
)
def test_what_no_memory_holds_is_refused_first(change, message):
    with pytest.raises(ValueError, match=message):
        Study(specification(**change))


def test_deep_files(tmp_path, capsys):
    file = tmp_path / "study.toml"
    for depth in (50, 200, 500, 2000, 100_000):
        file.write_text(f"seed = {'[' * depth}{']' * depth}")
        assert main(["validate", str(file)]) == 1
        assert str(file) in capsys.readouterr().err


def test_an_argument_of_the_wrong_kind_is_named_with_its_place():
    given = specification()
    given["instances"]["ads"]["environment"]["arms"] = MEANS
    with pytest.raises(
        ValueError, match=r"instances\.ads\.environment: arms must be Arms such as BernoulliArms"
    ):
        Study(given)
    with pytest.raises(
        ValueError,
        match=r"learners\.x must only have the entries .*radius_factor.*did you mean 'radius_factor'",
    ):
        Study(specification(learners={"x": {"class": "CUCB", "radius_factors": 1}}))
    with pytest.raises(ValueError, match=r"learners\.x must not have an oracle"):
        Study(specification(learners={"x": {"class": "CUCB", "oracle": "$oracle"}}))
    with pytest.raises(
        ValueError,
        match=r"learners\.x\.class must be a name .* entry point in the group cmab\.plugins",
    ):
        Study(specification(learners={"x": {"class": "mine.KLCUCB"}}))


@pytest.mark.parametrize("seed", [2**31, 2**63 - 1, 2**63, 2**64 + 1, 2**128 - 1])
def test_seeds_of_any_size(seed, tmp_path):
    made = Study(specification(seed=seed, learners={"R": {"class": "RandomPolicy"}}))
    made.run(tmp_path)
    assert made.missing(tmp_path) == []
    with Store(tmp_path) as store:
        assert int(store.get("simulations", made.pieces[0].key)["seed"]) == seed
    assert len(Study.open(tmp_path).results(tmp_path)["ads", "R"].seconds) == 2


@pytest.mark.slow
def test_results_of_a_study_are_drawn_as_they_are(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    given = specification(explorers={"LUCB": {"class": "LUCB1", "k": 1, "delta": 0.1}}, max_samples=200)
    given["instances"]["web"] = given["instances"]["ads"]
    for instances in (["ads"], ["ads", "web"]):
        folder = tmp_path / str(len(instances))
        made = Study(given | {"instances": {name: given["instances"][name] for name in instances}})
        made.run(folder)
        results = made.results(folder)
        axes = plotting.regret_curves(results)
        texts = {text.get_text() for text in axes.get_legend().get_texts()}
        wanted = {"CUCB", "CTS"} if len(instances) == 1 else {f"{a} on {b}" for b, a in results}
        assert texts == wanted
        bars = plotting.sample_bars(made.identifications(folder))
        assert len(bars.get_yticklabels()) == len(instances)
        plotting.pyplot().close("all")
    with pytest.raises(
        KeyError, match=r"must be a pair \(instance, learner\), such as \('ads', 'CUCB'\); got 'ads'"
    ):
        results["ads"]


test_what_no_file_can_hold_is_named_with_its_place = refused(
    ({"radius": 3}, r"learners\.x: radius must be a LogRadius, got 3"),
    (
        {"radius_factor": True},
        r"learners\.x: radius_factor must be a finite number in \[0, inf\), got True",
    ),
    ({"radius_factor": float("nan")}, r"learners\.x\.radius_factor must only hold .*, got nan"),
    ({"support": [0, float("inf")]}, r"learners\.x\.support\[1\] must only hold .*, got inf"),
    (
        {"radius_factor": datetime.date(2020, 1, 1)},
        r"learners\.x\.radius_factor must only hold .*, got datetime\.date",
    ),
    (
        {"radius_factor": 16**5000},
        r"learners\.x\.radius_factor must only hold .*, got a number of 20001 bits",
    ),
    ({3: 4}, r"learners\.x must only have the entries .*; got 3"),
    (
        {"radius_factor": 0.5, "grid": {"radius_factor": [1.0]}},
        r"learners\.x must have radius_factor in its table or in its grid",
    ),
    by=lambda learner: Study(specification(learners={"x": {"class": "CUCB"} | learner})),
)


def test_a_folder_without_a_name_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main(["run", "study.toml", "--out", ""])
    assert "--out: must be the path of a folder" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
