"""Running the fused loop: which doors must be open, and how state goes in and out of it."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.compiled.forms import Kernel, open_door
from cmab.environment import Environment, changes
from cmab.oracle import Oracle
from cmab.policy import AnyPolicy, IndexPolicy, Policy
from cmab.running._python_oracle import Door, PythonDoor
from cmab.statistics import ArmStatistics


class Doors(NamedTuple):
    """The compiled policy and environment of one run, and the oracle's if it has one."""

    policy: Kernel
    oracle: Kernel | None
    environment: Kernel

    @property
    def path(self) -> str:
        """Name of the loop that goes through these doors."""
        return "mixed" if self.oracle is None else "compiled"


def open_doors(policy: AnyPolicy, environment: Environment) -> Doors | None:
    """Return the compiled forms, or none if the policy or the environment has only its Python form.

    Compiled loops know neither contexts nor tickets, nor rounds that differ.
    """
    if not isinstance(policy, IndexPolicy) or environment.context is not None or changes(environment):
        return None
    if not _has_usual(policy, "select_for", IndexPolicy) or not _has_usual(policy, "learn", Policy):
        return None
    index = open_door(policy, "indices", "select", "update", "initial_state", "start")
    play = open_door(environment, "play", "expected_reward")
    return Doors(index, open_door(policy.oracle, "solve"), play) if index and play else None


def _has_usual(policy: AnyPolicy, method: str, base: type) -> bool:
    """Return whether a policy's method is that of `base`."""
    own = method in getattr(policy, "__dict__", ())
    return not own and getattr(type(policy), method) is getattr(base, method)


@contextmanager
def interrupt_waits(door: Door | None = None) -> Iterator[None]:
    """Hold Ctrl-C back until the call is over: numba, reading compiled functions, crashes on an exception.

    Only while Python is asked, through `door`, it gets through at once.
    """
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield
        return
    came: list[tuple[int, FrameType | None]] = []

    def note(number: int, frame: FrameType | None) -> None:
        if door is not None and door.is_asking:
            usual(number, frame)
            return
        came.append((number, frame))
        if door is not None:
            door.is_interrupted = True

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
    if came:
        usual(*came[0])


class FusedRun:
    """One replication on its way through the fused loop.

    Parameters
    ----------
    doors : Doors
        The compiled rules.
    oracle : Oracle
        Called from the loop, round by round, where its door is closed.
    state : ArmStatistics
        Changed in place.
    learner_rng, coins : numpy.random.Generator
        The learner's and the environment's stream.
    checkpoints : IntArray, shape (C,)
        Rounds to record.

    Attributes
    ----------
    recorded : FloatArray, shape (C, 2)
        Cumulative realised and expected reward, ``nan`` after the round that was reached.
    """

    def __init__(
        self,
        doors: Doors,
        oracle: Oracle,
        state: ArmStatistics,
        learner_rng: np.random.Generator,
        coins: np.random.Generator,
        checkpoints: IntArray,
    ) -> None:
        self.state = state
        self.recorded: FloatArray = np.full((len(checkpoints), 2), np.nan)
        self._progress = np.array([state.rounds, 0, 0])
        self._super_arm = np.empty(max(oracle.n_choices, state.n_arms), np.int64)
        indices, solve, self._door = np.empty(state.n_arms), doors.oracle, None
        if solve is None:
            self._door = PythonDoor(oracle, learner_rng, indices, self._super_arm)
            solve = self._door.kernel
        self._loop, rules = _loop_for(doors.policy, solve, doors.environment, state, learner_rng)
        learned = (state.counters, *state.sharing(), state.means, state.deviations)
        self._before: tuple[Any, ...] = (*rules, *learned, coins)
        self._after: tuple[Any, ...] = (
            *(self._progress, checkpoints, self.recorded),
            *(np.zeros(2), self._super_arm, indices),
        )

    @property
    def oracle_seconds(self) -> float:
        """Seconds in the oracle; ``nan`` where it is compiled, for compiled code has no clock."""
        return math.nan if self._door is None else self._door.seconds

    @property
    def super_arm(self) -> IntArray:
        """The super arm of the last round."""
        return self._super_arm[: self._progress[2]].copy()

    def play(self, last: int) -> None:
        """Play up to round `last`; raises what the oracle raises, with the rounds before it played."""
        try:
            with interrupt_waits(self._door):
                self._loop(*self._before, last, *self._after)
            if self._door is not None:
                self._door.reraise()
        finally:
            self.state.rounds = int(self._progress[0])


def _loop_for(
    policy: Kernel, oracle: Kernel, environment: Kernel, state: ArmStatistics, rng: np.random.Generator
) -> tuple[Any, tuple[Any, ...]]:
    """Return the loop for these rules, and the arguments that it begins with."""
    if _is_lazy(policy, oracle, state):
        from cmab.running._kernels_lazy import play_rounds_lazily

        return play_rounds_lazily, (policy.reals, len(oracle.integers), *environment[:3])
    from cmab.running._kernels_loop import no_index, no_random_index, play_rounds

    index = no_index if policy.is_random else policy.function
    random_index = policy.function if policy.is_random else no_random_index
    rules = (index, random_index, policy.is_random, policy.reals)
    return play_rounds, (*rules, *oracle[:3], *environment[:3], rng)


def _is_lazy(policy: Kernel, oracle: Kernel, state: ArmStatistics) -> bool:
    """Return whether most arms need not be looked at in most rounds: CUCB for rewards, k of many arms."""
    if (
        policy.function.__module__ != "cmab.policies._kernels_optimism"
    ):  # nor need that be compiled to compare
        return False
    from cmab.compiled._kernels_top_k import solve_top_k
    from cmab.policies._kernels_optimism import optimistic_means

    if policy.function is not optimistic_means or oracle.function is not solve_top_k:
        return False
    has_prior, is_maximising = len(policy.reals) > 6, policy.reals[3] > 0.0
    k, m = len(oracle.integers), state.n_arms
    return is_maximising and not has_prior and state.clusters is None and 0 < k <= m // 10
