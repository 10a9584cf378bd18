"""Full disks, read-only folders and folders that disappear: a sentence, and nothing acknowledged is lost."""

import errno
import os
import re
import resource
import shutil
import tempfile
from pathlib import Path

import pytest
from isolated import isolated

from cmab import CUCB, Campaign, Session, read_journal
from cmab.campaigns.stores import _journal_file as journal
from oracles import TopK

NOBODY = 65534


def learner():
    return CUCB(TopK(5, k=2))


def serve(campaign, rounds, told):
    """Ask and tell, and note what was acknowledged."""
    for _ in range(rounds):
        request = campaign.ask()
        campaign.tell(dict.fromkeys(request, 1.0), request)
        told.append(request.number)


def acknowledged(path):
    return [row.number for row in read_journal(path) if row.state == "told"]


def is_sentence(error, path):
    """Whether an error has the path, and says in words what to do."""
    assert isinstance(error, OSError)
    assert error.filename == str(path)
    (remedy,) = error.__notes__
    assert re.search(r"\. Earlier saved data is not lost", remedy), remedy
    assert re.search("free some space|change the|put the file|choose", remedy)
    return True


def fill(_, folder, spare):
    """Ask and tell until a file may not grow any more, go on when it may, and open the journal again."""
    path, told = Path(folder, "campaign.jsonl"), []
    campaign = Campaign(learner(), path, rng=0)
    serve(campaign, 2, told)
    limit, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + spare, most))
    for _ in range(3):
        try:
            serve(campaign, 100, told)
        except OSError as error:
            assert is_sentence(error, path)
        else:
            raise AssertionError("there was room")
        assert campaign.history()  # which writes nothing
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, most))
    assert acknowledged(path) == told
    for number in campaign.pending:
        campaign.cancel(number)
    serve(campaign, 2, told)
    assert acknowledged(path) == told
    again = Campaign(learner(), path)
    assert again.session.state.counts.tolist() == campaign.session.state.counts.tolist()
    serve(again, 1, told)
    return acknowledged(path) == told


@pytest.mark.parametrize("spare", [0, 1, 60, 130, 300, 1000])
def test_a_campaign_goes_on_after_a_full_disk(spare, tmp_path):
    """The limit lies before a line, in the middle of one, or at its end."""
    assert isolated(fill, str(tmp_path), spare)


@pytest.mark.parametrize("kind", ["correct", "undo", "cancel"])
@pytest.mark.parametrize("room", [0, 7, 60])
def test_a_change_of_the_past_is_made_or_is_not(kind, room, tmp_path, monkeypatch):
    path, told = tmp_path / "campaign.jsonl", []
    campaign = Campaign(learner(), path, rng=0)
    serve(campaign, 2, told)
    campaign.ask()
    change = {
        "correct": lambda: campaign.correct({0: 0.0}, 0),
        "undo": campaign.undo,
        "cancel": lambda: campaign.cancel(2),
    }[kind]
    before, write = path.read_bytes(), os.write

    def full(descriptor, data):
        if len(data) > room:
            write(descriptor, data[:room])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(descriptor, data)

    with monkeypatch.context() as patch:
        patch.setattr(journal.os, "write", full)
        with pytest.raises(OSError, match="free some space and try again") as caught:
            change()
    assert is_sentence(caught.value, path)
    assert path.read_bytes() == before
    assert campaign.pending == (2,)
    change()
    assert Campaign(learner(), path).history() == campaign.history()


