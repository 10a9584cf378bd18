"""Every command ends in words: no file, option, disk or fault of the library shows a traceback."""

import contextlib
import errno
import functools
import getpass
import io
import os
import shutil
import subprocess
import sys
import warnings
import webbrowser
from pathlib import Path

import networkx as nx
import numpy as np
import odd_arguments
import pytest
import scipy.stats
from places import ROOT

import cmab.studies.folder
from cmab import cli, plotting
from cmab._faults import in_words, sentence
from cmab._options import parser_of
from cmab.cli import main
from cmab.results import tables
from cmab.studies import _pieces, _registry, _warmup
from cmab.validation import check_jobs
from instances.demos import _cascade_pictures, _comparison, influence, offline
from instances.demos._demo import LEADER, YARDSTICK
from instances.demos._told import Found, verdict
from instances.experiments import commands as experiments

uvicorn = pytest.importorskip("uvicorn", reason="cmab[serve] serves the page")
warming = pytest.importorskip("instances.serve.warming", reason="cmab[serve] serves the page")

LISTS = 1_000


def run(words):
    """Run a command; return its exit status, stdout and stderr."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        try:
            status = main(words)
        except SystemExit as stopped:  # argparse: help, or arguments that do not parse
            status = stopped.code
    return status, out.getvalue(), err.getvalue()


def assert_in_words(words, status, out, err):
    assert status in (0, 1, 2), words
    assert "Traceback" not in out + err or "--debug" in words, words
    assert "this is a bug of cmab" not in err, (words, err)
    if status:
        last = err.rstrip().splitlines()[-1]
        assert last.startswith("cmab"), (words, err)
        assert len(last) > len("cmab: ..."), words


@pytest.fixture
def unplayed(monkeypatch):
    """Demos and experiments that are made and not played, and studies in one process."""

    def told(demo, study, *, n_jobs, out):
        check_jobs(n_jobs)
        yield from _comparison.opening(demo, study)
        yield {"learner": "x", "value": 1.0}

    def reproduced(experiment, *, quick, rng, n_jobs, out=None):
        check_jobs(n_jobs)
        assert experiment.study(quick=quick, rng=rng).pieces
        yield {"learner": "x", "value": 1.0}

    def here(function, tasks, n_jobs):
        check_jobs(n_jobs)
        yield from (function(*task) for task in tasks)

    monkeypatch.setattr(_comparison, "run", told)
    monkeypatch.setattr(experiments, "reproduce", reproduced)
    monkeypatch.setattr(cmab.studies.folder, "spread", here)
    monkeypatch.setattr(_warmup, "warm_up", lambda: iter([("demo", 0.0)]))
    monkeypatch.setattr(cli, "backend", lambda *_: contextlib.nullcontext())
    monkeypatch.setattr(offline, "_SIZES", (6,))
    # A page that ends at once, and a password without a terminal.
    monkeypatch.setattr(warming, "warm_up", lambda: None)
    monkeypatch.setattr(uvicorn.Server, "run", lambda *_, **__: None)
    monkeypatch.setattr(webbrowser, "open", lambda *_: True)
    monkeypatch.setattr(getpass, "getpass", lambda *_: "an odd password")
    monkeypatch.setattr(influence, "_FEW_SETS", 2**12)
    # Nothing is installed in the meantime, and looking for plug-ins takes most of the time of such a study.
    monkeypatch.setattr(_registry, "_offered", functools.cache(_registry._offered))


@pytest.fixture
def unpainted(monkeypatch):
    def missing():
        raise ImportError("pictures need matplotlib: pip install 'cmab[plot]'")

    monkeypatch.setattr(plotting, "pyplot", missing)


@pytest.mark.parametrize("count", [30, pytest.param(LISTS, marks=pytest.mark.slow)])
def test_odd_argument_lists(count, unplayed, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    odd_arguments.make_files(tmp_path / "here")
    counts = dict.fromkeys((0, 1, 2), 0)
    for words in odd_arguments.argument_lists(count, np.random.default_rng(26)):
        status, out, err = run(words)
        assert_in_words(words, status, out, err)
        counts[status] += 1
    # Certificates of the draw: all three ways to end are common.
    assert min(counts.values()) >= count / 10, counts
    assert [path.name for path in tmp_path.iterdir()] == ["here"]


def edges_of(graph):
    return "".join(f"{u} {v}\n" for u, v in graph.edges)


NETWORKS = {
    "acyclic": edges_of(nx.gnm_random_graph(60, 150, seed=1)),
    "tree": edges_of(nx.random_labeled_tree(30, seed=1)),
    "star": edges_of(nx.star_graph(20)),
    "star inwards": "".join(f"{i} 0\n" for i in range(1, 20)),
    "ring": edges_of(nx.cycle_graph(15)),
    "path in order": edges_of(nx.path_graph(12)),
    "complete": edges_of(nx.complete_graph(8)),
    "bipartite": edges_of(nx.complete_bipartite_graph(4, 5)),
    "regular": edges_of(nx.random_regular_graph(3, 10, seed=1)),
    "pairs": "".join(f"{2 * i} {2 * i + 1}\n" for i in range(20)),
    "isolated": "a b\nc\nd\nb e\n",
    "two": "a b\n",
    "three": "a b\nb c\n",
    "one beside": "a b\nc\n",
    "loops and a tie": "a a\nb b\na b\n",
    "duplicates": "a b\na b\na b\nb c\n",
    "no chance": "from,to,p\na,b,0.0\nb,c,0.0\nc,d,0\n",
    "no weight": "from,to,weight\na,b,0\nb,c,0\n",
    "certain": "from,to,p\na,b,1.0\nb,c,1.0\nc,a,1\n",
    "large weights": "from,to,weight\na,b,1e308\nc,b,1e308\n",
    "sizes first": "5 2\n0 3\n3 1\n",
    "huge ids": f"{10**17} {10**18 + 7}\n{'9' * 400} 3\n",
    "long name": f"{'x' * 5000} y\n",
    "controls": "a\x1b[31m b\n",
    "formulas": "=1+1,b\nb,$c_$\n$c_$,=1+1\n",
    "line breaks in quotes": "from,to\n" + "".join(f'"a\n\n\n{i}","b\n\n\n{i}"\n' for i in range(60)),
    "old Mac": "a b\rb c\r",
    "braces in names": "$x_1$,$\\frac{1}$\nb{2},c\n",
    "UTF-16": "a b\nb c\n".encode("utf-16"),
    "Windows": "é b\n".encode("latin1"),
}
NO_NETWORKS = {
    "empty": ("", "must hold at least one edge"),
    "blank": ("\n\n", "must hold at least one edge"),
    "comments": ("# x\n", "must hold at least one edge"),
    "one person": ("a a\n", "must have a tie between two people, got none (people: 1)"),
    "loops": ("a a\nb b\n", "must have a tie between two people, got none (people: 2)"),
    "nan": ("from,to,p\na,b,nan\n", "line 2, column p: a probability must be in [0, 1]"),
    "inf": ("from,to,weight\na,b,inf\n", "line 2, column weight: a weight must be a number"),
    "negative": ("from,to,weight\na,b,-1\n", "a weight must be a number, 0 or more, got '-1'"),
    "above one": ("from,to,p\na,b,1.5\n", "got '1.5'"),
    "a word": ("from,to,p\na,b,high\n", "got 'high'"),
    "too many nodes": ("999999999999 1\n0 1\n", "must fit into memory"),
    "columns": ("a,b,1,2\nb,c,4,5\n", "--probability-column or --weight-column"),
    "many columns": (
        ",".join(f"c{i}" for i in range(20_000)) + "\n" + ",".join("5" * 20_000) + "\n",
        "several columns have numbers: c2, c3, c4, c5, c6, c7, c8, c9, c10, c11 and 19,988 more",
    ),
    "ragged": ("a b\nc d e f\n", "line 2: must have 2 columns"),
    "one column": ("a\nb\nc\n", "line 1: must have 2 columns"),
    "quote": ('a,"b\nc,d\n', "line 1"),
    "both kinds": ("source,target,type\na,b,Directed\nb,c,Undirected\n", "--directed or --undirected"),
    "JSON": ("{}", "must be JSON with lists of nodes and of links"),
    "GraphML": ("<graphml></graphml>", "must be GraphML"),
    "binary": (bytes(range(256)), "must be text in UTF-8"),
    "half a gzip": (b"\x1f\x8b\x08\x00", "must be a complete gzip file"),
}
SHORT = ["--rounds", "1", "--replications", "1", "--jobs", "1"]


def network(folder, content):
    file = folder / "ties.txt"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return ["demo", "influence", "--graph", str(file), *SHORT, "--out", str(folder / "out")]


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_as_files(name, unplayed, tmp_path):
    """The problem of each family is made; nobody had to set k."""
    words = network(tmp_path, NETWORKS[name])
    status, out, err = run(words)
    assert_in_words(words, status, out, err)
    assert status == 0, err


@pytest.mark.slow
def test_networks_as_files_are_played(unpainted, tmp_path, monkeypatch):
    monkeypatch.setattr(influence, "_FEW_SETS", 2**12)
    for number, content in enumerate(NETWORKS.values()):
        (tmp_path / str(number)).mkdir()
        words = network(tmp_path / str(number), content)
        status, out, err = run(words)
        assert_in_words(words, status, out, err)
        assert status == 0, err
        assert "\nAfter 1 round, seeds chosen by " in out


@pytest.mark.parametrize("name", NO_NETWORKS)
def test_what_is_no_network(name, tmp_path):
    content, said = NO_NETWORKS[name]
    words = network(tmp_path, content)
    status, out, err = run(words)
    assert_in_words(words, status, out, err)
    assert status == 1
    assert said in err
    assert str(tmp_path / "ties.txt") in err
    assert err.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="makes a pipe")
@pytest.mark.parametrize("name", ["ties.csv", "ties.graphml", "ties.csv.gz"])
def test_a_pipe_is_refused_at_once(name, tmp_path):
    """Nobody writes into it: reading would wait without end."""
    os.mkfifo(tmp_path / name)
    status, _, err = run(
        ["demo", "influence", "--graph", str(tmp_path / name), "--out", str(tmp_path / "out")]
    )
    assert status == 1
    assert "must be a file that can be read more than once" in err


@pytest.mark.parametrize("place", [".", "none", "a\nb", "ties.txt/none", "x" * 300, "a\0b"])
def test_places_that_are_no_files(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ties.txt").write_text("a b\n")
    for words in (
        ["demo", "influence", "--graph", place],
        ["validate", place],
        ["run", place, "--out", "out"],
    ):
        status, out, err = run(words)
        assert_in_words(words, status, out, err)
        assert status == 1
        assert err.count("\n") == 1


def test_a_network_with_lines_of_its_own_weight_scale():
    """Two equal weights are one half each, whatever their size: their sum must not overflow."""
    from instances.networks._chances import shares

    heads = np.array([1, 1, 2])
    for weight in (1.0, 1e308, 1e-300):
        assert shares(np.full(3, weight), heads, 3).tolist() == [0.5, 0.5, 1.0]


# For each option that has an effect in one mode only: arguments that put it in another mode.
WITHOUT_EFFECT = {
    ("influence", "--probability"): [["0.05"], ["0.05", "--model", "trivalency"]],
    ("influence", "--directed"): [[]],
    ("influence", "--undirected"): [[]],
    ("influence", "--header"): [[], ["--graph", "karate.graphml"]],
    ("influence", "--no-header"): [[]],
    ("influence", "--probability-column"): [["p"], ["p", "--graph", "f.csv", "--model", "constant"]],
    ("influence", "--weight-column"): [["weight"], ["weight", "--graph", "f.csv", "--model", "trivalency"]],
    ("assortment", "--items"): [["5", "--survey", "f.csv"]],
}
# Options that have an effect in every mode.
ALWAYS = {
    "influence": {"graph", "model", "k", "epsilon", "every-learner", "no-every-learner", "animate"},
    "top-k": {"arms", "k"},
    "spanning-tree": set(),
    "coverage": {"k"},
    "matching": set(),
    "routing": {"side"},
    "knapsack": {"projects", "budget"},
    "ranking": {"films", "items", "k"},
    "assortment": {"survey", "k"},
    "offline": {"items"},
}
OF_ALL = {"help", "rounds", "replications", "seed", "jobs", "out"}


def test_each_option_is_known_to_have_an_effect_or_to_need_a_mode():
    for name, always in ALWAYS.items():
        parser = parser_of(_registry.load("demos", name), "cmab")
        options = {
            word for action in parser._actions for word in action.option_strings if word.startswith("--")
        }
        modal = {option for demo, option in WITHOUT_EFFECT if demo == name}
        assert options - modal <= {f"--{word}" for word in always | OF_ALL}
        assert modal <= options
    assert set(ALWAYS) == set(_registry.entries("demos"))


@pytest.mark.parametrize(("demo", "option"), WITHOUT_EFFECT)
def test_an_option_without_effect_is_refused(demo, option, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.csv").write_text("from,to,weight,p\na,b,2,0.5\n")
    nx.write_graphml(nx.karate_club_graph(), tmp_path / "karate.graphml")
    for more in WITHOUT_EFFECT[demo, option]:
        status, _, err = run(["demo", demo, option, *more, *SHORT])
        assert status == 1
        assert "has no effect" in err
        assert option.removeprefix("--no-").removeprefix("--") in err
        assert "leave it out" in err


def test_an_address_needs_a_cluster(tmp_path):
    status, _, err = run(["run", "none.toml", "--out", str(tmp_path / "out"), "--address", "tcp://x:1"])
    assert status == 1
    assert "--address has no effect with --backend loky" in err


def test_a_probability_is_taken_where_it_has_an_effect(unplayed, tmp_path):
    words = network(tmp_path, NETWORKS["ring"])
    _, out, _ = run([*words, "--model", "constant", "--probability", "0.05"])
    assert "probabilities are 0.05 each" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["influence", "--graph", "three.txt"], "1 seed is chosen in a round (--k changes this)"),
        (["influence", "--graph", "eight.txt"], "4 seeds are chosen in a round (--k changes this)"),
        (["top-k", "--arms", "3"], "3 are shown in a round"),
        (["ranking", "--items", "2"], "2 are listed"),
        (["assortment", "--items", "1"], "at most 1 are offered"),
    ],
)
def test_k_that_nobody_set_fits(words, said, unplayed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "three.txt").write_text(NETWORKS["three"])
    (tmp_path / "eight.txt").write_text(edges_of(nx.cycle_graph(8)))
    status, out, err = run(["demo", *words])
    assert status == 0, err
    assert said in out
    if words[0] == "influence":
        status, _, err = run(["demo", *words, "--k", "9"])
        assert status == 1
        assert "k must be an integer in [1," in err
        assert "got 9" in err


def test_each_network_has_a_folder_of_its_own(unplayed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("week1", "week2"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "friends.csv").write_text(NETWORKS["ring"])
    for graph in (None, "week1/friends.csv", "week2/friends.csv"):
        words = [] if graph is None else ["--graph", graph]
        status, out, err = run(["demo", "influence", *words, "--k", "1"])
        assert status == 0, err
        place = "cmab-influence" + ("" if graph is None else "-" + graph.replace("/", "-").replace(".", "-"))
        assert f"written to {place}: table.csv" in out
    assert len([path for path in tmp_path.iterdir() if path.name.startswith("cmab-influence")]) == 3
    _, out, _ = run(["demo", "influence", "--graph", "week1/friends.csv", "--out", "cmab-influence"])
    assert "written to cmab-influence: " in out


RANDOM = "Random probabilities"


def claims_of(found, lines, last):
    """Check that each sentence says what the numbers say, and that nothing they say is left out."""
    text = " ".join(lines)
    leader, random = found.values[LEADER.name], found.values[RANDOM]
    sign = -1 if found.is_cost else 1
    is_ahead = sign * leader > sign * random
    highest = max(sign * value for value in found.values.values())
    is_close = {
        name: found.best >= 0.9 * value if found.is_cost else value >= 0.9 * found.best
        for name, value in found.values.items()
    }
    assert ("is not better than random probabilities" in text) == (not is_ahead)
    assert ("may be chance" in text) == (is_ahead and not is_significant(found))
    if "neither is any other learner" in text:
        assert sign * random == highest
    for name, value in found.values.items():
        if f"best number in the table is {name}." in text:
            assert sign * value == highest
    if sign * leader < highest and sign * random < highest:
        assert "best number in the table is" in text
    assert ("little to learn" in text) == (not is_ahead and is_close[LEADER.name] and is_close[RANDOM])
    assert ("try --rounds" in text) == (not (is_close[LEADER.name] and (is_ahead or is_close[RANDOM])))
    if "try --rounds" in text:
        assert int(text.split("--rounds ")[1].split(".")[0]) > last


def is_significant(found):
    """Whether Welch's test tells the leader from random probabilities, at the fewest degrees of freedom."""
    if found.repetitions == 1:
        return False
    error = np.hypot(found.errors[LEADER.name], found.errors[RANDOM])
    difference = abs(found.values[LEADER.name] - found.values[RANDOM])
    return difference > scipy.stats.t.ppf(0.975, found.repetitions - 1) * error


