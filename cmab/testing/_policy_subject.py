"""The subject of the checks of policies: runs in the environment and in artificial worlds."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.environment import Environment
from cmab.feedback import Feedback, Ticket
from cmab.oracle import Oracle
from cmab.policy import AnyPolicy
from cmab.saving._digest import pickled
from cmab.testing._comparisons import Stopwatch, entries
from cmab.testing._trials import Calls, Trial, policy_steps

T = TypeVar("T")
# Number of rounds of a long run, and the minimal number for a slow policy.
_LONG = 250
_AT_LEAST = 150


@dataclass(frozen=True, eq=False)
class World:
    """Base arms with given means and outcomes at the two ends of the support."""

    oracle: Oracle
    means: FloatArray
    support: tuple[float, float]
    _values: dict[bytes, float] = field(default_factory=dict)

    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        """Return the outcomes of all arms that `super_arm` may trigger."""
        low, high = self.support
        arms = np.sort(self.oracle.triggered_arms(super_arm))
        chances = (self.means[arms] - low) / (high - low)
        outcomes = np.where(rng.random(len(arms)) < chances, high, low)
        reward = float(outcomes.sum()) if self.oracle.is_linear else self.value(super_arm)
        return Feedback(arms, outcomes, reward=reward)

    def best(self) -> IntArray:
        """Return the super arm that the oracle selects for the true means."""
        return np.array(self.oracle.solve(self.means.copy(), np.random.default_rng(7)))

    def value(self, super_arm: IntArray) -> float:
        """Return the expected reward, or the negative expected cost."""
        name = np.sort(super_arm).tobytes()
        if name not in self._values:
            self._values[name] = self.oracle.sign * self.oracle.expected_reward(super_arm, self.means)
        return self._values[name]


@dataclass(frozen=True, eq=False)
class Subject:
    """A policy and an environment in which it is tried."""

    policy: AnyPolicy
    environment: Environment
    rounds: int = 50
    seconds: float = 2.0
    rng: int = 0
    kept: dict[str, Any] = field(init=False, default_factory=dict)

    def is_super_arm(self, super_arm: IntArray) -> bool:
        """Return whether a super arm is feasible, or is empty and the policy has `may_rest`."""
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
    def trial(self) -> Trial:
        """A short run in the environment of round 1."""
        return Trial(self.policy, policy_steps, (self.place, self.rng))

    @cached_property
    def place(self) -> Environment:
        """The environment of round 1, which is the environment itself if all rounds are alike."""
        return self.environment.in_round(1, np.random.default_rng(self.rng))

    @cached_property
    def needs_context(self) -> bool:
        """Whether `select` raises an exception without the context that the environment provides."""
        if self.place.context is None:
            return False
        rng = np.random.default_rng(self.rng)
        try:
            self.policy.select(self.policy.initial_state(rng), rng)
        except Exception:  # the type depends on the policy
            return True
        return False

    def drawing(self, rng: np.random.Generator) -> Calls:
        """Yield the calls that take a generator, in a state after some rounds."""
        state: Any = self.policy.initial_state(rng)
        for _ in range(3):
            super_arm = self.select(self.policy, state, rng)
            self.learn(state, super_arm, self.place.play(super_arm.copy(), rng), rng)
        yield "select", partial(self.select, self.policy, state)

    def select(self, policy: AnyPolicy, state: Any, rng: np.random.Generator) -> IntArray:
        """Return the super arm that a policy selects in round 1 of the environment."""
        return entries(policy.select(state, rng, self.place.context))

    def learn(self, state: Any, super_arm: IntArray, feedback: Feedback, rng: np.random.Generator) -> None:
        """Update the state with the feedback of a super arm in round 1."""
        self.policy.update(state, feedback, Ticket(0, super_arm, context=self.place.context), rng)

    @property
    def support(self) -> tuple[float, float]:
        """The two outcomes of artificial worlds: the ends of the support, or 0 and 1 if it is unbounded."""
        low, high = self.policy.support or self.environment.support
        return (low, high) if np.isfinite(low) and np.isfinite(high) else (0.0, 1.0)

    @cached_property
    def levels(self) -> FloatArray:
        """Outcomes that reports contain: ends, numbers between them, 0, and far ones if there are no ends."""
        (low, high), (left, right) = self.support, self.policy.support or self.environment.support
        inside = low + (high - low) * np.array([0.0, 0.03, 0.37, 0.62, 0.999, 1.0])
        others = [number for number in (0.0,) if low < number < high]
        others += [number for number, end in ((-1.3, left), (4.2, right)) if not np.isfinite(end)]
        return np.append(inside, others)

    def world(self, means: FloatArray) -> World:
        """Return the world with means `means`, given as fractions of the support."""
        low, high = self.support
        return World(self.policy.oracle, low + (high - low) * means, self.support)

    @cached_property
    def worlds(self) -> tuple[World, World] | None:
        """Two worlds with very different best super arms, or None if one super arm is best in all worlds."""
        rng, oracle = np.random.default_rng(self.rng), self.policy.oracle
        worlds = [self.world(rng.choice(np.array([0.1, 0.9]), oracle.n_arms)) for _ in range(10)]
        best = [np.array(oracle.solve(world.means.copy(), np.random.default_rng(7))) for world in worlds]
        values = np.array([[world.value(arm) for arm in best] for world in worlds])
        # lost[i, j] is the loss in world i of the best super arm of world j. Take the pair with most loss.
        lost = np.diag(values)[:, None] - values
        first, second = np.unravel_index(np.argmax(lost + lost.T), lost.shape)
        apart = (lost + lost.T)[first, second] > 1e-6 * np.abs(values).max()
        return (worlds[first], worlds[second]) if apart else None

    def timed(self, items: Iterable[T], share: float = 0.1) -> Iterator[T]:
        """Yield items for `share` of the seconds, and at least `_AT_LEAST` items."""
        watch = Stopwatch()
        for number, item in enumerate(items):
            if number >= _AT_LEAST and watch.seconds() > share * self.seconds:
                return
            yield item

    def game(
        self, policy: AnyPolicy, place: Any, seed: int, state: Any = None, rounds: int = _LONG
    ) -> Iterator[tuple[IntArray, Feedback, Any]]:
        """Yield the super arm, the feedback and the updated state of each round of a run."""
        # Policy, outcomes and rounds have separate generators, so that the draws of one affect no other.
        rng, coins = np.random.default_rng(seed), np.random.default_rng((seed, 1))
        state = policy.initial_state(rng) if state is None else state
        drawn = np.random.default_rng((seed, 2))
        for t in range(1, rounds + 1):
            world = place.in_round(t, drawn) if isinstance(place, Environment) else place
            context = world.context if isinstance(place, Environment) else None
            super_arm = entries(policy.select(state, rng, context))
            feedback = world.play(super_arm, coins)
            policy.update(state, feedback, Ticket(t - 1, super_arm.copy(), context=context), rng)
            yield super_arm, feedback, state

    @cached_property
    def long_game(self) -> list[IntArray]:
        """The super arms of a long run in the environment."""
        return [arm for arm, _, _ in self.timed(self.game(self.policy, self.environment, self.rng))]
