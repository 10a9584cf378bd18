"""Session files: whatever is done to one, it is refused in words or plays the identical future."""

import io
import json
import os
import stat
import threading
import zipfile
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from cases import EXPLORERS, GROWING, ITEMS, JOINT, ORACLES, POLICIES, UNIFORM
from correct_classes import Totals, Tuples
from isolated import isolated

from cmab import CTS, CUCB, Feedback, RandomPolicy, Session
from cmab.explorer import Explorer
from cmab.saving import _atomic
from cmab.saving._fingerprint import fingerprint
from cmab.saving._state import seal
from oracles import (
    DegreeHeuristic,
    DirectedGraph,
    GraphicMatroid,
    InfluenceMaximization,
    MaxCoverage,
    ShortestPath,
    TopK,
)

LIMITED = {case.name: case for case in ORACLES}
# The families that differ in what a state looks like: linear, clustered, spreading.
FAMILIES = ("top_k", "influence")
LINEAR_ONLY = ITEMS | JOINT | UNIFORM | {"ftpl", "llr"}
LEARNERS = {
    f"{case.name}-{family}": (lambda case=case, family=family: case.make(LIMITED[family].make()))
    for case in POLICIES
    for family in FAMILIES
    if family == "top_k" or case.name not in LINEAR_ONLY
} | {case.name: case.make for case in EXPLORERS}
LEARNERS |= {case.name: (lambda case=case: case.make(case.family(6, 2))) for case in GROWING}


def answer(session, ticket, rng):
    """Return feedback of some outcomes to a ticket."""
    if isinstance(session.policy, Explorer):
        sums = rng.binomial(ticket.pulls, 0.4, len(ticket)).astype(float)
        if ticket.pulls == 1:
            return Feedback(ticket, sums)
        return Feedback(ticket, sums, pulls=np.full(len(ticket), ticket.pulls), squares=sums)
    arms = session.policy.oracle.triggered_arms(ticket.super_arm)
    return Feedback(arms, rng.integers(0, 2, len(arms)) * (session.support or (0, 1.0))[1], reward=1.0)


def played(session, rounds, seed=5):
    """Play on and return what was asked for."""
    rng, asked = np.random.default_rng(seed), []
    for _ in range(rounds):
        if session.is_done:
            break
        ticket = session.ask()
        asked.append((ticket.number, ticket.super_arm.tolist(), ticket.pulls))
        session.tell(answer(session, ticket, rng), ticket)
    return asked


def saved(make, path, rounds=7):
    """Save a session in the middle of its life, with a ticket pending, and return its future."""
    session = Session(make(), rng=3)
    played(session, rounds)
    if not session.is_done:
        session.ask()
    session.save(path)
    return played(session, 6)


def unpacked(data):
    with np.load(io.BytesIO(data)) as archive:
        parts = {name: archive[name] for name in archive.files}
    return json.loads(parts.pop("document").tobytes()), parts


def packed(document, arrays):
    """Return a file with these contents and a right checksum."""
    buffer = io.BytesIO()
    text = np.frombuffer(json.dumps(document).encode(), np.uint8)
    np.savez_compressed(buffer, document=text, **arrays)
    return seal(buffer.getvalue())


def leaves(node, path=()):
    """Yield the path of every entry of nested dicts and lists."""
    for key, value in node.items() if isinstance(node, dict) else enumerate(node):
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from leaves(value, (*path, key))


def at(node, path):
    for key in path:
        node = node[key]
    return node


STRANGE = (None, True, -1, 2**63, 2**200, 0.5, float("nan"), "x", [], [1], {}, [[]], {"kind": "plain"})


