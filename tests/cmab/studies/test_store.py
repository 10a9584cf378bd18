"""The store as disks, power cuts and other programs leave it: right numbers, or words that say what to do."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from cmab.reports.report import write_report
from places import ROOT

from cmab import Study
from cmab.cli import main
from cmab.results.tables import write_csv
from cmab.studies._store_file import StoreFile
from cmab.studies.store import Store
from tests.cmab.studies.test_study import specification

NOBODY = 65534
ADVICE = (
    "move it away",
    "move the file away",
    "run the study again",
    "run it again",
    "use the version of cmab that wrote the file",
    "run the study first",
    "must be a folder in which a study ran",
)
CURVES = ("rounds", "expected_rewards", "rewards")


def piece(number):
    """What a study stores, all columns of which have a value."""
    rng = np.random.default_rng(number)
    return {
        "key": rng.bytes(16).hex(),
        "alike": rng.bytes(16).hex(),
        "instance": "Zürich",
        "learner": f"CUCB {number}",
        "replication": number,
        "seed": str(2**100 + number),
        "specification": "x" * 300,
        "seconds": rng.random(),
        "optimum": 1.5,
    } | {name: rng.integers(99, size=60 if name == "rounds" else 40).astype(float) for name in CURVES}


PIECES = [piece(number) for number in range(25)]


def numbers(store):
    """Return what is stored of each piece that is there."""
    found = {row["key"]: store.get("simulations", row["key"]) for row in PIECES}
    return {key: [got[name].tobytes() for name in CURVES] for key, got in found.items() if got is not None}


TRUTH = {row["key"]: [row[name].tobytes() for name in CURVES] for row in PIECES}


def mutations(content, rng, n):
    """Yield damaged copies: bits, runs, zeros, whole pages, pages in another's place, a file cut off."""
    for number in range(n):
        damaged = bytearray(content)
        start = int(rng.integers(len(content)))
        page, other = 4096 * (start // 4096), 4096 * int(rng.integers(len(content) // 4096))
        match number % 8:
            case 0 | 1:
                for place in rng.integers(len(content), size=rng.integers(1, 5)):
                    damaged[place] ^= 1 << rng.integers(8)
            case 2:
                damaged[start : start + 100] = rng.bytes(100)
            case 3:
                damaged[start : start + 300] = bytes(300)
            case 4:
                damaged[page : page + 4096] = bytes(4096)
            case 5:
                damaged[page : page + 4096] = content[other : other + 4096]
            case 6:
                del damaged[start:]
            case 7:
                damaged[page : page + 4] = rng.bytes(4)
        yield bytes(damaged)


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    with Store(folder) as store:
        for row in PIECES:
            store.put("simulations", row)
    return (folder / "results.sqlite").read_bytes()


def advised(error):
    return any(advice in str(error) for advice in ADVICE)


@pytest.mark.slow
def test_damaged_stores_are_mended_or_refused(content, tmp_path):
    """Once what is damaged is removed and what is missing written, all is as it was; or an error advises."""
    rng, mended, refused = np.random.default_rng(0), 0, 0
    for number, damaged in enumerate(mutations(content, rng, 400)):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "results.sqlite").write_bytes(damaged)
        try:
            with Store(folder) as store:
                store.remove_damaged("simulations")
                missing = set(store.missing("simulations", TRUTH))
                for row in PIECES:
                    if row["key"] in missing:
                        store.put("simulations", row)
                assert store.missing("simulations", TRUTH) == []
                assert numbers(store) == TRUTH, number
            mended += 1
        except (OSError, ValueError) as error:
            assert advised(error), (number, error)
            refused += 1
        shutil.rmtree(folder)
    assert mended > 50
    assert refused > 50


