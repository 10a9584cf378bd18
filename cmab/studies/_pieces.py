"""One piece of a study: played in a worker, and the row that the store keeps of it."""

from __future__ import annotations

import json
import math
import pickle
import traceback
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np

from cmab.arrays import IntArray
from cmab.environment import Environment
from cmab.explorer import AnyExplorer
from cmab.policy import AnyPolicy
from cmab.results._columns import IDENTIFIED, SIMULATED, stored
from cmab.running._arrivals import AT_ONCE, Arrival
from cmab.running._replication import replicate
from cmab.running.identification import explore
from cmab.running.simulation import mean_optimum
from cmab.seeding import root
from cmab.studies._plan import Plan
from cmab.studies._provenance import Code, check_code, machine
from cmab.studies._registered import Trying


@dataclass(frozen=True)
class Piece:
    """One replication of one learner or explorer on one instance; `alike` is its key but for versions."""

    key: str
    instance: str
    learner: str
    replication: int
    alike: str = ""

    @property
    def pair(self) -> tuple[str, str]:
        """Instance and learner."""
        return self.instance, self.learner


@dataclass(frozen=True, eq=False)
class Simulating:
    """A replication of a policy, to be played anywhere."""

    policy: AnyPolicy
    environment: Environment
    rounds: IntArray
    arrival: Arrival = AT_ONCE

    def play(self, seed: int, replication: int) -> dict[str, Any]:
        """Return what is recorded."""
        # The seed is the study's and the replication its own: numbers depend on no order of pieces.
        record = replicate(
            self.policy, self.environment, self.rounds, root(seed), replication, arrival=self.arrival
        )
        if record.interrupted:
            raise KeyboardInterrupt
        oracle = self.policy.oracle
        told: dict[str, Any] = {"alpha": oracle.alpha, "beta": oracle.beta, "sense": oracle.sense}
        told |= {"rounds": self.rounds, "optimum": mean_optimum(self.environment, self.rounds, record.optima)}
        outside = record.seconds - record.oracle_seconds
        counts = getattr(record.state, "counts", None)
        observed = float(np.mean(counts > 0)) if isinstance(counts, np.ndarray) else math.nan
        return stored(SIMULATED, vars(record) | told) | {"outside_seconds": outside, "observed": observed}


@dataclass(frozen=True, eq=False)
class Identifying:
    """A replication of an explorer, to be played anywhere."""

    explorer: AnyExplorer
    environment: Environment
    max_samples: int | None

    def play(self, seed: int, replication: int) -> dict[str, Any]:
        """Return what is recorded."""
        run = explore(self.explorer, self.environment, root(seed), self.max_samples, replication)
        return stored(IDENTIFIED, run._asdict())


Task = Simulating | Identifying | Trying


def task_of(plan: Plan, pair: tuple[str, str], rounds: IntArray | None, max_samples: int | None) -> Task:
    """Return what to play of a trial, or of a policy or an explorer on an instance."""
    if pair in plan.trials:
        return Trying(plan.trials[pair])
    environment = plan.problems[pair[0]]
    if rounds is not None and pair in plan.policies:
        return Simulating(plan.policies[pair], environment, rounds, plan.outline.arrival)
    return Identifying(plan.explorations[pair], environment, max_samples)


@dataclass(eq=False)
class Outcome:
    """What came back: the values to store, or the traceback of what was raised."""

    piece: Piece
    values: dict[str, Any] = field(default_factory=dict)
    failure: str | None = None
    interrupted: bool = False


def play(piece: Piece, task: Task | bytes, seed: int, code: Code) -> Outcome:
    """Play a piece; what it raises becomes part of the outcome, so that the others go on."""
    try:
        # A worker may have started from other files than the study: then its numbers get no key.
        check_code(code)
        loaded: Task = pickle.loads(task) if isinstance(task, bytes) else task
        played = loaded.play(seed, piece.replication)
        check_code(code)  # playing may have imported more
        return Outcome(piece, played | machine())
    except KeyboardInterrupt:
        return Outcome(piece, interrupted=True)
    except Exception:
        return Outcome(piece, failure=traceback.format_exc())


def row(outcome: Outcome, content: dict[str, Any], seed: int, code: Code) -> dict[str, Any]:
    """Return the columns that all pieces have, and those of this one."""
    piece = outcome.piece
    return {
        "key": piece.key,
        "alike": piece.alike,
        "instance": piece.instance,
        "learner": piece.learner,
        "replication": piece.replication,
        "seed": str(seed),
        "specification": json.dumps(content),
        "sources": json.dumps(code["sources"]),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        **code["versions"],
        **outcome.values,
    }


class StudyFailed(RuntimeError):
    """Pieces of a study raised; all others are stored.

    Attributes
    ----------
    failures : list of (Piece, str)
        The pieces with their tracebacks, in the study's order.

    Examples
    --------
    >>> from cmab import StudyFailed
    >>> try:
    ...     pass  # study.run("results")
    ... except StudyFailed as failed:
    ...     print(failed.failures[0][1])
    """

    def __init__(self, failures: list[tuple[Piece, str]]) -> None:
        piece, trace = failures[0]
        super().__init__(
            f"{len(failures)} pieces failed and are not stored, the first one replication"
            f" {piece.replication} of {piece.learner} on {piece.instance}:\n{trace.rstrip()}\n"
            "all other pieces are stored; run again to try these again"
        )
        self.failures = failures
