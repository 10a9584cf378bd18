"""What the checks of environments share: many rounds, and single pulls of many arms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.environment import Environment
from cmab.feedback import Feedback
from cmab.testing._checks import Stopwatch

T = TypeVar("T")
_PULLED_ARMS = 200
_PULLS = 400_000


@dataclass(frozen=True, eq=False)
class Subject:
    """An environment and some of its super arms."""

    environment: Environment
    super_arms: list[IntArray]
    draws: int
    seed: int
    seconds: float

    @property
    def name(self) -> str:
        return type(self.environment).__name__

    @property
    def oracle(self) -> Any:
        """The oracle of its super arms, where it has one."""
        return getattr(self.environment, "oracle", None)

    @cached_property
    def first_rounds(self) -> list[Feedback]:
        """Some rounds, each in a generator state of its own, before all others were played."""
        return list(self.fixed_rounds())

    def fixed_rounds(self) -> Iterator[Feedback]:
        """Yield the rounds of `first_rounds` played again."""
        for state in range(20):
            for super_arm in self.super_arms:
                yield self.environment.play(super_arm.copy(), np.random.default_rng(state))

    @cached_property
    def rounds(self) -> list[list[Feedback]]:
        """Many rounds of each super arm."""
        assert self.first_rounds is not None
        rng = np.random.default_rng((11, self.seed))
        return [list(self.more(arm, self.draws, rng)) for arm in self.super_arms]

    def more(self, super_arm: IntArray, draws: int, rng: np.random.Generator) -> Iterator[Feedback]:
        """Yield `draws` further rounds."""
        return (self.environment.play(super_arm, rng) for _ in range(draws))

    @cached_property
    def pulled(self) -> tuple[IntArray, FloatArray]:
        """The arms that are pulled, and many outcomes of each, shape (arms, pulls)."""
        n_arms = self.environment.n_arms
        arms = np.arange(n_arms)
        if n_arms > _PULLED_ARMS:
            arms = np.sort(np.random.default_rng(self.seed).choice(n_arms, _PULLED_ARMS, replace=False))
        rng, rows = np.random.default_rng((12, self.seed)), []
        pulls = max(200, self.draws // 10)
        # In many calls: what changes from call to call shows, and slow environments end in time.
        for _ in self.timed(range(max(10, _PULLS // (pulls * len(arms)))), 0.2):
            row = self.environment.pull(np.repeat(arms, pulls), rng)
            rows.append(row.reshape(len(arms), pulls))
        return arms, np.concatenate(rows, axis=1)

    def timed(self, items: Iterable[T], share: float, at_least: int = 10) -> Iterator[T]:
        """Yield items until a share of the seconds is over."""
        watch = Stopwatch()
        for number, item in enumerate(items):
            if number >= at_least and watch.seconds() > share * self.seconds:
                return
            yield item
