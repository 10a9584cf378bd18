"""Studies: instances times learners times replications, stored as they finish and resumed."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from cmab._provenance import Code, code_of
from cmab._specification import key_of, nearest
from cmab._study_pieces import Outcome, Piece, StudyFailed, pack, play, row, task_of
from cmab._study_plan import Plan
from cmab._study_results import (
    Results,
    Score,
    finals,
    identification,
    regret_row,
    result_of,
    samples_row,
    score,
    simulation,
)
from cmab._study_workers import limited_threads, spread
from cmab._validation import integer
from cmab.arrays import IntArray
from cmab.identification import Identification
from cmab.simulation import Simulation, check_rounds
from cmab.store import Kind, Store

_FOR_LEARNERS = ("horizon", "checkpoints")
_FOR_EXPLORERS = ("max_samples",)
_KNOWN = {"instances", "learners", "explorers", "replications", "seed", *_FOR_LEARNERS, *_FOR_EXPLORERS}
_KINDS: tuple[Kind, ...] = ("simulations", "identifications")


class Study:
    """A comparison described by plain data, so that its content can key what is stored.

    Parameters
    ----------
    specification : mapping
        ``replications`` (1), ``seed`` (0) and tables. ``instances``: by name, ``oracle`` and ``environment``;
        the latter may refer to ``"$oracle"``. ``learners``: by name, ``class`` and parameters of a policy,
        simulated for ``horizon`` rounds with ``checkpoints`` (as for `simulate`). ``explorers``: by name,
        ``class`` and parameters of an explorer, run until it stops or ``max_samples`` are spent; arms and
        oracle of the instance are filled in. Without learners, instances need no oracle.

        Parameters may refer to ``"$oracle"``, ``"$n_arms"`` and ``"$means"`` (the truth, for a clairvoyant);
        ``grid`` holds lists, and every combination of their entries is a learner or explorer.
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
    ...     "explorers": {"halving": {"class": "SequentialHalving", "budget": 300}},
    ... })
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     study.run(folder)
    ...     results = study.results(folder)
    ...     found = study.identifications(folder)
    >>> list(results)
    [('ads', 'CUCB scale=0.5'), ('ads', 'CUCB scale=1.0')]
    >>> found["ads", "halving"].arms
    [array([0]), array([0])]
    """

    def __init__(self, specification: Mapping[str, Any]) -> None:
        unknown = set(specification) - _KNOWN
        if unknown:
            known = ", ".join(sorted(_KNOWN))
            hint = nearest(min(unknown), _KNOWN)
            raise ValueError(f"a study must have no entries but {known}; got {sorted(unknown)}{hint}")
        for kind, names in (("learners", _FOR_LEARNERS), ("explorers", _FOR_EXPLORERS)):
            if kind not in specification and (useless := set(names) & set(specification)):
                raise ValueError(f"a study without {kind} must not have {', '.join(sorted(useless))}")
        self.specification: dict[str, Any] = _plain(specification)
        self.replications = integer("replications", specification.get("replications", 1), 1)
        self.seed = integer("seed", specification.get("seed", 0), 0)
        self.rounds: IntArray | None = None
        if "learners" in specification:
            horizon = integer("horizon", specification.get("horizon"), 1)
            self.rounds = check_rounds(specification.get("checkpoints"), horizon)
        self.max_samples: int | None = specification.get("max_samples")
        if self.max_samples is not None:
            integer("max_samples", self.max_samples, 1)
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

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Study:
        """Return the study that ran last in a folder, to read its results.

        Its pieces are those of the code that ran then, so that results stay readable when the code has
        changed since; going on with it then needs `load`.

        Raises
        ------
        ValueError
            If no study ran there.
        """
        found = None
        if Path(folder).is_dir():
            with Store(folder) as store:
                found = store.last_study()
        if found is None:
            raise ValueError(f"{folder} must be a folder in which a study ran")
        study = cls(json.loads(found[0]))
        study._code = {(instance, learner): code for instance, learner, code in json.loads(found[1])}
        return study

    def __repr__(self) -> str:
        plan = self._plan
        kinds = (("learners", plan.learners), ("explorers", plan.explorers))
        counts = " + ".join(f"{len(tables)} {kind}" for kind, tables in kinds if tables)
        rounds = "" if self.rounds is None else f", {self.rounds[-1]} rounds"
        return (
            f"Study({len(plan.instances)} instances x ({counts}) x {self.replications} replications{rounds})"
        )

    @cached_property
    def _code(self) -> dict[tuple[str, str], Code]:
        """What code each learner runs on each instance."""
        plan = self._plan
        tables = plan.learners | plan.explorers
        return {
            (instance, learner): code_of([plan.instances[instance], tables[learner]])
            for instance, learner in plan.pairs
        }

    @cached_property
    def pieces(self) -> list[Piece]:
        """All pieces; replications in the outer loop, so that early results show all learners."""
        return [
            Piece(self._key(instance, learner, replication), instance, learner, replication)
            for replication in range(self.replications)
            for instance, learner in self._plan.pairs
        ]

    def _kind(self, piece: Piece) -> Kind:
        return "simulations" if piece.learner in self._plan.learners else "identifications"

    def _content(self, instance: str, learner: str) -> dict[str, Any]:
        """Return what decides the numbers of a piece; names do not."""
        content = {"instance": self._plan.instances[instance], "seed": self.seed}
        if self.rounds is not None and learner in self._plan.learners:
            return content | {"learner": self._plan.learners[learner], "rounds": self.rounds.tolist()}
        return content | {"explorer": self._plan.explorers[learner], "max_samples": self.max_samples}

    def _key(self, instance: str, learner: str, replication: int) -> str:
        decided_by = {"replication": replication, "code": self._code[instance, learner]}
        return key_of(self._content(instance, learner) | decided_by)

    def missing(self, folder: str | os.PathLike[str]) -> list[Piece]:
        """Return the pieces that are not in the store of `folder`."""
        with Store(folder) as store:
            return self._missing(store)

    def _missing(self, store: Store) -> list[Piece]:
        keys = {
            key
            for kind in _KINDS
            for key in store.missing(kind, (p.key for p in self.pieces if self._kind(p) == kind))
        }
        return [piece for piece in self.pieces if piece.key in keys]

    def repair(self, folder: str | os.PathLike[str]) -> int:
        """Remove damaged pieces from the store of `folder`, as `run` does first; return their number."""
        with Store(folder) as store:
            return _remove_damaged(store)

    def run(
        self,
        folder: str | os.PathLike[str],
        *,
        n_jobs: int = 1,
        report: Callable[[Piece, Score], object] | None = None,
    ) -> None:
        """Play what is missing in `folder`, and store each piece as it finishes.

        Parameters
        ----------
        folder : path-like
            Holds the store.
        n_jobs : int
            Workers, by joblib and its configured back end (``joblib.parallel_config``); -1 for all cores, or
            all workers of a cluster; 1 plays in this process. The numbers are the same.
        report : callable, optional
            Called with each piece when it is stored, and its score: ``measure`` (regret; where the optimum is
            unknown, reward or cost; samples of an explorer) and ``value``.

        Raises
        ------
        ValueError
            If `n_jobs` is neither -1 nor positive.
        StudyFailed
            If pieces raised, once all others are stored.
        OSError
            If the store cannot be written or a worker died; what was finished is stored.
        KeyboardInterrupt
            On Ctrl-C; what was finished is stored.
        """
        if n_jobs != -1:
            integer("n_jobs", n_jobs, 1)
        failures: dict[Piece, str] = {}
        with Store(folder) as store, limited_threads():
            self._note(store)
            _remove_damaged(store)
            for outcome in self._played(self._missing(store), n_jobs):
                if outcome.interrupted:
                    raise KeyboardInterrupt
                if outcome.failure is not None:
                    failures[outcome.piece] = outcome.failure
                    continue
                values, found = self._finished(outcome)
                store.put(self._kind(outcome.piece), values)
                if report is not None:
                    report(outcome.piece, found)
        if failures:
            raise StudyFailed([(piece, failures[piece]) for piece in self.pieces if piece in failures])

    def _note(self, store: Store) -> None:
        """Keep what `open` needs."""
        specification = json.dumps(self.specification)
        code = json.dumps([[*pair, code] for pair, code in self._code.items()])
        store.put_study(key_of({"specification": specification, "code": code}), specification, code)

    def _played(self, pieces: list[Piece], n_jobs: int) -> Iterator[Outcome]:
        for instance in dict.fromkeys(p.instance for p in pieces if self._kind(p) == "simulations"):
            _ = self._plan.problems[instance].optimum  # once here instead of in every worker
        tasks: dict[tuple[str, str], Any] = {}
        for pair in dict.fromkeys(piece.pair for piece in pieces):
            task = task_of(self._plan, pair, self.rounds, self.max_samples)
            tasks[pair] = task if n_jobs == 1 else pack(task)
        calls = [(piece, tasks[piece.pair], self.seed, self._code[piece.pair]) for piece in pieces]
        return spread(play, calls, n_jobs)

    def _finished(self, outcome: Outcome) -> tuple[dict[str, Any], Score]:
        """Return what to store of a piece, and its score."""
        pair = outcome.piece.pair
        values = row(outcome, self._content(*pair), self.seed, self._code[pair])
        result = result_of(self._plan, pair, [values])
        return values | finals(result), score(result)

    def results(self, folder: str | os.PathLike[str]) -> dict[tuple[str, str], Simulation]:
        """Return the finished replications of policies by (instance, learner), where there are any."""
        stored = self._stored(folder, "simulations")
        return Results({pair: simulation(self._plan, pair, rows) for pair, rows in stored.items()})

    def identifications(self, folder: str | os.PathLike[str]) -> dict[tuple[str, str], Identification]:
        """Return the finished replications of explorers by (instance, explorer), where there are any."""
        stored = self._stored(folder, "identifications")
        return Results({pair: identification(pair[1], rows) for pair, rows in stored.items()})

    def _stored(self, folder: str | os.PathLike[str], kind: Kind) -> dict[tuple[str, str], list[Any]]:
        if not Path(folder).is_dir():
            raise ValueError(f"folder must be one in which the study ran, got {folder}")
        stored: dict[tuple[str, str], list[Any]] = {pair: [] for pair in self._plan.pairs}
        with Store(folder) as store:
            for piece in self.pieces:
                found = store.get(kind, piece.key) if self._kind(piece) == kind else None
                if found is not None:
                    stored[piece.pair].append(found)
        return {pair: rows for pair, rows in stored.items() if rows}

    def table(self, folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
        """Return a row for each instance and learner that has finished replications."""
        return [regret_row(*item) for item in self.results(folder).items()]

    def identification_table(self, folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
        """Return a row for each instance and explorer that has finished replications."""
        return [samples_row(*item) for item in self.identifications(folder).items()]


def _plain(specification: Mapping[str, Any]) -> Any:
    """Return a copy that holds only what a file can."""
    try:
        return json.loads(json.dumps(specification, allow_nan=False))
    except (TypeError, ValueError) as error:  # its number or object, but not the place
        raise ValueError(
            f"a study must hold text, booleans, finite numbers, lists and tables only, got: {error}"
        ) from None


def _remove_damaged(store: Store) -> int:
    return sum(store.remove_damaged(kind) for kind in _KINDS)