def test_a_line_whose_rest_could_not_be_taken_away_is_none(tmp_path, monkeypatch):
    """Not even the torn line could be cut off: whoever reads next does it."""
    path, told = tmp_path / "campaign.jsonl", []
    campaign = Campaign(learner(), path, rng=0)
    serve(campaign, 1, told)
    write = os.write

    def fail(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    def half(descriptor, data):
        write(descriptor, data[:20])
        fail()

    with monkeypatch.context() as patch:
        patch.setattr(journal.os, "write", half)
        patch.setattr(journal.os, "ftruncate", fail)
        with pytest.raises(OSError, match="check that the drive works"):
            campaign.ask()
    assert acknowledged(path) == told
    serve(campaign, 2, told)
    assert acknowledged(path) == told
    assert Campaign(learner(), path).pending == campaign.pending == ()


@pytest.mark.parametrize("way", ["moved", "removed"])
def test_a_folder_that_disappears(way, tmp_path):
    folder, told = tmp_path / "campaign", []
    folder.mkdir()
    path = folder / "campaign.jsonl"
    campaign, session = Campaign(learner(), path, rng=0), Session(learner(), rng=0)
    serve(campaign, 2, told)
    folder.rename(tmp_path / "away") if way == "moved" else shutil.rmtree(folder)
    for call, place in [
        (campaign.ask, path),
        (lambda: campaign.tell({0: 1.0}, 0), path),
        (campaign.history, path),
        (lambda: session.save(folder / "s.npz"), folder / "s.npz"),
        (lambda: Campaign(learner(), folder / "other"), folder / "other"),
    ]:
        with pytest.raises(FileNotFoundError) as caught:
            call()
        assert is_sentence(caught.value, place)
    assert not folder.exists()
    if way == "moved":
        (tmp_path / "away").rename(folder)
        serve(campaign, 2, told)
        assert acknowledged(path) == told
    session.ask()  # a session needs no file to go on


def test_a_file_that_is_deleted_in_a_call_acknowledges_nothing(tmp_path, monkeypatch):
    """What is written to a file without a name would be lost, so that the call must not return."""
    path = tmp_path / "campaign.jsonl"
    campaign = Campaign(learner(), path, rng=0)
    write = os.write

    def late(descriptor, data):
        path.unlink()
        return write(descriptor, data)

    monkeypatch.setattr(journal.os, "write", late)
    with pytest.raises(FileNotFoundError, match="put the file back") as caught:
        campaign.ask()
    assert is_sentence(caught.value, path)


def read_only(_, folder):
    """Write as somebody who may not, to what is there and to what is not."""
    path, told = Path(folder, "campaign.jsonl"), []
    campaign, session = Campaign(learner(), path, rng=0), Session(learner(), rng=0)
    session.save(Path(folder, "s.npz"))
    serve(campaign, 2, told)
    before = path.read_bytes(), Path(folder, "s.npz").read_bytes()
    path.chmod(0o444)
    Path(folder).chmod(0o555)
    if os.geteuid() == 0:  # who may write everywhere
        os.seteuid(NOBODY)
    places = [path, path, Path(folder, "s.npz"), Path(folder, "other")]
    calls = [
        campaign.ask,
        lambda: Campaign(learner(), path),
        lambda: session.save(places[2]),
        lambda: Campaign(learner(), places[3]),
    ]
    for call, place in zip(calls, places, strict=True):
        try:
            call()
        except PermissionError as error:
            assert is_sentence(error, place)
        else:
            raise AssertionError(f"written to {place}")
    assert acknowledged(path) == told  # which writes nothing
    return (path.read_bytes(), Path(folder, "s.npz").read_bytes()) == before


def test_a_read_only_folder():
    folder = tempfile.mkdtemp()
    try:
        Path(folder).chmod(0o755)
        assert isolated(read_only, folder)
    finally:
        Path(folder).chmod(0o755)
        shutil.rmtree(folder)


def save_until_full(_, folder):
    file = Path(folder, "s.npz")
    session = Session(learner(), rng=0)
    session.save(file)
    before = file.read_bytes()
    session.ask()
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, most))
    try:
        session.save(file)
    except OSError as error:
        assert is_sentence(error, file)
    else:
        raise AssertionError("there was room")
    assert file.read_bytes() == before
    assert Session.load(file, learner()).pending == ()
    return [entry.name for entry in Path(folder).iterdir()] == ["s.npz"]


def test_a_session_that_finds_the_disk_full_leaves_the_last_file(tmp_path):
    assert isolated(save_until_full, str(tmp_path))


def test_what_is_read_and_drawn_names_the_path_and_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    away = tmp_path / "away"
    campaign = Campaign(learner(), tmp_path / "campaign.jsonl", rng=0)
    serve(campaign, 2, [])
    for name, call in {
        "campaign.jsonl": read_journal,
        "session.npz": lambda path: Session.load(path, learner()),
        "log.csv": read_journal(tmp_path / "campaign.jsonl").to_csv,
        "picture.png": lambda path: campaign.plot(path=path),
    }.items():
        with pytest.raises(FileNotFoundError) as caught:
            call(away / name)
        assert is_sentence(caught.value, away / name)
