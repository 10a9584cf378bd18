"""Running the fused loop: which doors must be open, and how state goes in and out of it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.doors import Kernel, open_door
from cmab.environment import Environment, round_key
from cmab.oracle import Oracle
from cmab.policy import AnyPolicy, IndexPolicy
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
    """Return the compiled forms, or none if the policy or the environment has only its Python form."""
    if not isinstance(policy, IndexPolicy):
        return None
    index = open_door(policy, "indices", "select", "update", "initial_state")
    play = open_door(environment, "play", "expected_reward")
    return Doors(index, open_door(policy.oracle, "solve"), play) if index and play else None


@contextmanager
def interrupt_waits() -> Iterator[None]:
    """Hold Ctrl-C back until the call is over: numba, reading compiled functions, crashes on an exception."""
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
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
        Called from Python, round by round, where its door is closed.
    state : ArmStatistics
        Changed in place.
    learner_rng, coins : numpy.random.Generator
        The learner's and the environment's stream.
    """

    def __init__(
        self,
        doors: Doors,
        oracle: Oracle,
        state: ArmStatistics,
        learner_rng: np.random.Generator,
        coins: np.random.Generator,
    ) -> None:
        self.state = state
        self.earned: FloatArray = np.zeros(2)
        self._doors, self._oracle, self._rng, self._coins = doors, oracle, learner_rng, coins
        self._learned = (state.counters, *state.sharing(), state.means, state.deviations)
        self._buffer = np.empty(max(oracle.n_choices, state.n_arms), np.int64)
        self._size = 0

    @property
    def super_arm(self) -> IntArray:
        """The super arm of the last round."""
        return self._buffer[: self._size].copy()

    def play(self, rounds: int) -> None:
        """Play `rounds` more rounds."""
        if self._doors.oracle is None:
            for _ in range(rounds):
                self._play_round()
        else:
            self._play_fused(self._doors.oracle, rounds)

    def _play_fused(self, oracle: Kernel, rounds: int) -> None:
        from cmab._kernels_loop import play_rounds
        from cmab._kernels_policies import no_index, no_random_index

        policy, _, environment = self._doors
        index = no_index if policy.is_random else policy.function
        random_index = policy.function if policy.is_random else no_random_index
        arguments: tuple[Any, ...] = (
            *(index, random_index, policy.is_random, policy.reals),
            *(oracle.function, oracle.integers, oracle.reals),
            *(environment.function, environment.integers, environment.reals),
            *(*self._learned, self._rng, self._coins),
            *(self.state.rounds + 1, self.state.rounds + rounds),
            *(self.earned, self._buffer, np.empty(self.state.n_arms)),
        )
        with interrupt_waits():
            self._size = play_rounds(*arguments)
        self.state.rounds += rounds

    def _play_round(self) -> None:
        """Play one round as the fused loop would, with the oracle's Python form in the middle."""
        from cmab._kernels_statistics import observe

        state, (policy, _, environment), m = self.state, self._doors, self.state.n_arms
        randomness = (self._rng,) if policy.is_random else ()
        indices, totals = np.empty(m), np.empty(2)
        policy.function(state.counts, state.means, state.rounds + 1, policy.reals, *randomness, indices)
        answer = self._oracle.solve(indices, self._rng)
        chosen = self._oracle.check_super_arm(answer, "the super arm of solve")
        self._size = len(chosen)
        self._buffer[: self._size] = chosen
        arms, outcomes, ones = np.empty(m, np.int64), np.empty(m), np.ones(m, np.int64)
        key = round_key(self._coins)
        parameters = (environment.integers, environment.reals)
        n = environment.function(self._buffer, self._size, key, *parameters, arms, outcomes, totals)
        observe(n, arms, outcomes, ones, outcomes, *self._learned)
        self.earned += totals
        state.rounds += 1
