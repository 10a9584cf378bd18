"""Studies: instances times learners times replications, stored as they finish and resumed."""

from __future__ import annotations

import json
import os
import platform
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from cmab._replication import Record, replicate
from cmab._specification import key_of, versions
from cmab._study_plan import Plan
from cmab._validation import integer
from cmab.arrays import IntArray
from cmab.environment import Environment
from cmab.policy import AnyPolicy
from cmab.seeding import root
from cmab.simulation import Simulation, check_rounds
from cmab.store import Store

_KNOWN = {"instances", "learners", "horizon", "replications", "seed", "checkpoints"}


@dataclass(frozen=True)
class Piece:
    """One replication of one learner on one instance."""

    key: str
    instance: str
    learner: str
    replication: int


class Study:
    """A comparison described by plain data, so that its content can key what is stored.

    Parameters
    ----------
    specification : mapping
        ``horizon``, ``replications``, ``seed`` (0), ``checkpoints`` (as for `simulate`), and two tables.
        ``instances``: by name, ``oracle`` and ``environment``; the latter may refer to ``"$oracle"``.
        ``learners``: by name, ``class`` and parameters, which may refer to ``"$oracle"``, ``"$means"`` (the
        truth, for a clairvoyant); ``grid`` holds lists, and every combination of their entries is a learner.
        An object is a table with ``class``, a name that ``cmab list`` shows, and its arguments; a graph may
        be a table with ``networkx``, the name of one of networkx's generators.

    Raises
    ------
    ValueError
        Naming every place that is wrong.

    Examples
    --------
    >>> import tempfile
    >>> from cmab import Study
    >>> study = Study({
    ...     "horizon": 100,
    ...     "replications": 2,
    ...     "instances": {"ads": {
    ...         "oracle": {"class": "TopK", "n_arms": 3, "k": 1},
    ...         "environment": {
    ...             "class": "SemiBandit",
    ...             "arms": {"class": "BernoulliArms", "means": [0.9, 0.5, 0.1]},
    ...             "oracle": "$oracle",
    ...         },
    ...     }},
    ...     "learners": {"CUCB": {"class": "CUCB", "grid": {"scale": [0.5, 1.0]}}},
    ... })
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     study.run(folder)
    ...     results = study.results(folder)
    >>> list(results)
    [('ads', 'CUCB scale=0.5'), ('ads', 'CUCB scale=1.0')]
    """

    def __init__(self, specification: Mapping[str, Any]) -> None:
        unknown = set(specification) - _KNOWN
        if unknown:
            known = ", ".join(sorted(_KNOWN))
            raise ValueError(f"a study must have no entries but {known}; got {sorted(unknown)}")
        self.specification: dict[str, Any] = json.loads(json.dumps(specification, allow_nan=False))
        self.horizon = integer("horizon", specification.get("horizon"), 1)
        self.replications = integer("replications", specification.get("replications", 1), 1)
        self.seed = integer("seed", specification.get("seed", 0), 0)
        self.rounds: IntArray = check_rounds(specification.get("checkpoints"), self.horizon)
        self._plan = Plan.of(self.specification)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Study:
        """Return the study that a TOML file describes.

        Raises
        ------
        ValueError
            If it is no TOML, or describes no study.
        """
        try:
            return cls(tomllib.loads(Path(path).read_text(encoding="utf-8")))
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    def __repr__(self) -> str:
        sizes = len(self._plan.instances), len(self._plan.learners), self.replications
        return "Study({} instances x {} learners x {} replications, {} rounds)".format(*sizes, self.horizon)

    @cached_property
    def _versions(self) -> dict[tuple[str, str], dict[str, str]]:
        """What code each learner runs on each instance."""
        tables = self._plan.instances, self._plan.learners
        return {
            (instance, learner): versions([tables[0][instance], tables[1][learner]])
            for instance, learner in self._plan.policies
        }

    @cached_property
    def pieces(self) -> list[Piece]:
        """All pieces; replications in the outer loop, so that early results show all learners."""
        return [
            Piece(self._key(instance, learner, replication), instance, learner, replication)
            for replication in range(self.replications)
            for instance, learner in self._plan.policies
        ]

    def _content(self, instance: str, learner: str) -> dict[str, Any]:
        """Return what decides the numbers of a piece; names do not."""
        return {
            "instance": self._plan.instances[instance],
            "learner": self._plan.learners[learner],
            "rounds": self.rounds.tolist(),
            "seed": self.seed,
        }

    def _key(self, instance: str, learner: str, replication: int) -> str:
        decided_by = {"replication": replication, "code": self._versions[instance, learner]}
        return key_of(self._content(instance, learner) | decided_by)

    def missing(self, folder: str | os.PathLike[str]) -> list[Piece]:
        """Return the pieces that are not in the store of `folder`."""
        with Store(folder) as store:
            keys = set(store.missing(piece.key for piece in self.pieces))
        return [piece for piece in self.pieces if piece.key in keys]

    def run(
        self,
        folder: str | os.PathLike[str],
        *,
        n_jobs: int = 1,
        report: Callable[[Piece], object] | None = None,
    ) -> None:
        """Play what is missing in `folder`, and store each piece as it finishes.

        Parameters
        ----------
        folder : path-like
            Holds the store.
        n_jobs : int
            Workers, by joblib and its configured back end; -1 for all cores. The numbers are the same.
        report : callable, optional
            Called with each piece when it is stored.

        Raises
        ------
        KeyboardInterrupt
            On Ctrl-C; what was finished is stored.
        """
        missing = self.missing(folder)
        for instance in dict.fromkeys(piece.instance for piece in missing):
            _ = self._plan.problems[instance].optimum  # once here instead of in every worker
        with Store(folder) as store:
            for piece, record in self._played(missing, n_jobs):
                if record.interrupted:
                    raise KeyboardInterrupt
                store.put(self._row(piece, record))
                if report is not None:
                    report(piece)

    def _played(self, pieces: list[Piece], n_jobs: int) -> Iterator[tuple[Piece, Record]]:
        tasks = (
            (
                piece,
                self._plan.policies[piece.instance, piece.learner],
                self._plan.problems[piece.instance],
                self.rounds,
            )
            for piece in pieces
        )
        if n_jobs == 1:
            yield from (_play(*task, self.seed) for task in tasks)
            return
        from joblib import Parallel, delayed

        workers = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        yield from workers(delayed(_play)(*task, self.seed) for task in tasks)

    def _row(self, piece: Piece, record: Record) -> dict[str, Any]:
        result = self._simulation(piece.instance, piece.learner, [_as_dict(record, self.rounds)])
        return {
            "key": piece.key,
            "instance": piece.instance,
            "learner": piece.learner,
            "replication": piece.replication,
            "specification": json.dumps(
                self._content(piece.instance, piece.learner) | {"horizon": self.horizon}
            ),
            "versions": json.dumps(self._versions[piece.instance, piece.learner]),
            "machine": f"{platform.node()} {platform.platform()} {platform.machine()}",
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "final_expected_reward": float(record.expected_rewards[-1]),
            "final_regret": float(result.regret[0, -1]),
            "final_exact_regret": float(result.exact_regret[0, -1]),
            **_as_dict(record, self.rounds),
        }

    def results(self, folder: str | os.PathLike[str]) -> dict[tuple[str, str], Simulation]:
        """Return the finished replications by (instance, learner), where there are any."""
        stored: dict[tuple[str, str], list[Mapping[str, Any]]] = {pair: [] for pair in self._plan.policies}
        with Store(folder) as store:
            for piece in self.pieces:
                row = store.get(piece.key)
                if row is not None:
                    stored[piece.instance, piece.learner].append(row)
        return {pair: self._simulation(*pair, rows) for pair, rows in stored.items() if rows}

    def table(self, folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
        """Return a row for each instance and learner that has finished replications."""
        rows = []
        for (instance, learner), result in self.results(folder).items():
            regret, n = result.exact_regret[:, -1], len(result.regret)
            rows.append(
                {
                    "instance": instance,
                    "learner": learner,
                    "replications": n,
                    "regret": float(regret.mean()),
                    "s.e.": float(regret.std(ddof=1) / np.sqrt(n)) if n > 1 else None,
                    "reward a round": float(result.expected_rewards[:, -1].mean() / self.rounds[-1]),
                    "seconds": float(result.seconds.mean()),
                }
            )
        return rows

    def _simulation(self, instance: str, learner: str, rows: list[Mapping[str, Any]]) -> Simulation:
        environment, oracle = self._plan.problems[instance], self._plan.policies[instance, learner].oracle
        return Simulation(
            policy=learner,
            rounds=self.rounds,
            expected_rewards=np.array([row["expected_rewards"] for row in rows]),
            rewards=np.array([row["rewards"] for row in rows]),
            seconds=np.array([row["seconds"] for row in rows]),
            oracle_calls=np.array([row["oracle_calls"] for row in rows], np.int64),
            oracle_seconds=np.array([row["oracle_seconds"] for row in rows], np.float64),
            optimum=environment.optimum,
            alpha=oracle.alpha,
            beta=oracle.beta,
            sense=oracle.sense,
            path=rows[0]["path"],
        )


def _play(
    piece: Piece, policy: AnyPolicy, environment: Environment, rounds: IntArray, seed: int
) -> tuple[Piece, Record]:
    record = replicate(policy, environment, rounds, root(seed), piece.replication)
    record.state = None  # stays in the worker: studies keep curves
    return piece, record


def _as_dict(record: Record, rounds: IntArray) -> dict[str, Any]:
    names = ("path", "seconds", "oracle_calls", "oracle_seconds", "expected_rewards", "rewards")
    return {"rounds": rounds, **{name: getattr(record, name) for name in names}}
