"""The two loops of rounds: one in compiled code, and one in Python that plays everything."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.certificates.certify import Certify
from cmab.certificates.played import Played, note_round
from cmab.compiled import Kernel, compiled_form
from cmab.environment import Environment, changes
from cmab.feedback import Feedback, Ticket, check_outcomes
from cmab.oracle import Oracle, check_super_arm
from cmab.policy import AnyPolicy, IndexPolicy
from cmab.run.arrivals import Mail
from cmab.run.results import Simulation
from cmab.run.workers import signals_wait
from cmab.solver_certificate import metered
from cmab.statistics import ArmStatistics
from cmab.validation import arm_indices, real, shown

TICK_SECONDS = 0.2
Tick = Callable[[int], object] | None


def play_in_python(
    policy: AnyPolicy,
    environment: Environment,
    state: Any,
    streams: tuple[np.random.Generator, np.random.Generator, np.random.Generator],
    record: Simulation,
    *,
    mail: Mail | None = None,
    certify: Certify | None = None,
    tick: Tick = None,
) -> None:
    """Play all rounds of `record` and write the results to its arrays and lists.

    The order of draws is that of the compiled loop: first the learner, then the environment.

    Parameters
    ----------
    streams : tuple of numpy.random.Generator
        The streams of the learner, of the outcomes, and of the environments of the rounds.
    mail : Mail, optional
        The feedback on its way, if it does not arrive immediately.
    """
    rng, coins, of_rounds = streams
    select, update = policy.select, policy.update
    oracle, source = policy.oracle, f"the super arm of {type(policy.oracle).__name__}"
    n_choices, support = oracle.n_choices, environment.support
    is_constant, first = not changes(environment), environment
    context, optimum, best, promised = environment.context, environment.optimum, 0.0, 0.0
    rewards, expected_rewards = record.rewards[0], record.expected_rewards[0]
    record.super_arms.append(np.empty(0, np.int64))
    record.states.append(state)
    played, checkpoints = Played(), iter(record.rounds.tolist())
    certificates: list[Any] = []
    if certify is not None:
        record.certificates.append(certificates)
    # The expected reward of a repeated super arm is not computed again, because that can be slow.
    latest, value = b"none", math.nan
    earned, paid, choosing, position, ticked = 0.0, 0.0, 0.0, 0, 0
    checkpoint, last = next(checkpoints), int(record.rounds[-1])
    clock = time.perf_counter
    next_tick = clock() + TICK_SECONDS
    with metered(oracle if getattr(oracle, "certifies_calls", False) else None) as meter:
        for t in range(1, last + 1):
            if not is_constant:
                environment = first.in_round(t, of_rounds)
                check_world(first, environment, policy, t)
                context, support = environment.context, first.support
                optimum = finite_or_nan("environment.optimum", environment.optimum)
                best += optimum
            started = clock()
            super_arm = arm_indices(source, select(state, rng, context), n_choices)
            choosing += clock() - started
            if context is not None:
                _check_available(source, super_arm, context.available)
            feedback = environment.play(super_arm, coins)
            if not isinstance(feedback, Feedback):
                raise ValueError(
                    f"environment.play must return a Feedback(arms, outcomes), got {shown(feedback)}"
                )
            check_outcomes(feedback, support, "the support that the environment declares")
            if mail is None:
                ticket = Ticket(t - 1, super_arm, context=context)
                update(state, feedback, ticket, rng)
                if certify is not None:
                    note_round(played, policy, ticket, feedback)
            else:  # copy the super arm, because the policy may reuse its array in the meantime
                sent = Ticket(t - 1, super_arm.copy(), context=context)
                policy.reserve(state, sent)
                mail.send(t, sent, feedback)
                for ticket, arrived in mail.arrived(t):
                    update(state, arrived, ticket, rng)
            choice = super_arm.tobytes()
            if choice != latest or not is_constant:
                value = finite_or_nan("environment.expected_reward", environment.expected_reward(super_arm))
                latest = choice
            earned += value
            paid += feedback.reward
            if record.proved_optima is not None:
                promised += meter.take_ratio() * optimum
            if t == checkpoint:
                rewards[position], expected_rewards[position] = paid, earned
                record.super_arms[0], record.oracle_seconds[0] = super_arm.copy(), choosing
                if record.optima is not None:
                    record.optima[0, position] = best
                if record.proved_optima is not None:
                    record.proved_optima[0, position] = promised
                if certify is not None:
                    certificates.append(certify.now(policy, state, played))
                position, checkpoint = position + 1, next(checkpoints, 0)
            if tick is not None and (t == last or clock() >= next_tick):
                tick(t - ticked)
                ticked, next_tick = t, clock() + TICK_SECONDS


def _check_available(source: str, super_arm: IntArray, available: Any) -> None:
    if available is not None and not available[super_arm].all():
        gone = super_arm[~available[super_arm]]
        raise ValueError(f"{source} must have available entries only, got also {shown(gone.tolist())}")


def check_world(environment: Environment, world: Environment, policy: AnyPolicy, t: int) -> None:
    """Raise ``ValueError`` unless `world`, the environment of round `t`, fits the environment of the run."""
    asked = f"environment.in_round({t}, rng)"
    if not isinstance(world, Environment):
        raise ValueError(f"{asked} must return an Environment, got {shown(world)}")
    if world.n_arms != environment.n_arms:
        raise ValueError(f"{asked} must have {environment.n_arms} base arms, got {world.n_arms}")
    if world.context is not None:
        world.context.check(policy.oracle.n_arms, policy.oracle.n_choices)


def finite_or_nan(name: str, value: Any) -> float:
    """Return `value` as a float; raise ``ValueError`` unless it is finite or ``nan`` (unknown)."""
    # Return early in the usual case, because this function is called in each round.
    if type(value) is float and not math.isinf(value):
        return value
    return math.nan if isinstance(value, np.floating) and math.isnan(value) else real(name, value)


class CompiledRun(NamedTuple):
    """The compiled forms of policy, environment and oracle (None if the oracle has no compiled form)."""

    policy: Kernel
    oracle: Kernel | None
    environment: Kernel

    @property
    def path(self) -> str:
        """The name of the loop over these forms: ``"compiled"`` or ``"mixed"``."""
        return "mixed" if self.oracle is None else "compiled"


def compiled_run(policy: AnyPolicy, environment: Environment) -> CompiledRun | None:
    """Return the compiled forms, or None if the policy or the environment has only a Python form.

    Compiled loops support neither contexts nor tickets nor environments that change between rounds. They do
    not record the ratios of an oracle that certifies its calls.
    """
    if not isinstance(policy, IndexPolicy) or environment.context is not None or changes(environment):
        return None
    if getattr(policy.oracle, "certifies_calls", False):
        return None
    index = compiled_form(policy)
    play = compiled_form(environment)
    return CompiledRun(index, compiled_form(policy.oracle), play) if index and play else None


def play_compiled(
    compiled: CompiledRun,
    policy: AnyPolicy,
    state: ArmStatistics,
    streams: tuple[np.random.Generator, np.random.Generator],
    record: Simulation,
    *,
    certify: Certify | None = None,
    tick: Tick = None,
) -> None:
    """Do the same as `play_in_python`, in compiled calls of about one tick, between which signals arrive."""
    run = CompiledLoop(compiled, policy.oracle, state, streams, record)
    certificates: list[Any] = []
    if certify is not None:
        record.certificates.append(certificates)
    # An oracle in Python may take seconds a round, compiled rounds take microseconds.
    played, last, step = 0, int(record.rounds[-1]), 1 if compiled.oracle is None else 1000
    # A certificate needs the state at the checkpoint, so the loop ends there.
    ends = [last] if certify is None else record.rounds.tolist()
    while played < last:
        started, before = time.perf_counter(), played
        played = min(ends[len(certificates)], played + step)
        run.play(played)
        if certify is not None and played == ends[len(certificates)]:
            paid = float(run.recorded[len(certificates), 0])
            certificates.append(certify.now(policy, state, Played(told=played, total=paid, spread=None)))
        if tick is not None:
            tick(played - before)
        if time.perf_counter() - started < TICK_SECONDS / 2:
            step *= 2


class CompiledLoop:
    """One replication in the compiled loop, which can be played in several calls.

    Parameters
    ----------
    compiled : CompiledRun
        The compiled forms.
    oracle : Oracle
        The oracle. If it has no compiled form, the loop calls its Python form in each round.
    state : ArmStatistics
        The state, which is changed in place.
    streams : tuple of numpy.random.Generator
        The streams of the learner and of the environment.
    record : Simulation
        The results, which are written after each call.

    Attributes
    ----------
    recorded : FloatArray, shape (C, 2)
        Cumulative realised and expected rewards. Values after the last played round are ``nan``.
    """

    def __init__(
        self,
        compiled: CompiledRun,
        oracle: Oracle,
        state: ArmStatistics,
        streams: tuple[np.random.Generator, np.random.Generator],
        record: Simulation,
    ) -> None:
        from cmab.compiled import is_ours
        from cmab.run import _kernels_loops as kernels

        self._state, self._record = state, record
        record.states.append(state)
        record.super_arms.append(np.empty(0, np.int64))
        self.recorded: FloatArray = np.full((len(record.rounds), 2), np.nan)
        # In the order of the constants for `Log.progress`.
        self._progress = np.array([state.rounds, 0, 0, 0])
        self._super_arm = np.empty(max(oracle.n_choices, state.n_arms), np.int64)
        self._indices, self._callback = np.empty(state.n_arms), None
        policy, solve, play = compiled
        if solve is None:
            self._callback = OracleCallback(oracle, streams[0], self._indices, self._super_arm)
            solve = self._callback.kernel
        learning = policy.learning or kernels.no_learning
        is_lazy = policy.is_lazy and _is_small_top_k(solve, state.n_arms)
        self._loop = kernels.play_rounds_lazily if is_lazy else kernels.play_rounds
        room = np.empty(state.n_arms, np.int64), np.empty(state.n_arms), np.empty(2)
        # The tests check that indices of this library are always finite. Checking them here would cost 4 %.
        parameters = (*solve[1:3], *play[1:3], not is_ours(policy.function))
        self._arguments: tuple[Any, ...] = (
            *(policy.function, learning, solve.function, play.function),
            kernels.Arguments(policy.reals, policy.learning is not None, *parameters),
            kernels.Learned(state.counters, state.means, state.deviations, state.memory),
            kernels.Log(
                *(self._progress, record.rounds, self.recorded, np.zeros(2)),
                *(self._super_arm, self._indices, *room),
            ),
            kernels.Streams(*streams),
        )

    def play(self, last: int) -> None:
        """Play up to round `last`, or to the round before the one in which the oracle raises."""
        # The array keeps round, checkpoint and size between calls, so each call continues after the last one.
        self._progress[3] = last
        try:
            with signals_wait():
                came_through = self._loop(*self._arguments)
            if self._callback is not None and self._callback.error is not None:
                raise self._callback.error
            if not came_through:
                raise ValueError(self._why(int(self._progress[0]) + 1))
        finally:
            self._state.rounds, size = int(self._progress[0]), int(self._progress[2])
            record = self._record
            record.rewards[0], record.expected_rewards[0] = self.recorded.T
            record.super_arms[0] = self._super_arm[:size].copy()
            record.oracle_seconds[0] = math.nan if self._callback is None else self._callback.seconds

    def _why(self, t: int) -> str:
        """Return an error message for round `t`, which could not be played."""
        strange = np.flatnonzero(~np.isfinite(self._indices))
        if len(strange):
            arm = int(strange[0])
            return f"indices must be finite, got {self._indices[arm]} for base arm {arm} in round {t}"
        return f"the compiled form of the oracle must return a super arm, got a negative size in round {t}"


def _is_small_top_k(oracle: Kernel, n_arms: int) -> bool:
    """Return whether an oracle chooses the k best of many arms."""
    from cmab.selection import largest_k

    # For larger k, nearly all arms are candidates, and the bounds cost more than they save.
    return 0 < largest_k(oracle) <= n_arms // 10


class OracleCallback:
    """The call from the compiled loop to an oracle in Python.

    Parameters
    ----------
    oracle : Oracle
        The oracle.
    rng : numpy.random.Generator
        The stream of the learner.
    indices, super_arm : FloatArray, IntArray
        The arrays of the loop for the indices and for the super arm.

    Attributes
    ----------
    kernel : Kernel
        The function for the compiled code. It returns the size of the super arm, or -1 to end the run.
    seconds : float
        Wall-clock seconds in the oracle so far.
    error : BaseException or None
        The exception of the oracle, because exceptions cannot pass compiled code.
    """

    def __init__(
        self, oracle: Oracle, rng: np.random.Generator, indices: FloatArray, super_arm: IntArray
    ) -> None:
        from cmab.compiled import callback_to

        self.seconds, self.error = 0.0, None
        solve = oracle.solve
        name = f"the super arm of {type(oracle).__name__}.solve"

        def answer() -> int:
            try:
                # A copy, because the loop writes the indices of the next round into the same array.
                own, started = indices.copy(), time.perf_counter()
                solved = solve(own, rng)
                self.seconds += time.perf_counter() - started
                arms = check_super_arm(oracle, solved, name)
                super_arm[: len(arms)] = arms
                return len(arms)
            except BaseException as error:  # exceptions must not unwind compiled frames
                self.error = error
                return -1

        # The attribute keeps the callback alive while the loop may call its pointer.
        self.kernel, self._pointer = callback_to(answer)
