"""Running the compiled loop of rounds: choosing compiled forms, and passing the state to the loop."""

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
from cmab.compiled import Kernel, compiled_form
from cmab.environment import Environment, changes
from cmab.oracle import Oracle
from cmab.policy import AnyPolicy, IndexPolicy
from cmab.running._callbacks import Callback, OracleCallback
from cmab.statistics import ArmStatistics


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
    if policy.oracle.certifies_calls:
        return None
    index = compiled_form(policy)
    play = compiled_form(environment)
    return CompiledRun(index, compiled_form(policy.oracle), play) if index and play else None


@contextmanager
def interrupt_waits(callback: Callback | None = None) -> Iterator[None]:
    """Delay Ctrl-C until the call returns.

    Otherwise numba crashes if the exception occurs while it reads the compiled functions. While the compiled
    code calls Python through `callback`, Ctrl-C is handled immediately.
    """
    # Only the main thread can set handlers, and a handler that was set outside of Python cannot be called.
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield
        return
    came: list[tuple[int, FrameType | None]] = []

    def note(number: int, frame: FrameType | None) -> None:
        # An exception is safe while the oracle runs in Python: the callback stores it until the loop ends.
        if callback is not None and callback.is_asking:
            usual(number, frame)
            return
        came.append((number, frame))
        if callback is not None:
            callback.is_interrupted = True

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
    if came:
        usual(*came[0])


class CompiledReplication:
    """One replication in the compiled loop, which can be played in several calls.

    Parameters
    ----------
    compiled : CompiledRun
        The compiled forms.
    oracle : Oracle
        The oracle. If it has no compiled form, the loop calls its Python form in each round.
    state : ArmStatistics
        The state, which is changed in place.
    learner_rng, coins : numpy.random.Generator
        The streams of the learner and of the environment.
    checkpoints : IntArray, shape (C,)
        Rounds to record.

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
        learner_rng: np.random.Generator,
        coins: np.random.Generator,
        checkpoints: IntArray,
    ) -> None:
        self.state = state
        self.recorded: FloatArray = np.full((len(checkpoints), 2), np.nan)
        from cmab.running._kernels_bundles import Learned, Log, Streams

        # In the order of the constants for `Log.progress`.
        self._progress = np.array([state.rounds, 0, 0, 0])
        self._super_arm = np.empty(max(oracle.n_choices, state.n_arms), np.int64)
        indices, solve, self._callback = np.empty(state.n_arms), compiled.oracle, None
        if solve is None:
            self._callback = OracleCallback(oracle, learner_rng, indices, self._super_arm)
            # The attribute keeps the callback alive while the loop may call its pointer.
            solve = self._callback.kernel
        self._indices = indices
        self._loop = _loop_for(compiled.policy, solve, state)
        self._arguments: tuple[Any, ...] = (
            *rules_of(compiled._replace(oracle=solve)),
            Learned(state.counters, state.means, state.deviations, state.memory),
            Log(
                *(self._progress, checkpoints, self.recorded, np.zeros(2), self._super_arm, indices),
                *room_for_one_round(state),
            ),
            Streams(learner_rng, coins),
        )

    @property
    def oracle_seconds(self) -> float:
        """Seconds in the oracle, or ``nan`` if it is compiled, because compiled code has no clock."""
        return math.nan if self._callback is None else self._callback.seconds

    @property
    def super_arm(self) -> IntArray:
        """The super arm of the last round."""
        from cmab.running._kernels_bundles import SIZE

        return self._super_arm[: self._progress[SIZE]].copy()

    def play(self, last: int) -> None:
        """Play up to round `last`, or to the round before the one in which the oracle raises."""
        from cmab.running._kernels_bundles import LAST, PLAYED

        # The array keeps round, checkpoint and size between calls, so each call continues after the last one.
        self._progress[LAST] = last
        try:
            with interrupt_waits(self._callback):
                came_through = self._loop(*self._arguments)
            if self._callback is not None:
                self._callback.reraise()
            is_stopped = self._callback is not None and self._callback.is_interrupted
            if not came_through and not is_stopped:
                raise ValueError(self._why(int(self._progress[PLAYED]) + 1))
        finally:
            self.state.rounds = int(self._progress[PLAYED])

    def _why(self, t: int) -> str:
        """Return an error message for round `t`, which could not be played."""
        strange = np.flatnonzero(~np.isfinite(self._indices))
        if len(strange):
            arm = int(strange[0])
            return f"indices must be finite, got {self._indices[arm]} for base arm {arm} in round {t}"
        return f"the compiled form of the oracle must return a super arm, got a negative size in round {t}"


def room_for_one_round(state: ArmStatistics) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the last three arrays of `Log`, the buffers of one round."""
    m = state.n_arms
    return np.empty(m, np.int64), np.empty(m), np.empty(2)


def rules_of(compiled: CompiledRun) -> tuple[Any, ...]:
    """Return the first arguments of all loops of rounds: the compiled functions and `Arguments`."""
    from cmab.compiled import is_ours
    from cmab.running._kernels_bundles import Arguments, no_learning

    policy, oracle, environment = compiled
    assert oracle is not None  # compiled form or callback
    learns = policy.learning is not None
    functions = (policy.function, policy.learning or no_learning, oracle.function, environment.function)
    parameters = (*oracle[1:3], *environment[1:3])
    # The tests check that indices of this library are always finite. Checking them here would cost 4 %.
    return *functions, Arguments(policy.reals, learns, *parameters, not is_ours(policy.function))


def _loop_for(policy: Kernel, oracle: Kernel, state: ArmStatistics) -> Any:
    """Return the compiled loop for these forms."""
    if _is_lazy(policy, oracle, state):
        from cmab.running._kernels_lazy import play_rounds_lazily

        return play_rounds_lazily
    from cmab.running._kernels_loop import play_rounds

    return play_rounds


def _is_lazy(policy: Kernel, oracle: Kernel, state: ArmStatistics) -> bool:
    """Return whether the lazy loop applies: CUCB for rewards and an oracle of the k best of many arms."""
    if not policy.is_lazy:
        return False
    from cmab.selection import largest_k

    # For larger k, nearly all arms are candidates, and the bounds cost more than they save.
    return 0 < largest_k(oracle) <= state.n_arms // 10
