"""The subject of the checks of oracles: the oracle, its problems, and a search for simpler failing means."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial, wraps
from itertools import chain, combinations, count, islice, zip_longest
from typing import Any, TypeVar

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.oracle import Oracle
from cmab.smoothness import Smoothness
from cmab.testing._checks import Finding
from cmab.testing._comparisons import Stopwatch, entries
from cmab.testing._trials import Calls, Trial, oracle_steps

T = TypeVar("T")
TOLERANCE = 1e-9
# Maximal number of entries whose subsets are enumerated, maximal number of arms that are raised alone, and
# minimal number of items of a timed loop.
_ENUMERABLE = 12
_ALONE = 12
_AT_LEAST = 8
# Number of degenerate and of random problems of a short run.
_TRIED = 6
# Number of sorted answers of two or more entries for which super arms count as sets.
_DISTINCT = 4


@dataclass(frozen=True, eq=False)
class Subject:
    """An oracle and the problems on which it is tried. A problem is a vector of means."""

    oracle: Oracle
    family: list[IntArray] | None
    smoothness: Smoothness | None
    low: float = 0.0
    high: float = 1.0
    trials: int = 50
    seconds: float = 0.5
    rng: int = 0
    others: tuple[Oracle, ...] = ()
    _answers: dict[bytes, IntArray] = field(init=False, default_factory=dict)
    _rewards: dict[bytes, FloatArray] = field(init=False, default_factory=dict)

    @cached_property
    def rivals(self) -> list[IntArray]:
        """The super arms that are compared with each answer: the family if known, otherwise all answers."""
        if self.family is not None:
            return self.family
        return list({key(answer): answer for answer in map(self.answer, self._rival_means())}.values())

    @cached_property
    def members(self) -> set[tuple[int, ...]]:
        """The family as sorted tuples."""
        return {key(arm) for arm in self.family or ()}

    def super_arms(self, problems: int | None = None) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield means with the answer of the oracle, and the same means with a random super arm."""
        rng = np.random.default_rng(self.rng)
        for means in self.timed(self.problems[:problems]):
            yield self.answer(means), means
            yield self.rivals[rng.integers(len(self.rivals))].copy(), means

    @cached_property
    def are_sets(self) -> bool:
        """Whether super arms are certainly sets rather than lists: all answers and super arms are sorted."""
        answers = [self.answer(means) for means in self.some(0.02)]
        known = [*answers, *(self.family or ())]
        is_sorted = all((np.diff(arm) > 0).all() for arm in known)
        return is_sorted and len({key(answer) for answer in answers if len(answer) > 1}) >= _DISTINCT

    def _rival_means(self) -> Iterator[FloatArray]:
        """Yield the problems, and some with one arm raised: their answers beat second-best answers."""
        rng = np.random.default_rng(self.rng)
        yield from self.timed(self.problems)
        raised = (
            np.where(np.arange(len(means)) == arm, best_end(self), means)
            for means in self.problems[-10:]
            for arm in rng.permutation(len(means))[:_ALONE]
        )
        yield from self.timed(raised)

    def degenerate_means(self) -> Iterator[tuple[str, FloatArray]]:
        """Yield means that often reveal faults: all high, all low, all equal, or one unlike the others."""
        n_arms = self.oracle.n_arms
        yield "means that are all at the upper end", np.full(n_arms, self.high)
        yield "means that are all at the lower end", np.full(n_arms, self.low)
        yield "means that are all equal", np.full(n_arms, (self.low + self.high) / 2)
        for arm in np.random.default_rng(self.rng).permutation(n_arms)[:_ALONE]:
            is_alone = np.arange(n_arms) == arm
            yield f"means with only arm {arm} at the upper end", np.where(is_alone, self.high, self.low)
            yield f"means with only arm {arm} at the lower end", np.where(is_alone, self.low, self.high)

    def random_means(self, stream: int = 0) -> Iterator[FloatArray]:
        """Yield means with many ties, alternately with means that are far apart or almost tied."""
        rng = np.random.default_rng(self.rng if stream == 0 else (self.rng, stream))
        low, high = self.low, self.high
        for trial in count():
            ties = rng.choice(np.linspace(low, high, 4), self.oracle.n_arms)
            anywhere = rng.uniform(low, high, self.oracle.n_arms)
            # Alternately differences above and below the resolution of single precision.
            closeness = 1e-3 if trial % 2 else 3e-8
            near = np.clip(ties + closeness * (anywhere - (low + high) / 2), low, high)
            yield ties
            yield near if trial % 3 == 2 else anywhere

    @cached_property
    def problems(self) -> list[FloatArray]:
        """The degenerate and the random means in turn, so that a slow oracle is tried on both kinds."""
        degenerate = [means for _, means in self.degenerate_means()]
        drawn = list(islice(self.random_means(), 2 * self.trials))
        mixed = chain.from_iterable(zip_longest(degenerate, drawn))
        return [means for means in mixed if means is not None]

    @cached_property
    def cost(self) -> float:
        """The seconds of the fastest of a few calls, because the others may have waited or compiled code."""
        seconds = []
        for means in self.problems[:5]:
            started = time.perf_counter()
            self.solve(means)
            seconds.append(time.perf_counter() - started)
        return min(seconds)

    def some(self, share: float = 0.1) -> list[FloatArray]:
        """Return as many problems as can be solved in `share` of the total seconds."""
        return self.problems[: max(_AT_LEAST, int(share * self.seconds / max(self.cost, 1e-9)))]

    def timed(self, items: Iterable[T], share: float = 0.1) -> Iterator[T]:
        """Yield items for `share` of the seconds, without the longest item, which may have compiled code."""
        spent, longest = 0.0, 0.0
        for number, item in enumerate(items):
            if number >= _AT_LEAST and spent - longest > share * self.seconds:
                return
            watch = Stopwatch()
            yield item
            step = watch.seconds()
            spent, longest = spent + step, max(longest, step)

    @cached_property
    def trial(self) -> Trial:
        """A short run: a few problems with ties and without."""
        problems = self.problems[: 2 * _TRIED : 2] + self.problems[1 : 2 * _TRIED : 2]
        few = max(2, min(2 * _TRIED, int(0.01 * self.seconds / max(self.cost, 1e-9))))
        return Trial(self.oracle, oracle_steps, (problems[-few:],))

    def drawing(self, rng: np.random.Generator) -> Calls:  # noqa: ARG002
        """Yield the calls that take a generator."""
        for means in self.some(0.005)[:_TRIED]:
            yield f"solve for means {means}", partial(self.oracle.solve, means.copy())

    def solve(self, means: FloatArray, state: int = 7) -> IntArray:
        """Return the answer of the oracle for a generator with seed `state`, a list or tuple as an array."""
        return entries(self.oracle.solve(means.copy(), np.random.default_rng(state)))

    def answer(self, means: FloatArray) -> IntArray:
        """Return a copy of the first answer of `solve` for these means, which most checks use."""
        # The key is the content, because checks pass the same means in different arrays.
        known = self._answers.get(means.tobytes())
        if known is None:
            known = entries(self.solve(means))
            self._answers[means.tobytes()] = known
        return known.copy()

    @cached_property
    def draws(self) -> bool:
        """Whether `solve` draws from its generator, or spawns generators from it, for any of the problems."""
        rng = np.random.default_rng(7)
        before = _position(rng)
        for means in self.timed(self.problems):
            self.oracle.solve(means.copy(), rng)
            # Spawning does not change the bit generator, so the number of children is compared as well.
            if _position(rng) != before:
                return True
        return False

    def worths(self, means: FloatArray) -> FloatArray:
        """Return the rewards of the rivals, which are kept for other checks."""
        known = self._rewards.get(means.tobytes())
        if known is None:
            known = np.array([self.oracle.expected_reward(arm, means) for arm in self.rivals])
            self._rewards[means.tobytes()] = known
        return known

    def shrink(self, entries: FloatArray, fails: Callable[[FloatArray], bool]) -> FloatArray:
        """Return simpler numbers that still fail: the ends or the middle of the range where possible."""
        simple = (self.low, self.high, (self.low + self.high) / 2)
        watch = Stopwatch()
        for _ in range(3):  # other entries may have to become simple first
            for position in np.flatnonzero(~np.isin(entries, simple)):
                for value in simple:
                    if watch.seconds() > self.seconds:
                        return entries
                    simpler = np.where(np.arange(len(entries)) == position, value, entries)
                    if fails(simpler):
                        entries = simpler
                        break
        return entries


