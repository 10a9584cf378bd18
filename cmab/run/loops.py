"""The two loops of rounds: one in Python that plays everything, and one in compiled code.

The compiled loop does not return to Python between rounds. It has two forms: `play_rounds` serves all rules,
and `play_rounds_lazily` serves CUCB on the k best of many arms, where it takes half the time for 1,000 arms
and a seventh for 10,000.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.bounds.certificate import Certify, Played, note_round
from cmab.compiled import (
    INDEX,
    IS_COMPILING,
    LEARN,
    PLAY,
    SOLVE,
    Kernel,
    callback_to,
    compiled_form,
    is_ours,
    kernel,
    learn_kernel,
    loop_kernel,
    this_thread,
    types,
)
from cmab.environment import Environment, changes
from cmab.feedback import Feedback, Ticket, check_outcomes
from cmab.oracle import Oracle, check_super_arm
from cmab.policies.ucb import squared_radius, upper_bound, write_bounds
from cmab.policy import AnyPolicy, IndexPolicy
from cmab.run.results import Simulation
from cmab.run.workers import signals_wait
from cmab.selection import are_finite, largest_k, last_in_rank, renew_top_k, top_k
from cmab.statistics import ArmStatistics, observe_outcomes
from cmab.validation import arm_indices, integer, real, shown

#: The seconds between two signs of progress, and the rounds before a loop decides whether to compile.
TICK_SECONDS, FIRST_ROUNDS = 0.2, 10
#: The largest number of rounds before the lazy loop looks for candidates again.
_LONGEST_WAIT = 256
Tick = Callable[[int], object] | None
#: The rounds by which feedback is late: a number, a function of (t, rng), or None for no delay.
Delay = int | Callable[[int, np.random.Generator], int] | None


class Mail:
    """Feedback of one replication that has not arrived at the policy.

    Feedback arrives `delay` rounds later, and then at the end of a batch of `batch` rounds.

    Parameters
    ----------
    batch : int
        The number of rounds of a batch.
    delay : int, callable or None
        The delay.
    rng : numpy.random.Generator
        The stream of random delays. It is separate, so that delays do not change the outcomes.
    """

    def __init__(self, batch: int, delay: Delay, rng: np.random.Generator) -> None:
        self._batch, self._delay, self._rng = batch, delay or 0, rng
        self._waiting: list[tuple[int, int, Ticket, Feedback]] = []

    def send(self, t: int, ticket: Ticket, feedback: Feedback) -> None:
        """Add the feedback of round `t`."""
        later = self._delay
        if callable(later):
            later = integer("the return value of delay", later(t, self._rng), 0)
        # Batches are rounds 1 to b, b + 1 to 2b, ..., so feedback arrives at the next multiple of b.
        due = -(-(t + later) // self._batch) * self._batch
        # Ordered by arrival and then by round. Rounds are distinct, so tickets are never compared.
        heappush(self._waiting, (due, t, ticket, feedback))

    def arrived(self, t: int) -> Iterator[tuple[Ticket, Feedback]]:
        """Yield tickets and feedback that arrive by the end of round `t`, sorted by arrival and by round."""
        while self._waiting and self._waiting[0][0] <= t:
            yield heappop(self._waiting)[2:]


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
    oracle, source = policy.oracle, f"the super arm of {type(policy.oracle).__name__}.solve"
    n_choices, support = oracle.n_choices, environment.support
    is_constant, first = not changes(environment), environment
    context, optimum, best = environment.context, environment.optimum, 0.0
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
    for t in range(1, last + 1):
        if not is_constant:
            environment = first.in_round(t, of_rounds)
            check_world(first, environment, oracle, t)
            optimum = finite_or_nan("environment.optimum", environment.optimum)
            context, best = environment.context, best + optimum
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
        if t == checkpoint:
            rewards[position], expected_rewards[position] = paid, earned
            record.super_arms[0], record.oracle_seconds[0] = super_arm.copy(), choosing
            if record.optima is not None:
                record.optima[0, position] = best
            if certify is not None:
                certificates.append(certify.now(policy, state, played))
            position, checkpoint = position + 1, next(checkpoints, 0)
        if tick is not None and (t == last or clock() >= next_tick):
            tick(t - ticked)
            ticked, next_tick = t, clock() + TICK_SECONDS
        this_thread.rounds_left -= 1


def _check_available(source: str, super_arm: IntArray, available: Any) -> None:
    if available is not None and not available[super_arm].all():
        gone = super_arm[~available[super_arm]]
        raise ValueError(f"{source} must have available entries only, got also {shown(gone.tolist())}")


def check_world(environment: Environment, world: Environment, oracle: Oracle, t: int) -> None:
    """Raise ``ValueError`` unless `world`, the environment of round `t`, fits the environment of the run."""
    asked = f"environment.in_round({t}, rng)"
    if not isinstance(world, Environment):
        raise ValueError(f"{asked} must return an Environment, got {shown(world)}")
    if world.n_arms != environment.n_arms:
        raise ValueError(f"{asked} must have {environment.n_arms} base arms, got {world.n_arms}")
    if world.context is not None:
        world.context.check(oracle.n_arms, oracle.n_choices)


def finite_or_nan(name: str, value: Any) -> float:
    """Return `value` as a float; raise ``ValueError`` unless it is finite or ``nan`` (unknown)."""
    # Return early in the usual case, because this function is called in each round.
    if type(value) is float and not math.isinf(value):
        return value
    return math.nan if isinstance(value, np.floating) and math.isnan(value) else real(name, value)


#: Indices into `Log.progress`: played rounds, next checkpoint, size of the last super arm, last round.
PLAYED, CHECKPOINT, SIZE, LAST = range(4)


class Arguments(NamedTuple):
    """Parameters and buffers of the compiled rules."""

    policy: FloatArray
    learns: bool
    oracle_integers: IntArray
    oracle_reals: FloatArray
    environment_integers: IntArray
    environment_reals: FloatArray
    is_watched: bool  # whether to check that indices are finite, as for rules of users


class Learned(NamedTuple):
    """The arrays of the state."""

    counters: IntArray
    means: FloatArray
    deviations: FloatArray
    memory: FloatArray


class Log(NamedTuple):
    """The progress and the results of a run.

    `earned` and `recorded` hold realised and expected rewards, in this order. The last three arrays are
    buffers for `play`, so that the loop creates no arrays and needs no reference counting.
    """

    progress: IntArray
    checkpoints: IntArray
    recorded: FloatArray
    earned: FloatArray
    super_arm: IntArray
    indices: FloatArray
    arms: IntArray
    outcomes: FloatArray
    totals: FloatArray


class Streams(NamedTuple):
    """The streams of the learner and of the environment."""

    learner: np.random.Generator
    coins: np.random.Generator


_generator = types.NumPyRandomGeneratorType("NumPyRandomGeneratorType")
_rules = tuple(types.FunctionType(signature) for signature in (INDEX, LEARN, SOLVE, PLAY))


_integers, _reals, _curves = (
    types.Array(types.int64, 1, "C"),
    types.Array(types.float64, 1, "C"),
    types.Array(types.float64, 2, "C"),
)
_parameters = (_integers, _reals, _integers, _reals)
_arguments = types.NamedTuple((_reals, types.boolean, *_parameters, types.boolean), Arguments)
_learned = types.NamedTuple((_integers, _reals, _reals, _reals), Learned)
_log = types.NamedTuple(
    (_integers, _integers, _curves, _reals, _integers, _reals, _integers, _reals, _reals), Log
)
_LOOP = types.boolean(*_rules, _arguments, _learned, _log, types.NamedUniTuple(_generator, 2, Streams))


@learn_kernel
def no_learning(arms, n, outcomes, t, reals, memory):
    """Do nothing, in place of a learning rule."""


@loop_kernel(_LOOP, is_lean=True)
def play_rounds(index, learn, solve, play, arguments, learned, log, streams):
    """Play up to and including the last round in `log`, with the same results as the Python loop.

    `learned` and `log` are changed in place. The function returns False if the oracle or an index that is not
    finite ended the run earlier, and True otherwise.
    """
    counters, means, deviations, memory = learned
    policy, learns, oracle_integers, oracle_reals, environment_integers, environment_reals = arguments[:6]
    progress, checkpoints, recorded, earned, super_arm, indices = log[:6]
    arms, outcomes, totals = log[6:9]
    learner, coins = streams
    for t in range(progress[PLAYED] + 1, progress[LAST] + 1):
        index(counters, means, deviations, memory, t, policy, learner, indices)
        # Compiled oracles do not check indices and would also return a super arm for nan.
        if arguments.is_watched and not are_finite(indices):
            return False
        size = solve(indices, oracle_integers, oracle_reals, super_arm)
        if size < 0:
            return False
        # One draw per round for any super arm, so that all policies share the random numbers.
        key = np.int64(coins.random() * 2.0**53)
        n = play(super_arm, size, key, environment_integers, environment_reals, arms, outcomes, totals)
        observe_outcomes(n, arms, outcomes, counters, means, deviations)
        if learns:
            learn(arms, n, outcomes, t, policy, memory)
        # Not a separate function, which would count references to the arrays of `log` in each round.
        earned[0] += totals[0]
        earned[1] += totals[1]
        progress[PLAYED], progress[SIZE], position = t, size, progress[CHECKPOINT]
        if position < checkpoints.shape[0] and checkpoints[position] == t:
            recorded[position, 0], recorded[position, 1] = earned[0], earned[1]
            progress[CHECKPOINT] += 1
    return True


@kernel
def choose_candidates(counters, means, until, reals, bounds, chosen):
    """Write the arms with the best indices in round `until`, in order, with the best of the others last."""
    n = chosen.shape[0]
    write_bounds(counters, means, until, reals, bounds)
    top_k(bounds, n, chosen)
    place = last_in_rank(bounds, n, chosen)
    other = chosen[place]
    for j in range(place, n - 1):
        chosen[j] = chosen[j + 1]
    chosen[n - 1] = other


@kernel
def best_candidates(counts, averages, candidates, bound, term, high, values, places):
    """Write the positions of the best candidates; return whether they rank before all other arms."""
    n = counts.shape[0]
    for j in range(n):
        values[j] = upper_bound(averages[j], counts[j], term, high)
    renew_top_k(values, places.shape[0], places)
    last = places[last_in_rank(values, places.shape[0], places)]
    return bool(values[last] > bound or (values[last] == bound and candidates[last] < candidates[n]))


@loop_kernel(_LOOP)
def play_rounds_lazily(index, learn, solve, play, arguments, learned, log, streams):
    """Play rounds like ``play_rounds`` with a rule that has ``is_lazy`` and an oracle of the k best arms.

    An arm that is not observed keeps its mean and its count, so its index grows only with the logarithm of
    the round. The indices of all arms in a later round are therefore upper bounds until that round. The arms
    with the largest bounds are the candidates. While the k best candidates rank before the largest bound of
    the other arms, they are the k best of all arms, and the super arm is the same as after a full scan,
    including ties. The bounds also hold in floating-point arithmetic, because the logarithm (of integers),
    root, quotient and sum are monotone.
    """
    counters, means, deviations, memory = learned
    reals, learns, last_best, _, environment_integers, environment_reals = arguments[:6]
    progress, checkpoints, recorded, earned, super_arm, bounds = log[:6]
    arms, outcomes, totals = log[6:9]
    coins = streams.coins
    m, k, high = means.shape[0], last_best.shape[0], reals[5]
    # Choosing candidates costs about m and lasts about n / k rounds, each of which costs n.
    n = min(m - 1, int(2.0 * math.sqrt(k * m)))
    candidates, place_of, places = np.empty(n + 1, np.int64), np.empty(m, np.int64), np.empty(k, np.int64)
    counts, averages, values = np.empty(n, np.int64), np.empty(n), np.empty(n)
    for i in range(m):
        place_of[i] = -1
    for j in range(k):
        places[j] = j
        if progress[SIZE] == 0:  # without a last super arm, start from the first k arms
            super_arm[j] = j
    built, until, bound, resume, wait = progress[PLAYED] + 1, 0, 0.0, 0, 1
    for t in range(progress[PLAYED] + 1, progress[LAST] + 1):
        term = squared_radius(t, reals)
        is_known, is_rebuilt = False, False
        while True:  # a single call site, because compiling the call takes a second
            if t <= until:
                is_known = best_candidates(counts, averages, candidates, bound, term, high, values, places)
            if is_known or is_rebuilt or t < resume:
                break
            for j in range(n):
                if until > 0:
                    place_of[candidates[j]] = -1
            until, built, is_rebuilt = t + 2 * (t - built) + 8, t, True
            choose_candidates(counters, means, until, reals, bounds, candidates)
            bound = bounds[candidates[n]]
            for j in range(n):
                place_of[candidates[j]] = j
                counts[j], averages[j] = counters[candidates[j]], means[candidates[j]]
        if is_rebuilt:
            wait = 1 if is_known else min(2 * wait, _LONGEST_WAIT)
            resume = t if is_known else t + wait
        if is_known:
            for j in range(k):
                super_arm[j] = candidates[places[j]]
        else:
            write_bounds(counters, means, t, reals, bounds)
            renew_top_k(bounds, k, super_arm)
        key = np.int64(coins.random() * 2.0**53)
        n_observed = play(super_arm, k, key, environment_integers, environment_reals, arms, outcomes, totals)
        observe_outcomes(n_observed, arms, outcomes, counters, means, deviations)
        if learns:
            learn(arms, n_observed, outcomes, t, reals, memory)
        # As in ``play_rounds``.
        earned[0] += totals[0]
        earned[1] += totals[1]
        progress[PLAYED], progress[SIZE], position = t, k, progress[CHECKPOINT]
        if position < checkpoints.shape[0] and checkpoints[position] == t:
            recorded[position, 0], recorded[position, 1] = earned[0], earned[1]
            progress[CHECKPOINT] += 1
        for j in range(n_observed):
            place = place_of[arms[j]]
            if place < 0:
                until = min(until, t)  # the index of another arm has changed
            else:
                counts[place], averages[place] = counters[arms[j]], means[arms[j]]
    return True


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

    Compiled loops support neither contexts nor tickets nor environments that change between rounds.
    """
    if not isinstance(policy, IndexPolicy) or environment.context is not None or changes(environment):
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
    step = 1 if compiled.oracle is None else FIRST_ROUNDS
    played, last, expected = 0, int(record.rounds[-1]), 0.0
    # A certificate needs the state at the checkpoint, so the loop ends there.
    ends = [last] if certify is None else record.rounds.tolist()
    while played < last:
        is_fast = run.prepare(expected)
        if is_fast and compiled.oracle is not None:
            step = max(step, 1000)
        started, before = time.perf_counter(), played
        played = min(ends[len(certificates)], played + step)
        run.play(played)
        seconds = time.perf_counter() - started
        this_thread.rounds_left -= played - before
        # Replications in the same thread follow.
        expected = seconds / (played - before) * max(last - played, this_thread.rounds_left)
        if certify is not None and played == ends[len(certificates)]:
            paid = float(run.recorded[len(certificates), 0])
            certificates.append(certify.now(policy, state, Played(told=played, total=paid, spread=None)))
        if tick is not None:
            tick(played - before)
        if seconds < TICK_SECONDS / 2:
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
        learning = policy.learning or no_learning
        is_lazy = policy.is_lazy and _is_small_top_k(solve, state.n_arms)
        self._loop = play_rounds_lazily if is_lazy else play_rounds
        n, here = state.n_arms, (self._super_arm, self._indices)
        # The tests check that indices of this library are always finite. Checking them here would cost 4 %.
        parameters = (*solve[1:3], *play[1:3], not is_ours(policy.function))
        self._arguments: tuple[Any, ...] = (
            *(policy.function, learning, solve.function, play.function),
            Arguments(policy.reals, policy.learning is not None, *parameters),
            Learned(state.counters, state.means, state.deviations, state.memory),
            Log(
                *(self._progress, record.rounds, self.recorded, np.zeros(2), *here),
                *(np.empty(n, np.int64), np.empty(n), np.empty(2)),
            ),
            Streams(*streams),
        )

    def prepare(self, expected: float) -> bool:
        """Compile the loop, which Ctrl-C may end, if that is worth it; return whether it is compiled."""
        return not IS_COMPILING or self._loop.prepare(expected, self._arguments)

    def play(self, last: int) -> None:
        """Play up to round `last`, or to the round before the one in which the oracle raises."""
        # The array keeps round, checkpoint and size between calls, so each call continues after the last one.
        self._progress[LAST] = last
        try:
            with signals_wait():
                came_through = self._loop(*self._arguments)
            if self._callback is not None and self._callback.error is not None:
                raise self._callback.error
            if not came_through:
                raise ValueError(self._why(int(self._progress[PLAYED]) + 1))
        finally:
            self._state.rounds, size = int(self._progress[PLAYED]), int(self._progress[SIZE])
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
