"""Processor time of a round of CUCB on `TopK(100, 10)`, against the same algorithm in plain NumPy in one run.

Run ``python tests/benchmarks/plain_numpy.py``. The house asks for at most 1.6 times plain NumPy in the Python
loop, at most 2 times in `Session.ask` and `tell`, and there for at most 14 calls in 7 files of
this library. ``--calls`` lists the calls of one round.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy as np

import cmab.run.simulate
from cmab import CUCB, Feedback, Session, simulate
from instances import BernoulliArms, SemiBandit
from oracles import TopK

N_ARMS, K, ROUNDS, REPEATS = 100, 10, 5_000, 5
MEANS = np.random.default_rng(1).uniform(0.1, 0.9, N_ARMS)
ORACLE = TopK(N_ARMS, K)
ROOT = str(Path(__file__).resolve().parents[2])


def plain(*, with_regret: bool) -> float:
    """Play CUCB on the best K arms, and return the regret if it is asked for."""
    rng = np.random.default_rng(0)
    counts, averages = np.zeros(N_ARMS, np.int64), np.zeros(N_ARMS)
    best, regret, paid = np.sort(MEANS)[-K:].sum(), 0.0, 0.0
    for t in range(1, ROUNDS + 1):
        with np.errstate(divide="ignore", invalid="ignore"):
            indices = averages + np.sqrt(1.5 * np.log(t) / counts)
        indices[counts == 0] = np.inf
        super_arm = np.argpartition(-indices, K - 1)[:K]
        outcomes = (rng.random(K) < MEANS[super_arm]).astype(np.float64)
        counts[super_arm] += 1
        averages[super_arm] += (outcomes - averages[super_arm]) / counts[super_arm]
        if with_regret:
            paid += float(outcomes.sum())
            regret += float(best - MEANS[super_arm].sum())
    return regret


def played(session: Session, rounds: int = ROUNDS) -> None:
    """Play rounds of a session."""
    rng = np.random.default_rng(0)
    for _ in range(rounds):
        ticket = session.ask()
        session.tell(Feedback(ticket, (rng.random(K) < MEANS[ticket.super_arm]).astype(np.float64)), ticket)


def seconds(run: Callable[[], object]) -> float:
    """Return the processor time of a call."""
    started = time.process_time()
    run()
    return time.process_time() - started


def compare(name: str, ours: Callable[[], object], theirs: Callable[[], object]) -> None:
    """Print microseconds a round, the least of several alternating runs."""
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(REPEATS)]
    mine, numpy = (1e6 * min(each) / ROUNDS for each in zip(*pairs, strict=True))
    print(f"{name} {mine:.1f} us, plain NumPy {numpy:.1f} us a round: {mine / numpy:.2f} times")


def calls_of(session: Session) -> list[tuple[str, str]]:
    """Return the file and the name of each function of this library that one round calls."""
    calls: list[tuple[str, str]] = []

    def note(frame, event, _):
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(ROOT) and "benchmarks" not in file:
            calls.append((file.removeprefix(ROOT + "/"), frame.f_code.co_name))

    outcomes = np.ones(K)
    sys.setprofile(note)
    ticket = session.ask()
    session.tell(Feedback(ticket, outcomes), ticket)
    sys.setprofile(None)
    return calls


def main() -> None:
    """Print both comparisons and the calls of a round of a session."""
    environment, session = SemiBandit(BernoulliArms(MEANS), ORACLE), Session(CUCB(ORACLE), rng=0)
    played(session, 100)
    with mock.patch.object(cmab.run.simulate, "compiled_run", lambda *_: None):
        compare(
            "Python loop",
            lambda: simulate(CUCB(ORACLE), environment, ROUNDS, rng=0),
            lambda: plain(with_regret=True),
        )
    compare("ask and tell", lambda: played(session), lambda: plain(with_regret=False))
    calls = calls_of(session)
    print(f"{len(calls)} calls in {len({file for file, _ in calls})} files")
    if "--calls" in sys.argv:
        print(*(f"{file} {name}" for file, name in calls), sep="\n")


if __name__ == "__main__":
    main()
