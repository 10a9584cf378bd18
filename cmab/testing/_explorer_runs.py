"""Checks that an explorer's requests are valid and depend only on its state and generator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cmab.arrays import IntArray
from cmab.environment import Environment
from cmab.explorer import AnyExplorer
from cmab.saving._digest import content
from cmab.session import Session
from cmab.testing._checks import Finding
from cmab.testing._comparisons import require, require_same
from cmab.testing._policy_runs import resumed
from cmab.testing._surroundings import global_state, kept_generators, later, seed_generators

_BUDGET_REQUESTS = 20_000


@dataclass(frozen=True, eq=False)
class Subject:
    """An explorer, an environment to test it in, and the error probability that it guarantees."""

    explorer: AnyExplorer
    environment: Environment
    delta: float | None = None
    replications: int = 30
    max_samples: int = 100_000
    seconds: float = 3.0
    rng: int = 0


def requests(
    subject: Subject, steps: int, between: Callable[[Session[Any], int], Session[Any]]
) -> list[IntArray]:
    """Play up to `steps` requests and return them; `between` can replace the session before each request."""
    session: Session[Any] = Session(subject.explorer, rng=subject.rng)
    coins, asked = np.random.default_rng(subject.rng), []
    for step in range(steps):
        session = between(session, step)
        # Use the session that `between` returns, which may have been loaded from a file.
        if session.is_done:
            break
        ticket = session.ask()
        asked.append(ticket.super_arm)
        session.tell(subject.environment.sample(ticket.super_arm, ticket.pulls, coins))
    return asked


def check_form(subject: Subject) -> None:
    """Check that requests are distinct arms with at least one pull, and answers sorted distinct arms."""
    n_arms = subject.explorer.n_arms

    def look(session: Session[Any], step: int) -> Session[Any]:
        if step > 0:
            require_answer(session.recommend(), n_arms)
        if not session.is_done:
            arms = subject.explorer.select(session.state, np.random.default_rng(step))
            pulls = subject.explorer.pulls(session.state)
            sound = (
                len(arms) > 0 and len(np.unique(arms)) == len(arms) and 0 <= min(arms) <= max(arms) < n_arms
            )
            require(sound, "form", "select must return distinct arms of range({}), got {}", n_arms, arms)
            is_count = _is_integer(pulls) and pulls >= 1
            require(is_count, "form", "pulls must be a positive integer, got {!r}", pulls)
        return session

    requests(subject, 40, look)


def _is_integer(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def require_answer(arms: IntArray, n_arms: int) -> None:
    in_order = len(arms) < 2 or (np.diff(arms) > 0).all()
    inside = len(arms) == 0 or (arms.min() >= 0 and arms.max() < n_arms)
    require(
        in_order and inside, "form", "recommend must return arms of range({}) in order, got {}", n_arms, arms
    )


def check_determinism(subject: Subject) -> None:
    """Check that the same seed gives the same requests."""
    first, second = (requests(subject, 60, _unchanged) for _ in range(2))
    require(len(first) == len(second), "determinism", "runs with the same seed stopped after different times")
    for a, b in zip(first, second, strict=True):
        require_same(a, b, "determinism", "the same seed")


def check_state(subject: Subject) -> None:
    """Check that `select`, `is_done` and `recommend` do not change the state, nor a run the explorer."""
    requests(subject, 5, _unchanged)  # computes the parameters that are derived at first use
    parameters = content(subject.explorer)

    def look(session: Session[Any], step: int) -> Session[Any]:
        before = content(session.state)
        if not subject.explorer.is_done(session.state):
            subject.explorer.select(session.state, np.random.default_rng(0))
        if step > 0:
            subject.explorer.recommend(session.state)
        require(content(session.state) == before, "state", "select and recommend must not change the state")
        return session

    requests(subject, 40, look)
    require(content(subject.explorer) == parameters, "state", "a run must not change the explorer")


def check_resuming(subject: Subject) -> None:
    """Check that a session that is saved and loaded in the middle makes the same requests."""
    whole = requests(subject, 40, _unchanged)
    middle = len(whole) // 2
    again = requests(subject, 40, lambda session, step: resumed(session) if step == middle else session)
    require(len(whole) == len(again), "resuming", "a saved and loaded session stopped after a different time")
    for a, b in zip(whole, again, strict=True):
        require_same(a, b, "resuming", "a saved and loaded session")


def check_memory(subject: Subject) -> Finding:
    """Check that the explorer remembers only its state: alternating runs make the same requests as alone."""
    sessions: list[Session[Any]] = [Session(subject.explorer, rng=subject.rng + i) for i in range(2)]
    coins = [np.random.default_rng(subject.rng + i) for i in range(2)]
    alone = requests(subject, 60, _unchanged)
    for number, expected in enumerate(alone):
        for session, rng in zip(sessions, coins, strict=True):
            if session.is_done:
                continue
            ticket = session.ask()
            session.tell(subject.environment.sample(ticket.super_arm, ticket.pulls, rng))
            if session is sessions[0]:
                # The other run has other outcomes, so memory of them would change the requests.
                what = "alternating with another run, request {}"
                require_same(expected, ticket.super_arm, "memory", what, number)
    return Finding(f"{len(alone)} requests")


def check_clock(subject: Subject) -> None:
    """Check that requests do not depend on the time of day."""
    alone = requests(subject, 60, _unchanged)
    with later(subject.explorer):
        again = requests(subject, 60, _unchanged)
    require(len(alone) == len(again), "clock", "hours later, the same seed stopped after a different time")
    for first, second in zip(alone, again, strict=True):
        require_same(first, second, "clock", "hours later, the same seed")


def check_global_randomness(subject: Subject) -> None:
    """Check that the explorer neither uses nor seeds the global generators."""
    asked = []
    with kept_generators():
        for seed in (1, 2):
            seed_generators(seed)
            before = repr(global_state())
            asked.append(requests(subject, 60, _unchanged))
            text = "a run drew from or seeded a global generator instead of using rng"
            require(before == repr(global_state()), "global randomness", text)
    for first, second in zip(*asked, strict=False):
        require_same(first, second, "global randomness", "another seed of the global generators")


def check_budget(subject: Subject) -> Finding | None:
    """Check that an explorer with a `budget` requests at most this number of outcomes and then stops."""
    budget = getattr(subject.explorer, "budget", None)
    if not isinstance(budget, int | np.integer):
        return None
    session: Session[Any] = Session(subject.explorer, rng=subject.rng)
    coins, drawn = np.random.default_rng(subject.rng), 0
    for _ in range(min(int(budget), _BUDGET_REQUESTS)):
        if session.is_done:
            break
        ticket = session.ask()
        drawn += len(ticket.super_arm) * ticket.pulls
        require(drawn <= budget, "budget", "{} outcomes were requested, but the budget is {}", drawn, budget)
        session.tell(subject.environment.sample(ticket.super_arm, ticket.pulls, coins))
    over = session.is_done or budget > _BUDGET_REQUESTS
    require(over, "budget", "the explorer continues after {} outcomes, but the budget is {}", drawn, budget)
    return Finding(f"{drawn} outcomes of {budget}")


def _unchanged(session: Session[Any], step: int) -> Session[Any]:  # noqa: ARG001
    return session
