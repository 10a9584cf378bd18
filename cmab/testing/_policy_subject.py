"""The data that the checks of policies share: games in the environment and in artificial problems."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.environment import Environment
from cmab.feedback import Feedback
from cmab.oracle import Oracle
from cmab.policy import AnyPolicy
from cmab.saving._digest import pickled
from cmab.testing._comparisons import Stopwatch
from cmab.ticket import Ticket

T = TypeVar("T")
# The number of rounds of a long game, and the number that even a slow policy plays.
_LONG = 250
_AT_LEAST = 150


@dataclass(frozen=True, eq=False)
class World:
    """An artificial problem with given means, in which all outcomes are at the ends of the support."""

    oracle: Oracle
    means: FloatArray
    support: tuple[float, float]
    _values: dict[bytes, float] = field(default_factory=dict)

    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        """Return the outcomes of all arms that `super_arm` can trigger."""
        low, high = self.support
        arms = np.sort(self.oracle.triggered_arms(super_arm))
        chances = (self.means[arms] - low) / (high - low)
        outcomes = np.where(rng.random(len(arms)) < chances, high, low)
        reward = float(outcomes.sum()) if self.oracle.is_linear else self.value(super_arm)
        return Feedback(arms, outcomes, reward=reward)

    def value(self, super_arm: IntArray) -> float:
        """Return the expected reward; for costs, its negative."""
        name = np.sort(super_arm).tobytes()
        if name not in self._values:
            self._values[name] = self.oracle.sign * self.oracle.expected_reward(super_arm, self.means)
        return self._values[name]


@dataclass(frozen=True, eq=False)
class Subject:
    """A policy and an environment to test it in."""

    policy: AnyPolicy
    environment: Environment
    rounds: int = 50
    seconds: float = 2.0
    rng: int = 0

    def is_super_arm(self, super_arm: IntArray) -> bool:
        """Return whether a super arm is feasible, or is empty while the policy may rest."""
        rests = self.policy.may_rest and len(super_arm) == 0
        return rests or self.policy.oracle.is_feasible(np.sort(super_arm))

    @cached_property
    def untouched(self) -> bytes:
        """The pickled policy before its first round."""
        return pickled(self.policy)

    @property
    def copy(self) -> AnyPolicy:
        """A copy of the policy from before its first round."""
        policy: AnyPolicy = pickle.loads(self.untouched)
        return policy

    @cached_property
    def place(self) -> Environment:
        """The environment of the first round; the environment itself if all rounds are the same."""
        return self.environment.in_round(1, np.random.default_rng(self.rng))

    @cached_property
    def needs_context(self) -> bool:
        """Whether the policy cannot choose without the context of the environment's rounds."""
        if self.place.context is None:
            return False
        rng = np.random.default_rng(self.rng)
        try:
            self.policy.select(self.policy.initial_state(rng), rng)
        except Exception:  # any error shows that the policy needs the context
            return True
        return False

    def select(self, policy: AnyPolicy, state: Any, rng: np.random.Generator) -> IntArray:
        """Return the policy's choice in the first round of the environment."""
        return np.array(policy.select(state, rng, self.place.context))

    def learn(self, state: Any, super_arm: IntArray, feedback: Feedback, rng: np.random.Generator) -> None:
        """Update the policy with its super arm of that round and the feedback."""
        self.policy.update(state, feedback, Ticket(0, super_arm, context=self.place.context), rng)

    @property
    def support(self) -> tuple[float, float]:
        """The interval of artificial outcomes: a bounded support of the policy or environment, or (0, 1)."""
        low, high = self.policy.support or self.environment.support
        return (low, high) if np.isfinite(low) and np.isfinite(high) else (0.0, 1.0)

    def world(self, means: FloatArray) -> World:
        """Return an artificial problem whose means are given as fractions of the support."""
        low, high = self.support
        return World(self.policy.oracle, low + (high - low) * means, self.support)

    @cached_property
    def worlds(self) -> tuple[World, World] | None:
        """Two problems whose best super arms differ much in value; None if there is only one super arm."""
        rng, oracle = np.random.default_rng(self.rng), self.policy.oracle
        worlds = [self.world(rng.choice(np.array([0.1, 0.9]), oracle.n_arms)) for _ in range(10)]
        best = [oracle.solve(world.means.copy(), np.random.default_rng(7)) for world in worlds]
        values = np.array([[world.value(arm) for arm in best] for world in worlds])
        # lost[i, j] is the loss in world i of the best answer for world j. The pair of largest sum is taken.
        lost = np.diag(values)[:, None] - values
        first, second = np.unravel_index(np.argmax(lost + lost.T), lost.shape)
        apart = (lost + lost.T)[first, second] > 1e-6 * np.abs(values).max()
        return (worlds[first], worlds[second]) if apart else None

    def timed(self, items: Iterable[T], share: float = 0.1) -> Iterator[T]:
        """Yield items until a share of the time limit is over."""
        watch = Stopwatch()
        for number, item in enumerate(items):
            if number >= _AT_LEAST and watch.seconds() > share * self.seconds:
                return
            yield item

    def game(
        self, policy: AnyPolicy, place: Any, seed: int, state: Any = None, rounds: int = _LONG
    ) -> Iterator[tuple[IntArray, Feedback, Any]]:
        """Yield the super arm, the feedback and the updated state of each round."""
        # The policy, the outcomes and the rounds have separate generators, so that none affects the others.
        rng, coins = np.random.default_rng(seed), np.random.default_rng((seed, 1))
        state = policy.initial_state(rng) if state is None else state
        drawn = np.random.default_rng((seed, 2))
        for t in range(1, rounds + 1):
            world = place.in_round(t, drawn) if isinstance(place, Environment) else place
            context = world.context if isinstance(place, Environment) else None
            super_arm = np.array(policy.select(state, rng, context))
            feedback = world.play(super_arm, coins)
            policy.update(state, feedback, Ticket(t - 1, super_arm.copy(), context=context), rng)
            yield super_arm, feedback, state

    @cached_property
    def long_game(self) -> list[IntArray]:
        """The super arms of a long game in the environment."""
        return [arm for arm, _, _ in self.timed(self.game(self.policy, self.environment, self.rng))]
