"""One piece of a study: playing it in a worker, and its row in the store."""

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
    """One replication of a learner on an instance. `alike` is the key without the versions."""

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
    """A replication of a policy, which any process can play."""

    policy: AnyPolicy
    environment: Environment
    rounds: IntArray
    arrival: Arrival = AT_ONCE

    def play(self, seed: int, replication: int) -> dict[str, Any]:
        """Return the columns to store."""
        # The streams are keyed by the seed of the study and the replication, not by the order of pieces.
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
    """A replication of an explorer, which any process can play."""

    explorer: AnyExplorer
    environment: Environment
    max_samples: int | None

    def play(self, seed: int, replication: int) -> dict[str, Any]:
        """Return the columns to store."""
        run = explore(self.explorer, self.environment, root(seed), self.max_samples, replication)
        return stored(IDENTIFIED, run._asdict())


Task = Simulating | Identifying | Trying


def task_of(plan: Plan, pair: tuple[str, str], rounds: IntArray | None, max_samples: int | None) -> Task:
    """Return the task of a trial, or of a policy or explorer on an instance."""
    if pair in plan.trials:
        return Trying(plan.trials[pair])
    environment = plan.problems[pair[0]]
    if rounds is not None and pair in plan.policies:
        return Simulating(plan.policies[pair], environment, rounds, plan.outline.arrival)
    return Identifying(plan.explorations[pair], environment, max_samples)


@dataclass(eq=False)
class Outcome:
    """The values of a played piece, or the traceback of its exception."""

    piece: Piece
    values: dict[str, Any] = field(default_factory=dict)
    failure: str | None = None
    interrupted: bool = False


def play(piece: Piece, task: Task | bytes, seed: int, code: Code) -> Outcome:
    """Play a piece and return its outcome, which contains the traceback if the piece raised."""
    try:
        # A worker may have imported other code than the study. Its numbers would be wrong for the key.
        check_code(code)
        loaded: Task = pickle.loads(task) if isinstance(task, bytes) else task
        played = loaded.play(seed, piece.replication)
        check_code(code)  # playing may have imported more modules
        return Outcome(piece, played | machine())
    except KeyboardInterrupt:
        return Outcome(piece, interrupted=True)
    except Exception:
        return Outcome(piece, failure=traceback.format_exc())


def row(outcome: Outcome, content: dict[str, Any], seed: int, code: Code) -> dict[str, Any]:
    """Return the common columns of all pieces and the columns of this one."""
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
    """Exception for pieces of a study that raised. All other pieces are stored.

    Attributes
    ----------
    failures : list of (Piece, str)
        The failed pieces with their tracebacks, in the order of the study.

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
            f"{len(failures)} pieces failed and are not stored; the first is replication"
            f" {piece.replication} of {piece.learner} on {piece.instance}:\n{trace.rstrip()}\n"
            "all other pieces are stored; run the study again to retry the failed pieces"
        )
        self.failures = failures
