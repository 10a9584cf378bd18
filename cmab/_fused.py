"""Running the fused loop: which doors must be open, and how state goes in and out of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.doors import Kernel, open_door
from cmab.environment import Environment
from cmab.policy import AnyPolicy, IndexPolicy
from cmab.statistics import ArmStatistics


class Doors(NamedTuple):
    """The compiled policy, oracle and environment of one run."""

    policy: Kernel
    oracle: Kernel
    environment: Kernel


def open_doors(policy: AnyPolicy, environment: Environment) -> Doors | None:
    """Return the compiled forms of all three, or none if any of them has only its Python form."""
    if not isinstance(policy, IndexPolicy):
        return None
    index = open_door(policy, "indices", "select", "update", "initial_state")
    solve = open_door(policy.oracle, "solve")
    play = open_door(environment, "play", "expected_reward")
    return Doors(index, solve, play) if index and solve and play else None


class FusedRun:
    """One replication on its way through the fused loop.

    Parameters
    ----------
    doors : Doors
        The compiled rules.
    state : ArmStatistics
        Changed in place.
    n_choices : int
        Room for a super arm.
    learner_rng, coins : numpy.random.Generator
        The learner's and the environment's stream.
    """

    def __init__(
        self,
        doors: Doors,
        state: ArmStatistics,
        n_choices: int,
        learner_rng: np.random.Generator,
        coins: np.random.Generator,
    ) -> None:
        self.state = state
        self.earned: FloatArray = np.zeros(2)
        self._super_arm = np.empty(max(n_choices, state.n_arms), np.int64)
        self._size = 0
        self._arguments = self._arrange(doors, learner_rng, coins)
        self._scratch = np.empty(state.n_arms)

    @property
    def super_arm(self) -> IntArray:
        """The super arm of the last round."""
        return self._super_arm[: self._size].copy()

    def play(self, rounds: int) -> None:
        """Play `rounds` more rounds."""
        from cmab._kernels_loop import play_rounds

        first = self.state.rounds + 1
        last = self.state.rounds + rounds
        rest = (first, last, self.earned, self._super_arm, self._scratch)
        self._size = play_rounds(*self._arguments, *rest)  # type: ignore[call-arg]
        self.state.rounds = last

    def _arrange(self, doors: Doors, learner_rng: np.random.Generator, coins: np.random.Generator) -> Any:
        from cmab._kernels_policies import no_index, no_random_index

        policy, oracle, environment = doors
        index = no_index if policy.is_random else policy.function
        random_index = policy.function if policy.is_random else no_random_index
        state = self.state
        return (
            *(index, random_index, policy.is_random, policy.reals),
            *(oracle.function, oracle.integers, oracle.reals),
            *(environment.function, environment.integers, environment.reals),
            *(state.counters, *state.sharing(), state.means, state.deviations),
            *(learner_rng, coins),
        )
