"""Many replications side by side, for an oracle in Python that solves many problems at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.compiled.forms import is_current
from cmab.environment import Environment
from cmab.oracle import Oracle
from cmab.policy import AnyPolicy
from cmab.running._arrivals import AT_ONCE, Arrival
from cmab.running._callbacks import Callback
from cmab.running._compiled_rounds import (
    CompiledRun,
    compiled_run,
    interrupt_waits,
    room_for_one_round,
    rules_of,
)
from cmab.running._referee import Referee
from cmab.running._replication import TICK_SECONDS, Record, replicate
from cmab.saving._generators import position_of
from cmab.seeding import Purpose, stream

#: Most replications side by side; more gain nothing.
WIDEST = 128
_LONGEST_BLOCK = 4096
_LEARNED = ("counters", "means", "deviations", "memory")


def groups(
    policy: AnyPolicy, environment: Environment, replications: int, n_jobs: int, arrival: Arrival = AT_ONCE
) -> list[list[int]]:
    """Return the replications by those that are played side by side, each alone where that does not pay."""
    if replications == 1 or not arrival.is_at_once or _compiled_run(policy, environment) is None:
        return [[index] for index in range(replications)]
    workers = 1
    if n_jobs != 1:
        from joblib import effective_n_jobs

        workers = effective_n_jobs(n_jobs)
    # No worker idle, and no group wider than pays.
    parts = max(min(workers, replications), -(-replications // WIDEST))
    return [part.tolist() for part in np.array_split(np.arange(replications), parts)]


def replicate_group(
    policy: AnyPolicy,
    environment: Environment,
    rounds: IntArray,
    seed: np.random.SeedSequence,
    group: Sequence[int],
    tick: Callable[[int], object] | None = None,
    arrival: Arrival = AT_ONCE,
) -> list[Record]:
    """Play the replications of a group as `replicate` does each of them, side by side if they are many."""
    if len(group) == 1:
        return [replicate(policy, environment, rounds, seed, group[0], tick, arrival)]
    compiled = _compiled_run(policy, environment)
    if compiled is None:
        raise RuntimeError("only replications whose oracle solves batches are grouped")
    started, is_interrupted = time.perf_counter(), False
    run = _Batch(compiled, policy, rounds, seed, group)
    referee = Referee(environment, policy, stream(seed, Purpose.ROUNDS, group[0]))
    try:
        run.play(tick)
        referee.check(int(rounds[-1]))
    except KeyboardInterrupt:
        is_interrupted = True
    except Exception as error:
        error.add_note(f"in replications {group[0]} to {group[-1]} of {type(policy).__name__}")
        raise
    return run.records((time.perf_counter() - started) / len(group), is_interrupted)


def _compiled_run(policy: AnyPolicy, environment: Environment) -> CompiledRun | None:
    """Return the compiled policy and environment around an oracle whose fastest form is `solve_batch`."""
    if not is_current(policy.oracle, "solve_batch"):
        return None
    compiled = compiled_run(policy, environment)
    return compiled if compiled and compiled.oracle is None else None


class BatchCallback(Callback):
    """Asks an oracle for the super arms of R replications at once.

    Parameters
    ----------
    oracle : Oracle
        Whom to ask.
    learners : list of numpy.random.Generator
        The streams of the replications.
    indices, super_arms : FloatArray, IntArray, shape (R, .)
        Where the loop puts its questions and looks for the answers, one a row.
    lengths : IntArray, shape (R,)
        For the sizes of the super arms.
    """

    def __init__(
        self,
        oracle: Oracle,
        learners: list[np.random.Generator],
        indices: FloatArray,
        super_arms: IntArray,
        lengths: IntArray,
    ) -> None:
        super().__init__()
        self._oracle, self._learners, self._indices = oracle, learners, indices
        self._super_arms, self._lengths = super_arms, lengths
        # A generator of nobody's: an oracle that draws from it is asked for each replication with its own.
        self.probe = np.random.default_rng(0)
        self._untouched = position_of(self.probe)
        self.path, self.seconds = "batch", 0.0
        self.before: Callable[[], None] | None = None

    def _ask(self) -> int:
        if self.before is not None:
            self.before()
        # A copy, for the oracle may keep or change what it is given.
        started = time.perf_counter()
        answers = self._solve(self._indices.copy())
        self.seconds += time.perf_counter() - started
        if len(answers) != len(self._learners):
            raise ValueError(
                f"{type(self._oracle).__name__}.solve_batch must return {len(self._learners)} super arms,"
                f" got {len(answers)}"
            )
        # What is not equally long and in order is checked, and named if it is wrong, one by one.
        if not self._accept_all(answers):
            for row, answer in enumerate(answers):
                arms = self._oracle.check_super_arm(answer, "the super arm of solve_batch")
                self._lengths[row] = len(arms)
                self._super_arms[row, : len(arms)] = arms
        return 0

    def _solve(self, indices: FloatArray) -> Sequence[Any]:
        if self.path == "batch":
            answers = self._oracle.solve_batch(indices, self.probe)
            if position_of(self.probe) == self._untouched:
                return answers
            # The answers just drawn are thrown away: one generator for all would tie replications together.
            # The batch may have changed its copy of the indices.
            self.path, indices = "mixed", self._indices.copy()
        return [self._oracle.solve(row, rng) for row, rng in zip(indices, self._learners, strict=True)]

    def _accept_all(self, answers: Sequence[Any]) -> bool:
        """Take the answers if they are equally long and in order: one check for all is the cheaper one."""
        # Whether a set is in the family is more than a matter of range and order.
        if self._oracle.has_membership or len({len(a) for a in answers}) != 1:
            return False
        table = np.asarray(answers)
        if table.dtype.kind not in "iu" or table.ndim != 2 or table.shape[1] == 0:
            return False
        ordered = np.sort(table, axis=1)
        # Sorted rows: the ends tell the range, and a repeated arm is one that does not increase.
        in_range = ordered[:, 0].min() >= 0 and ordered[:, -1].max() < self._oracle.n_choices
        if not in_range or not (ordered[:, 1:] > ordered[:, :-1]).all():
            return False
        self._super_arms[:, : table.shape[1]], self._lengths[:] = table, table.shape[1]
        return True


class _Batch:
    """R replications, in every round of which the oracle is asked once."""

    def __init__(
        self,
        compiled: CompiledRun,
        policy: AnyPolicy,
        rounds: IntArray,
        seed: np.random.SeedSequence,
        group: Sequence[int],
    ) -> None:
        from cmab.running._kernels_bundles import Learned, Log

        width, self._policy = len(group), compiled.policy
        self._states: list[Any] = [policy.initial_state() for _ in group]
        # Keyed by the replication, not by its group: numbers do not depend on how many are played together.
        self._learners = [stream(seed, Purpose.LEARNER, index) for index in group]
        self._coins = [stream(seed, Purpose.ENVIRONMENT, index) for index in group]
        learned = (np.array([getattr(state, name) for state in self._states]) for name in _LEARNED)
        self._learned = Learned(*learned)
        n_arms, n_choices = self._states[0].n_arms, policy.oracle.n_choices
        self._sizes, earned = np.zeros(width, np.int64), np.zeros((width, 2))
        # Room for the longest answer: an oracle's entries need not be base arms.
        super_arms = np.empty((width, max(n_choices, n_arms)), np.int64)
        recorded, indices = np.full((width, len(rounds), 2), np.nan), np.empty((width, n_arms))
        # In the order of the places in `Log.progress`, as far as this loop has use for them.
        told = (np.zeros(2, np.int64), rounds, recorded, earned, super_arms, indices)
        self._log = Log(*told, *room_for_one_round(self._states[0]))
        self._callback = BatchCallback(policy.oracle, self._learners, indices, super_arms, self._sizes)
        if compiled.policy.is_random:
            self._callback.before = self._draw_indices
        self._rules = rules_of(compiled._replace(oracle=self._callback.kernel))

    @property
    def _played(self) -> int:
        from cmab.running._kernels_bundles import PLAYED

        return int(self._log.progress[PLAYED])

    def play(self, tick: Callable[[int], object] | None) -> None:
        """Play all rounds; raises what the oracle raises, with the rounds before it played."""
        from cmab.running._kernels_batched import play_batch
        from cmab.running._kernels_bundles import Rows

        last, block, width = int(self._log.checkpoints[-1]), 1, len(self._states)
        while (played := self._played) < last:
            # Calls of a growing number of rounds, until one takes a tick: Ctrl-C and the bar wait that long.
            started, block = time.perf_counter(), min(block, last - played)
            # A vector takes the same numbers of a stream as single draws do, so
            # these are `play_rounds`' keys.
            keys = np.array([coins.random(block) * 2.0**53 for coins in self._coins]).astype(np.int64)
            rows = Rows(keys, self._sizes, self._policy.is_random, self._callback.probe)
            arguments: tuple[Any, ...] = (*self._rules, self._learned, self._log, rows)
            with interrupt_waits(self._callback):
                play_batch(*arguments)
            self._callback.reraise()
            if tick is not None:
                tick(width * block)
            if time.perf_counter() - started < TICK_SECONDS / 2 and block < _LONGEST_BLOCK:
                block *= 2

    def records(self, seconds: float, is_interrupted: bool) -> list[Record]:
        """Return what was played of each replication."""
        return [self._record(row, seconds, is_interrupted) for row in range(len(self._states))]

    def _record(self, row: int, seconds: float, is_interrupted: bool) -> Record:
        state, log = self._states[row], self._log
        # The rows are written back into each replication's own arrays.
        state.rounds = self._played
        for name in _LEARNED:
            getattr(state, name)[:] = getattr(self._learned, name)[row]
        return Record(
            expected_rewards=log.recorded[row, :, 1],
            rewards=log.recorded[row, :, 0],
            seconds=seconds,
            oracle_calls=self._played,
            oracle_seconds=self._callback.seconds / len(self._states),
            state=state,
            super_arm=log.super_arm[row, : self._sizes[row]].copy(),
            interrupted=is_interrupted,
            path=self._callback.path,
        )

    def _draw_indices(self) -> None:
        """Write the indices by a random rule, each row from its replication's own stream."""
        rule, reals, t = self._policy.function, self._policy.reals, self._played + 1
        for row, rng in enumerate(self._learners):
            rule(*(table[row] for table in self._learned), t, reals, rng, self._log.indices[row])
