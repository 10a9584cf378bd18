"""The number of calls of an oracle in a round is bounded, and known beforehand."""

import warnings

import numpy as np
import pytest
from cases import ORACLES

import cmab.oracle as linear
from cmab import ESCB, Feedback, Session
from cmab.run.workers import progress_bar
from oracles import TopK


@pytest.fixture(autouse=True)
def no_lists(monkeypatch):
    """Search small families as well, instead of comparing all sets of k arms."""
    monkeypatch.setattr(linear, "MOST_LISTED", 0)


def hard_numbers(n_arms, seed):
    """Return means and squared widths of arms that are nearly alike."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(18, 26, n_arms)
    return rng.binomial(counts, 0.5) / counts, 300.0 / counts


def test_the_search_among_sets_ends():
    """Where all outcomes have the same mean ESCB meets rounds that did not end in minutes."""
    oracle, rng = TopK(30, 10), np.random.default_rng(2)
    oracle.root_limit = 20
    session = Session(ESCB(oracle), rng=0)
    with pytest.warns(RuntimeWarning, match=r"root_limit = 20 linear problems.*at most 1e.* below"):
        for _ in range(60):
            ticket = session.ask()
            session.tell(Feedback(ticket.super_arm, (rng.random(10) < 0.5).astype(np.float64)), ticket)


ROOTS = ["acyclic_path", "bottom_k", "graphic_matroid", "graphic_matroid_min", "matching", "top_k"]


@pytest.mark.parametrize("limit", [1, 4])
@pytest.mark.parametrize("name", ROOTS)
def test_the_loss_of_an_ended_search_is_bounded(name, limit):
    """The number in the warning is an upper bound on the loss, by enumeration."""
    case = next(case for case in ORACLES if case.name == name)
    oracle, family = case.make(), [np.array(arms, np.int64) for arms in case.super_arms()]
    oracle.root_limit = limit
    for seed in range(5):
        means, squares = hard_numbers(oracle.n_arms, seed)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found = oracle.solve_root(means, squares, np.random.default_rng(0))
        values = [
            oracle._sign * means[arms].sum() + np.sqrt(squares[arms].sum()) for arms in (found, *family)
        ]
        told = float(str(said[0].message).split("at most ")[1].split()[0]) if said else 0.0
        assert values[0] >= max(values) - told - 1e-9


def test_without_a_limit_the_search_is_exact():
    oracle = TopK(12, 5)
    means, squares = hard_numbers(12, 3)
    oracle.root_limit = None
    best = oracle.solve_root(means, squares, np.random.default_rng(0))
    with pytest.raises(ValueError, match="root_limit"):
        oracle.root_limit = 0
        oracle.solve_root(means, squares, np.random.default_rng(0))
    del oracle.root_limit
    assert sorted(best) == sorted(oracle.solve_root(means, squares, np.random.default_rng(0)))


class Terminal:
    """A stream that claims to be a terminal."""

    closed = False

    def __init__(self):
        self.text = ""

    def isatty(self):
        return True

    def flush(self):
        pass

    def write(self, text):
        self.text += text
        return len(text)


@pytest.mark.parametrize(
    ("quiet", "seconds", "shown"), [("", 2.0, True), ("", 0.1, False), ("1", 2.0, False)]
)
def test_progress_from_a_second_on(quiet, seconds, shown, monkeypatch):
    terminal, clock = Terminal(), [0.0]
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("CMAB_QUIET", quiet)
    monkeypatch.setattr("tqdm.std.time", lambda: clock[0])
    with progress_bar(None, total=3, unit=" rounds") as bar:
        for _ in range(3):
            clock[0] += seconds
            if bar is not None:
                bar.update()
    assert ("rounds" in terminal.text) == shown
