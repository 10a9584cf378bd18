"""The data that the checks of environments share: many rounds, and single pulls of many arms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.environment import Environment
from cmab.feedback import Feedback
from cmab.testing._comparisons import Stopwatch
from cmab.testing._environment_draws import Draw, fixed_pulls, fixed_rounds

T = TypeVar("T")
# The largest numbers of pulled arms, of pulls of all arms together and of blocks of sums; the pulls in a sum.
_PULLED_ARMS = 200
_PULLS = 400_000
_BLOCKS = 10
TIMES = 7


@dataclass(frozen=True, eq=False)
class Subject:
    """An environment and some of its super arms."""

    environment: Environment
    given: InitVar[Iterable[ArrayLike]]
    draws: int = 4000
    seconds: float = 2.0
    rng: int = 0
    super_arms: list[IntArray] = field(init=False)

    def __post_init__(self, given: Iterable[ArrayLike]) -> None:
        arms = [np.array(list(arm), np.int64) for arm in given]  # type: ignore[arg-type]
        object.__setattr__(self, "super_arms", arms)

    @property
    def oracle(self) -> Any:
        """The oracle of the environment, or None if it has no oracle."""
        return getattr(self.environment, "oracle", None)

    @cached_property
    def first_draws(self) -> list[Draw]:
        """Rounds and pulls in fixed generator states, played before all others."""
        # The checks compare later draws with those of an environment that had not been played. Therefore
        # other methods access this property first.
        assert self.first_truth is not None
        return list(fixed_rounds(self.environment, self.super_arms)) + self.first_pulls

    def truth(self) -> dict[str, FloatArray]:
        """Return the quantities that regret is computed from."""
        environment = self.environment
        rewards = [environment.expected_reward(arm.copy()) for arm in self.super_arms]
        truth = {"means": environment.means, "optimum": environment.optimum, "expected rewards": rewards}
        return {name: np.array(part, np.float64) for name, part in truth.items()}

    @cached_property
    def first_truth(self) -> dict[str, FloatArray]:
        """The `truth` before all rounds."""
        return self.truth()

    @cached_property
    def first_pulls(self) -> list[Draw]:
        """The pulls among `first_draws`; empty if pulling raises an error, which other checks report."""
        try:
            return list(fixed_pulls(self.environment, self.arms))
        except Exception:  # an environment without pulls may declare this by `expected_failures`
            return []

    def draws_again(self, environment: Environment | None = None) -> list[Draw]:
        """Repeat the draws of `first_draws`, by default in the same environment."""
        place = self.environment if environment is None else environment
        pulls = fixed_pulls(place, self.arms) if self.first_pulls else ()
        return [*fixed_rounds(place, self.super_arms), *pulls]

    @cached_property
    def rounds(self) -> list[list[Feedback]]:
        """Many rounds of each super arm."""
        assert self.first_draws is not None
        rng = np.random.default_rng((11, self.rng))
        return [list(self.more(arm, self.draws, rng)) for arm in self.super_arms]

    def more(self, super_arm: IntArray, draws: int, rng: np.random.Generator) -> Iterator[Feedback]:
        """Yield `draws` more rounds."""
        return (self.environment.play(super_arm, rng) for _ in range(draws))

    @cached_property
    def arms(self) -> IntArray:
        """The arms that are pulled."""
        n_arms = self.environment.n_arms
        if n_arms <= _PULLED_ARMS:
            return np.arange(n_arms)
        return np.sort(np.random.default_rng(self.rng).choice(n_arms, _PULLED_ARMS, replace=False))

    @cached_property
    def pulled(self) -> tuple[IntArray, FloatArray]:
        """The pulled arms and many outcomes of each, of shape (arms, pulls)."""
        assert self.first_draws is not None
        arms = self.arms
        rng, rows = np.random.default_rng((12, self.rng)), []
        pulls = max(200, self.draws // 10)
        # Many calls detect changes between calls, and stop in time for slow environments.
        for _ in self.timed(range(max(10, _PULLS // (pulls * len(arms)))), 0.2):
            row = self.environment.pull(np.repeat(arms, pulls), rng)
            rows.append(row.reshape(len(arms), pulls))
        return arms, np.concatenate(rows, axis=1)

    @cached_property
    def sums(self) -> tuple[FloatArray, FloatArray]:
        """Sums of `TIMES` pulls and of their squares for each arm of `arms`, of shape (arms, sums)."""
        assert self.first_draws is not None
        each = max(30, min(200, 20_000 // len(self.arms)))
        arms, rng = np.repeat(self.arms, each), np.random.default_rng((5, self.rng))
        blocks = []
        for _ in self.timed(range(_BLOCKS), 0.02, at_least=1):
            told = np.array(self.environment.pull_many(arms, np.full(len(arms), TIMES), rng))
            blocks.append(told.reshape(2, len(self.arms), each))
        sums, squares = np.concatenate(blocks, axis=2)
        return sums, squares

    def timed(self, items: Iterable[T], share: float, at_least: int = 10) -> Iterator[T]:
        """Yield items until a share of the time limit is over."""
        watch = Stopwatch()
        for number, item in enumerate(items):
            if number >= at_least and watch.seconds() > share * self.seconds:
                return
            yield item