def content_edits(data, rng, n):
    """Yield `n` edits of the content with the checksum made anew: name, whether it breaks the form, file."""
    for _ in range(n):
        document, arrays = unpacked(data)
        if rng.random() < 0.5 or not arrays:
            path = list(leaves(document))[int(rng.integers(len(list(leaves(document)))))]
            parent, key = at(document, path[:-1]), path[-1]
            kind = str(rng.choice(["drop", "replace", "negate", "double"]))
            if kind == "drop":
                del parent[key]
            elif kind == "replace":
                parent[key] = STRANGE[int(rng.integers(len(STRANGE)))]
            elif isinstance(parent[key], bool | str | dict) or parent[key] is None:
                continue
            elif kind == "negate":
                parent[key] = -parent[key] if not isinstance(parent[key], list) else parent[key][::-1]
            else:
                parent[key] = parent[key] * 2
            yield f"{kind} {'.'.join(map(str, path))}", False, packed(document, arrays)
            continue
        name = str(rng.choice(list(arrays)))
        array = arrays[name]
        kind = str(rng.choice(["drop", "longer", "shorter", "retype", "deeper", "negate", "huge", "nan"]))
        if kind == "drop":
            del arrays[name]
        elif kind == "longer":
            arrays[name] = np.concatenate([array, array, array[:1]])
        elif kind == "shorter":
            arrays[name] = array[: len(array) // 2]
        elif kind == "retype":
            types = [
                t for t in ("i4", "u8", "f4", "f8", "i8", "c16", "U3", "?") if np.dtype(t) != array.dtype
            ]
            arrays[name] = array.astype(str(rng.choice(types)))
        elif kind == "deeper":
            arrays[name] = array.reshape(1, -1)
        elif kind == "negate":
            arrays[name] = ~array if array.dtype == bool else -array - 1
        elif kind == "huge":
            arrays[name] = np.full_like(array, 2**62 if array.dtype.kind == "i" else True)
        elif array.dtype.kind == "f":
            arrays[name] = np.full_like(array, np.nan)
        # Other numbers may be those of another history, which no check can tell; another form never is.
        is_form = kind in ("drop", "longer", "retype", "deeper") or (
            kind == "shorter" and name != "state.super_arm"
        )
        is_same = name in arrays and (arrays[name].shape, arrays[name].dtype) == (array.shape, array.dtype)
        yield f"{kind} {name}", bool(is_form and array.size and not is_same), packed(document, arrays)


def byte_edits(data, rng, n):
    """Yield `n` files with some bytes changed, cut off, doubled or blanked."""
    for _ in range(n):
        torn, place = bytearray(data), int(rng.integers(len(data)))
        kind = int(rng.integers(4))
        if kind == 0:
            torn[place] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            del torn[place:]
        elif kind == 2:
            torn[place:place] = rng.bytes(int(rng.integers(1, 40)))
        else:
            torn[place : place + 16] = bytes(16)
        yield bytes(torn)


def attack(note, folder, make, seed, n):
    """Try edited files of one learner; return how many were refused, taken, and taken for another future."""
    rng, file = np.random.default_rng(seed), Path(folder) / f"{seed}"
    future = saved(make, file)
    data = file.read_bytes()
    refused = other = 0
    for torn in byte_edits(data, rng, n):
        file.write_bytes(torn)
        if torn == data:
            continue
        with pytest.raises(ValueError, match=str(file)):
            Session.load(file, make())
        refused += 1
    for name, breaks, edited in content_edits(data, rng, n):
        note(f"{name} of {make().__class__.__name__}")
        file.write_bytes(edited)
        try:
            session = Session.load(file, make())
        except ValueError as error:
            assert str(file) in str(error) and "pickle" not in str(error) and "zip" not in str(error).lower()
            refused += 1
            continue
        if breaks:
            raise AssertionError("accepted")
        try:
            other += played(session, 6) != future
        except ValueError:
            other += 1
    return refused, other


@pytest.mark.parametrize("name", LEARNERS)
def test_edited_files_are_refused_or_play_on(name, tmp_path):
    """Never a crash, a hang or another exception; with another form or a wrong checksum never accepted."""
    seed = list(LEARNERS).index(name)
    saved(LEARNERS[name], tmp_path / "first")  # loads compiled code before the process is forked
    refused, _ = isolated(attack, str(tmp_path), LEARNERS[name], seed, 6)
    assert refused >= 6


@pytest.mark.slow
@pytest.mark.parametrize("name", list(LEARNERS)[::9])
def test_many_edited_files_are_refused_or_play_on(name, tmp_path):
    seed = 1000 + list(LEARNERS).index(name)
    refused, _ = isolated(attack, str(tmp_path), LEARNERS[name], seed, 120, seconds=200)
    assert refused >= 120


# Who may load it -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_fingerprints_tell_all_oracles_apart_and_stay_the_same_in_use(tmp_path):
    """Every row of the table against every other; two of the same row, one of them used, are equal."""
    found = {}
    for name, case in LIMITED.items():

        def make(case=case):
            return RandomPolicy(case.make(), support=(case.low, case.high))

        used, fresh = Session(make(), rng=0), fingerprint(make())
        played(used, 2)
        assert json.loads(json.dumps(fresh)) == fingerprint(used.policy), name
        found[name] = json.dumps(fresh | {"support": None})
    assert len(set(found.values())) == len(found)


FRIENDS = [("ann", "bob"), ("ann", "cy"), ("dan", "eve"), ("dan", "fay"), ("dan", "gus"), ("cy", "dan")]


def readers(graph):
    both = nx.Graph()
    both.add_nodes_from(sorted(graph), bipartite=0)
    both.add_edges_from(((a, b + "'") for a, b in graph.edges))
    nx.set_node_attributes(both, {v: 1 for v in both if v.endswith("'")}, "bipartite")
    return both


ORDERED = {
    "influence": lambda g: InfluenceMaximization(g.to_directed(), k=1, epsilon=0.3),
    "influence_bare": lambda g: InfluenceMaximization(
        DirectedGraph.from_edges(
            *np.array(
                [(sorted(FRIENDS_NODES).index(a), sorted(FRIENDS_NODES).index(b)) for a, b in g.edges]
            ).T
        ),
        k=1,
        epsilon=0.3,
    ),
    "matroid": GraphicMatroid,
    "coverage": lambda g: MaxCoverage(readers(g), 1),
    "path": lambda g: ShortestPath(g, "ann", "gus"),
    "heuristic": lambda g: DegreeHeuristic(g.to_directed(), k=1),
}
FRIENDS_NODES = {name for edge in FRIENDS for name in edge}


@pytest.mark.parametrize("family", ORDERED)
@pytest.mark.parametrize("accept", [False, True])
def test_a_graph_read_in_another_order_is_refused(family, accept, tmp_path):
    make, file = ORDERED[family], tmp_path / "s.npz"
    session = Session(CTS(make(nx.Graph(FRIENDS))), rng=0)
    played(session, 5)
    session.save(file)
    assert played(Session.load(file, CTS(make(nx.Graph(FRIENDS)))), 3) == played(session, 3)
    rng = np.random.default_rng(0)
    for _ in range(5):
        edges = [FRIENDS[i] for i in rng.permutation(len(FRIENDS))]
        if edges == FRIENDS:
            continue
        with pytest.raises(ValueError, match="same order"):
            Session.load(file, CTS(make(nx.Graph(edges))), accept_changes=accept)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (lambda: CUCB(TopK(5, 2), radius_factor=0.5), "radius_factor"),
        (lambda: CUCB(TopK(5, 2), prior_mean=0.5, prior_weight=1.0), "prior_mean"),
        (lambda: CUCB(TopK(5, 3)), "oracle.k"),
        (lambda: CUCB(TopK(5, 2, sense="min")), "sense"),
        (lambda: CUCB(TopK(5, 2), support=(0.0, 2.0)), "support"),
    ],
)
def test_other_parameters_are_refused_unless_meant(other, said, tmp_path):
    file = tmp_path / "s.npz"
    session = Session(CUCB(TopK(5, 2)), rng=0)
    played(session, 4)
    session.save(file)
    with pytest.raises(ValueError, match=rf"{said}.*accept_changes"):
        Session.load(file, other())
    changed = Session.load(file, other(), accept_changes=True)
    assert changed.state.rounds == 4
    assert changed.support == other().support