def test_the_closing_sentences_are_true_for_any_numbers():
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(3_000):
        names = [LEADER.name, "CUCB", "Thompson, prior", RANDOM]
        is_cost = bool(rng.random() < 0.3)
        # Few different numbers, so that ties are common.
        values = dict(zip(names, rng.integers(1, 30, 4) / rng.choice([1.0, 10.0]), strict=True))
        best = (min if is_cost else max)(values.values()) * float(rng.choice([0.8, 1.0, 1.3]))
        repetitions = int(rng.choice([1, 2, 4, 30]))
        errors = (
            dict.fromkeys(names, np.nan) if repetitions == 1 else dict(zip(names, rng.random(4), strict=True))
        )
        found = Found(values, best, is_cost, errors, repetitions)
        last, usual = int(rng.integers(1, 400)), int(rng.choice([10, 300]))
        lines = list(verdict(found, RANDOM, last, usual))
        claims_of(found, lines, last)
        seen.update(line.rsplit(":", 1)[0] for line in lines)
    assert len(seen) > 5


def numbers_of(out):
    """The table of a demo by learner, its standard errors, and the three numbers of its closing sentence."""
    lines = out.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("learner "))
    heading = lines[first].split("  ")
    rows = lines[first + 1 : lines.index("", first)]
    values = {row[:24].strip(): float(row[24:].split()[0]) for row in rows}
    errors = {row[:24].strip(): float(row[24:].split()[1]) for row in rows}
    sentence = next(line for line in lines if line.startswith("After "))
    spoken = [float(word.strip(".,;")) for word in sentence.split() if word[0].isdigit() and "." in word[:-1]]
    assert heading
    return values, errors, spoken


