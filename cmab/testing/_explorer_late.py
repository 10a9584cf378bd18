"""Runs of an explorer up to its stop, with copies of the last states and of some earlier ones."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.environment import Environment
from cmab.feedback import Feedback, Ticket
from cmab.goals import AggregateTopK, ExploreEach, ExploreM, Goal, bandit_sizes
from cmab.saving._digest import content, pickled
from cmab.testing._comparisons import Stopwatch, entries
from cmab.testing._explorer_runs import Subject

#: The most requests of a run and of one with ties, and the most outcomes of a request.
_MOST, _SHORT, _MOST_PULLS = 4000, 100, 10**9
#: The number of last states that are kept, and the ratio of the numbers of the others.
_LAST, _RATIO = 48, 1.6
#: The share of the seconds of a subject that a run may take.
_SHARE, _SHORT_SHARE = 0.05, 0.005


@dataclass(frozen=True, eq=False)
class Moment:
    """The state before a request as bytes, and the position of the generator."""

    number: int
    state: bytes
    position: dict[str, Any]

    def restored(self) -> tuple[Any, np.random.Generator]:
        """Return a copy of the state and a generator at the same position."""
        rng = np.random.default_rng(0)
        rng.bit_generator.state = self.position
        return pickle.loads(self.state), rng


@dataclass(eq=False)
class Run:
    """The requests and reports of a run, kept states, and the state at its end."""

    name: str
    asked: list[tuple[IntArray, int]] = field(default_factory=list)
    told: list[Feedback] = field(default_factory=list)
    kept: list[Moment] = field(default_factory=list)
    end: Any = None
    has_stopped: bool = False
    #: The number of the first request in which `select`, `is_done` or `pulls` changed the state.
    meddled: int | None = None

    def moments(self) -> list[Moment]:
        """Return the kept states: early ones, and those 1, 2, 3, 5, 8, ... requests before the end."""
        last, before = len(self.asked), {1, 2, 3, 5, 13, _LAST}
        return [one for one in self.kept if last - one.number >= _LAST or last - one.number in before]

    def latest(self, before: int) -> Moment | None:
        """Return the last kept state that is at least `before` requests from the end."""
        found = [one for one in self.kept if len(self.asked) - one.number >= before]
        return found[-1] if found else None


class Levels(Environment):
    """Arms whose outcomes have few values; each arm has its own chances of them."""

    def __init__(self, values: FloatArray, chances: FloatArray) -> None:
        self.n_arms = len(chances)
        self.values, self.chances = values, chances
        self.support = (float(values.min()), float(values.max()))
        self.means = chances @ values

    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        raise NotImplementedError("explorers sample base arms")

    def expected_reward(self, super_arm: IntArray) -> float:
        raise NotImplementedError("explorers sample base arms")

    def pull(self, arms: IntArray, rng: np.random.Generator) -> FloatArray:
        return np.array([rng.choice(self.values, p=self.chances[arm]) for arm in arms])

    def pull_many(
        self, arms: IntArray, pulls: IntArray, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        numbers = np.array(
            [rng.multinomial(n, self.chances[arm]) for n, arm in zip(pulls, arms, strict=True)]
        )
        return numbers @ self.values, numbers @ self.values**2


def demanded(goal: Goal | None) -> int | None:
    """Return the number of arms that a goal demands, or None if it depends on the means."""
    if isinstance(goal, ExploreM | AggregateTopK):
        return goal.k
    if isinstance(goal, ExploreEach):
        return goal.k * len(goal.arms_per_bandit)
    return None


def late_runs(subject: Subject) -> list[Run]:
    """Return a run in the environment of the subject, and one with outcomes that soon lead to the stop."""
    if "late" not in subject.kept:
        clear = _levels(subject, _clear(subject))
        places = {"the environment": subject.environment, "arms that have the outcome of either end": clear}
        subject.kept["late"] = [
            _played(subject, place, name, (_MOST, _SHARE), 0) for name, place in places.items()
        ]
    found: list[Run] = subject.kept["late"]
    return found


def further_run(subject: Subject, seed: int) -> Run:
    """Return a run in the environment of the subject with other outcomes."""
    return _played(subject, subject.environment, "the environment", (_MOST, _SHARE), seed)


def tied_runs(subject: Subject) -> list[Run]:
    """Return runs with outcomes of few values, in which many means tie, also at the place of the k-th."""
    if "tied" not in subject.kept:
        subject.kept["tied"] = [
            _played(subject, place, name, (_SHORT, _SHORT_SHARE), 0) for name, place in _ties(subject)
        ]
    found: list[Run] = subject.kept["tied"]
    return found


def _levels(subject: Subject, chances: FloatArray) -> Levels:
    """Return a world with outcomes at the ends and in the middle of the support."""
    low, high = subject.explorer.support or subject.environment.support
    if not (np.isfinite(low) and np.isfinite(high)):
        low, high = 0.0, max(1.0, 4.0 * float(subject.explorer.sigma or 0.0))
    return Levels(np.array([low, (low + high) / 2, high]), chances)


def _chosen(subject: Subject) -> int:
    """Return a number of arms that may be the answer."""
    n = subject.explorer.n_arms
    return min(demanded(subject.explorer.goal) or 1, max(n - 1, 1))


def _shuffled(subject: Subject, levels: IntArray) -> FloatArray:
    """Return the chances of three outcomes if each arm, in some order, always has one of them."""
    found: FloatArray = np.eye(3)[np.random.default_rng((subject.rng, 46)).permutation(levels)]
    return found


def _clear(subject: Subject) -> FloatArray:
    goal, arms = subject.explorer.goal, np.arange(subject.explorer.n_arms)
    if isinstance(goal, ExploreEach):
        sizes = bandit_sizes(goal.arms_per_bandit)
        chosen: IntArray = np.concatenate([np.arange(size) < goal.k for size in sizes])
        return np.eye(3)[np.where(chosen, 2, 0)]
    return _shuffled(subject, np.where(arms < _chosen(subject), 2, 0))


def _ties(subject: Subject) -> Iterator[tuple[str, Levels]]:
    """Yield worlds of few outcomes in which arms tie."""
    n, k = subject.explorer.n_arms, _chosen(subject)
    for level, place in enumerate(("lower end", "middle", "upper end")):
        name = f"arms that all have the outcome of the {place}"
        yield name, _levels(subject, np.eye(3)[np.full(n, level)])
    # The first k - 1 arms are better than the k-th, and all later arms tie with it, except the last.
    arms = np.arange(n)
    tied = np.where(arms < k - 1, 2, np.where(arms > max(k, n - 2), 0, 1))
    yield "arms of which several tie at the k-th place", _levels(subject, _shuffled(subject, tied))
    yield "arms with the same three outcomes", _levels(subject, np.full((n, 3), 1 / 3))


def dumped(state: Any) -> bytes:
    """Return a state as bytes, also if its class is defined in a function."""
    try:
        return pickle.dumps(state, pickle.HIGHEST_PROTOCOL)
    except Exception:  # a class that cannot be found by its name is pickled with its code
        return pickled(state)


def is_changed(before: bytes, state: Any) -> bool:
    """Return whether a state differs from the bytes of an earlier one in its contents."""
    after = dumped(state)
    return after != before and content(pickle.loads(after)) != content(pickle.loads(before))


def _played(subject: Subject, place: Environment, name: str, limits: tuple[int, float], seed: int) -> Run:
    most, share = limits
    explorer, run = subject.explorer, Run(name)
    rng = np.random.default_rng((subject.rng, 47, seed))
    coins = np.random.default_rng((subject.rng, 48, seed))
    state, drawn = explorer.initial_state(rng), 0
    last, wanted, watch = deque[Moment](maxlen=_LAST), 1.0, Stopwatch()
    for number in range(most):
        before = Moment(number, dumped(state), rng.bit_generator.state)  # type: ignore[arg-type]
        run.has_stopped = bool(explorer.is_done(state))
        if run.has_stopped:
            break
        arms, pulls = entries(explorer.select(state, rng)), int(explorer.pulls(state))
        drawn += len(arms) * pulls
        # Reading the time takes longer than many requests.
        is_read = number % 64 == 63 or number in (1, 2, 4, 8, 16, 32)
        slow = is_read and watch.seconds() > share * subject.seconds
        if pulls > _MOST_PULLS or drawn > 10 * subject.max_samples or slow:
            break
        if run.meddled is None and is_changed(before.state, state):
            run.meddled = number
        if number >= wanted and len(last) == _LAST:
            run.kept.append(last[0])
            wanted = _RATIO * number
        last.append(before)
        told = place.sample(arms.copy(), pulls, coins)
        explorer.update(state, told, Ticket(number, arms.copy(), pulls), rng)
        run.asked.append((arms, pulls))
        run.told.append(told)
    known = {one.number for one in run.kept}
    run.kept += [one for one in last if one.number not in known]
    run.end = state
    return run