def test_a_declared_support_is_kept_in_the_file(tmp_path):
    file, declared = tmp_path / "s.npz", (-np.inf, 2.0)
    Session(CUCB(TopK(5, 2)), rng=0, support=declared).save(file)
    assert Session.load(file, CUCB(TopK(5, 2))).support == declared


def test_other_classes_and_arms_are_refused_by_name(tmp_path):
    file = tmp_path / "s.npz"
    Session(CUCB(TopK(5, 2)), rng=0).save(file)
    with pytest.raises(ValueError, match="policy CTS, got policy 'CUCB'"):
        Session.load(file, CTS(TopK(5, 2)), accept_changes=True)
    with pytest.raises(ValueError, match="6 base arms, got 5"):
        Session.load(file, CUCB(TopK(6, 2)), accept_changes=True)


# Writing ---------------------------------------------------------------------------------------------------


def session():
    return Session(CUCB(TopK(5, 2)), rng=0)


def test_links_and_modes_survive(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    session().save(target)
    target.chmod(0o600)
    link.symlink_to(target)
    session().save(link)
    assert link.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert Session.load(link, CUCB(TopK(5, 2))).pending == ()


@pytest.mark.parametrize("kind", ["folder", "pipe", "device"])
def test_what_is_no_regular_file_is_refused_and_left(kind, tmp_path):
    """Never replaced by a save, and never waited for by a load."""
    place = tmp_path / "place"
    if kind == "folder":
        place.mkdir()
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to("/dev/null")
    before = place.stat()
    with pytest.raises(OSError, match="regular file"):
        session().save(place)
    with pytest.raises(ValueError, match="folder, pipe or device"):
        Session.load(place, CUCB(TopK(5, 2)))
    assert (place.stat().st_ino, place.stat().st_mode) == (before.st_ino, before.st_mode)
    assert [entry.name for entry in tmp_path.iterdir()] == ["place"]


@pytest.mark.parametrize("name", ["a" * 255, "字" * 85, "😀" * 63, "aé" * 85, ".x", "x\n"])
def test_a_file_may_have_any_name(name, tmp_path):
    for _ in range(2):
        session().save(tmp_path / name)
    assert Session.load(tmp_path / name, CUCB(TopK(5, 2))).pending == ()
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", list(LEARNERS)[::9])
def test_two_parts_of_one_name_are_refused(name, tmp_path):
    file = tmp_path / "s.npz"
    saved(LEARNERS[name], file)
    with zipfile.ZipFile(io.BytesIO(file.read_bytes())) as archive:
        parts = [(entry, archive.read(entry)) for entry in archive.namelist()]
    for entry, content in parts:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for part in [*parts, (entry, content)]:
                archive.writestr(*part)
        file.write_bytes(seal(buffer.getvalue()))
        with pytest.raises(ValueError, match="two parts with the same name"):
            Session.load(file, LEARNERS[name]())


def test_planted_links_are_not_followed(tmp_path, monkeypatch):
    victim, planted = tmp_path / "victim", []
    victim.write_text("precious")
    names = iter(["known"] * 3)
    monkeypatch.setattr(_atomic.secrets, "token_hex", lambda n: next(names))
    (tmp_path / ".s.known.part").symlink_to(victim)
    with pytest.raises(FileExistsError):
        _atomic.write_bytes(tmp_path / "s", b"new")
    assert victim.read_text() == "precious"
    assert not planted


@pytest.mark.parametrize("step", ["fsync", "replace", "write"])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(step, tmp_path, monkeypatch):
    file = tmp_path / "s.npz"
    session().save(file)
    before = file.read_bytes()

    def fail(*_args, **_named):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        if step == "fsync":
            patch.setattr(_atomic.os, "fsync", fail)
        elif step == "replace":
            patch.setattr(Path, "replace", fail)
        else:
            patch.setattr(_atomic.os, "fchmod", fail)
        with pytest.raises(OSError, match="No space"):
            session().save(file)
    assert file.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["s.npz"]


def test_threads_may_save_to_one_path(tmp_path):
    file, shared, errors = tmp_path / "s.npz", session(), []

    def work():
        try:
            for own in (shared, session()):
                own.save(file)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert errors == []
    assert Session.load(file, CUCB(TopK(5, 2))).pending == ()
    assert [entry.name for entry in tmp_path.iterdir()] == ["s.npz"]


def test_the_file_is_a_numpy_archive_and_a_former_one_is_refused(tmp_path):
    file = tmp_path / "s.npz"
    session().save(file)
    document, arrays = unpacked(file.read_bytes())
    assert document["header"]["versions"].keys() == {"cmab", "numpy"}
    with zipfile.ZipFile(file) as archive:
        assert archive.testzip() is None
    np.savez_compressed(file, document=np.array(json.dumps(document)), **arrays)
    with pytest.raises(ValueError, match="older format"):
        Session.load(file, CUCB(TopK(5, 2)))


# Which contents are states ---------------------------------------------------------------------------------


def edited_arrays(array):
    """Yield edits of an array of the same form: what they are, and the array."""
    if array.dtype == bool:
        yield "negated", ~array
        return
    yield from (("negative", -array - 1), ("doubled", array * 2), ("one more", array + 1))
    yield from (("zeros", np.zeros_like(array)), ("turned", array[::-1].copy()))
    yield "huge", np.full_like(array, 2**62 if array.dtype.kind == "i" else 1e90)
    if array.dtype.kind == "f":
        yield "nan", np.full_like(array, np.nan)


def is_possible(parts, support):
    """Whether a sum of plain outcomes in `support` can have these numbers, by the rules of the page."""
    counts, means, squares = (parts[f"state.{name}"] for name in ("counters", "means", "deviations"))
    low, high = support
    for count, mean, square in zip(counts.tolist(), means.tolist(), squares.tolist(), strict=True):
        if not 0 <= count <= 2**53 or (count == 0 and (mean, square) != (0.0, 0.0)):
            return False
        if count == 0:
            continue
        # Deviations are unknown where a batch came without its squares.
        known = 0.0 if np.isnan(square) else square
        if not (low <= mean <= high and 0.0 <= known <= count * (mean - low) * (high - mean) + 1e-9):
            return False
    return True


@pytest.mark.parametrize("make", [lambda: CUCB(TopK(5, 2)), lambda: CTS(TopK(5, 2))], ids=["cucb", "cts"])
def test_other_numbers_are_taken_just_if_outcomes_can_have_led_to_them(make, tmp_path):
    file = tmp_path / "s.npz"
    saved(make, file, rounds=9)
    document, arrays = unpacked(file.read_bytes())
    taken = []
    for name, array in arrays.items():
        for what, other in edited_arrays(array):
            edited = arrays | {name: other}
            file.write_bytes(packed(document, edited))
            possible = is_possible(edited, (0.0, 1.0))
            taken.append(possible)
            if possible:
                session = Session.load(file, make())
                assert np.array_equal(session.state.means, edited["state.means"]), what
                session.ask()
                session.save(file)
                Session.load(file, make())
            else:
                with pytest.raises(ValueError, match=rf"{file}.*state"):
                    Session.load(file, make())
    assert {True, False} == set(taken)


HEADER = [
    ("asked", lambda header: header["asked"] - 4),
    ("asked", lambda _: 2**60),
    ("versions", lambda _: ["x"]),
    ("versions", lambda _: {"cmab": 1}),
    ("is_learned", lambda _: "x"),
    ("further", lambda _: 1),
    ("open", lambda header: [header["open"][0][:4]]),
    ("open", lambda header: [[*header["open"][0][:4], 2**60]]),
    ("open", lambda header: [[header["open"][0][0], [True, 0], *header["open"][0][2:]]]),
    ("open", lambda header: header["open"] * 2),
    ("rng", lambda header: {key: header["rng"][key] for key in header["rng"] if key != "seed_seq"}),
    ("rng", lambda header: header["rng"] | {"seed_seq": {"entropy": 1}}),
    ("rng", lambda header: header["rng"] | {"seed_seq": header["rng"]["seed_seq"] | {"spawn_key": [-1]}}),
    ("rng", lambda header: header["rng"] | {"seed_seq": header["rng"]["seed_seq"] | {"pool_size": 2**40}}),
]


@pytest.mark.parametrize("number", range(len(HEADER)))
def test_impossible_headers_are_refused(number, tmp_path):
    file, (key, other) = tmp_path / "s.npz", HEADER[number]
    saved(lambda: CUCB(TopK(5, 2)), file)
    document, arrays = unpacked(file.read_bytes())
    document["header"][key] = other(document["header"])
    file.write_bytes(packed(document, arrays))
    with pytest.raises(ValueError, match=f"{file} must hold a session of this policy"):
        Session.load(file, CUCB(TopK(5, 2)))


def test_what_was_saved_can_be_loaded_after_the_support_has_changed(tmp_path):
    """Outcomes that were in the support of their time stay what they are."""
    file = tmp_path / "s.npz"
    wide, narrow = (CUCB(TopK(5, 2), support=(0.0, high)) for high in (2.0, 1.0))
    session = Session(wide, rng=0)
    for _ in range(4):
        ticket = session.ask()
        session.tell(Feedback(ticket, [2.0, 2.0]), ticket)
    session.save(file)
    for changed in (session.with_policy(narrow), Session.load(file, narrow, accept_changes=True)):
        changed.save(file)
        again = Session.load(file, narrow)
        assert np.array_equal(again.state.means, session.state.means)
        again.save(file)
        session.save(file)


def test_a_file_of_the_format_before_is_loaded(tmp_path):
    file = tmp_path / "s.npz"
    future = saved(lambda: CTS(TopK(5, 2)), file)
    document, arrays = unpacked(file.read_bytes())
    header = document["header"]
    header["format"] = 4
    del header["is_learned"], header["rng"]["seed_seq"]
    file.write_bytes(packed(document, arrays))
    assert played(Session.load(file, CTS(TopK(5, 2))), 6) == future


def test_named_tuples_in_a_state_are_restored(tmp_path):
    """A state of a class with a named tuple, which only the fresh state tells."""
    session = Session(Tuples(), rng=0)
    for _ in range(3):
        session.tell(Feedback(session.ask().super_arm, [1.0, 0.5]))
    session.save(tmp_path / "session.npz")
    loaded = Session.load(tmp_path / "session.npz", Tuples())
    assert type(loaded.state.totals) is Totals
    assert loaded.state.totals == session.state.totals
    assert np.array_equal(loaded.ask().super_arm, session.ask().super_arm)
