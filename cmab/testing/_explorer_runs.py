"""Checks that the requests of an explorer are valid and depend only on its state and generator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from cmab.arrays import IntArray
from cmab.environment import Environment
from cmab.explorer import AnyExplorer
from cmab.feedback import Ticket
from cmab.saving._digest import content
from cmab.session import Session
from cmab.testing._checks import Finding
from cmab.testing._comparisons import entries, require, require_same
from cmab.testing._own_generators import require_no_own_streams
from cmab.testing._policy_resuming import resumed
from cmab.testing._surroundings import global_state, kept_generators, later, seed_generators
from cmab.testing._trials import Calls, Trial, explorer_steps

_BUDGET_REQUESTS = 20_000


@dataclass(frozen=True, eq=False)
class Subject:
    """An explorer, an environment in which it is tried, and its error probability."""

    explorer: AnyExplorer
    environment: Environment
    delta: float | None = None
    replications: int = 30
    max_samples: int = 100_000
    seconds: float = 2.0
    rng: int = 0
    kept: dict[str, Any] = field(init=False, default_factory=dict)

    @property
    def allowed(self) -> float | None:
        """The permitted error rate: as given, or as an explorer with a proof declares it; otherwise None."""
        if self.delta is not None or not self.explorer.is_proven:
            return self.delta
        declared = getattr(self.explorer, "delta", None)
        return float(declared) if isinstance(declared, float) and 0 < declared < 1 else None

    @cached_property
    def trial(self) -> Trial:
        """A short run in the environment."""
        return Trial(self.explorer, explorer_steps, (self.environment, self.rng))

    def drawing(self, rng: np.random.Generator) -> Calls:
        """Yield the calls that take a generator, in the states of the first requests."""
        return _drawing(self, rng)


def _drawing(subject: Subject, rng: np.random.Generator) -> Calls:
    session: Session[Any] = Session(subject.explorer, rng=rng)
    for _ in range(3):
        if session.is_done:
            return
        yield "select", partial(subject.explorer.select, session.state)
        ticket = session.ask()
        session.tell(subject.environment.sample(ticket.super_arm, ticket.pulls, rng))


def requests(
    subject: Subject, steps: int, between: Callable[[Session[Any], int], Session[Any]]
) -> list[IntArray]:
    """Run up to `steps` requests and return their arms. `between` may replace the session before each."""
    session: Session[Any] = Session(subject.explorer, rng=subject.rng)
    coins, asked = np.random.default_rng(subject.rng), []
    for step in range(steps):
        session = between(session, step)
        # Use the session that `between` returned, which may have been loaded from a file.
        if session.is_done:
            break
        ticket = session.ask()
        asked.append(ticket.super_arm)
        session.tell(subject.environment.sample(ticket.super_arm, ticket.pulls, coins))
    return asked


def check_form(subject: Subject) -> None:
    """Check that requests are distinct arms with at least one pull, and answers are distinct sorted arms."""
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
            require(
                sound,
                "form",
                "select must return distinct arms in range({}), at least one, got {}",
                n_arms,
                arms,
            )
            is_count = _is_integer(pulls) and pulls >= 1
            require(is_count, "form", "pulls must be a positive integer, got {!r}", pulls)
        return session

    requests(subject, 40, look)


def _is_integer(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def require_answer(arms: Any, n_arms: int) -> None:
    is_array = isinstance(arms, np.ndarray) and (arms.dtype.kind in "iu" or not arms.size)
    found = f"an array of {arms.dtype}" if isinstance(arms, np.ndarray) else type(arms).__name__
    require(is_array, "form", "recommend must return an integer array, got {}", found)
    in_order = len(arms) < 2 or (np.diff(arms) > 0).all()
    inside = len(arms) == 0 or (arms.min() >= 0 and arms.max() < n_arms)
    require(
        in_order and inside,
        "form",
        "recommend must return distinct arms in range({}) in increasing order, got {}",
        n_arms,
        arms,
    )


def check_determinism(subject: Subject) -> None:
    """Check that the same seed gives the same requests."""
    first, second = (requests(subject, 60, _unchanged) for _ in range(2))
    require(len(first) == len(second), "determinism", "the same seed gave another number of requests")
    for a, b in zip(first, second, strict=True):
        require_same(a, b, "determinism", "the same seed")


def check_state(subject: Subject) -> None:
    """Check that only `update` and `undo` change the state, and that a run does not change the explorer."""
    requests(subject, 5, _unchanged)  # computes parameters that are derived at the first use
    parameters = content(subject.explorer)

    def look(session: Session[Any], step: int) -> Session[Any]:
        before = content(session.state)
        if not subject.explorer.is_done(session.state):
            subject.explorer.select(session.state, np.random.default_rng(0))
        if step > 0:
            subject.explorer.recommend(session.state)
            subject.explorer.intervals(session.state)
            subject.explorer.is_certified(session.state)
            subject.explorer.pulls(session.state)
        text = "select, is_done, recommend, intervals, is_certified and pulls must not change the state"
        require(content(session.state) == before, "state", text)
        return session

    requests(subject, 40, look)
    require(content(subject.explorer) == parameters, "state", "a run must not change the explorer")


def check_resuming(subject: Subject) -> None:
    """Check that a session that is saved and loaded in the middle requests the same arms."""
    whole = requests(subject, 40, _unchanged)
    middle = len(whole) // 2
    again = requests(subject, 40, lambda session, step: resumed(session) if step == middle else session)
    require(
        len(whole) == len(again), "resuming", "a saved and loaded session made another number of requests"
    )
    for a, b in zip(whole, again, strict=True):
        require_same(a, b, "resuming", "a saved and loaded session")


def check_memory(subject: Subject) -> Finding:
    """Check that two sessions that take turns request the same arms as each of them alone."""
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
                # The other session has other outcomes. Data of it outside its state would show here.
                what = "while another session took turns, request {}"
                require_same(expected, ticket.super_arm, "memory", what, number)
    return Finding(f"{len(alone)} requests")


def check_clock(subject: Subject) -> None:
    """Check that requests do not depend on the time."""
    alone = requests(subject, 60, _unchanged)
    with later(subject.explorer):
        again = requests(subject, 60, _unchanged)
    require(
        len(alone) == len(again), "clock", "half a year later, the same seed gave another number of requests"
    )
    for first, second in zip(alone, again, strict=True):
        require_same(first, second, "clock", "half a year later, the same seed")


def check_global_randomness(subject: Subject) -> None:
    """Check that the explorer draws from `rng`, not from global generators or its own with fixed seeds."""
    asked = []
    with kept_generators():
        for seed in (1, 2):
            seed_generators(seed)
            before = repr(global_state())
            asked.append(requests(subject, 60, _unchanged))
            text = "a run used or seeded a global generator instead of rng"
            require(before == repr(global_state()), "global randomness", text)
    for first, second in zip(*asked, strict=False):
        require_same(first, second, "global randomness", "another seed of the global generators")
    require_no_own_streams(subject.explorer, partial(_own_run, subject), "global randomness")


def _own_run(subject: Subject, seed: int) -> list[Any]:
    """Return the requests of a run with a first state that depends on no seed."""
    explorer, rng, coins = subject.explorer, np.random.default_rng(seed), np.random.default_rng((seed, 1))
    state, asked = explorer.initial_state(np.random.default_rng(seed)), list[Any]()
    for number in range(40):
        if explorer.is_done(state):
            break
        arms, pulls = entries(explorer.select(state, rng)), explorer.pulls(state)
        asked.append(arms.tolist())
        told = subject.environment.sample(arms.copy(), pulls, coins)
        explorer.update(state, told, Ticket(number, arms, pulls), rng)
    return asked


def check_budget(subject: Subject) -> Finding | None:
    """Check that an explorer with a `budget` requests no more outcomes than its budget, and then stops."""
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
        require(
            drawn <= budget,
            "budget",
            "the explorer requested {} outcomes, but its budget is {}",
            drawn,
            budget,
        )
        session.tell(subject.environment.sample(ticket.super_arm, ticket.pulls, coins))
    over = session.is_done or budget > _BUDGET_REQUESTS
    require(
        over, "budget", "the explorer did not stop after {} outcomes, but its budget is {}", drawn, budget
    )
    return Finding(f"{drawn} of {budget} outcomes")


def _unchanged(session: Session[Any], step: int) -> Session[Any]:
    return session
