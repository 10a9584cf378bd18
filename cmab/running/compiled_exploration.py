"""Running an explorer in compiled code: choosing compiled forms, and passing the state to the loop."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cmab.arrays import IntArray
from cmab.compiled import ExplorerKernel, Kernel, compiled_form
from cmab.environment import Environment
from cmab.explorer import AnyExplorer
from cmab.running._compiled_rounds import interrupt_waits
from cmab.statistics import ArmStatistics

_FOREVER = np.iinfo(np.int64).max // 4
# Steps per call of the loop. Ctrl-C is handled between calls, and trees are built again.
_STEPS = 2_000_000
_LONG = 10**8  # samples that take a minute


@dataclass
class Watch:
    """Warnings of a run that has neither a bound of its own nor a limit of the user.

    Attributes
    ----------
    explorer : str
        The name of the explorer.
    cap : int or None
        The default limit, or None if the run has another limit and does not warn.
    """

    explorer: str = ""
    cap: int | None = None
    has_told: bool = False

    def see(self, samples: int, many: int) -> None:
        """Warn once if a run has taken at least `many` samples."""
        if self.cap is not None and samples >= many and not self.has_told:
            self.has_told = True
            self._warn(f"has not stopped after {samples:,} samples and continues up to {self.cap:,}")

    def give_up(self, samples: int) -> None:
        """Warn that the default limit has ended a run."""
        if self.cap is not None:
            self._warn(f"was cut off after {samples:,} samples, the default limit")

    def _warn(self, what: str) -> None:
        why = "the k-th and the next mean may be equal, or the mode may be heuristic"
        warnings.warn(f"{self.explorer} {what}: {why}. Set another limit by max_samples", RuntimeWarning, 4)


class CompiledExploration(NamedTuple):
    """The compiled forms of the rule and the arms of a run."""

    rule: ExplorerKernel
    arms: Kernel


def compiled_exploration(explorer: AnyExplorer, environment: Environment) -> CompiledExploration | None:
    """Return the compiled forms, or None if the explorer or the environment has only a Python form."""
    arms: Kernel | None = compiled_form(environment, "pull_kernel")
    rule: ExplorerKernel | None = compiled_form(explorer) if arms else None
    return CompiledExploration(rule, arms) if rule and arms else None


def explore_compiled(
    explorer: AnyExplorer,
    environment: Environment,
    state: Any,
    rng: np.random.Generator,
    coins: np.random.Generator,
    max_samples: int | None,
    watch: Watch | None = None,
) -> int | None:
    """Continue from `state` in place; return the number of samples, or None without compiled forms."""
    compiled = compiled_exploration(explorer, environment)
    if compiled is None or not isinstance(state, ArmStatistics):
        return None
    limit, samples = _FOREVER if max_samples is None else max_samples, int(state.counts.sum())
    # Sample each arm once here, because compiled rules divide by counts, and trees need a key of each arm.
    while len(unseen := explorer.unseen(state)):
        if samples + len(unseen) > limit:
            return samples
        state.update(environment.sample(unseen, 1, coins))
        samples += len(unseen)
    clock = np.array([state.rounds, samples, limit, _STEPS])
    _loop(compiled, state, watch or Watch(), rng, coins, clock)
    state.rounds = int(clock[0])
    return int(clock[1])


def _loop(
    compiled: CompiledExploration,
    state: ArmStatistics,
    watch: Watch,
    rng: np.random.Generator,
    coins: np.random.Generator,
    clock: IntArray,
) -> None:
    from cmab.compiled import SAMPLES, Arguments, Seen, Streams

    (loop, parameters), arms = compiled
    drawing = arms.function, Arguments(arms.integers, arms.reals)
    # The loop writes into the arrays of the state. Only the clock is copied back.
    seen, is_over = Seen(state.counters, state.means, state.deviations, clock), False
    # The memory of a rule is at the end of its last array of real parameters.
    reals = parameters[-1].reals
    scratch = reals[len(reals) - len(state.memory) :]
    scratch[:] = state.memory
    while not is_over:
        with interrupt_waits():
            is_over = loop(*parameters, *drawing, seen, Streams(rng, coins))
        watch.see(int(clock[SAMPLES]), _LONG)
    state.memory[:] = scratch
