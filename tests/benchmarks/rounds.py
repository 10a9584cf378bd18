"""What a round of every policy costs on oracles of a realistic size.

Run: python tests/benchmarks/rounds.py [--rounds N] [--seconds S] [--only NAMES]. Plays rounds of a session
for each row of `POLICIES` of `tests/cases.py` on each oracle of `SCALED`. Each pair has a process of its own,
whose processor time is limited to S. Prints the processor time of an average and of the slowest round in
milliseconds, and the pairs that did not finish.
"""

from __future__ import annotations

import argparse
import os
import pickle
import resource
import sys
import time
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cases import POLICIES
from scaled import SCALED, fits, made, seen_arms

from cmab import Feedback, Session


def rounds(policy, count, report):
    """Play rounds and report the processor seconds of each."""
    session, rng = Session(policy, rng=0), np.random.default_rng(1)
    for number in range(count):
        start = time.process_time()
        ticket = session.ask()
        asked = time.process_time() - start
        arms = seen_arms(policy.oracle, ticket.super_arm)
        outcomes = (rng.random(len(arms)) < 0.05 + 0.1 * (arms % 3)).astype(np.float64)
        start = time.process_time()
        session.tell(Feedback(arms, outcomes), ticket)
        if number:  # the first round loads and compiles
            report(asked + time.process_time() - start)


def measured(case, make, count, seconds):
    """Return the processor seconds of the rounds of a policy, and why they ended early if they did."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        with os.fdopen(writing, "wb") as pipe:

            def report(thing):
                pickle.dump(thing, pipe)
                pipe.flush()

            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    rounds(made(case, make()), count, report)
            except Exception as error:
                report(f"{type(error).__name__}: {error}")
        os._exit(0)
    os.close(writing)
    taken, ending = [], ""
    with os.fdopen(reading, "rb") as pipe:
        while True:
            try:
                found = pickle.load(pipe)
            except EOFError:
                break
            if isinstance(found, str):
                ending = found
            else:
                taken.append(found)
    os.waitpid(child, 0)
    if not ending and len(taken) < count - 1:
        ending = f"not within {seconds} s of processor time"
    return taken, ending


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--only", nargs="*", default=[])
    options = parser.parse_args()
    print("| oracle | policy | rounds | average ms | slowest ms | ended by |\n|---|---|---|---|---|---|")
    for name, make in SCALED.items():
        for case in POLICIES:
            if options.only and not {name, case.name} & {*options.only}:
                continue
            if not fits(case, make()):
                continue
            taken, ending = measured(case, make, options.rounds, options.seconds)
            figures = f"{1e3 * np.mean(taken):.2f} | {1e3 * max(taken):.1f}" if taken else "- | -"
            print(f"| {name} | {case.name} | {len(taken)} | {figures} | {ending[:150]} |", flush=True)


if __name__ == "__main__":
    main()
