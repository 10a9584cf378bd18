"""One replication of the regret loop."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cmab._fused import Doors, FusedRun, open_doors
from cmab.arrays import FloatArray, IntArray
from cmab.environment import Environment
from cmab.policy import AnyPolicy
from cmab.seeding import Purpose, stream
from cmab.session import Session

TICK_SECONDS = 0.2


@dataclass(eq=False)
class Record:
    """One replication."""

    expected_rewards: FloatArray
    rewards: FloatArray
    seconds: float = 0.0
    oracle_calls: int = 0
    oracle_seconds: float = 0.0
    state: Any = None
    super_arm: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    interrupted: bool = False
    path: str = "python"


class _Metered:
    """Stands in for an oracle and counts the calls of `solve` and the seconds in them."""

    def __init__(self, oracle: Any) -> None:
        self._oracle = oracle
        self.calls = 0
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._oracle, name)

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        started = time.perf_counter()
        super_arm: IntArray = self._oracle.solve(means, rng)
        self.seconds += time.perf_counter() - started
        self.calls += 1
        return super_arm


def replicate(
    policy: AnyPolicy,
    environment: Environment,
    rounds: IntArray,
    seed: np.random.SeedSequence,
    replication: int,
    tick: Callable[[int], object] | None = None,
) -> Record:
    """Play one replication; Ctrl-C ends it early, with ``nan`` at the checkpoints that were not reached."""
    record = Record(np.full(rounds.shape, np.nan), np.full(rounds.shape, np.nan))
    metered = _Metered(policy.oracle)
    learner = copy.copy(policy)
    object.__setattr__(learner, "oracle", metered)
    session = Session(learner, stream(seed, Purpose.LEARNER, replication))
    coins = stream(seed, Purpose.ENVIRONMENT, replication)
    started = time.perf_counter()
    doors = open_doors(
        policy, environment
    )  # anew for each replication: a kernel brings its own scratch space
    record.path = doors.path if doors else "python"
    try:
        if doors:
            _play_compiled(doors, session, rounds, coins, record, tick)
        else:
            _play(session, environment, rounds, coins, record, tick)
    except KeyboardInterrupt:
        record.interrupted = True
    except Exception as error:
        error.add_note(f"in replication {replication} of {type(policy).__name__}")
        raise
    record.seconds = time.perf_counter() - started
    if record.path != "compiled":
        record.oracle_calls, record.oracle_seconds = metered.calls, metered.seconds
    record.state = session.state
    return record


def _play(
    session: Session[Any],
    environment: Environment,
    rounds: IntArray,
    coins: np.random.Generator,
    record: Record,
    tick: Callable[[int], object] | None,
) -> None:
    earned, paid, value, position = 0.0, 0.0, math.nan, 0
    ticked, next_tick = 0, time.perf_counter() + TICK_SECONDS
    previous = b"none"
    for t in range(1, int(rounds[-1]) + 1):
        ticket = session.ask()
        feedback = environment.play(ticket.super_arm, coins)
        session.tell(feedback)
        played = ticket.super_arm.tobytes()
        if played != previous:
            value, previous = environment.expected_reward(ticket.super_arm), played
        earned += value
        paid += feedback.reward
        if t == rounds[position]:
            record.expected_rewards[position], record.rewards[position] = earned, paid
            record.super_arm = ticket.super_arm
            position += 1
        if tick is not None and (t == rounds[-1] or time.perf_counter() >= next_tick):
            tick(t - ticked)
            ticked, next_tick = t, time.perf_counter() + TICK_SECONDS


def _play_compiled(
    doors: Doors,
    session: Session[Any],
    rounds: IntArray,
    coins: np.random.Generator,
    record: Record,
    tick: Callable[[int], object] | None,
) -> None:
    """As `_play`, in compiled calls of about a tick each: Ctrl-C and the bar wait that long."""
    run = FusedRun(doors, session.policy.oracle, session.state, session.rng, coins, rounds)
    played, last, step = 0, int(rounds[-1]), 1 if doors.oracle is None else 1000
    try:
        while played < last:
            started, before = time.perf_counter(), played
            played = min(last, played + step)
            run.play(played)
            if tick is not None:
                tick(played - before)
            if time.perf_counter() - started < TICK_SECONDS / 2:
                step *= 2
    finally:
        record.rewards, record.expected_rewards = run.recorded.T
        record.super_arm = run.super_arm
        record.oracle_calls, record.oracle_seconds = session.state.rounds, math.nan