@pytest.mark.parametrize("rounds", [1, 3, pytest.param(10, marks=pytest.mark.slow)])
def test_the_closing_sentence_is_that_of_the_leader(rounds, unpainted, tmp_path, monkeypatch):
    """The featured learner reached 53.9 where the sentence said 48.1 of another learner."""
    monkeypatch.setattr(influence, "_FEW_SETS", 2**14)
    weighted = nx.les_miserables_graph().edges(data="weight")
    file = tmp_path / "les.csv"
    file.write_text("from,to,weight\n" + "".join(f"{u},{v},{weight}\n" for u, v, weight in weighted))
    words = ["demo", "influence", "--graph", str(file), "--weight-column", "weight", "--k", "3"]
    words += ["--rounds", str(rounds), "--replications", "2", "--jobs", "1", "--out", str(tmp_path / "out")]
    status, out, err = run(words)
    assert status == 0, err
    values, errors, (leader, random, best) = numbers_of(out)
    assert abs(values[LEADER.name] - leader) <= 0.05
    assert abs(values[RANDOM] - random) <= 0.05
    assert f"chosen by {LEADER.words} reach" in out
    assert f"Chosen in the last round by {LEADER.name}: " in out
    known = {name: round(value, 1) for name, value in values.items() if name != "Clairvoyant"}
    lines = out.split("After ")[1].splitlines()[1:]
    claims_of(Found(known, best, is_cost=False, errors=errors, repetitions=2), lines, rounds)


