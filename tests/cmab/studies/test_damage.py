"""A damaged folder of results: right numbers for whoever reads or runs it, or words that say what to do."""

import shutil
import sqlite3

import pytest
from places import SUPPORT

from cmab import Study
from cmab.cli import main
from cmab.studies._specification import key_of
from cmab.studies.store import STORE, Store
from tests.cmab.studies.test_study import TEXT, numbers

LEARNER = "CUCB radius_factor=1.0"


def sql(*statements):
    """Damage by statements of SQLite, which leave the file whole."""

    def damage(folder):
        connection = sqlite3.connect(folder / STORE)
        with connection:
            for statement in statements:
                connection.execute(statement)
        connection.close()

    return damage


def bits(start, n, flip=False):
    """Damage of bytes from a place on, or from the first curve of a learner on."""

    def damage(folder):
        data = bytearray((folder / STORE).read_bytes())
        at = start
        if at is None:
            at = data.index(Study.open(folder).results(folder)["ads", LEARNER].rewards[0, :20].tobytes())
        data[at : at + n] = bytes([data[at] ^ 1]) if flip else (bytes(range(256)) * 16)[:n]
        (folder / STORE).write_bytes(data)

    return damage


def noted(pairs):
    """A noted study that is none, with a right checksum."""

    def damage(folder):
        with Store(folder) as store:
            specification, _ = store.last_study()
            store.put_study(key_of({}), specification, pairs)

    return damage


def swap_indexes(folder):
    """The two indexes change places, so that none holds what it should."""
    connection = sqlite3.connect(folder / STORE)
    with connection:
        connection.execute("PRAGMA writable_schema=ON")
        pages = connection.execute(
            "SELECT name, rootpage FROM sqlite_master WHERE tbl_name = 'simulations' AND type = 'index'"
        ).fetchall()
        for (name, _), (_, page) in zip(pages, reversed(pages), strict=True):
            connection.execute("UPDATE sqlite_master SET rootpage = ? WHERE name = ?", (page, name))
    connection.close()


def bookmarks(folder):
    """The database of another program."""
    (folder / STORE).unlink()
    sql("CREATE TABLE bookmarks (url TEXT)", "INSERT INTO bookmarks VALUES ('https://example.org')")(folder)


MOVE = "move it away"
OTHERS = "must be a store of cmab, got a database of another program"
NOTED = "the description of its study is damaged; run it again"
NONE = "the stored description of (the|a) study must"
#: What is done to the store, what a reader is told, and what a run says; None if the run mends it.
DAMAGE = {
    "a bit of a curve": (bits(None, 1, flip=True), f"replication 0 of {LEARNER} on ads is damaged", None),
    "a key": (
        sql(f"UPDATE simulations SET key = 'x' || key WHERE instance = 'ads' AND learner = '{LEARNER}'"),
        f"of {LEARNER} on ads is damaged",
        None,
    ),
    "indexes": (swap_indexes, f"it is damaged; {MOVE} and run again", None),
    "the header": (bits(0, 4096), MOVE, f"{MOVE} and run again"),
    "a page": (bits(4096, 4096), MOVE, f"{MOVE} and run again"),
    "columns": (
        sql("ALTER TABLE simulations RENAME COLUMN host TO node"),
        *["got other columns in simulations"] * 2,
    ),
    "the format": (sql("PRAGMA user_version = 1"), *["of this version of cmab, got format 1"] * 2),
    "the application": (sql("PRAGMA application_id = 7"), OTHERS, OTHERS),
    "a view": (sql("CREATE VIEW v AS SELECT 1"), OTHERS, OTHERS),
    "another program's": (bookmarks, OTHERS, OTHERS),
    **{
        f"noted {name}": (sql(f"UPDATE studies SET {name} = replace({name}, '0', '1')"), NOTED, None)
        for name in ("specification", "pairs", "key")
    },
    **{
        f"noted {pairs[:40]!r}": (noted(pairs), NONE, None)
        for pairs in ("", "[]", "{}", '{"pairs": [], "accept_versions": 0}', '{"pairs": [["a"]]}', "null")
    },
    "noted too deep": (noted("[" * 100_000), NONE, None),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A study's file and the folder of its results."""
    place = tmp_path_factory.mktemp("whole")
    (place / "study.toml").write_text(TEXT.format(replications=2))
    Study.load(place / "study.toml").run(place / "out")
    return place


@pytest.mark.parametrize("what", DAMAGE)
def test_damage(what, whole, tmp_path, capsys):
    """Who reads is told, and writes nothing; a run plays what is damaged again, or leaves all as it was."""
    (damage, told_reader, told_runner), out = DAMAGE[what], tmp_path / "out"
    file, before = whole / "study.toml", numbers(whole / "out")
    shutil.copytree(whole / "out", out)
    damage(out)
    data = (out / STORE).read_bytes()
    with pytest.raises((OSError, ValueError), match=told_reader):
        Study.open(out).results(out)
    assert main(["report", str(out)]) == 1
    assert told_reader in capsys.readouterr().err
    assert (out / STORE).read_bytes() == data
    status = main(["run", str(file), "--out", str(out)])
    printed = capsys.readouterr().err
    if told_runner is not None:
        assert status == 1
        assert told_runner in printed
        assert str(out / STORE) in printed
        assert (out / STORE).read_bytes() == data
        assert {path.name for path in out.iterdir() if path.is_file()} == {STORE}
        return
    assert status == 0
    assert numbers(out) == before
    assert Study.open(out).missing(out) == []
    n_damaged = {"a bit of a curve": 1, "a key": 2}.get(what, 0)
    assert (f"{n_damaged} damaged pieces will be run again" in printed) == (n_damaged > 0)
    assert f"{n_damaged} of 12 pieces to do" in printed


#: The study of ``tests/support/stored_study.sql``, the content of a store that version 0.2 wrote.
EARLIER = {
    "horizon": 4,
    "replications": 2,
    "seed": 3,
    "instances": {
        "ads": {
            "oracle": {"class": "TopK", "n_arms": 3, "k": 1},
            "environment": {
                "class": "SemiBandit",
                "arms": {"class": "BernoulliArms", "means": [0.5, 0.1, 0.9]},
                "oracle": "$oracle",
            },
        }
    },
    "learners": {
        "CUCB": {"class": "CUCB", "grid": {"radius_factor": [0.5, 1.0]}},
        "Random": {"class": "UniformlyRandom"},
    },
    "explorers": {"LUCB": {"class": "LUCB1", "k": 1, "delta": 0.2}},
}


@pytest.mark.filterwarnings("ignore:.*is now called:DeprecationWarning")
def test_a_store_of_an_earlier_version_is_read_and_resumed(tmp_path):
    sql(*filter(None, (SUPPORT / "stored_study.sql").read_text().split(";\n")))(tmp_path)
    rewards = {pair: found.rewards.tolist() for pair, found in Study.open(tmp_path).results(tmp_path).items()}
    assert rewards["ads", LEARNER] == [[1.0, 2.0, 2.0, 2.0], [1.0, 2.0, 3.0, 4.0]]
    study = Study(EARLIER, accept_versions=True)
    assert study.missing(tmp_path) == []
    for kind in ("simulations", "identifications"):
        sql(f"DELETE FROM {kind} WHERE replication = 1")(tmp_path)
    assert len(study.missing(tmp_path)) == 4
    study.run(tmp_path)
    assert {pair: found.rewards.tolist() for pair, found in study.results(tmp_path).items()} == rewards
    assert study.identifications(tmp_path)["ads", "LUCB"].samples.tolist() == [803, 451]
