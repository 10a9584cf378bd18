"""What the checks of oracles share: the problems to try an oracle on, and simpler ones that still fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial, wraps
from itertools import chain, combinations

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.oracle import Oracle
from cmab.theory import Smoothness

TOLERANCE = 1e-9
LEVEL = 1e-6
_ENUMERABLE = 12
_ALONE = 12


@dataclass(frozen=True, eq=False)
class Subject:
    """An oracle and the problems to try it on."""

    oracle: Oracle
    family: list[IntArray] | None
    low: float
    high: float
    trials: int
    seed: int
    smoothness: Smoothness | None

    @property
    def name(self) -> str:
        return type(self.oracle).__name__

    @cached_property
    def rivals(self) -> list[IntArray]:
        """The family where it is known; otherwise every answer, for each is a rival of the others."""
        if self.family is not None:
            return self.family
        return list({key(answer): answer for answer in map(self.solve, self.all_means())}.values())

    def degenerate_means(self) -> Iterator[tuple[str, FloatArray]]:
        """Yield the means that break oracles: all high, all low, all tied, one arm apart from the others."""
        n_arms = self.oracle.n_arms
        yield "all means at the top", np.full(n_arms, self.high)
        yield "all means at the bottom", np.full(n_arms, self.low)
        yield "tied means", np.full(n_arms, (self.low + self.high) / 2)
        for arm in np.random.default_rng(self.seed).permutation(n_arms)[:_ALONE]:
            is_alone = np.arange(n_arms) == arm
            yield f"arm {arm} alone at the top", np.where(is_alone, self.high, self.low)
            yield f"arm {arm} alone at the bottom", np.where(is_alone, self.low, self.high)

    def random_means(self) -> Iterator[FloatArray]:
        """Yield means with many ties; in turn with them, means that nearly tie and means far apart."""
        rng = np.random.default_rng(self.seed)
        for trial in range(self.trials):
            ties = rng.choice(np.linspace(self.low, self.high, 4), self.oracle.n_arms)
            anywhere = rng.uniform(self.low, self.high, self.oracle.n_arms)
            near = np.clip(ties + 1e-3 * (anywhere - (self.low + self.high) / 2), self.low, self.high)
            yield ties
            yield near if trial % 3 == 2 else anywhere

    def all_means(self) -> Iterator[FloatArray]:
        """Yield the degenerate and the random means."""
        return chain((means for _, means in self.degenerate_means()), self.random_means())

    def solve(self, means: FloatArray, state: int = 7) -> IntArray:
        """Return the oracle's answer in the generator state that belongs to `state`."""
        return self.oracle.solve(means.copy(), np.random.default_rng(state))

    def shrink(self, entries: FloatArray, fails: Callable[[FloatArray], bool]) -> FloatArray:
        """Return simpler numbers that still fail: each at an end or in the middle where possible."""
        simple = (self.low, self.high, (self.low + self.high) / 2)
        for _ in range(3):  # an entry may become simple once the others are
            for position in np.flatnonzero(~np.isin(entries, simple)):
                for value in simple:
                    simpler = np.where(np.arange(len(entries)) == position, value, entries)
                    if fails(simpler):
                        entries = simpler
                        break
        return entries


def on_each_means(check: Callable[[Subject, FloatArray], None]) -> Callable[[Subject], None]:
    """Return a check over all means from one of single means; it fails for the simplest means found."""

    @wraps(check)
    def check_all(subject: Subject) -> None:
        for means in subject.all_means():
            try:
                check(subject, means)
            except AssertionError as error:
                fails = partial(_fails, check, subject, str(error).partition(":")[0])
                check(subject, subject.shrink(means, fails))
                raise  # by chance, or for what came before, the simple means did not fail again

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
    """Return what two orders of the same entries have in common."""
    return tuple(sorted(super_arm.tolist()))


def make_subject(
    oracle: Oracle,
    super_arms: Iterable[ArrayLike] | None,
    is_feasible: Callable[[IntArray], bool] | None,
    low: float,
    high: float,
    trials: int,
    seed: int,
    smoothness: Smoothness | None,
) -> Subject:
    """Return the oracle with its family, listed or enumerated where possible."""
    family = None
    if super_arms is not None:
        family = [np.array(list(arm), np.int64) for arm in super_arms]  # type: ignore[arg-type]
    elif oracle.n_choices <= _ENUMERABLE:
        own = oracle.is_feasible if type(oracle).is_feasible is not Oracle.is_feasible else None
        family = _enumerate(oracle.n_choices, is_feasible or own)
    declared = smoothness or oracle.smoothness()
    return Subject(oracle, family, low, high, trials, seed, declared)


def _enumerate(n_choices: int, is_feasible: Callable[[IntArray], bool] | None) -> list[IntArray] | None:
    if is_feasible is None:
        return None
    subsets = chain.from_iterable(combinations(range(n_choices), size) for size in range(n_choices + 1))
    arrays = (np.array(subset, np.int64) for subset in subsets)
    return [array for array in arrays if is_feasible(array)]
