"""One replication of the regret loop."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cmab._metering import metered
from cmab.arrays import FloatArray, IntArray
from cmab.environment import Environment
from cmab.policy import AnyPolicy
from cmab.running._compiled_rounds import Doors, FusedRun, open_doors
from cmab.running._declared import check_answer
from cmab.running._stillness import Stillness
from cmab.running._truth import Truth
from cmab.seeding import Purpose, stream
from cmab.session import Session, choose

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
    session = Session(policy, stream(seed, Purpose.LEARNER, replication))
    truth = Truth(environment)
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
            _play(session, truth, rounds, coins, record, tick)
        truth.check_end(int(rounds[-1]))
    except KeyboardInterrupt:
        record.interrupted = True
    except Exception as error:
        error.add_note(f"in replication {replication} of {type(policy).__name__}")
        raise
    record.seconds = time.perf_counter() - started
    record.state = session.state
    return record


def _play(
    session: Session[Any],
    truth: Truth,
    rounds: IntArray,
    coins: np.random.Generator,
    record: Record,
    tick: Callable[[int], object] | None,
) -> None:
    policy, state, rng = session.policy, session.state, session.rng
    environment, stillness = truth.environment, Stillness(truth.environment)
    support = environment.support
    earned, paid, position = 0.0, 0.0, 0
    ticked, next_tick = 0, time.perf_counter() + TICK_SECONDS
    with metered(policy.oracle) as meter:
        try:
            for t in range(1, int(rounds[-1]) + 1):
                super_arm, _ = choose(policy, state, rng)
                feedback = environment.play(super_arm, coins)
                check_answer("play", feedback, support)
                policy.update(state, feedback)
                earned += truth.expected_reward(super_arm, t)
                paid += feedback.reward
                if t == 1:  # the first round may fill caches
                    stillness.check(t)
                if t == rounds[position]:
                    record.expected_rewards[position], record.rewards[position] = earned, paid
                    record.super_arm = super_arm
                    position += 1
                if tick is not None and (t == rounds[-1] or time.perf_counter() >= next_tick):
                    tick(t - ticked)
                    ticked, next_tick = t, time.perf_counter() + TICK_SECONDS
            stillness.check(t)
        finally:
            record.oracle_calls, record.oracle_seconds = meter.calls, meter.seconds


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
        record.oracle_calls, record.oracle_seconds = session.state.rounds, run.oracle_seconds
