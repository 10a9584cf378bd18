"""Studies: instances times learners times replications, stored as they finish and resumed."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from cmab.results.explorer_comparison import ExplorerComparison
from cmab.results.identification import Identification
from cmab.results.policy_comparison import PolicyComparison
from cmab.results.simulation import Simulation
from cmab.spelling import names_arguments
from cmab.studies._notes import About, Origin, noted, origins_of
from cmab.studies._outline import Outline, plain
from cmab.studies._pieces import Piece
from cmab.studies._plan import Pair, Plan
from cmab.studies._results import Score
from cmab.studies.folder import StudyFolder
from cmab.studies.store import By, Kind, Store
from cmab.validation import check_flag


class Study:
    """A comparison described by plain data, so that its content can key what is stored.

    Parameters
    ----------
    specification : mapping
        ``replications`` (1), ``seed`` (0) and tables. ``instances``: by name, ``oracle`` and ``environment``;
        the latter may refer to ``"$oracle"``. ``learners``: by name, ``class`` and parameters of a policy,
        simulated for ``horizon`` rounds with ``checkpoints``, ``batch`` and ``delay`` (a number; all as for
        `simulate`). ``explorers``: by name, ``class`` and parameters of an explorer, run until it stops or
        ``max_samples`` are spent; arms and oracle of the instance are filled in. Without learners, instances
        need no oracle.

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

    Attributes
    ----------
    specification : dict
        As it was given: plain data.
    objects : dict
        What was given in the place of tables, by a hash of its content.
    outline : Outline
        The tables by name, grids spread, and the numbers.
    origins : dict
        The code, versions and graphs that make the numbers of each (instance, learner).
    about : dict
        What a report says of each (instance, learner), where the study was read from its results.

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
    ...     "learners": {"CUCB": {"class": "CUCB", "grid": {"radius_factor": [0.5, 1.0]}}},
    ...     "explorers": {"halving": {"class": "SequentialHalving", "budget": 300}},
    ... })
    >>> with tempfile.TemporaryDirectory() as name, study.at(name) as folder:
    ...     folder.run()
    ...     results = folder.results()
    ...     found = folder.identifications()
    >>> list(results)
    [('ads', 'CUCB radius_factor=0.5'), ('ads', 'CUCB radius_factor=1.0')]
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
        check_flag("accept_versions", accept_versions)
        self._describe(specification, accept_versions)
        self._plan: Plan | None = Plan.of(self.outline, None if files is None else Path(files), self.objects)
        self.origins = self._origins_now()
        self.about: dict[Pair, About] = {}

    def _describe(self, specification: Mapping[str, Any], accept_versions: bool) -> None:
        """Take in all that needs no object."""
        self.objects: dict[str, Any] = {}
        self.specification, self.accept_versions = plain(specification, self.objects), accept_versions
        self.outline = outline = Outline.of(self.specification)
        self.replications, self.seed = outline.replications, outline.seed
        self.rounds, self.max_samples = outline.rounds, outline.max_samples

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
        """Return the study that ran last in a folder, to read its results; see `last_at`."""
        with cls.last_at(folder) as found:
            return found.study

    @classmethod
    def last_at(cls, folder: str | os.PathLike[str]) -> StudyFolder:
        """Return the study that ran last in a folder, with its store open for reading.

        Nothing of it is built: all is told by what was stored, so results stay what they were when the code
        has changed since, and a folder of somebody else's runs nothing. Going on with it needs `load`.

        Raises
        ------
        ValueError
            If no study ran there.
        """
        if not Path(folder).is_dir():
            raise _no_study(folder)
        store = Store(folder, reading=True)
        try:
            last = store.last_study()
            if last is None:
                raise _no_study(folder)
            # Without building anything: the code of the study may be gone, and its results are still there.
            study = cls.__new__(cls)
            study._plan = None
            try:
                specification, accepts, study.origins, study.about = noted(*last)
                study._describe(specification, accepts)
                if not set(study.about) == set(study.origins) == set(study.outline.pairs):
                    raise ValueError("the study noted in the store must be one, got parts of two")
            except ValueError as error:
                raise ValueError(f"{folder}: {error}") from None
        except BaseException:
            store.close()
            raise
        return StudyFolder(study, folder, store)

    @property
    def plan(self) -> Plan:
        """The objects: environments, policies and explorers by name.

        Raises
        ------
        ValueError
            If the study was opened from its results, for which nothing is built.
        """
        if self._plan is None:
            raise ValueError(
                "a study must be made by Study or Study.load to run, got one opened from results"
            )
        return self._plan

    @cached_property
    def pieces(self) -> list[Piece]:
        """All pieces; replications in the outer loop, so that early results show all learners."""
        outline = self.outline
        pairs = [(*pair, *self.origins[pair].keys(outline.content(*pair))) for pair in outline.pairs]
        in_order = [(replication, pair) for replication in range(self.replications) for pair in pairs]
        if outline.trials:  # one after the other: a table needs all of a trial, and no other
            in_order = [(replication, pair) for pair in pairs for replication in range(self.replications)]
        return [
            Piece(f"{key}-{replication}", instance, learner, replication, f"{alike}-{replication}")
            for replication, (instance, learner, key, alike) in in_order
        ]

    @property
    def by(self) -> By:
        """Which key of a piece says whether a stored one is the same."""
        return "alike" if self.accept_versions else "key"

    def kind(self, piece: Piece) -> Kind:
        """Return the table of the store in which a piece belongs."""
        if self.outline.trials:
            return "trials"
        return "simulations" if piece.learner in self.outline.learners else "identifications"

    def check_current(self) -> None:
        """Raise ``ValueError`` unless the code is still what the keys of the pieces say."""
        # Numbers of the new code under keys of the old one would pass for the old code's.
        now = self._origins_now()
        if now != self.origins:
            names = {name for pair in now for name in now[pair].differences(self.origins[pair])}
            raise ValueError(
                "a study must be made anew when its code has changed, got one made before; changed since:"
                f" {', '.join(sorted(names)) or 'graphs'}"
            )

    def at(self, folder: str | os.PathLike[str], *, reading: bool = False) -> StudyFolder:
        """Return this study in a folder, with its store open: a context in which all is run and read.

        Parameters
        ----------
        folder : path-like
            Holds the store; made if it is missing.
        reading : bool
            Whether nothing is written, not even the folder, which may be read-only.

        Returns
        -------
        StudyFolder
            Its methods are those of the study without the folder.

        Raises
        ------
        ValueError, OSError
            If the store there is none, as `Store` says.
        """
        return StudyFolder(self, folder, Store(folder, reading=reading))

    def missing(self, folder: str | os.PathLike[str]) -> list[Piece]:
        """Return the pieces that are not in the store of `folder`."""
        with self.at(folder, reading=True) as found:
            return found.missing()

    def repair(self, folder: str | os.PathLike[str]) -> int:
        """Remove damaged pieces from the store of `folder`, as `run` does first; return their number."""
        with self.at(folder) as found:
            return found.repair()

    @names_arguments
    def run(
        self,
        folder: str | os.PathLike[str],
        *,
        n_jobs: int = 1,
        report: Callable[[Piece, Score], object] | None = None,
        progress: bool | None = None,
        part: tuple[int, int] = (1, 1),
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
        progress : bool, optional
            Whether to show on standard error how many pieces are done, how long the others take and who
            leads: a bar on a terminal and in a notebook, elsewhere a line a minute. By default only the bar,
            and neither where `report` is given.
        part : (int, int)
            Which of how many parts of the study to play, such as (2, 8): jobs of a cluster that have a folder
            each; `Store.take` and ``cmab merge`` put them together.

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
        _ = self.plan  # refused before a store is made
        with self.at(folder) as found:
            found.run(n_jobs=n_jobs, report=report, progress=progress, part=part)

    def results(self, folder: str | os.PathLike[str]) -> dict[Pair, Simulation]:
        """Return the finished replications of policies by (instance, learner), where there are any."""
        with self._read(folder) as found:
            return found.results()

    def identifications(self, folder: str | os.PathLike[str]) -> dict[Pair, Identification]:
        """Return the finished replications of explorers by (instance, explorer), where there are any."""
        with self._read(folder) as found:
            return found.identifications()

    def comparisons(self, folder: str | os.PathLike[str]) -> dict[str, PolicyComparison]:
        """Return for each instance what `cmab.compare` would have found of its policies, so far."""
        with self._read(folder) as found:
            return found.comparisons()

    def explorer_comparisons(self, folder: str | os.PathLike[str]) -> dict[str, ExplorerComparison]:
        """Return for each instance what `cmab.compare` would have found of its explorers, so far."""
        with self._read(folder) as found:
            return found.explorer_comparisons()

    def by_parameter(
        self, folder: str | os.PathLike[str], parameter: str
    ) -> dict[str, dict[str, dict[Any, Any]]]:
        """Return for each instance what `cmab.plotting.parameter_curves` draws against a parameter of grids.

        These are the results of learners that differ in nothing else, by its value, under the name that they
        have in common: ``parameter_curves(study.by_parameter(folder, "delta")["easy"], parameter="delta")``.

        Raises
        ------
        ValueError
            If no grid has several values of the parameter.
        """
        with self._read(folder) as found:
            return found.by_parameter(parameter)

    def table(self, folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
        """Return a row for each instance and learner that has finished replications."""
        with self._read(folder) as found:
            return found.table()

    def identification_table(self, folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
        """Return a row for each instance and explorer that has finished replications."""
        with self._read(folder) as found:
            return found.identification_table()

    def _read(self, folder: str | os.PathLike[str]) -> StudyFolder:
        if not Path(folder).is_dir():
            raise ValueError(f"folder must be one in which the study ran, got {folder}")
        return self.at(folder, reading=True)

    def _origins_now(self) -> dict[Pair, Origin]:
        outline, plan = self.outline, self.plan
        tables = outline.learners | outline.explorers
        used = dict(outline.trials) or {
            pair: [outline.instances[pair[0]], tables[pair[1]]] for pair in outline.pairs
        }
        parts = {pair: plan.parts(pair) for pair in outline.pairs}
        return origins_of(used, plan.graphs, plan.packages, parts)

    def __repr__(self) -> str:
        outline = self.outline
        if outline.trials:
            return f"Study({len(outline.trials)} trials x {self.replications} replications)"
        kinds = (("learners", outline.learners), ("explorers", outline.explorers))
        counts = " + ".join(f"{len(tables)} {kind}" for kind, tables in kinds if tables)
        rounds = "" if self.rounds is None else f", {self.rounds[-1]} rounds"
        return (
            f"Study({len(outline.instances)} instances x ({counts}) x {self.replications}"
            f" replications{rounds})"
        )


def _no_study(folder: str | os.PathLike[str]) -> ValueError:
    return ValueError(f"{folder} must be a folder in which a study ran")