def test_larger_networks_are_given_fewer_rounds():
    class Problem:
        class environment:
            n_arms = 0

    rounds = []
    for n_arms in (1, 508, 6_000, 60_000, 10**6, 10**8):
        Problem.environment.n_arms = n_arms
        rounds.append(influence._usual_rounds(Problem))
    assert rounds == sorted(rounds, reverse=True)
    assert (rounds[0], rounds[1], rounds[-1]) == (300, 300, 10)


def test_long_names_stay_apart_in_pictures():
    names = [f"{'Freiherr von und zu ' * 2}{number:03}" for number in range(200)]
    shown = {_cascade_pictures._short(name) for name in names}
    assert len(shown) == len(names)
    assert max(map(len, shown)) <= _cascade_pictures._LONGEST_NAME
    assert _cascade_pictures._short("Valjean") == "Valjean"


def test_the_yardstick_is_explained():
    assert "drawn at random" in YARDSTICK


@pytest.fixture
def plug_in(monkeypatch):
    """Register a function as the demo `x`."""

    def add(function):
        monkeypatch.setitem(globals(), "made", function)
        entry = _registry.metadata.EntryPoint("x", f"{__name__}:made", "cmab.demos")
        monkeypatch.setattr(_registry, "entries", lambda group: {"x": entry} if group == "demos" else {})

    return add


