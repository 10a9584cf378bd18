"""Studies on a disk that fills up, is read-only or goes away: a sentence, and finished pieces are kept."""

import errno
import os
import shutil
import sqlite3

import pytest
from cmab.saving._atomic import write_bytes

from cmab import Study
from cmab.studies import store

SPECIFICATION = {
    "horizon": 50,
    "replications": 6,
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
    "learners": {"CUCB": {"class": "CUCB"}},
}
WITH_WORKERS = [1, pytest.param(2, marks=pytest.mark.slow)]


def removed(folder):
    shutil.rmtree(folder.folder)


def moved(folder):
    folder.folder.rename(folder.folder.with_name("elsewhere"))


def replaced(folder):
    file = folder.folder / store.STORE
    file.rename(file.with_name("away"))
    sqlite3.connect(file).close()
    file.touch()


GONE = {"removed": removed, "moved": moved, "replaced": replaced}


@pytest.mark.parametrize("n_jobs", WITH_WORKERS)
@pytest.mark.parametrize("what", GONE)
def test_a_store_that_goes_away(what, n_jobs, tmp_path):
    played = []

    def report(piece, _):
        played.append(piece)
        if len(played) == 2:
            GONE[what](folder)

    study = Study(SPECIFICATION)
    with (
        study.at(tmp_path / "out") as folder,
        pytest.raises(OSError, match=r"out.results\.sqlite was moved, replaced or removed.*run again"),
    ):
        folder.run(n_jobs=n_jobs, report=report)
    assert len(played) == 2
    if what == "moved":
        assert len(study.missing(tmp_path / "elsewhere")) <= 4
    if what == "removed":
        study.run(tmp_path / "out")
        assert study.missing(tmp_path / "out") == []


@pytest.mark.parametrize("n_jobs", WITH_WORKERS)
@pytest.mark.parametrize("what", ["full", "read-only"])
def test_a_disk_that_takes_no_more(what, n_jobs, tmp_path):
    """By SQLite's own limit of pages, and its own switch: both raise what a disk would."""

    def report(piece, _):
        if piece.replication == 2:
            connection = folder.store._file.connection
            if what == "full":
                (pages,) = connection.execute("PRAGMA page_count").fetchone()
                connection.execute(f"PRAGMA max_page_count={pages}")
            else:
                connection.execute("PRAGMA query_only=ON")

    # Enough that a page of 4,096 bytes is needed for each piece.
    study = Study(SPECIFICATION | {"horizon": 1_000})
    words = {
        "full": r"disk is full; free some space and run again; finished pieces are kept",
        "read-only": r"readonly database; allow writing to the file and its folder",
    }
    with (
        study.at(tmp_path / "out") as folder,
        pytest.raises(OSError, match=rf"results\.sqlite: .*{words[what]}"),
    ):
        folder.run(n_jobs=n_jobs, report=report)
    left = study.missing(tmp_path / "out")
    assert 0 < len(left) < 6
    study.run(tmp_path / "out")
    assert study.missing(tmp_path / "out") == []


REFUSALS = [PermissionError(errno.EACCES, "Permission denied"), OSError(errno.EROFS, "Read-only")]


@pytest.mark.parametrize("error", REFUSALS)
def test_a_folder_that_cannot_be_made(error, tmp_path, monkeypatch):
    def mkdir(*_, **__):
        raise error

    monkeypatch.setattr("pathlib.Path.mkdir", mkdir)
    with pytest.raises(type(error), match=r"the folder .*out cannot be created \(.*\); choose another one"):
        Study(SPECIFICATION).run(tmp_path / "out")


def test_a_file_in_the_way(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"the folder .*out cannot be created"):
        Study(SPECIFICATION).run(tmp_path / "file" / "out")


def test_a_full_disk_is_told_with_the_file(tmp_path, monkeypatch):
    def fsync(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "old").write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match=r"No space left on device: '.*old'\nfree some space"):
        write_bytes(tmp_path / "old", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert (tmp_path / "old").read_bytes() == b"old"
