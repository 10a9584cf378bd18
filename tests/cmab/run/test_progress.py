"""A bar of progress appears on a terminal after a second, unless it is not wanted."""

import io

import pytest

from cmab.run.workers import progress_bar


@pytest.mark.parametrize(
    ("quiet", "seconds", "shown"), [("", 2.0, True), ("", 0.1, False), ("1", 2.0, False)]
)
def test_progress_from_a_second_on(quiet, seconds, shown, monkeypatch):
    terminal, clock = io.StringIO(), [0.0]
    terminal.isatty = lambda: True
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("CMAB_QUIET", quiet)
    monkeypatch.setattr("tqdm.std.time", lambda: clock[0])
    with progress_bar(None, total=3, unit=" rounds") as bar:
        for _ in range(3):
            clock[0] += seconds
            if bar is not None:
                bar.update()
    assert ("rounds" in terminal.getvalue()) == shown
