"""A study together with the open store of its results."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from cmab.results.explorer_comparison import ExplorerComparison
from cmab.results.identification import Identification
from cmab.results.policy_comparison import PolicyComparison
from cmab.results.simulation import Simulation
from cmab.running._bars import is_shown
from cmab.saving._digest import pickled
from cmab.studies._compared import by_parameter, explorer_comparisons, policy_comparisons
from cmab.studies._notes import describe, notes
from cmab.studies._pieces import Outcome, Piece, StudyFailed, play, row, task_of
from cmab.studies._plan import Pair
from cmab.studies._progress import Progress
from cmab.studies._registered import Told, told_by
from cmab.studies._results import (
    Results,
    Row,
    Score,
    finals,
    identification,
    regret_row,
    result_of,
    samples_row,
    score,
    simulation,
    trial_row,
)
from cmab.studies._specification import key_of
from cmab.studies._workers import limited_threads, spread
from cmab.studies.store import Kind, Store
from cmab.validation import check_jobs, integer

if TYPE_CHECKING:
    from cmab.studies.study import Study

KINDS: tuple[Kind, ...] = get_args(Kind)


class StudyFolder:
    """A study with the open store of a folder, as a context manager that closes the store.

    `Study.at` and `Study.last_at` return it.

    Parameters
    ----------
    study : Study
        The study.
    folder : path-like
        The folder of the store.
    store : Store
        The open store.

    Examples
    --------
    >>> import tempfile
    >>> from cmab import Study
    >>> study = Study({
    ...     "replications": 3,
    ...     "instances": {"arms": {"environment": {"class": "BernoulliArms", "means": [0.9, 0.2]}}},
    ...     "explorers": {"LUCB": {"class": "LUCB1", "k": 1, "delta": 0.1}},
    ... })
    >>> with tempfile.TemporaryDirectory() as name, study.at(name) as folder:
    ...     folder.run()
    ...     len(folder.missing()), folder.identifications()["arms", "LUCB"].arms
    (0, [array([0]), array([0]), array([0])])
    """

    def __init__(self, study: Study, folder: str | os.PathLike[str], store: Store) -> None:
        self.study, self.folder, self.store = study, Path(folder), store

    def __enter__(self) -> StudyFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def missing(self) -> list[Piece]:
        """Return the pieces that are missing in the store."""
        study = self.study
        keys = {
            key
            for kind in KINDS
            for key in self.store.missing(
                kind, (getattr(p, study.by) for p in study.pieces if study.kind(p) == kind), study.by
            )
        }
        return [piece for piece in study.pieces if getattr(piece, study.by) in keys]

    def repair(self) -> int:
        """Remove damaged pieces and return their number. `run` also does this."""
        return sum(self.store.remove_damaged(kind) for kind in KINDS)

    def run(
        self,
        *,
        n_jobs: int = 1,
        report: Callable[[Piece, Score], object] | None = None,
        progress: bool | None = None,
        part: tuple[int, int] = (1, 1),
    ) -> None:
        """Play the missing pieces and store each piece as it finishes (see `Study.run`)."""
        if report is not None and progress is None:
            progress = False  # `report` writes its own output
        with closing(
            self.play(n_jobs=n_jobs, progress=progress, part=part)
        ) as played:  # closing ends the workers, also if `report` raises
            for piece, found in played:
                if report is not None:
                    report(piece, found)

    def play(
        self, *, n_jobs: int = 1, progress: bool | None = False, part: tuple[int, int] = (1, 1)
    ) -> Generator[tuple[Piece, Score], None, None]:
        """Yield each missing piece and its score after the piece is stored.

        The arguments and the exceptions are those of `Study.run`.
        """
        played = self._played(n_jobs, part)
        if not is_shown(progress):
            yield from played
            return
        self.repair()  # damaged pieces have no score
        missing, total = len(self.missing()), len(self.study.pieces)
        with closing(Progress(total, total - missing, sys.stderr)) as line:
            line.recall({**self.results(), **self.identifications()})
            line.wait()
            for piece, found in played:
                line(piece, found)
                yield piece, found

    def _played(self, n_jobs: int, part: tuple[int, int]) -> Iterator[tuple[Piece, Score]]:
        check_jobs(n_jobs)
        number, parts = integer("part[0]", part[0], 1, part[1]), integer("part[1]", part[1], 1)
        # By position in the study, regardless of the stored pieces, so that parts never overlap.
        mine = set(self.study.pieces[number - 1 :: parts])
        _ = self.study.plan  # raises if the study was opened from its results
        self.study.check_current()
        failures: dict[Piece, str] = {}
        with limited_threads():
            self._note()
            self.repair()
            missing = [piece for piece in self.missing() if piece in mine]
            # End the workers here, not when Python collects the generator.
            with closing(self._outcomes(missing, n_jobs)) as outcomes:
                for outcome in outcomes:
                    if outcome.interrupted:
                        raise KeyboardInterrupt
                    if outcome.failure is not None:
                        failures[outcome.piece] = outcome.failure
                        continue
                    values, found = self._finished(outcome)
                    # Store the piece before yielding it, so that a caller who stops here loses nothing.
                    self.store.put(self.study.kind(outcome.piece), values)
                    yield outcome.piece, found
        if failures:
            raise StudyFailed([(piece, failures[piece]) for piece in self.study.pieces if piece in failures])

    def _note(self) -> None:
        """Store the description of the study and of its pairs for `Study.open`, which builds no objects."""
        study = self.study
        specification, known = notes(study)
        key = key_of({"specification": specification, "pairs": known})
        # The description contains regret bounds, which may take long: compute it once per study.
        pairs = self.store.noted(key)
        if pairs is None:
            _, pairs = notes(study, {pair: describe(study.plan, pair) for pair in study.outline.pairs})
        self.store.put_study(key, specification, pairs)

    def _outcomes(self, pieces: list[Piece], n_jobs: int) -> Generator[Outcome, None, None]:
        study, plan = self.study, self.study.plan
        for instance in dict.fromkeys(p.instance for p in pieces if study.kind(p) == "simulations"):
            _ = plan.problems[instance].optimum  # compute it here once instead of in every worker
        tasks: dict[Pair, Any] = {}
        for pair in dict.fromkeys(piece.pair for piece in pieces):
            task = task_of(plan, pair, study.rounds, study.max_samples)
            # Pickle once per pair, not once per piece. If the back ends pickled the tasks, large arrays would
            # arrive read-only and be shared by the threads of a worker.
            tasks[pair] = task if n_jobs == 1 else pickled(task)
        calls = [(piece, tasks[piece.pair], study.seed, study.origins[piece.pair].code) for piece in pieces]
        return spread(play, calls, n_jobs)

    def _finished(self, outcome: Outcome) -> tuple[dict[str, Any], Score]:
        """Return the columns of a finished piece and its score."""
        study, pair = self.study, outcome.piece.pair
        values = row(outcome, study.outline.content(*pair), study.seed, study.origins[pair].code)
        if study.kind(outcome.piece) == "trials":
            return values, Score("", math.nan)
        result = result_of(pair[1], [values])
        return values | finals(result), score(result)

    def results(self, *, learner: str | None = None) -> dict[Pair, Simulation]:
        """Return the finished replications of all policies, or of `learner`, by (instance, learner)."""
        stored = self.rows("simulations", learner=learner)
        return Results({pair: simulation(pair[1], rows) for pair, rows in stored.items()})

    def identifications(self) -> dict[Pair, Identification]:
        """Return the finished replications of explorers, by (instance, explorer), as `Identification`."""
        stored = self.rows("identifications")
        return Results({pair: identification(pair[1], rows) for pair, rows in stored.items()})

    def comparisons(self) -> dict[str, PolicyComparison]:
        """Return a comparison of the finished replications of all policies for each instance."""
        return policy_comparisons(self.rows("simulations"), self.study.outline.learners)

    def explorer_comparisons(self) -> dict[str, ExplorerComparison]:
        """Return a comparison of the finished replications of all explorers for each instance."""
        return explorer_comparisons(self.rows("identifications"), self.study.outline.explorers)

    def by_parameter(self, parameter: str) -> dict[str, dict[str, dict[Any, Any]]]:
        """Return for each instance the results by a parameter of a grid (see `Study.by_parameter`)."""
        return by_parameter(self.study.specification, self.results() | self.identifications(), parameter)

    def trials(self, *, trial: str | None = None) -> dict[str, list[Told]]:
        """Return the results of the finished replications of all trials, or of `trial`."""
        return {pair[0]: told_by(rows) for pair, rows in self.rows("trials", instance=trial).items()}

    def rows(
        self, kind: Kind, *, instance: str | None = None, learner: str | None = None
    ) -> dict[Pair, list[Row]]:
        """Return the stored rows of finished replications by (instance, learner).

        Parameters
        ----------
        kind : {"simulations", "identifications", "trials"}
            The table.
        instance, learner : str, optional
            If given, return only the rows of this instance or trial, and of this learner or experiment.

        Raises
        ------
        ValueError
            If the checksum of a stored piece is wrong.
        """
        study = self.study
        pieces = [
            piece
            for piece in study.pieces
            if study.kind(piece) == kind
            and instance in (None, piece.instance)
            and learner in (None, piece.learner)
        ]
        stored: dict[Pair, list[Row]] = {pair: [] for pair in study.outline.pairs}
        for piece in pieces:
            found = self.store.get(kind, piece.key)
            # First look for a piece of the same versions, then for a piece of any versions.
            if found is None and study.accept_versions:
                found = self.store.get(kind, piece.alike, "alike")
            if found is not None:
                stored[piece.pair].append(found)
        if sum(map(len, stored.values())) < len(pieces):
            self.store.check(kind)  # a damaged key makes a stored piece look like a missing one
        return {pair: rows for pair, rows in stored.items() if rows}

    def table(self) -> list[dict[str, Any]]:
        """Return a row for each instance and learner with finished replications."""
        return [regret_row(*item) for item in self.results().items()]

    def identification_table(self) -> list[dict[str, Any]]:
        """Return a row for each instance and explorer with finished replications."""
        return [samples_row(*item) for item in self.identifications().items()]

    def trial_table(self) -> list[dict[str, Any]]:
        """Return a row for each trial with finished replications."""
        return [trial_row(pair, rows) for pair, rows in self.rows("trials").items()]
