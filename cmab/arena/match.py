"""One match: the run of an entry on one instance of a problem."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from cmab.arena.entry import Entry, Facts
from cmab.arena.problem import Instance, Problem, benchmark_of
from cmab.arrays import FloatArray, IntArray
from cmab.policy import AnyPolicy
from cmab.running.simulation import simulate
from cmab.validation import integer

#: Number of checkpoints in the first and in the other nine tenths of a run.
_FIRST, _LATER = 10, 10
#: Number of rounds that decide whether a policy accepts a problem.
_PROBE = 2


class CannotPlay(ValueError):
    """Exception for a policy that rejects a problem, with the reason of the policy.

    Examples
    --------
    >>> from cmab.arena import CannotPlay
    >>> issubclass(CannotPlay, ValueError)
    True
    """


@dataclass(frozen=True, eq=False)
class Match:
    """The run of an entry on one instance.

    Attributes
    ----------
    rounds : IntArray, shape (C,)
        The checkpoints. They include a tenth of the horizon and the horizon.
    regret : FloatArray, shape (C,)
        Cumulative regret against the optimum of the instance, or against the value of the oracle's super arm
        for the true means if the environment does not know the optimum. The regret may be negative then.
    worth : FloatArray, shape (C,)
        Cumulative absolute value of the benchmark of the regret.
    seconds : float
        Wall-clock time of the run in seconds.
    path : str
        The loop that ran, as in `Simulation`.

    Examples
    --------
    >>> from cmab import CUCB
    >>> from cmab.arena import Entry, Problem, play
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> def ten_arms(rng):
    ...     oracle = TopK(10, k=2)
    ...     return oracle, SemiBandit(BernoulliArms(rng.random(10)), oracle)
    >>> problem = Problem("ten arms", "top-k", ten_arms, horizon=100, source="an example")
    >>> match = play(problem, Entry.of(CUCB), replication=0)
    >>> int(match.rounds[-1]), match.path
    (100, 'compiled')
    """

    rounds: IntArray
    regret: FloatArray
    worth: FloatArray
    seconds: float
    path: str


def checkpoints(horizon: int) -> IntArray:
    """Return the recorded rounds: 10 in the first tenth of the run and 10 after it, evenly spaced."""
    tenth = horizon // 10
    first, later = np.linspace(0, tenth, _FIRST + 1)[1:], np.linspace(tenth, horizon, _LATER + 1)[1:]
    return np.unique(np.maximum(1, np.round([*first, *later])).astype(np.int64))


def play(
    problem: Problem, entry: Entry, replication: int, *, seed: int = 0, horizon: int | None = None
) -> Match:
    """Play one replication of an entry on a problem.

    All entries meet the same instance and the same random numbers of the environment in a replication.

    Parameters
    ----------
    problem : Problem
        The problem.
    entry : Entry
        The entry.
    replication : int
        The number of the replication, from 0 on.
    seed : int
        The seed of the arena.
    horizon : int, optional
        Number of rounds, at least 10. The default is the horizon of the problem.

    Returns
    -------
    Match
        The regret at the checkpoints.

    Raises
    ------
    CannotPlay
        If the policy rejects the problem: the policy or its first two rounds raise a ``ValueError`` or a
        ``TypeError``.
    """
    rounds = problem.horizon if horizon is None else integer("horizon", horizon, 10)
    instance, benchmark = _instance(problem, seed, replication)
    streams = problem.streams(seed=seed, replication=replication)
    policy = policy_of(problem, entry, instance, rounds)

    def run(length: int, recorded: IntArray | None) -> Any:
        return simulate(
            policy,
            instance.environment,
            length,
            checkpoints=recorded,
            rng=streams,
            batch=problem.batch,
            delay=problem.delay,
            progress=False,
        )

    started = time.perf_counter()
    try:
        result = run(rounds, checkpoints(rounds))
    except (ValueError, TypeError) as error:
        try:
            run(_PROBE, None)
        except (ValueError, TypeError) as first:
            raise CannotPlay(f"{entry.name} cannot play {problem.name}: {first}") from error
        raise  # the policy accepted the problem, so this is a fault
    seconds = time.perf_counter() - started
    worth = result.rounds * benchmark if result.optima is None else result.optima[0]
    sign = 1.0 if result.sense == "max" else -1.0
    regret = sign * (worth - result.expected_rewards[0])
    return Match(result.rounds, regret, np.abs(worth), seconds, result.path)


def policy_of(problem: Problem, entry: Entry, instance: Instance, horizon: int) -> AnyPolicy:
    """Return the policy of an entry for an instance.

    Raises
    ------
    CannotPlay
        If the entry does not play problems of this kind, or if its policy rejects the oracle.
    """
    if not entry.plays(problem.kind):
        raise CannotPlay(f"{entry.name} does not play problems of the kind {problem.kind}")
    low, high = instance.environment.support
    facts = Facts(
        problem.kind,
        horizon,
        (float(low), float(high)),
        instance.oracle.sense,
        problem.batch,
        problem.delay is not None,
        {**problem.facts, **instance.facts},
    )
    try:
        return entry.make(instance.oracle, facts)
    except (ValueError, TypeError) as error:
        raise CannotPlay(f"{entry.name} cannot play {problem.name}: {error}") from error


# Entries of one replication follow each other, so the instance is built once for all of them.
@lru_cache(maxsize=2)
def _instance(problem: Problem, seed: int, replication: int) -> tuple[Instance, float]:
    instance = problem.draw(seed=seed, replication=replication)
    return instance, benchmark_of(instance)
