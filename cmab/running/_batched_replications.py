"""Many replications in parallel rounds, with an oracle in Python that solves many problems per call."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cmab.archive import position_of
from cmab.arrays import FloatArray, IntArray
from cmab.certificates.certify import Certify
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
from cmab.seeding import Purpose, stream

#: Largest number of replications in a group. Larger groups are not faster.
WIDEST = 128
_LONGEST_BLOCK = 4096
_LEARNED = ("counters", "means", "deviations", "memory")


def groups(
    policy: AnyPolicy,
    environment: Environment,
    replications: int,
    n_jobs: int,
    arrival: Arrival = AT_ONCE,
    certify: Certify | None = None,
) -> list[list[int]]:
    """Return groups of replications that are played together, of one each if that is not faster."""
    is_plain = arrival.is_at_once and certify is None
    if replications == 1 or not is_plain or _compiled_run(policy, environment) is None:
        return [[index] for index in range(replications)]
    workers = 1
    if n_jobs != 1:
        from joblib import effective_n_jobs

        workers = effective_n_jobs(n_jobs)
    # Use all workers, and no group larger than WIDEST.
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
    certify: Certify | None = None,
) -> list[Record]:
    """Play the replications of a group together, with the same results as `replicate`."""
    if len(group) == 1:
        return [replicate(policy, environment, rounds, seed, group[0], tick, arrival, certify)]
    compiled = _compiled_run(policy, environment)
    if compiled is None:
        raise RuntimeError("a group of several replications needs an oracle that solves batches")
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
    """Return the compiled forms if the oracle has `solve_batch` and no compiled form, otherwise None."""
    if not hasattr(policy.oracle, "solve_batch"):
        return None
    compiled = compiled_run(policy, environment)
    return compiled if compiled and compiled.oracle is None else None


class BatchCallback(Callback):
    """A callback that asks an oracle for the super arms of R replications at once.

    Parameters
    ----------
    oracle : Oracle
        The oracle.
    learners : list of numpy.random.Generator
        The streams of the learners, one per replication.
    indices, super_arms : FloatArray, IntArray, shape (R, .)
        The arrays of the loop for the indices and the super arms, with one row per replication.
    lengths : IntArray, shape (R,)
        The array for the sizes of the super arms.
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
        # If the oracle draws from this generator, it is called per replication, with the stream of each.
        self.probe = np.random.default_rng(0)
        self._untouched = position_of(self.probe)
        self.path, self.seconds = "batch", 0.0
        self.before: Callable[[], None] | None = None

    def _ask(self) -> int:
        if self.before is not None:
            self.before()
        # A copy, because the oracle may keep or change the array.
        started = time.perf_counter()
        answers = self._solve(self._indices.copy())
        self.seconds += time.perf_counter() - started
        if len(answers) != len(self._learners):
            raise ValueError(
                f"{type(self._oracle).__name__}.solve_batch must return {len(self._learners)} super arms,"
                f" got {len(answers)}"
            )
        # If the fast check fails, check the super arms one by one, which raises for an invalid one.
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
            # Discard these answers: with a shared generator, replications would depend on each other.
            # Copy the indices again, because the oracle may have changed its copy.
            self.path, indices = "mixed", self._indices.copy()
        return [self._oracle.solve(row, rng) for row, rng in zip(indices, self._learners, strict=True)]

    def _accept_all(self, answers: Sequence[Any]) -> bool:
        """Accept the answers if one fast check for all of them succeeds, otherwise return False."""
        # If the oracle has a membership test, range and repetition are not enough.
        if self._oracle.has_membership or len({len(a) for a in answers}) != 1:
            return False
        table = np.asarray(answers)
        if table.dtype.kind not in "iu" or table.ndim != 2 or table.shape[1] == 0:
            return False
        ordered = np.sort(table, axis=1)
        # In sorted rows, the ends give the range, and repeated arms do not increase.
        in_range = ordered[:, 0].min() >= 0 and ordered[:, -1].max() < self._oracle.n_choices
        if not in_range or not (ordered[:, 1:] > ordered[:, :-1]).all():
            return False
        self._super_arms[:, : table.shape[1]], self._lengths[:] = table, table.shape[1]
        return True


class _Batch:
    """R replications that are played together, with one call of the oracle per round."""

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
        # Streams are keyed by replication, so numbers do not depend on the groups.
        self._learners = [stream(seed, Purpose.LEARNER, index) for index in group]
        self._coins = [stream(seed, Purpose.ENVIRONMENT, index) for index in group]
        learned = (np.array([getattr(state, name) for state in self._states]) for name in _LEARNED)
        self._learned = Learned(*learned)
        n_arms, n_choices = self._states[0].n_arms, policy.oracle.n_choices
        self._sizes, earned = np.zeros(width, np.int64), np.zeros((width, 2))
        # Space for the longest super arm, whose entries may not be base arms.
        super_arms = np.empty((width, max(n_choices, n_arms)), np.int64)
        recorded, indices = np.full((width, len(rounds), 2), np.nan), np.empty((width, n_arms))
        # The first two entries of `Log.progress`, which are those that this loop uses.
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
        """Play all rounds. If the oracle raises, the rounds before are played and the exception is raised."""
        from cmab.running._kernels_batched import play_batch
        from cmab.running._kernels_bundles import Rows

        last, block, width = int(self._log.checkpoints[-1]), 1, len(self._states)
        while (played := self._played) < last:
            # Increase the rounds per call up to about one tick, which delays Ctrl-C and the progress bar.
            started, block = time.perf_counter(), min(block, last - played)
            # A vector of draws has the same numbers as single draws, so the keys are those of `play_rounds`.
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
        """Return the record of each replication."""
        return [self._record(row, seconds, is_interrupted) for row in range(len(self._states))]

    def _record(self, row: int, seconds: float, is_interrupted: bool) -> Record:
        state, log = self._states[row], self._log
        # Copy the rows into the arrays of each replication.
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
        """Write the indices of a random rule, each row with the stream of its replication."""
        rule, reals, t = self._policy.function, self._policy.reals, self._played + 1
        for row, rng in enumerate(self._learners):
            rule(*(table[row] for table in self._learned), t, reals, rng, self._log.indices[row])
