"""Processor time, calls and files of `Session.ask` and `tell`, against the same algorithm in plain NumPy.

Run ``python tests/benchmarks/ask_tell.py``. The house asks for at most 2 times plain NumPy, and for at most
14 calls of functions in 7 files of this library. ``--calls`` lists the calls of one round.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from cmab import CUCB, Feedback, Session
from oracles import TopK

N_ARMS, K, ROUNDS, REPEATS = 100, 10, 5_000, 5
ROOT = str(Path(__file__).resolve().parents[2])


def plain(rounds: int) -> None:
    """Play CUCB on the best K arms, with plain NumPy."""
    rng = np.random.default_rng(0)
    counts, averages = np.zeros(N_ARMS, np.int64), np.zeros(N_ARMS)
    for t in range(1, rounds + 1):
        with np.errstate(divide="ignore"):
            indices = averages + np.sqrt(1.5 * np.log(t) / counts)
        indices[counts == 0] = np.inf
        super_arm = np.argpartition(-indices, K - 1)[:K]
        outcomes = (rng.random(K) < 0.5).astype(np.float64)
        counts[super_arm] += 1
        averages[super_arm] += (outcomes - averages[super_arm]) / counts[super_arm]


def played(session: Session, rounds: int) -> None:
    """Play rounds of a session."""
    rng = np.random.default_rng(0)
    for _ in range(rounds):
        ticket = session.ask()
        session.tell(Feedback(ticket, (rng.random(K) < 0.5).astype(np.float64)), ticket)


def seconds(run: Callable[[], object]) -> float:
    """Return the processor time of a call."""
    started = time.process_time()
    run()
    return time.process_time() - started


def calls_of(session: Session) -> list[tuple[str, str]]:
    """Return the file and the name of each function of this library that one round calls."""
    calls: list[tuple[str, str]] = []

    def note(frame, event, _):
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(ROOT) and "benchmarks" not in file:
            calls.append((file.removeprefix(ROOT + "/"), frame.f_code.co_name))

    ticket_outcomes = np.ones(K)
    sys.setprofile(note)
    ticket = session.ask()
    session.tell(Feedback(ticket, ticket_outcomes), ticket)
    sys.setprofile(None)
    return calls


def main() -> None:
    """Print microseconds a round, the least of several alternating runs, and the calls of a round."""
    session = Session(CUCB(TopK(N_ARMS, K)), rng=0)
    played(session, 100)
    pairs = [
        (seconds(lambda: played(session, ROUNDS)), seconds(lambda: plain(ROUNDS))) for _ in range(REPEATS)
    ]
    ours, numpy = (1e6 * min(each) / ROUNDS for each in zip(*pairs, strict=True))
    calls = calls_of(session)
    print(f"ask and tell {ours:.1f} us, plain NumPy {numpy:.1f} us a round: {ours / numpy:.2f} times")
    print(f"{len(calls)} calls in {len({file for file, _ in calls})} files")
    if "--calls" in sys.argv:
        print(*(f"{file} {name}" for file, name in calls), sep="\n")


if __name__ == "__main__":
    main()
