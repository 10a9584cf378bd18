"""A short run of an object of any kind, whose answers are compared between surroundings."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from cmab.environment import changes
from cmab.saving._digest import pickled
from cmab.session import Session
from cmab.statistics import ArmStatistics
from cmab.testing._comparisons import require
from cmab.testing._oracle_calls import calls, result
from cmab.testing._portable import difference
from cmab.testing._process_state import kept_settings

#: The name of a call, and its result: an array, a number, a text, or a tuple or list of these.
Answer = tuple[str, Any]
Steps = Callable[..., Iterator[Answer]]
#: The names of calls that take a generator, and the calls.
Calls = Iterator[tuple[str, Callable[[np.random.Generator], object]]]

_ROUNDS = 30
_REQUESTS = 40
_IN_ORDER = 4
_MOST_PULLS = 10**6
_WITH_METHODS = 2


@dataclass(frozen=True, eq=False)
class Trial:
    """The object under test and a function that yields its answers in a short run with fixed seeds."""

    thing: Any
    steps: Steps
    arguments: tuple[Any, ...]
    others: tuple[Any, ...] = ()
    untouched: bytes | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "untouched", pickled(self.thing))
        except Exception:  # the check of pickling reports it
            return

    def copy(self) -> Any:
        """Return a copy from before the first call, or None if the object cannot be copied."""
        if self.untouched is not None:
            return pickle.loads(self.untouched)
        try:
            return copy.deepcopy(self.thing)
        except Exception:
            return None

    def run(self, thing: Any = None) -> list[Answer]:
        """Return all answers of the object, or of `thing`."""
        return list(self.each(thing))

    def each(self, thing: Any = None) -> Iterator[Answer]:
        """Yield the answers of the object, or of `thing`, one after the other."""
        return self.steps(self.thing if thing is None else thing, *self.arguments)

    @cached_property
    def elsewhere(self) -> str:
        """The part that the code reads and another process may have different, or '' if there is none."""
        return difference(self.thing)

    @cached_property
    def answers(self) -> list[Answer]:
        """The answers in the usual surroundings."""
        return self.run()

    def require_same(self, other: list[Answer], fault: str, where: str) -> None:
        """Raise ``AssertionError`` with the first call whose answer differs."""
        self.require_equal(self.answers, other, fault, where)

    @staticmethod
    def require_equal(answers: list[Answer], other: list[Answer], fault: str, where: str) -> None:
        """Raise ``AssertionError`` with the first call that has other answers in another run."""
        for (call, one), (_, two) in zip(answers, other, strict=False):
            require(alike(one, two), fault, "{}, {} gave {} instead of {}", where, call, two, one)
        text = "{}, the run had {} answers instead of {}"
        require(len(answers) == len(other), fault, text, where, len(other), len(answers))


def prepared(subject: Any) -> Trial:
    """Return the trial of a subject after a first run, which loads modules, compiles code and fills caches.

    The settings of the process are then as they were before it, although the object may have changed them.
    """
    with kept_settings():
        trial: Trial = subject.trial
        assert trial.answers is not None
    return trial


def alike(one: Any, other: Any) -> bool:
    """Return whether two answers are equal; nan equals nan."""
    if isinstance(one, tuple | list):
        is_list = isinstance(other, tuple | list) and len(one) == len(other)
        return is_list and all(map(alike, one, other))
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        one, other = np.asarray(one), np.asarray(other)
        return np.array_equal(one, other, equal_nan=one.dtype.kind == "f" and other.dtype.kind == "f")
    return bool(one == other or (one != one and other != other))


def oracle_steps(oracle: Any, problems: list[Any]) -> Iterator[Answer]:
    """Yield the answer, its reward and its labels for each problem, and for some the optional methods."""
    for number, means in enumerate(problems):
        answer = np.array(oracle.solve(means.copy(), np.random.default_rng(7)))
        value = float(oracle.expected_reward(answer.copy(), means.copy()))
        names = [str(label) for label in oracle.labels(answer.copy())]
        yield f"solve for means {means}", (answer, value, names)
        if number < _WITH_METHODS:
            for method, arguments in calls(oracle, means, answer):
                yield f"{method} with the arguments {arguments}", result(oracle, method, arguments)


def policy_steps(policy: Any, environment: Any, seed: int, rounds: int = _ROUNDS) -> Iterator[Answer]:
    """Yield the super arm of each round of a session, its propensity, and the statistics."""
    session, coins = Session(policy, rng=seed), np.random.default_rng((seed, 1))
    for number in range(rounds):
        ticket = session.ask(environment.context)
        chance = policy.propensity(session.state, ticket.super_arm, environment.context)
        session.tell(environment.play(ticket.super_arm.copy(), coins))
        known = _known(session.state)
        yield f"round {number}", (ticket.super_arm, math_or_nan(chance), known)


def math_or_nan(value: float | None) -> float:
    """Return a number, or nan in place of None."""
    return float("nan") if value is None else float(value)


def _known(state: Any) -> tuple[Any, ...]:
    if not isinstance(state, ArmStatistics):
        return ()
    return (state.counters.copy(), state.means.copy(), state.deviations.copy(), state.memory.copy())


def environment_steps(environment: Any, super_arms: list[Any], arms: Any) -> Iterator[Answer]:
    """Yield rounds and pulls for some seeds, with the declared truth."""
    for seed in range(6):
        for super_arm in super_arms:
            shown = environment.play(super_arm.copy(), np.random.default_rng(seed))
            value = float(environment.expected_reward(super_arm.copy()))
            told = (np.array(shown.arms), np.array(shown.outcomes), float(shown.reward), value)
            yield f"play({super_arm.tolist()}) with seed {seed}", told
        if len(arms):
            pulls = np.array(environment.pull(arms.copy(), np.random.default_rng(seed)))
            yield f"pull with seed {seed}", (pulls,)
        if len(arms) and seed < _WITH_METHODS:
            shown = environment.sample(arms.copy(), 3, np.random.default_rng(seed))
            yield f"sample with seed {seed}", (np.array(shown.outcomes), np.array(shown.squares))
    for super_arm in super_arms:
        chances = environment.triggering_probabilities(super_arm.copy())
        yield (
            f"triggering_probabilities({super_arm.tolist()})",
            None if chances is None else np.array(chances),
        )
    yield from rounds_in_order(environment, super_arms, 0, _IN_ORDER)
    yield "means and optimum", (np.array(environment.means), float(environment.optimum))


def rounds_in_order(environment: Any, super_arms: list[Any], seed: int, rounds: int) -> Iterator[Answer]:
    """Yield the truth of the first rounds of a replication, and the feedback of a super arm in each."""
    if not changes(environment):
        return
    rng, coins = np.random.default_rng((20, seed)), np.random.default_rng((21, seed))
    for t in range(1, rounds + 1):
        world = environment.in_round(t, rng)
        available = None if world.context is None else world.context.available
        told: list[Any] = [np.array(world.means), float(world.optimum)]
        told += [] if available is None else [np.array(available)]
        for super_arm in super_arms:
            if available is None or available[super_arm].all():
                shown = world.play(super_arm.copy(), coins)
                told += [np.array(shown.arms), np.array(shown.outcomes)]
                break
        yield f"round {t} of a replication with seed {seed}", told


def explorer_steps(explorer: Any, environment: Any, seed: int, requests: int = _REQUESTS) -> Iterator[Answer]:
    """Yield the requests, the recommendations and the intervals of a session."""
    session: Session[Any] = Session(explorer, rng=seed)
    coins = np.random.default_rng((seed, 1))
    for number in range(requests):
        if session.is_done:
            break
        ticket = session.ask()
        if ticket.pulls > _MOST_PULLS:
            break
        session.tell(environment.sample(ticket.super_arm.copy(), ticket.pulls, coins))
        ends = explorer.intervals(session.state)
        told = () if ends is None else tuple(np.array(end) for end in ends)
        certain = bool(explorer.is_certified(session.state))
        yield f"request {number}", (ticket.super_arm, ticket.pulls, session.recommend(), certain, told)
