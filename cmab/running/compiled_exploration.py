"""Running an explorer in compiled code: which forms it takes, and how state goes in and out."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cmab.arrays import IntArray
from cmab.compiled.forms import ExplorerKernel, Kernel, compiled_form
from cmab.environment import Environment
from cmab.explorer import AnyExplorer
from cmab.running._compiled_rounds import interrupt_waits
from cmab.statistics import ArmStatistics

_FOREVER = np.iinfo(np.int64).max // 4
# Between calls of the loop a Ctrl-C gets through; trees are planted anew.
_STEPS = 2_000_000
_LONG = 10**8  # samples that take a minute


@dataclass
class Watch:
    """What a run says of itself that has no bound of its own and no cap of the user's.

    Attributes
    ----------
    explorer : str
        Its name.
    cap : int or None
        The default cap; None where the run has another end, and nothing is said.
    """

    explorer: str = ""
    cap: int | None = None
    has_told: bool = False

    def see(self, samples: int, many: int) -> None:
        """Warn once of a run that has taken `many` samples."""
        if self.cap is not None and samples >= many and not self.has_told:
            self.has_told = True
            self._warn(f"is undecided after {samples:,} samples and goes on to {self.cap:,}")

    def give_up(self, samples: int) -> None:
        """Warn of a run that the default cap has ended."""
        if self.cap is not None:
            self._warn(f"was cut off undecided after {samples:,} samples, the default cap")

    def _warn(self, what: str) -> None:
        why = "the k-th and the next mean may be equal, or the mode a heuristic one"
        warnings.warn(f"{self.explorer} {what}: {why}. max_samples sets another cap", RuntimeWarning, 4)


class CompiledExploration(NamedTuple):
    """The compiled rule and arms of a run."""

    rule: ExplorerKernel
    arms: Kernel


def compiled_exploration(explorer: AnyExplorer, environment: Environment) -> CompiledExploration | None:
    """Return the compiled forms, or none if the explorer or the environment has only its Python form."""
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
    """Go on from `state`, changing it; return all samples so far, or None if there is no compiled form."""
    compiled = compiled_exploration(explorer, environment)
    if compiled is None or not isinstance(state, ArmStatistics):
        return None
    limit, samples = _FOREVER if max_samples is None else max_samples, int(state.counts.sum())
    # The first outcomes come in numpy: compiled rules divide by counts, and trees need a key of each arm.
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
    from cmab.compiled._kernels_exploration import SAMPLES, Arguments, Seen, Streams

    (loop, parameters), arms = compiled
    drawing = arms.function, Arguments(arms.integers, arms.reals)
    # The loop writes into the state's own arrays; only the clock is copied back.
    seen, is_over = Seen(state.counters, state.means, state.deviations, clock), False
    # A rule finds its memory at the end of its real parameters, which come last.
    reals = parameters[-1].reals
    scratch = reals[len(reals) - len(state.memory) :]
    scratch[:] = state.memory
    while not is_over:
        with interrupt_waits():
            is_over = loop(*parameters, *drawing, seen, Streams(rng, coins))
        watch.see(int(clock[SAMPLES]), _LONG)
    state.memory[:] = scratch
