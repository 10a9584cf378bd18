"""One replication of the regret loop."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cmab._ask_tell import choose
from cmab.arrays import FloatArray, IntArray
from cmab.certificates.certify import Certify
from cmab.certificates.played import Played, note_round
from cmab.certificates.regret_certificate import RegretCertificate
from cmab.environment import Environment
from cmab.feedback import Ticket
from cmab.policy import AnyPolicy
from cmab.running._arrivals import AT_ONCE, Arrival, Mail
from cmab.running._compiled_rounds import CompiledReplication, CompiledRun, compiled_run
from cmab.running._referee import Referee, check_answer
from cmab.seeding import Purpose, stream
from cmab.session import Session
from cmab.solver_certificate import metered

TICK_SECONDS = 0.2


@dataclass(eq=False)
class Record:
    """The record of one replication. If rounds differ, `optima` has the cumulative optima of the rounds.

    If the oracle certifies its calls, `proved_optima` has the cumulative optima, each times the ratio of
    its round.
    """

    expected_rewards: FloatArray
    rewards: FloatArray
    seconds: float = 0.0
    oracle_calls: int = 0
    oracle_seconds: float = 0.0
    state: Any = None
    super_arm: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    interrupted: bool = False
    path: str = "python"
    optima: FloatArray | None = None
    proved_optima: FloatArray | None = None
    change_points: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    budgets_left: FloatArray = field(default_factory=lambda: np.empty(0))
    certificates: list[RegretCertificate] = field(default_factory=list)


def replicate(
    policy: AnyPolicy,
    environment: Environment,
    rounds: IntArray,
    seed: np.random.SeedSequence,
    replication: int,
    tick: Callable[[int], object] | None = None,
    arrival: Arrival = AT_ONCE,
    certify: Certify | None = None,
) -> Record:
    """Play one replication. After Ctrl-C, checkpoints that were not reached have ``nan``."""
    record = Record(np.full(rounds.shape, np.nan), np.full(rounds.shape, np.nan))
    session = Session(policy, stream(seed, Purpose.LEARNER, replication))
    referee = Referee(environment, policy, stream(seed, Purpose.ROUNDS, replication))
    # Each purpose has its own stream, so draws of the policy do not change the outcomes.
    coins = stream(seed, Purpose.ENVIRONMENT, replication)
    started = time.perf_counter()
    # Create the forms for each replication, because kernels contain buffers.
    compiled = compiled_run(policy, environment) if arrival.is_at_once else None
    record.path = compiled.path if compiled else "python"
    try:
        if compiled:
            _play_compiled(compiled, session, rounds, coins, record, tick, certify)
        else:
            mail = None
            if not arrival.is_at_once:
                mail = Mail(arrival, stream(seed, Purpose.DELAYS, replication))
            _play(session, referee, rounds, coins, record, tick, mail, certify)
        referee.check(int(rounds[-1]))
    except KeyboardInterrupt:
        record.interrupted = True
    except Exception as error:
        error.add_note(f"in replication {replication} of {type(policy).__name__}")
        raise
    record.seconds = time.perf_counter() - started
    record.state = session.state
    record.change_points, record.budgets_left = session.change_points, session.budgets_left
    return record


def _play(
    session: Session[Any],
    referee: Referee,
    rounds: IntArray,
    coins: np.random.Generator,
    record: Record,
    tick: Callable[[int], object] | None,
    mail: Mail | None,
    certify: Certify | None,
) -> None:
    policy, state, rng = session.policy, session.state, session.rng
    played = Played()
    optima: FloatArray = np.full(rounds.shape, np.nan)
    record.optima = optima if referee.changes else None
    certified: FloatArray = np.full(rounds.shape, np.nan)
    record.proved_optima = certified if policy.oracle.certifies_calls else None
    # `earned` is the sum of expected rewards, which define the regret, and `paid` of realised rewards.
    # `promised` is the sum of the optima, each times the ratio that the calls of its round proved.
    earned, paid, promised, position = 0.0, 0.0, 0.0, 0
    ticked, next_tick = 0, time.perf_counter() + TICK_SECONDS
    with metered(policy.oracle) as meter:
        try:
            for t in range(1, int(rounds[-1]) + 1):
                # The order of draws is that of the compiled loop: first the learner, then the environment.
                environment = referee.at(t)
                context = environment.context
                super_arm, _ = choose(policy, state, rng, context)
                feedback = environment.play(super_arm, coins)
                check_answer("play", feedback, environment.support)
                if mail is None:
                    ticket = Ticket(t - 1, super_arm, context=context)
                    policy.update(state, feedback, ticket, rng)
                    if certify is not None:
                        note_round(played, policy, ticket, feedback)
                else:  # copy the super arm, because the policy may reuse its array in the meantime
                    sent = Ticket(t - 1, super_arm.copy(), context=context)
                    policy.reserve(state, sent)
                    mail.send(t, sent, feedback)
                    for ticket, told in mail.arrived(t):
                        policy.update(state, told, ticket, rng)
                earned += referee.expected_reward(super_arm)
                paid += feedback.reward
                promised += meter.take_ratio() * referee.optimum
                if t == rounds[position]:
                    record.expected_rewards[position], record.rewards[position] = earned, paid
                    record.super_arm = super_arm
                    if certify is not None:
                        record.certificates.append(certify.now(policy, state, played))
                    optima[position], certified[position] = referee.best, promised
                    position += 1
                if tick is not None and (t == rounds[-1] or time.perf_counter() >= next_tick):
                    tick(t - ticked)
                    ticked, next_tick = t, time.perf_counter() + TICK_SECONDS
        finally:
            record.oracle_calls, record.oracle_seconds = meter.calls, meter.seconds


def _play_compiled(
    compiled: CompiledRun,
    session: Session[Any],
    rounds: IntArray,
    coins: np.random.Generator,
    record: Record,
    tick: Callable[[int], object] | None,
    certify: Certify | None,
) -> None:
    """Do the same as `_play` in compiled calls of about one tick, which delay Ctrl-C and the progress bar."""
    run = CompiledReplication(compiled, session.policy.oracle, session.state, session.rng, coins, rounds)
    # An oracle in Python may take seconds per round, compiled rounds take microseconds.
    played, last, step = 0, int(rounds[-1]), 1 if compiled.oracle is None else 1000
    # A certificate needs the state at the checkpoint, so the loop ends there.
    ends = [last] if certify is None else rounds.tolist()
    try:
        while played < last:
            started, before = time.perf_counter(), played
            played = min(ends[len(record.certificates)], played + step)
            run.play(played)
            if certify is not None and played == ends[len(record.certificates)]:
                paid = float(run.recorded[len(record.certificates), 0])
                seen = Played(told=played, total=paid, spread=None)
                record.certificates.append(certify.now(session.policy, session.state, seen))
            if tick is not None:
                tick(played - before)
            if time.perf_counter() - started < TICK_SECONDS / 2:
                step *= 2
    finally:
        # Also after Ctrl-C, because the rounds before it are reported.
        record.rewards, record.expected_rewards = run.recorded.T
        record.super_arm = run.super_arm
        record.oracle_calls, record.oracle_seconds = session.state.rounds, run.oracle_seconds
