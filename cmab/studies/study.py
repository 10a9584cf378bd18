"""Studies: instances times learners times replications, stored as they finish and resumed."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from cmab.results.identification import Identification
from cmab.results.simulation import Simulation
from cmab.studies._notes import About, Origin, describe, noted, notes, origins_of
from cmab.studies._outline import Outline, plain
from cmab.studies._pieces import Outcome, Piece, StudyFailed, pack, play, row, task_of
from cmab.studies._plan import Plan
from cmab.studies._results import (
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
from cmab.studies._specification import key_of
from cmab.studies._workers import limited_threads, spread
from cmab.studies.store import By, Kind, Store
from cmab.validation import check_jobs

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
        An object is a table with ``class``, a name that ``cmab list`` shows, and its arguments. A graph may
        be a table with ``networkx``, the name of one of networkx's generators, which needs a ``seed`` if it
        takes one; or with ``file``, an edge list below `files`, and ``directed`` (false).
    files : path-like, optional
        Folder of the files that the specification names.
    accept_versions : bool
        Whether pieces count that were played by other versions of Python, cmab and its dependencies. Their
        numbers may differ from those of today's versions; the report says which versions played what.

    Raises
    ------
    ValueError
        Naming every place that is wrong; or if code was changed after it was imported.

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
    ...             "arms": {"class": "BernoulliArms", "means": [0.5, 0.1, 0.9]},
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
    [array([2]), array([2])]
    """

    def __init__(
        self,
        specification: Mapping[str, Any],
        *,
        files: str | os.PathLike[str] | None = None,
        accept_versions: bool = False,
    ) -> None:
        self._outline_of(specification, accept_versions)
        self._plan: Plan | None = Plan.of(self._outline, None if files is None else Path(files))
        self._origins = self._origins_now(self._plan)

    def _outline_of(self, specification: Mapping[str, Any], accept_versions: bool) -> None:
        """Take in all that needs no object."""
        self.specification = plain(specification)
        self.accept_versions = accept_versions
        outline = self._outline = Outline.of(self.specification)
        self.replications, self.seed = outline.replications, outline.seed
        self.rounds, self.max_samples = outline.rounds, outline.max_samples
        self._about: dict[tuple[str, str], About] = {}

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, accept_versions: bool = False) -> Study:
        """Return the study that a TOML file describes; files that it names are looked for beside it.

        Raises
        ------
        ValueError
            If it is no TOML, or describes no study.
        """
        file = Path(path)
        try:
            tables = tomllib.loads(file.read_text(encoding="utf-8"))
            return cls(tables, files=file.parent, accept_versions=accept_versions)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        except (RecursionError, MemoryError):
            raise ValueError(f"{path}: a study must not be nested so deeply, or be so large") from None

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Study:
        """Return the study that ran last in a folder, to read its results.

        Nothing of it is built: all is told by what was stored, so results stay what they were when the code
        has changed since, and a folder of somebody else's runs nothing. Going on with it needs `load`.

        Raises
        ------
        ValueError
            If no study ran there.
        """
        found = None
        if Path(folder).is_dir():
            with Store(folder, reading=True) as store:
                found = store.last_study()
        if found is None:
            raise ValueError(f"{folder} must be a folder in which a study ran")
        study = cls.__new__(cls)
        specification, accepts, study._origins, about = noted(*found)
        study._outline_of(specification, accepts)
        study._about, study._plan = about, None
        if not set(about) == set(study._origins) == set(study._outline.pairs):
            raise ValueError(f"{folder}: the study noted in the store must be one, got parts of two")
        return study

    def __repr__(self) -> str:
        outline = self._outline
        kinds = (("learners", outline.learners), ("explorers", outline.explorers))
        counts = " + ".join(f"{len(tables)} {kind}" for kind, tables in kinds if tables)
        rounds = "" if self.rounds is None else f", {self.rounds[-1]} rounds"
        return (
            f"Study({len(outline.instances)} instances x ({counts}) x {self.replications}"
            f" replications{rounds})"
        )

    def _origins_now(self, plan: Plan) -> dict[tuple[str, str], Origin]:
        """What each pair is made of, as of now: code, versions and graphs."""
        outline = self._outline
        tables = outline.learners | outline.explorers
        used = {pair: [outline.instances[pair[0]], tables[pair[1]]] for pair in outline.pairs}
        return origins_of(used, plan.graphs)

    @cached_property
    def pieces(self) -> list[Piece]:
        """All pieces; replications in the outer loop, so that early results show all learners."""
        pairs = [
            (*pair, *self._origins[pair].keys(self._outline.content(*pair))) for pair in self._outline.pairs
        ]
        return [
            Piece(f"{key}-{replication}", instance, learner, replication, f"{alike}-{replication}")
            for replication in range(self.replications)
            for instance, learner, key, alike in pairs
        ]

    def _kind(self, piece: Piece) -> Kind:
        return "simulations" if piece.learner in self._outline.learners else "identifications"

    @property
    def _by(self) -> By:
        return "alike" if self.accept_versions else "key"

    def missing(self, folder: str | os.PathLike[str]) -> list[Piece]:
        """Return the pieces that are not in the store of `folder`."""
        with Store(folder, reading=True) as store:
            return self._missing(store)

    def _missing(self, store: Store) -> list[Piece]:
        by = self._by
        keys = {
            key
            for kind in _KINDS
            for key in store.missing(kind, (getattr(p, by) for p in self.pieces if self._kind(p) == kind), by)
        }
        return [piece for piece in self.pieces if getattr(piece, by) in keys]

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
            If `n_jobs` is neither -1 nor positive, code has changed since the study was made, or the study
            was opened from its results.
        StudyFailed
            If pieces raised, once all others are stored.
        OSError
            If the store cannot be written or a worker died; what was finished is stored.
        KeyboardInterrupt
            On Ctrl-C; what was finished is stored.
        """
        check_jobs(n_jobs)
        plan = self._current_plan()
        failures: dict[Piece, str] = {}
        with Store(folder) as store, limited_threads():
            self._note(store, plan)
            _remove_damaged(store)
            for outcome in self._played(plan, self._missing(store), n_jobs):
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

    def _current_plan(self) -> Plan:
        """Return the objects, if their code is still what the keys say."""
        if self._plan is None:
            raise ValueError(
                "a study must be made by Study or Study.load to run, got one opened from results"
            )
        if self._origins_now(self._plan) != self._origins:
            raise ValueError("a study must be made anew when its code has changed, got one made before")
        return self._plan

    def _note(self, store: Store, plan: Plan) -> None:
        """Keep what `open` needs: also what a report says of each pair, so that it need not be built."""
        specification, known = notes(self.specification, self.accept_versions, self._origins)
        key = key_of({"specification": specification, "pairs": known})
        pairs = store.noted(key)
        if pairs is None:
            about = {pair: describe(plan, pair) for pair in self._outline.pairs}
            _, pairs = notes(self.specification, self.accept_versions, self._origins, about)
        store.put_study(key, specification, pairs)

    def _played(self, plan: Plan, pieces: list[Piece], n_jobs: int) -> Iterator[Outcome]:
        for instance in dict.fromkeys(p.instance for p in pieces if self._kind(p) == "simulations"):
            _ = plan.problems[instance].optimum  # once here instead of in every worker
        tasks: dict[tuple[str, str], Any] = {}
        for pair in dict.fromkeys(piece.pair for piece in pieces):
            task = task_of(plan, pair, self.rounds, self.max_samples)
            tasks[pair] = task if n_jobs == 1 else pack(task)
        calls = [(piece, tasks[piece.pair], self.seed, self._origins[piece.pair].code) for piece in pieces]
        return spread(play, calls, n_jobs)

    def _finished(self, outcome: Outcome) -> tuple[dict[str, Any], Score]:
        """Return what to store of a piece, and its score."""
        pair = outcome.piece.pair
        values = row(outcome, self._outline.content(*pair), self.seed, self._origins[pair].code)
        result = result_of(pair[1], [values])
        return values | finals(result), score(result)

    def results(self, folder: str | os.PathLike[str]) -> dict[tuple[str, str], Simulation]:
        """Return the finished replications of policies by (instance, learner), where there are any."""
        stored = self._stored(folder, "simulations")
        return Results({pair: simulation(pair[1], rows) for pair, rows in stored.items()})

    def identifications(self, folder: str | os.PathLike[str]) -> dict[tuple[str, str], Identification]:
        """Return the finished replications of explorers by (instance, explorer), where there are any."""
        stored = self._stored(folder, "identifications")
        return Results({pair: identification(pair[1], rows) for pair, rows in stored.items()})

    def _stored(self, folder: str | os.PathLike[str], kind: Kind) -> dict[tuple[str, str], list[Any]]:
        if not Path(folder).is_dir():
            raise ValueError(f"folder must be one in which the study ran, got {folder}")
        stored: dict[tuple[str, str], list[Any]] = {pair: [] for pair in self._outline.pairs}
        n_found = 0
        with Store(folder, reading=True) as store:
            for piece in self.pieces:
                if self._kind(piece) != kind:
                    continue
                found = store.get(kind, piece.key)
                if found is None and self.accept_versions:
                    found = store.get(kind, piece.alike, "alike")
                if found is not None:
                    stored[piece.pair].append(found)
                    n_found += 1
            if n_found < sum(self._kind(piece) == kind for piece in self.pieces):
                store.check(kind)  # a piece whose key was changed looks like one that is still to be played
        return {pair: rows for pair, rows in stored.items() if rows}

    def table(self, folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
        """Return a row for each instance and learner that has finished replications."""
        return [regret_row(*item) for item in self.results(folder).items()]

    def identification_table(self, folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
        """Return a row for each instance and explorer that has finished replications."""
        return [samples_row(*item) for item in self.identifications(folder).items()]


def _remove_damaged(store: Store) -> int:
    return sum(store.remove_damaged(kind) for kind in _KINDS)