def raising(error):
    def x():
        """Raise."""
        yield {"name": "first", "value": 1.0}
        raise error

    return x


FAULTS = {
    "bug": (KeyError("seed"), "KeyError at test_command_endings.py, line"),
    "no message": (RuntimeError(), "RuntimeError at test_command_endings.py"),
    "memory": (
        MemoryError("a sample needs about 102.4 GB, and 20.0 GB are free"),
        "not enough memory: a sample",
    ),
    "memory of arrays": (MemoryError(), "not enough memory: an array does not fit; use a smaller problem"),
    "value": (ValueError("k must be 1, got 2"), "cmab: k must be 1, got 2\n"),
    "package": (ImportError("needs x: pip install x"), "cmab: needs x: pip install x\n"),
    "disk": (
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "a.csv"),
        "a.csv: No space left on device; free",
    ),
    "read-only": (
        OSError(errno.EROFS, os.strerror(errno.EROFS), "a.csv"),
        "a.csv: Read-only file system; choose a path that can be written",
    ),
    "worker": (ChildProcessError("a worker process died"), "cmab: a worker process died\n"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_raised_ends_in_a_sentence(name, plug_in, capsys):
    error, said = FAULTS[name]
    plug_in(raising(error))
    assert main(["demo", "x"]) == 1
    printed = capsys.readouterr()
    assert "first" in printed.out  # what was finished
    assert said in printed.err
    assert "Traceback" not in printed.err
    assert ("this is a bug" in printed.err) == (name in ("bug", "no message"))
    assert "--debug" in printed.err or "this is a bug" not in printed.err
    assert main(["--debug", "demo", "x"]) == main(["demo", "x", "--debug"]) == 1
    printed = capsys.readouterr()
    assert printed.err.count("Traceback (most recent call last)") == 2
    assert said in printed.err


def test_a_warning_is_a_line_without_source_code(plug_in, capsys):
    def x():
        """Warn."""
        warnings.warn("the answer\nis not certified", UserWarning, stacklevel=1)
        yield {"name": "first", "value": 1.0}

    plug_in(x)
    before = warnings.formatwarning
    # Where pytest does not record it.
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda *a, **_: sys.stderr.write(warnings.formatwarning(*a[:4]))
        assert main(["demo", "x"]) == 0
    assert "cmab: warning: the answer is not certified\n" in capsys.readouterr().err
    assert warnings.formatwarning is before


def test_a_warning_in_a_worker_is_a_line_too(monkeypatch):
    from cmab import _faults

    before = warnings.formatwarning
    try:
        _faults.follow_the_command()
        assert warnings.formatwarning is before
        with _faults.plain_warnings():
            warnings.formatwarning = before
            _faults.follow_the_command()
            assert warnings.formatwarning("told", UserWarning, "x.py", 1) == "cmab: warning: told\n"
    finally:
        warnings.formatwarning = before


def test_pieces_that_fail_show_a_traceback_on_demand_only(unpainted, tmp_path, monkeypatch, capsys):
    def fails(*_, **__):
        raise MemoryError("a sample needs 100 GB")

    monkeypatch.setattr(_pieces, "replicate", fails)
    words = ["demo", "matching", *SHORT, "--out", str(tmp_path)]
    assert main(words) == 1
    err = capsys.readouterr().err
    assert "the first is replication 0 of" in err
    assert "not enough memory: a sample needs 100 GB" in err
    assert "Traceback" not in err
    assert main([*words, "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_a_learner_that_fails_keeps_the_others(unpainted, tmp_path, monkeypatch, capsys):
    """The search of one learner may need more memory than there is: the answer is that of the leader."""
    replicate = _pieces.replicate

    def fails(policy, *given, **settings):
        if type(policy).__name__ == "CUCB":
            error = MemoryError("a sample needs 100 GB")
            error.add_note("in replication 0 of CUCB")
            raise error
        return replicate(policy, *given, **settings)

    monkeypatch.setattr(_pieces, "replicate", fails)
    monkeypatch.setattr(influence, "_FEW_SETS", 2**12)
    words = network(tmp_path, NETWORKS["ring"])
    assert main(words) == 1
    printed = capsys.readouterr()
    assert "of CUCB on influence: not enough memory: a sample needs 100 GB; use a smaller prob" in printed.err
    assert "\nAfter 1 round, seeds chosen by the default learner reach" in printed.out
    assert "Random probabilities  " in printed.out
    assert (tmp_path / "out" / "arms.csv").is_file()


def test_a_folder_that_disappears(unpainted, tmp_path, monkeypatch, capsys):
    """The study ends with the first piece that cannot be stored; the learner before it is told."""
    out, replicate, played = tmp_path / "out", _pieces.replicate, []

    def removes(*given, **settings):
        played.append(given)
        if len(played) == 2:
            shutil.rmtree(out)
        return replicate(*given, **settings)

    monkeypatch.setattr(_pieces, "replicate", removes)
    assert main(["demo", "matching", *SHORT, "--out", str(out)]) == 1
    printed = capsys.readouterr()
    assert f"the folder {out} disappeared while the command ran" in printed.err
    assert "Traceback" not in printed.err
    assert "learner  " in printed.out


def test_a_full_disk_leaves_the_table_on_the_terminal(unpainted, tmp_path, monkeypatch, capsys):
    def full(path, *_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(tables, "write_bytes", full)
    assert main(["demo", "matching", *SHORT, "--out", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert "curves.csv: No space left on device; free some space and try again" in printed.err
    assert "Learner" in printed.out
    monkeypatch.undo()
    assert (tmp_path / "results.sqlite").is_file()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits of files are POSIX's")
def test_a_disk_that_fills_up(tmp_path):
    """A limit on the size of each file, at every size that a demo's store and pictures pass."""
    resource = pytest.importorskip("resource")
    for size in (0, 20_000, 60_000):
        out = tmp_path / str(size)
        done = subprocess.run(
            [sys.executable, "-m", "cmab", "demo", "matching", *SHORT, "--out", str(out)],
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            preexec_fn=lambda size=size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
        )
        assert done.returncode == 1, done.stderr
        assert "Traceback" not in done.stderr
        assert done.stderr.rstrip().splitlines()[-1].startswith("cmab: ")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_an_output_that_is_full():
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(
            [sys.executable, "-m", "cmab", "list", "demos"],
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 1
    assert done.stderr.startswith("cmab: No space left on device")
    assert done.stderr.count("\n") == 1


def test_lines_fit_a_terminal():
    from cmab._streams import fitted

    told = "  s.e.                  standard error of that number over the repetitions of each learner"
    lines = fitted(told, 60).split("\n")
    assert len(lines) == 2
    assert max(map(len, lines)) <= 60
    assert lines[1].startswith(" " * 24 + "over") or lines[1].startswith(" " * 24)
    assert fitted(told, 200) == told
    assert fitted("", 80) == ""


def test_a_folder_that_cannot_be_written_is_told_before_the_run(tmp_path, monkeypatch, capsys):
    def refuses(**_):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(cli.tempfile, "TemporaryFile", refuses)
    assert main(["demo", "matching", *SHORT, "--out", str(tmp_path / "out")]) == 1
    printed = capsys.readouterr()
    assert printed.err.endswith(f"got {tmp_path / 'out'}: Read-only file system; name another folder\n")
    assert printed.out == ""
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.ENOENT, errno.EACCES, errno.EROFS])
def test_a_fault_of_a_file_has_one_remedy(number):
    plain = OSError(number, os.strerror(number), "journal")
    assert sentence(plain).count(";") == 1
    told = in_words(plain, "journal")
    assert sentence(told) == f"journal: {told.strerror}; {told.__notes__[0]}"