def _position(rng: np.random.Generator) -> tuple[Any, int]:
    seeds: Any = rng.bit_generator.seed_seq
    return rng.bit_generator.state["state"], seeds.n_children_spawned


def best_end(subject: Subject) -> float:
    """Return the best mean in the range: the largest for rewards, the smallest for costs."""
    return subject.high if subject.oracle.sense == "max" else subject.low


def on_each_means(check: Callable[[Subject, FloatArray], None]) -> Callable[[Subject], Finding]:
    """Turn a check of one vector of means into a check of all problems that shows a simple failing one."""

    @wraps(check)
    def check_all(subject: Subject) -> Finding:
        tried = 0
        for means in subject.timed(subject.problems):
            tried += 1
            try:
                check(subject, means)
            except AssertionError as error:
                fails = partial(_fails, check, subject, str(error).partition(":")[0])
                check(subject, subject.shrink(means, fails))
                raise  # the simpler means did not fail again: the fault is random or depends on earlier calls
        return Finding(f"{tried} of {len(subject.problems)} problems")

    return check_all


def _fails(
    check: Callable[[Subject, FloatArray], None], subject: Subject, fault: str, means: FloatArray
) -> bool:
    try:
        check(subject, means)
    except AssertionError as error:
        return str(error).startswith(fault)
    return False


def key(super_arm: IntArray) -> tuple[int, ...]:
    """Return the sorted entries of a super arm as a tuple."""
    return tuple(sorted(super_arm.tolist()))


def subject_of(
    oracle: Oracle,
    super_arms: Iterable[ArrayLike] | None = None,
    *,
    is_feasible: Callable[[IntArray], bool] | None = None,
    smoothness: Smoothness | None = None,
    **settings: Any,
) -> Subject:
    """Return the subject of an oracle, with the family if it is given or can be enumerated."""
    family = None
    if super_arms is not None:
        family = [np.array(list(arm), np.int64) for arm in super_arms]  # type: ignore[arg-type]
    elif oracle.n_choices <= _ENUMERABLE:
        own = oracle.is_feasible if oracle.has_membership else None
        family = _enumerate(oracle.n_choices, is_feasible or own)
    declared = smoothness or oracle.smoothness()
    return Subject(oracle, family, declared, **settings)


def _enumerate(n_choices: int, is_feasible: Callable[[IntArray], bool] | None) -> list[IntArray] | None:
    if is_feasible is None:
        return None
    subsets = chain.from_iterable(combinations(range(n_choices), size) for size in range(n_choices + 1))
    arrays = (np.array(subset, np.int64) for subset in subsets)
    return [array for array in arrays if is_feasible(array)]