@pytest.mark.slow
def test_damaged_stores_are_read_rightly_or_refused(content, tmp_path):
    """Every piece that was written, or an error: never fewer without a word."""
    rng = np.random.default_rng(1)
    for number, damaged in enumerate(mutations(content, rng, 400)):
        (tmp_path / "results.sqlite").write_bytes(damaged)
        try:
            with Store(tmp_path, reading=True) as store:
                found = numbers(store)
        except (OSError, ValueError) as error:
            assert advised(error), (number, error)
        else:
            assert found == TRUTH or damaged[:4096] == bytes(4096) or not damaged, number
        assert (tmp_path / "results.sqlite").read_bytes() == damaged


@pytest.mark.slow
def test_damaged_studies(tmp_path):
    """`run`, `open`, `results` and the report on damaged stores."""
    whole = tmp_path / "whole"
    study = Study(specification(replications=2, horizon=60))
    study.run(whole)
    truth = {pair: result.rewards.tolist() for pair, result in study.results(whole).items()}
    content = (whole / "results.sqlite").read_bytes()
    for number, damaged in enumerate(mutations(content, np.random.default_rng(2), 16)):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "results.sqlite").write_bytes(damaged)
        for read in (lambda folder: Study.open(folder).results(folder), study.results):
            try:
                found = read(folder)
            except (OSError, ValueError) as error:
                assert advised(error), (number, error)
            else:
                assert {pair: result.rewards.tolist() for pair, result in found.items()} == truth, number
        if number % 8 == 0:
            try:
                write_report(folder)
            except (OSError, ValueError) as error:
                assert advised(error), (number, error)
        try:
            study.run(folder)
        except (OSError, ValueError) as error:
            assert " away" in str(error) or "wrote the file" in str(error), (number, error)
        else:
            found = Study.open(folder).results(folder)
            assert {pair: result.rewards.tolist() for pair, result in found.items()} == truth, number
        shutil.rmtree(folder)


def test_failing_writes_say_what_to_do_and_keep_what_was_there(tmp_path):
    """The disk is full at every size that the file can have."""
    sizes = range(8, 40, 3)
    for pages in sizes:
        folder, kept = tmp_path / str(pages), []
        with Store(folder) as store:
            store._file.execute(f"PRAGMA max_page_count={pages}")
            with pytest.raises(
                OSError, match="full; free some space and run again; finished pieces are kept"
            ):
                for row in PIECES * 9:
                    store.put("simulations", row | {"key": f"{row['key']}{len(kept)}"})
                    kept.append(f"{row['key']}{len(kept)}")
        with Store(folder) as store:
            assert store.remove_damaged("simulations") == 0
            assert store.missing("simulations", kept) == []


