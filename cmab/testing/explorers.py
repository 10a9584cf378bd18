"""Checks of explorers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.environment import Environment
from cmab.explorer import AnyExplorer
from cmab.identification import identify
from cmab.session import Session
from cmab.testing._checks import Check, binomial_tail, named_checks, pickled, require, require_same
from cmab.testing.policies import resumed

_LEVEL = 1e-6


@dataclass(frozen=True, eq=False)
class _Subject:
    explorer: AnyExplorer
    environment: Environment
    delta: float | None
    runs: int
    max_samples: int
    seed: int


def check_explorer(
    explorer: AnyExplorer,
    environment: Environment,
    *,
    delta: float | None = None,
    runs: int = 30,
    max_samples: int = 100_000,
    rng: int = 0,
) -> None:
    """Check that an explorer stops, answers in the right form, errs rarely, and can be saved and resumed.

    Parameters
    ----------
    explorer : Explorer
        The explorer to check; one with a `goal` if its errors are to be counted.
    environment : Environment
        Arms with gaps that it can find within `max_samples`.
    delta : float, optional
        Error probability that it promises; errors are not counted if left out.
    runs : int
        Number of runs for the error rate.
    max_samples : int
        Most samples of a run; reaching it counts as an error.
    rng : int
        Seed.

    Raises
    ------
    AssertionError
        At the first fault: ``determinism``, ``state`` (`select`, `is_done` or `recommend` changes it),
        ``form`` (of what is selected or recommended), ``resuming``, or ``errors`` (more than `delta` allows,
        a binomial test that a sound explorer fails with probability below 1e-6).

    Examples
    --------
    >>> from cmab import LUCBPlusPlus
    >>> from cmab.testing import check_explorer
    >>> from instances import GaussianArms
    >>> check_explorer(LUCBPlusPlus(4, 1, delta=0.1), GaussianArms([2.0, 0.0, 0.0, 0.0], 0.5), delta=0.1)
    """
    settings = {"delta": delta, "runs": runs, "max_samples": max_samples, "rng": rng}
    for check in explorer_checks(explorer, environment, **settings):  # type: ignore[arg-type]
        check.run()


def explorer_checks(
    explorer: AnyExplorer,
    environment: Environment,
    *,
    delta: float | None = None,
    runs: int = 30,
    max_samples: int = 100_000,
    rng: int = 0,
    name: str | None = None,
) -> list[Check]:
    """Return the checks of `check_explorer` one by one, for `parametrize_with_checks`.

    Parameters
    ----------
    explorer, environment, delta, runs, max_samples, rng
        As for `check_explorer`.
    name : str, optional
        Begins the name of each check; the class's name if left out.

    Returns
    -------
    list of Check

    Examples
    --------
    >>> from cmab import SequentialHalving
    >>> from cmab.testing import explorer_checks
    >>> from instances import BernoulliArms
    >>> explorer_checks(SequentialHalving(3, budget=60), BernoulliArms([0.9, 0.2, 0.1]))[0].name
    'SequentialHalving-form'
    """
    subject = _Subject(explorer, environment, delta, runs, max_samples, rng)
    return named_checks(name or type(explorer).__name__, subject, _CHECKS)


def _requests(
    subject: _Subject, steps: int, between: Callable[[Session[Any], int], Session[Any]]
) -> list[IntArray]:
    """Play up to `steps` requests; `between` may replace the session before each."""
    session: Session[Any] = Session(subject.explorer, rng=subject.seed)
    coins, asked = np.random.default_rng(subject.seed), []
    for step in range(steps):
        session = between(session, step)
        if session.is_done:
            break
        ticket = session.ask()
        asked.append(ticket.super_arm)
        session.tell(subject.environment.sample(ticket.super_arm, ticket.pulls, coins))
    return asked


def _check_form(subject: _Subject) -> None:
    """Requests are distinct arms, at least one, pulled at least once; answers are distinct arms in order."""
    n_arms = subject.explorer.n_arms

    def look(session: Session[Any], step: int) -> Session[Any]:
        if step > 0:
            _check_answer(session.recommend(), n_arms)
        if not session.is_done:
            arms = subject.explorer.select(session.state, np.random.default_rng(step))
            pulls = subject.explorer.pulls(session.state)
            sound = (
                len(arms) > 0 and len(np.unique(arms)) == len(arms) and 0 <= min(arms) <= max(arms) < n_arms
            )
            require(sound, "form", "select must return distinct arms of range({}), got {}", n_arms, arms)
            require(pulls >= 1, "form", "pulls must be at least 1, got {}", pulls)
        return session

    _requests(subject, 40, look)


def _check_answer(arms: IntArray, n_arms: int) -> None:
    in_order = len(arms) < 2 or (np.diff(arms) > 0).all()
    inside = len(arms) == 0 or (arms.min() >= 0 and arms.max() < n_arms)
    require(
        in_order and inside, "form", "recommend must return arms of range({}) in order, got {}", n_arms, arms
    )


def _check_determinism(subject: _Subject) -> None:
    """The same seed gives the same requests."""
    first, second = (_requests(subject, 60, lambda session, _: session) for _ in range(2))
    require(len(first) == len(second), "determinism", "the same seed stopped at another time")
    for a, b in zip(first, second, strict=True):
        require_same(a, b, "determinism", "the same seed")


def _check_state(subject: _Subject) -> None:
    """Questions leave the state as it is, and a run leaves the explorer as it is."""
    _requests(subject, 5, lambda session, _: session)  # parameters derived at first use are in place now
    parameters = pickled(subject.explorer)

    def look(session: Session[Any], step: int) -> Session[Any]:
        before = pickled(session.state)
        if not subject.explorer.is_done(session.state):
            subject.explorer.select(session.state, np.random.default_rng(0))
        if step > 0:
            subject.explorer.recommend(session.state)
        require(pickled(session.state) == before, "state", "questions must leave the state unchanged")
        return session

    _requests(subject, 40, look)
    require(pickled(subject.explorer) == parameters, "state", "a run must leave the explorer unchanged")


def _check_resuming(subject: _Subject) -> None:
    """A session that is saved and loaded in the middle asks for the same arms."""
    whole = _requests(subject, 40, lambda session, _: session)
    middle = len(whole) // 2
    again = _requests(subject, 40, lambda session, step: resumed(session) if step == middle else session)
    require(len(whole) == len(again), "resuming", "a saved and loaded session stopped at another time")
    for a, b in zip(whole, again, strict=True):
        require_same(a, b, "resuming", "a saved and loaded session")


def _check_errors(subject: _Subject) -> None:
    """Wrong answers and runs without an answer are no more than `delta` allows."""
    if subject.delta is None or subject.explorer.goal is None:
        return
    found = identify(
        subject.explorer,
        subject.environment,
        replications=subject.runs,
        rng=subject.seed,
        max_samples=subject.max_samples,
    )
    wrong: FloatArray | Any = ~(found.correct & found.stopped)
    errors = int(wrong.sum())
    possible = binomial_tail(errors, subject.runs, subject.delta) >= _LEVEL
    require(
        possible,
        "errors",
        "{} of {} runs failed, delta={:g} was promised",
        errors,
        subject.runs,
        subject.delta,
    )


_CHECKS: tuple[Callable[[_Subject], None], ...] = (
    _check_form,
    _check_determinism,
    _check_state,
    _check_resuming,
    _check_errors,
)
