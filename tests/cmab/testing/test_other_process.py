"""The other process in which some checks of an oracle run."""

import importlib
import os
from functools import partial
from pathlib import Path

import pytest
from planted_oracles import FAMILY, Best

import cmab.testing

# These faults show at once, and all checks run to their end.
check_oracle = partial(cmab.testing.check_oracle, seconds=0.2)


class Loud(Best):
    """Writes to standard output, as solvers do."""

    def solve(self, means, rng):
        os.write(1, b"solving\n")
        return super().solve(means, rng)


@pytest.mark.slow
def test_output_does_not_disturb_the_other_process():
    check_oracle(Loud(), super_arms=FAMILY, trials=3, expected_failures={"output": "the solver prints"})


class Homesick(Best):
    """Works in the process that made it only."""

    process = os.getpid()

    def solve(self, means, rng):
        if os.getpid() != self.process:
            raise OSError("not at home")
        return super().solve(means, rng)


@pytest.mark.slow
def test_another_process_that_fails_is_reported():
    oracle = Homesick()
    oracle.process = os.getpid()
    with pytest.raises(AssertionError, match=r"^hashing: .*not at home"):
        check_oracle(oracle, super_arms=FAMILY)


class Deadly(Homesick):
    """Takes the other process with it."""

    def solve(self, means, rng):
        if os.getpid() != self.process:
            os._exit(3)
        return Best.solve(self, means, rng)


class Located(Best):
    """Tells where it was solved, in a file."""

    def __init__(self, file):
        self.file = str(file)

    def solve(self, means, rng):
        with open(self.file, "a", encoding="utf-8") as file:  # noqa: PTH123
            file.write(f"{os.getpid()}\n")
        return super().solve(means, rng)


def processes(file):
    """Return where a check solved: here and in one other process."""
    check_oracle(Located(file), super_arms=FAMILY, trials=1)
    return {int(line) for line in file.read_text().split()} - {os.getpid()}


@pytest.mark.slow
def test_one_other_process_serves_many_oracles_until_one_kills_it(tmp_path):
    first, second = processes(tmp_path / "a"), processes(tmp_path / "b")
    assert len(first) == 1
    assert first == second
    with pytest.raises(AssertionError, match=r"^hashing: .*ended with status 3"):
        oracle = Deadly()
        oracle.process = os.getpid()
        check_oracle(oracle, super_arms=FAMILY, trials=1)
    third = processes(tmp_path / "c")
    assert len(third) == 1
    assert third != first


@pytest.mark.slow
def test_an_edit_of_a_loaded_source_starts_another_process(tmp_path, monkeypatch):
    source = tmp_path / "edited_oracle.py"
    source.write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("edited_oracle")
    first = processes(tmp_path / "a")
    newest = max(path.stat().st_mtime for path in (*Path(cmab.__file__).parent.rglob("*.py"), source))
    os.utime(source, (newest + 10, newest + 10))
    assert processes(tmp_path / "b") != first