LIMITED = """
import resource, signal, sys
from pathlib import Path
sys.path[:0] = [".", "tests", "tests/support"]
from tests.cmab.studies.test_store import PIECES, TRUTH, advised, numbers
from cmab.studies.store import Store

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
for size in (0, 100, 4096, 20_000, 45_000, 60_000, 90_000, 130_000):
    folder, kept = Path(sys.argv[1]) / str(size), []
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
    try:
        with Store(folder) as store:
            for row in PIECES:
                store.put("simulations", row)
                kept.append(row["key"])
    except OSError as error:
        assert advised(error) or "run again" in str(error), error
    else:
        raise AssertionError(size)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    with Store(folder) as store:
        assert store.remove_damaged("simulations") == 0
        assert store.missing("simulations", kept) == []
        for row in PIECES:
            store.put("simulations", row)
        assert numbers(store) == TRUTH
print("done")
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="limits are POSIX's")
def test_writes_cut_off_by_the_system(tmp_path):
    """At sizes from the first byte on: what was acknowledged is there, and the rest can follow."""
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout.strip() == "done", done.stderr


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        ("disk I/O error", "check the disk and its free space"),
        ("database or disk is full", "free some space"),
        ("attempt to write a readonly database", "allow writing to the file and its folder"),
        ("unable to open database file", "at most 512 characters"),
        ("database is locked", "another process is using it"),
        ("database disk image is malformed", "move it away"),
        ("file is not a database", "move it away"),
        ("something new", "run again"),
    ],
)
def test_every_error_of_sqlite_has_advice(tmp_path, message, advice):
    with Store(tmp_path) as store:
        for kind in (sqlite3.OperationalError, sqlite3.DatabaseError):
            with pytest.raises(OSError, match=message) as caught, store._file.faults():
                raise kind(message)
            assert str(store.file) in str(caught.value)
            assert advice in str(caught.value)


def test_text_that_is_no_text_is_damage(tmp_path):
    """One byte of a name, which SQLite itself does not notice."""
    with Store(tmp_path) as store:
        for row in PIECES:
            store.put("simulations", row)
    file = tmp_path / "results.sqlite"
    for name in ("CUCB 7", "Zürich", PIECES[7]["key"], PIECES[7]["specification"]):
        before = file.read_bytes()
        at = before.rindex(name.encode())
        file.write_bytes(before[:at] + b"\xff" + before[at + 1 :])
        with Store(tmp_path) as store:
            assert store.remove_damaged("simulations") <= 1
            for row in PIECES:
                store.put("simulations", row)
            assert numbers(store) == TRUTH


def test_a_report_of_a_wrong_folder_leaves_nothing_there(tmp_path, capsys):
    (tmp_path / "notes.txt").touch()
    assert main(["report", str(tmp_path)]) == 1
    assert "must be a folder in which a study ran" in capsys.readouterr().err
    (tmp_path / "results.sqlite").touch()  # as a kill at the first moment leaves it
    assert main(["report", str(tmp_path)]) == 1
    assert Study(specification()).missing(tmp_path / "absent")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.txt", "results.sqlite"]


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
@pytest.mark.parametrize("is_killed", [False, True])
def test_a_store_is_read_where_nothing_can_be_written(is_killed):
    """As on a read-only disk; also with a log that was not yet taken in, whose pieces count."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "results"
        store = Store(folder)
        for row in PIECES:
            store.put("simulations", row)
        if is_killed:
            shutil.copytree(folder, Path(name) / "killed")
            folder = Path(name) / "killed"
            (folder / "results.sqlite-shm").unlink()
        store.close()
        assert (folder / "results.sqlite-wal").exists() == is_killed
        Path(name).chmod(0o755)
        for path in folder.iterdir():
            path.chmod(0o444)
        folder.chmod(0o555)
        before = sorted(path.name for path in folder.iterdir())
        is_root = os.geteuid() == 0
        if is_root:
            os.seteuid(NOBODY)
        try:
            with Store(folder, reading=True) as read:
                assert numbers(read) == TRUTH
            with pytest.raises(OSError, match="allow writing"):
                Store(folder)
        finally:
            if is_root:
                os.seteuid(0)
        assert sorted(path.name for path in folder.iterdir()) == before
        folder.chmod(0o755)


def test_stores_know_each_other(tmp_path):
    with Store(tmp_path) as store:
        assert store._file.execute("PRAGMA application_id").fetchone() == (int.from_bytes(b"cmab", "big"),)
        assert store._file.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert isinstance(store._file, StoreFile)


@pytest.mark.parametrize("end", ["", "-wal", "-shm", "-journal"])
@pytest.mark.parametrize("kind", ["link", "dangling", "folder"])
def test_only_files_are_opened(end, kind, tmp_path):
    """A folder that came by mail may hold links, and everything written through them would go elsewhere."""
    folder, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    folder.mkdir()
    place = folder / f"results.sqlite{end}"
    if kind == "link":
        elsewhere.write_text("mine")
    place.mkdir() if kind == "folder" else place.symlink_to(elsewhere)
    for reading in (False, True):
        with pytest.raises(OSError, match=f"results.sqlite{end} must be a regular file"):
            Store(folder, reading=reading)
    assert elsewhere.exists() == (kind == "link")


def test_tables_replace_links(tmp_path):
    (tmp_path / "table.csv").symlink_to(tmp_path / "elsewhere")
    write_csv(tmp_path / "table.csv", [{"a": 1}])
    assert (tmp_path / "table.csv").read_bytes() == b"a\r\n1\r\n"
    assert not (tmp_path / "table.csv").is_symlink()
    assert not (tmp_path / "elsewhere").exists()
