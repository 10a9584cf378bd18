"""The subject of the checks of environments: rounds, single pulls, and sums of pulls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import InitVar, dataclass, field
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.environment import Environment
from cmab.feedback import Feedback
from cmab.testing._comparisons import Stopwatch
from cmab.testing._environment_draws import Draw, fixed_pulls, fixed_rounds
from cmab.testing._environment_numbers import draws_each_arm
from cmab.testing._trials import Calls, Trial, environment_steps

T = TypeVar("T")
# Maximal number of arms that are pulled, total number of pulls, number of blocks of sums, and pulls per sum.
_PULLED_ARMS = 200
_PULLS = 400_000
_BLOCKS = 10
TIMES = 7
# Least number of outcomes of an arm in a call, and number of outcomes of an arm whose time is measured.
_FEWEST, _MEASURED = 80, 10
# Maximal number of seeds of a check that compares single rounds.
_SEEDS = 400
# Number of super arms and of arms of a short run.
_TRIED = 10
# Rounds of a super arm and of all super arms, and the least number of rounds of a super arm.
_DRAWS, _TOTAL, _LEAST = 4000, 8000, 300


@dataclass(frozen=True, eq=False)
class Subject:
    """An environment and some of its super arms."""

    environment: Environment
    given: InitVar[Iterable[ArrayLike]]
    draws: int | None = None
    seconds: float = 2.0
    rng: int = 0
    exhaustive: bool = False
    super_arms: list[IntArray] = field(init=False)
    _further: dict[int, list[Feedback]] = field(init=False, default_factory=dict)

    def __post_init__(self, given: Iterable[ArrayLike]) -> None:
        arms = [np.array(list(arm), np.int64) for arm in given]  # type: ignore[arg-type]
        object.__setattr__(self, "super_arms", arms)

    @property
    def oracle(self) -> Any:
        """The oracle of the environment, or None."""
        return getattr(self.environment, "oracle", None)

    @cached_property
    def first_draws(self) -> list[Draw]:
        """Some rounds and pulls, each with its own seed, before all others."""
        # Other properties assert this one before they play, so that later draws are compared with draws of an
        # environment that had not been played.
        assert self.first_truth is not None
        return list(fixed_rounds(self.environment, self.super_arms)) + self.first_pulls

    @cached_property
    def trial(self) -> Trial:
        """A short run: a few rounds of each super arm, and pulls unless pulling raises."""
        arms = self.arms[:_TRIED] if self.first_pulls else self.arms[:0]
        return Trial(self.environment, environment_steps, (self.super_arms[:_TRIED], arms))

    def drawing(self, rng: np.random.Generator) -> Calls:  # noqa: ARG002
        """Yield the calls that take a generator."""
        yield "play", partial(self.environment.play, self.super_arms[0].copy())
        if self.first_pulls:
            yield "pull", partial(self.environment.pull, self.arms[:_TRIED].copy())

    def truth(self) -> dict[str, FloatArray]:
        """Return the means, the optimum, and the expected rewards of the super arms."""
        environment = self.environment
        rewards = [environment.expected_reward(arm.copy()) for arm in self.super_arms]
        truth = {"means": environment.means, "optimum": environment.optimum, "expected rewards": rewards}
        chances = [environment.triggering_probabilities(arm.copy()) for arm in self.super_arms]
        if all(part is not None for part in chances):
            truth["triggering probabilities"] = np.array(chances)
        return {name: np.array(part, np.float64) for name, part in truth.items()}

    @cached_property
    def first_truth(self) -> dict[str, FloatArray]:
        """The means, the optimum and the expected rewards before the first round."""
        return self.truth()

    @cached_property
    def first_pulls(self) -> list[Draw]:
        """The pulls of `first_draws`, or an empty list if pulling raises, which other checks report."""
        try:
            return list(fixed_pulls(self.environment, self.arms))
        except Exception:  # `expected_failures` may declare that there are no pulls
            return []

    def draws_again(self, environment: Environment | None = None) -> list[Draw]:
        """Repeat the draws of `first_draws`, in the same environment by default."""
        place = self.environment if environment is None else environment
        pulls = fixed_pulls(place, self.arms) if self.first_pulls else ()
        return [*fixed_rounds(place, self.super_arms), *pulls]

    @property
    def many(self) -> int:
        """The number of rounds for a super arm in doubt."""
        return _DRAWS if self.draws is None else self.draws

    @property
    def each(self) -> int:
        """The number of rounds for each super arm: as given, or fewer if there are many super arms."""
        if self.draws is not None:
            return self.draws
        return min(max(_TOTAL // len(self.super_arms), _LEAST), _DRAWS)

    @cached_property
    def rounds(self) -> list[list[Feedback]]:
        """`each` rounds of each super arm, or fewer if they take long."""
        assert self.first_draws is not None
        rng = np.random.default_rng((11, self.rng))
        return [self._shown(arm, rng) for arm in self.super_arms]

    def _shown(self, super_arm: IntArray, rng: np.random.Generator) -> list[Feedback]:
        least = self.each if self.draws is not None else min(self.each, _LEAST)
        seconds, watch = 0.3 / len(self.super_arms) * self.seconds, Stopwatch()
        shown: list[Feedback] = []
        # The time is read before each draw, because a replay draws exactly these rounds.
        while len(shown) < least or (len(shown) < self.each and watch.seconds() <= seconds):
            shown.append(self.environment.play(super_arm, rng))
        return shown

    def further(self, number: int) -> list[Feedback]:
        """Return more rounds of a super arm whose averages are in doubt."""
        if number not in self._further:
            rng = np.random.default_rng((19, self.rng, number))
            shown = self.more(self.super_arms[number], 4 * self.many, rng)
            self._further[number] = list(self.timed(shown, 0.1, self.many // 2))
        return self._further[number]

    def more(self, super_arm: IntArray, draws: int, rng: np.random.Generator) -> Iterator[Feedback]:
        """Yield `draws` further rounds of a super arm."""
        return (self.environment.play(super_arm, rng) for _ in range(draws))

    @cached_property
    def arms(self) -> IntArray:
        """The arms that are pulled: all arms or a random sample."""
        n_arms = self.environment.n_arms
        if n_arms <= _PULLED_ARMS:
            return np.arange(n_arms)
        return np.sort(np.random.default_rng(self.rng).choice(n_arms, _PULLED_ARMS, replace=False))

    @property
    def pulls_in_a_call(self) -> int:
        """The number of pulls of each arm in one call of `pulled`."""
        pulls = max(200, self.many // 10)
        # Slow environments draw fewer outcomes in each of the calls.
        return max(min(_FEWEST, pulls), min(pulls, self.affordable(0.2) // (10 * len(self.arms))))

    @cached_property
    def pulled(self) -> tuple[IntArray, FloatArray]:
        """The arms that are pulled, and many outcomes of each, in an array of shape (arms, pulls)."""
        assert self.first_draws is not None
        arms = self.arms
        rng, rows = np.random.default_rng((12, self.rng)), []
        pulls = self.pulls_in_a_call
        # Many calls reveal changes between calls, and let slow environments end in time.
        for _ in self.timed(range(max(10, _PULLS // (pulls * len(arms)))), 0.2):
            row = self.environment.pull(np.repeat(arms, pulls), rng)
            rows.append(row.reshape(len(arms), pulls))
        return arms, np.concatenate(rows, axis=1)

    @cached_property
    def draws_each_arm(self) -> bool:
        """Whether a round draws a number for each arm, so that super arms do not share outcomes."""
        return draws_each_arm(self.environment, self.super_arms)

    @cached_property
    def cost_of_play(self) -> float:
        """The seconds of one round."""
        assert self.rounds is not None  # the first rounds may compile code
        rng, watch = np.random.default_rng((26, self.rng)), Stopwatch()
        for number in range(_TRIED):
            self.environment.play(self.super_arms[number % len(self.super_arms)].copy(), rng)
        return watch.seconds() / _TRIED

    @cached_property
    def cost_of_pull(self) -> float:
        """The seconds of one outcome in a request of many."""
        asked, seconds = np.repeat(self.arms, _MEASURED), []
        for state in range(2):  # the first call may compile code
            watch = Stopwatch()
            self.environment.pull(asked.copy(), np.random.default_rng((23, state)))
            seconds.append(watch.seconds())
        return min(seconds) / len(asked)

    def affordable(self, share: float) -> int:
        """Return the number of outcomes that can be pulled in `share` of the seconds."""
        return int(share * self.seconds / max(self.cost_of_pull, 1e-9))

    @cached_property
    def sums(self) -> tuple[FloatArray, FloatArray]:
        """Sums of `TIMES` pulls of each arm, and sums of their squares, in arrays of shape (arms, sums)."""
        assert self.first_draws is not None
        affordable = max(_FEWEST, self.affordable(0.05) // (TIMES * len(self.arms)))
        each = max(30, min(200, 20_000 // len(self.arms), affordable))
        arms, rng = np.repeat(self.arms, each), np.random.default_rng((5, self.rng))
        blocks = []
        for _ in self.timed(range(_BLOCKS), 0.02, at_least=1):
            told = np.array(self.environment.pull_many(arms, np.full(len(arms), TIMES), rng))
            blocks.append(told.reshape(2, len(self.arms), each))
        sums, squares = np.concatenate(blocks, axis=2)
        return sums, squares

    def seeds(self, least: int, parts: int = 1) -> Iterator[int]:
        """Yield at least `least` seeds, and more if rounds are fast, for one of `parts` loops of a check."""
        yield from self.timed(range(_SEEDS), 0.02 / parts, least)

    def timed(self, items: Iterable[T], share: float, at_least: int = 10) -> Iterator[T]:
        """Yield items for `share` of the seconds, and at least `at_least` items."""
        watch = Stopwatch()
        for number, item in enumerate(items):
            if number >= at_least and watch.seconds() > share * self.seconds:
                return
            yield item


def subject_of(environment: Environment, super_arms: Iterable[ArrayLike], **settings: Any) -> Subject:
    """Return the subject; `super_arms` may be named here, as in `check_environment`."""
    return Subject(environment, super_arms, **settings)
