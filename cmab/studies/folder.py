"""A study and the folder of its results, whose store is opened once."""

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
    """A study in a folder, as `Study.at` and `Study.last_at` give it: a context that closes the store.

    Parameters
    ----------
    study : Study
        What is run and read.
    folder : path-like
        Holds the store.
    store : Store
        Open.

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
        """Return the pieces that are not stored."""
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
        """Remove damaged pieces, as `run` does first; return their number."""
        return sum(self.store.remove_damaged(kind) for kind in KINDS)

    def run(
        self,
        *,
        n_jobs: int = 1,
        report: Callable[[Piece, Score], object] | None = None,
        progress: bool | None = None,
        part: tuple[int, int] = (1, 1),
    ) -> None:
        """Play what is missing, and store each piece as it finishes: see `Study.run`."""
        if report is not None and progress is None:
            progress = False  # who is told writes what is wanted
        with closing(
            self.play(n_jobs=n_jobs, progress=progress, part=part)
        ) as played:  # workers end with it, whatever `report` raises
            for piece, found in played:
                if report is not None:
                    report(piece, found)

    def play(
        self, *, n_jobs: int = 1, progress: bool | None = False, part: tuple[int, int] = (1, 1)
    ) -> Generator[tuple[Piece, Score], None, None]:
        """Yield each missing piece and its score once it is stored; raise what `Study.run` does.

        `progress` shows a bar as in `Study.run`.
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
        # By their places in the study, whatever is stored already: the parts never meet.
        mine = set(self.study.pieces[number - 1 :: parts])
        _ = self.study.plan  # which one opened from results has not
        self.study.check_current()
        failures: dict[Piece, str] = {}
        with limited_threads():
            self._note()
            self.repair()
            missing = [piece for piece in self.missing() if piece in mine]
            # Workers end here, not when Python collects what is left of them.
            with closing(self._outcomes(missing, n_jobs)) as outcomes:
                for outcome in outcomes:
                    if outcome.interrupted:
                        raise KeyboardInterrupt
                    if outcome.failure is not None:
                        failures[outcome.piece] = outcome.failure
                        continue
                    values, found = self._finished(outcome)
                    # Stored before it is told: who stops at what was told loses nothing.
                    self.store.put(self.study.kind(outcome.piece), values)
                    yield outcome.piece, found
        if failures:
            raise StudyFailed([(piece, failures[piece]) for piece in self.study.pieces if piece in failures])

    def _note(self) -> None:
        """Keep what `Study.open` needs: also what a report says of each pair, so that nothing is built."""
        study = self.study
        specification, known = notes(study)
        key = key_of({"specification": specification, "pairs": known})
        # What a report says takes the bounds, which may take long: told once for the same study.
        pairs = self.store.noted(key)
        if pairs is None:
            _, pairs = notes(study, {pair: describe(study.plan, pair) for pair in study.outline.pairs})
        self.store.put_study(key, specification, pairs)

    def _outcomes(self, pieces: list[Piece], n_jobs: int) -> Generator[Outcome, None, None]:
        study, plan = self.study, self.study.plan
        for instance in dict.fromkeys(p.instance for p in pieces if study.kind(p) == "simulations"):
            _ = plan.problems[instance].optimum  # once here instead of in every worker
        tasks: dict[Pair, Any] = {}
        for pair in dict.fromkeys(piece.pair for piece in pieces):
            task = task_of(plan, pair, study.rounds, study.max_samples)
            # Packed once a pair, not once a piece. Left to the back ends, large arrays would arrive
            # read-only, and shared by the threads of a worker.
            tasks[pair] = task if n_jobs == 1 else pickled(task)
        calls = [(piece, tasks[piece.pair], study.seed, study.origins[piece.pair].code) for piece in pieces]
        return spread(play, calls, n_jobs)

    def _finished(self, outcome: Outcome) -> tuple[dict[str, Any], Score]:
        """Return what to store of a piece, and its score."""
        study, pair = self.study, outcome.piece.pair
        values = row(outcome, study.outline.content(*pair), study.seed, study.origins[pair].code)
        if study.kind(outcome.piece) == "trials":
            return values, Score("", math.nan)
        result = result_of(pair[1], [values])
        return values | finals(result), score(result)

    def results(self, *, learner: str | None = None) -> dict[Pair, Simulation]:
        """Return the finished replications of policies, or of one, by (instance, learner)."""
        stored = self.rows("simulations", learner=learner)
        return Results({pair: simulation(pair[1], rows) for pair, rows in stored.items()})

    def identifications(self) -> dict[Pair, Identification]:
        """Return the finished replications of explorers by (instance, explorer), where there are any."""
        stored = self.rows("identifications")
        return Results({pair: identification(pair[1], rows) for pair, rows in stored.items()})

    def comparisons(self) -> dict[str, PolicyComparison]:
        """Return for each instance what `compare` would have found of its policies, where there are any."""
        return policy_comparisons(self.rows("simulations"), self.study.outline.learners)

    def explorer_comparisons(self) -> dict[str, ExplorerComparison]:
        """Return likewise for each instance what was found of its explorers."""
        return explorer_comparisons(self.rows("identifications"), self.study.outline.explorers)

    def by_parameter(self, parameter: str) -> dict[str, dict[str, dict[Any, Any]]]:
        """Return by instance what `parameter_curves` draws against a parameter of grids: see `Study`."""
        return by_parameter(self.study.specification, self.results() | self.identifications(), parameter)

    def trials(self, *, trial: str | None = None) -> dict[str, list[Told]]:
        """Return what the finished replications of all trials, or of one, told, where there are any."""
        return {pair[0]: told_by(rows) for pair, rows in self.rows("trials", instance=trial).items()}

    def rows(
        self, kind: Kind, *, instance: str | None = None, learner: str | None = None
    ) -> dict[Pair, list[Row]]:
        """Return what is stored of finished replications by (instance, learner), where there are any.

        Parameters
        ----------
        kind : {"simulations", "identifications", "trials"}
            The table.
        instance, learner : str, optional
            Only those of this instance or trial, and of this learner or experiment.

        Raises
        ------
        ValueError
            If something stored is not what was written.
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
            # The very versions first; else what is alike but for them.
            if found is None and study.accept_versions:
                found = self.store.get(kind, piece.alike, "alike")
            if found is not None:
                stored[piece.pair].append(found)
        if sum(map(len, stored.values())) < len(pieces):
            self.store.check(kind)  # a piece whose key was changed looks like one that is still to be played
        return {pair: rows for pair, rows in stored.items() if rows}

    def table(self) -> list[dict[str, Any]]:
        """Return a row for each instance and learner that has finished replications."""
        return [regret_row(*item) for item in self.results().items()]

    def identification_table(self) -> list[dict[str, Any]]:
        """Return a row for each instance and explorer that has finished replications."""
        return [samples_row(*item) for item in self.identifications().items()]

    def trial_table(self) -> list[dict[str, Any]]:
        """Return a row for each trial that has finished replications."""
        return [trial_row(pair, rows) for pair, rows in self.rows("trials").items()]
