"""Checks of policies."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cmab.arrays import IntArray
from cmab.environment import Environment
from cmab.policy import AnyPolicy
from cmab.session import Session
from cmab.testing._checks import Check, named_checks, pickled, require, require_same


@dataclass(frozen=True, eq=False)
class _Subject:
    policy: AnyPolicy
    environment: Environment
    rounds: int
    seed: int


def check_policy(policy: AnyPolicy, environment: Environment, *, rounds: int = 50, rng: int = 0) -> None:
    """Check that a policy keeps state and parameters apart, and can be saved and resumed.

    Parameters
    ----------
    policy : Policy
        The policy to check.
    environment : Environment
        Something to play against.
    rounds : int
        Rounds to play.
    rng : int
        Seed.

    Raises
    ------
    AssertionError
        At the first fault: ``determinism`` (the same seed gives another run, or a fresh state remembers an
        old one), ``state`` (`select` changes it), ``feasibility``, ``resuming`` (a session that was saved and
        loaded plays another future), ``late feedback`` (feedback told in another order is refused).

    Examples
    --------
    >>> from cmab import CUCB
    >>> from cmab.testing import check_policy
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(3, k=2)
    >>> check_policy(CUCB(oracle), SemiBandit(BernoulliArms([0.2, 0.6, 0.9]), oracle))
    """
    for check in policy_checks(policy, environment, rounds=rounds, rng=rng):
        check.run()


def policy_checks(
    policy: AnyPolicy, environment: Environment, *, rounds: int = 50, rng: int = 0, name: str | None = None
) -> list[Check]:
    """Return the checks of `check_policy` one by one, for `parametrize_with_checks`.

    Parameters
    ----------
    policy, environment, rounds, rng
        As for `check_policy`.
    name : str, optional
        Begins the name of each check; the class's name if left out.

    Returns
    -------
    list of Check

    Examples
    --------
    >>> from cmab import CUCB
    >>> from cmab.testing import policy_checks
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(3, k=2)
    >>> policy_checks(CUCB(oracle), SemiBandit(BernoulliArms([0.2, 0.6, 0.9]), oracle))[0].name
    'CUCB-determinism'
    """
    subject = _Subject(policy, environment, rounds, rng)
    return named_checks(name or type(policy).__name__, subject, _CHECKS)


def _play(subject: _Subject) -> list[IntArray]:
    session = Session(subject.policy, rng=subject.seed)
    coins = np.random.default_rng(subject.seed)
    played = []
    for _ in range(subject.rounds):
        ticket = session.ask()
        session.tell(subject.environment.play(ticket.super_arm, coins))
        played.append(ticket.super_arm)
    return played


def _check_determinism(subject: _Subject) -> None:
    """The same seed gives the same run, whatever was played before."""
    for first, second in zip(_play(subject), _play(subject), strict=True):
        require_same(first, second, "determinism", "the same seed")


def _check_feasibility(subject: _Subject) -> None:
    """Every super arm that is played belongs to the oracle's family."""
    for super_arm in _play(subject):
        feasible = subject.policy.oracle.is_feasible(super_arm)
        require(feasible, "feasibility", "{} is not feasible for {!r}", super_arm, subject.policy.oracle)


def _check_state(subject: _Subject) -> None:
    """`select` leaves the state as it is, and a run leaves the policy as it is."""
    session = Session(subject.policy, rng=subject.seed)
    coins = np.random.default_rng(subject.seed)
    parameters = pickled(subject.policy)
    for _ in range(subject.rounds):
        before = pickled(session.state)
        ticket = session.ask()
        require(pickled(session.state) == before, "state", "select must leave the state unchanged")
        session.tell(subject.environment.play(ticket.super_arm, coins))
    require(pickled(subject.policy) == parameters, "state", "a run must leave the policy unchanged")


def _check_resuming(subject: _Subject) -> None:
    """A session that is saved and loaded in the middle plays the same future."""
    session, coins = Session(subject.policy, rng=subject.seed), np.random.default_rng(subject.seed)
    for step, expected in enumerate(_play(subject)):
        if step == subject.rounds // 2:
            session = resumed(session)
        ticket = session.ask()
        require_same(expected, ticket.super_arm, "resuming", "a saved and loaded session")
        session.tell(subject.environment.play(ticket.super_arm, coins))


def resumed(session: Session[Any]) -> Session[Any]:
    """Return the session as it comes back from a file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "session.npz"
        session.save(file)
        return Session.load(file, session.policy)


def _check_late_feedback(subject: _Subject) -> None:
    """Feedback may come in batches, last ticket first."""
    session, coins = Session(subject.policy, rng=subject.seed), np.random.default_rng(subject.seed)
    for _ in range(3):
        tickets = [session.ask() for _ in range(4)]
        for ticket in reversed(tickets):
            session.tell(subject.environment.play(ticket.super_arm, coins), ticket)
    require(not session.pending, "late feedback", "every ticket was told, none may be pending")


_CHECKS: tuple[Callable[[_Subject], None], ...] = (
    _check_determinism,
    _check_feasibility,
    _check_state,
    _check_resuming,
    _check_late_feedback,
)
