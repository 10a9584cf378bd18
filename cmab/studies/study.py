"""Studies: learners on instances, with replications that are stored as they finish and can be resumed."""

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
from cmab.studies._notes import About, Origin, noted, origins_of
from cmab.studies._outline import Outline, plain
from cmab.studies._pieces import Piece
from cmab.studies._plan import Pair, Plan
from cmab.studies._results import Score
from cmab.studies.folder import StudyFolder
from cmab.studies.store import By, Kind, Store
from cmab.validation import check_flag


class Study:
    """A comparison of learners or explorers on instances, described by plain data.

    A study consists of pieces. A piece is one replication of one learner or explorer on one instance. Each
    piece is stored under a hash of its specification, code and versions, so a later run plays only the
    missing pieces.

    Parameters
    ----------
    specification : dict
        A dict with ``replications`` (default 1), ``seed`` (default 0), and tables that map names to entries.

        Each entry of ``instances`` has an ``oracle`` and an ``environment``, which may refer to
        ``"$oracle"``. In a study without learners, the oracle may be omitted.

        Each entry of ``learners`` has the ``class`` and the parameters of a policy, which is simulated for
        ``horizon`` rounds. ``checkpoints``, ``batch`` and ``delay`` (a number) are those of `simulate`.

        Each entry of ``explorers`` has the ``class`` and the parameters of an explorer, which runs until it
        stops or reaches ``max_samples``. Its parameters ``n_arms`` and ``oracle`` are those of the instance.

        Parameters may refer to ``"$oracle"``, ``"$n_arms"`` and ``"$means"`` (the true means, as for a
        clairvoyant). ``grid`` maps parameters to lists, and each combination of their entries is a separate
        learner or explorer.

        An object is a table with ``class``, a name that ``cmab list`` shows, and the arguments. A graph may
        be a table with ``networkx``, the name of a graph generator of networkx, and its arguments. The
        ``seed`` is required if the generator takes one. A graph may also be a table with ``file``, an edge
        list in the folder `files` or below, and ``directed`` (false).
    files : path-like, optional
        Folder of the files that the specification names.
    accept_versions : bool
        If True, also use stored pieces that other versions of Python, cmab or its dependencies played. Their
        numbers may differ from those of the installed versions. The report lists the versions of all pieces.

    Attributes
    ----------
    specification : dict
        A copy of the specification as plain data.
    objects : dict
        The objects that the specification holds in place of tables, by a hash of their content.
    outline : Outline
        The tables by name, with a learner or explorer for each combination of a grid, and the numbers.
    origins : dict
        The code, versions and graphs that determine the numbers of each (instance, learner).
    about : dict
        The description of each (instance, learner) in a report, if the study was opened from its results.

    Raises
    ------
    ValueError
        If the specification is invalid, or if code was changed after its import. The message lists all
        invalid entries.

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
    ...     "explorers": {"rejects": {"class": "ContinuousRejects", "budget": 300}},
    ... })
    >>> with tempfile.TemporaryDirectory() as name, study.at(name) as folder:
    ...     folder.run()
    ...     results = folder.results()
    ...     found = folder.identifications()
    >>> list(results)
    [('ads', 'CUCB radius_factor=0.5'), ('ads', 'CUCB radius_factor=1.0')]
    >>> found["ads", "rejects"].arms
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
        """Set all attributes that do not require building objects."""
        self.objects: dict[str, Any] = {}
        self.specification, self.accept_versions = plain(specification, self.objects), accept_versions
        self.outline = outline = Outline.of(self.specification)
        self.replications, self.seed = outline.replications, outline.seed
        self.rounds, self.max_samples = outline.rounds, outline.max_samples

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, accept_versions: bool = False) -> Study:
        """Return the study that a TOML file describes.

        The files that it names must be in the folder of the TOML file or below.

        Raises
        ------
        ValueError
            If the file is not valid TOML or does not describe a study.
        """
        file = Path(path)
        try:
            tables = tomllib.loads(file.read_text(encoding="utf-8"))
            return cls(tables, files=file.parent, accept_versions=accept_versions)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        except (RecursionError, MemoryError):
            raise ValueError(f"{path} must be smaller or less deeply nested to be read as TOML") from None

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Study:
        """Return the study that ran last in a folder, to read its results (see `last_at`)."""
        with cls.last_at(folder) as found:
            return found.study

    @classmethod
    def last_at(cls, folder: str | os.PathLike[str]) -> StudyFolder:
        """Return the study that ran last in a folder, with its store open for reading.

        The method only reads the stored rows. It builds no objects and runs no code of the study. Therefore
        results remain readable after the code has changed, and you can open folders of other people. Use
        `load` to run the missing pieces.

        Raises
        ------
        ValueError
            If no study ran in the folder.
        """
        if not Path(folder).is_dir():
            raise _no_study(folder)
        store = Store(folder, reading=True)
        try:
            last = store.last_study()
            if last is None:
                raise _no_study(folder)
            # No objects are built, because the code of the study may be missing.
            study = cls.__new__(cls)
            study._plan = None
            try:
                specification, accepts, study.origins, study.about = noted(*last)
                study._describe(specification, accepts)
                if not set(study.about) == set(study.origins) == set(study.outline.pairs):
                    raise ValueError("the stored description of the study must have one list of pairs")
            except ValueError as error:
                raise ValueError(f"{folder}: {error}") from None
        except BaseException:
            store.close()
            raise
        return StudyFolder(study, folder, store)

    @property
    def plan(self) -> Plan:
        """The environments, policies and explorers of the study by name.

        Raises
        ------
        ValueError
            If the study was opened from its results, because its objects are not built then.
        """
        if self._plan is None:
            raise ValueError(
                "a study must be made by Study or Study.load to run, got one that was opened from its results"
            )
        return self._plan

    @cached_property
    def pieces(self) -> list[Piece]:
        """All pieces. Replications are the outer loop, so early results include all learners."""
        outline = self.outline
        pairs = [(*pair, *self.origins[pair].keys(outline.content(*pair))) for pair in outline.pairs]
        in_order = [(replication, pair) for replication in range(self.replications) for pair in pairs]
        if outline.trials:  # trial by trial, because a table needs all replications of one trial
            in_order = [(replication, pair) for pair in pairs for replication in range(self.replications)]
        return [
            Piece(f"{key}-{replication}", instance, learner, replication, f"{alike}-{replication}")
            for replication, (instance, learner, key, alike) in in_order
        ]

    @property
    def by(self) -> By:
        """The column by which stored pieces are found: ``alike`` ignores the versions, ``key`` does not."""
        return "alike" if self.accept_versions else "key"

    def kind(self, piece: Piece) -> Kind:
        """Return the table of the store that holds a piece."""
        if self.outline.trials:
            return "trials"
        return "simulations" if piece.learner in self.outline.learners else "identifications"

    def check_current(self) -> None:
        """Raise ``ValueError`` if the code has changed since the keys of the pieces were computed."""
        # Otherwise numbers of the new code would be stored under the keys of the old code.
        now = self._origins_now()
        if now != self.origins:
            names = {name for pair in now for name in now[pair].differences(self.origins[pair])}
            raise ValueError(
                "a study must be created again after its code has changed; changed since then:"
                f" {', '.join(sorted(names)) or 'graphs'}"
            )

    def at(self, folder: str | os.PathLike[str], *, reading: bool = False) -> StudyFolder:
        """Return this study with the open store of a folder, as a context manager.

        Parameters
        ----------
        folder : path-like
            The folder of the store. It is created if it is missing.
        reading : bool
            If True, write nothing and do not create the folder. The folder may be read-only.

        Returns
        -------
        StudyFolder
            An object with the methods of the study, without the argument `folder`.

        Raises
        ------
        ValueError, OSError
            If `Store` cannot open the store.
        """
        return StudyFolder(self, folder, Store(folder, reading=reading))

    def missing(self, folder: str | os.PathLike[str]) -> list[Piece]:
        """Return the pieces that are missing in the store of `folder`."""
        with self.at(folder, reading=True) as found:
            return found.missing()

    def repair(self, folder: str | os.PathLike[str]) -> int:
        """Remove damaged pieces from the store of `folder` and return their number. `run` also does this."""
        with self.at(folder) as found:
            return found.repair()

    def run(
        self,
        folder: str | os.PathLike[str],
        *,
        n_jobs: int = 1,
        report: Callable[[Piece, Score], object] | None = None,
        progress: bool | None = None,
        part: tuple[int, int] = (1, 1),
    ) -> None:
        """Play the missing pieces of `folder` and store each piece as it finishes.

        Parameters
        ----------
        folder : path-like
            The folder of the store.
        n_jobs : int
            Number of workers. They are started by joblib with its configured back end
            (``joblib.parallel_config``). -1 uses all cores, or all workers of a cluster. 1 plays in this
            process. The numbers do not depend on `n_jobs`.
        report : callable, optional
            Function that is called with each piece and its score after the piece is stored. The score has a
            ``measure`` and a ``value``. The measure is the regret for a policy (reward or cost if the optimum
            is unknown) and the number of samples for an explorer.
        progress : bool, optional
            If True, show on standard error the finished pieces, the remaining time and the best learner: a
            bar on a terminal or in a notebook, otherwise one line per minute. If omitted, show only the bar,
            or nothing if `report` is given.
        part : (int, int)
            The part to play and the number of parts, such as (2, 8). Use parts for jobs of a cluster that
            have separate folders. `Store.take` and ``cmab merge`` merge the folders.

        Raises
        ------
        ValueError
            If `n_jobs` is neither -1 nor positive, if `part` is out of range, if code has changed since the
            study was created, or if the study was opened from its results.
        StudyFailed
            If pieces raised exceptions. All other pieces are stored first.
        OSError
            If the store cannot be written or a worker died. Finished pieces are stored.
        KeyboardInterrupt
            On Ctrl-C. Finished pieces are stored.
        """
        _ = self.plan  # raises before the store is created
        with self.at(folder) as found:
            found.run(n_jobs=n_jobs, report=report, progress=progress, part=part)

    def results(self, folder: str | os.PathLike[str]) -> dict[Pair, Simulation]:
        """Return the finished replications of policies as a dict from (instance, learner) to `Simulation`."""
        with self._read(folder) as found:
            return found.results()

    def identifications(self, folder: str | os.PathLike[str]) -> dict[Pair, Identification]:
        """Return the finished replications of explorers, by (instance, explorer), as `Identification`."""
        with self._read(folder) as found:
            return found.identifications()

    def comparisons(self, folder: str | os.PathLike[str]) -> dict[str, PolicyComparison]:
        """Return a comparison of the finished replications of all policies for each instance."""
        with self._read(folder) as found:
            return found.comparisons()

    def explorer_comparisons(self, folder: str | os.PathLike[str]) -> dict[str, ExplorerComparison]:
        """Return a comparison of the finished replications of all explorers for each instance."""
        with self._read(folder) as found:
            return found.explorer_comparisons()

    def by_parameter(
        self, folder: str | os.PathLike[str], parameter: str
    ) -> dict[str, dict[str, dict[Any, Any]]]:
        """Return for each instance the results by the value of a parameter of a grid.

        Learners that differ only in this parameter form one curve, under their common name. Plot the curves
        with `cmab.plotting.parameter_curves`:
        ``parameter_curves(study.by_parameter(folder, "delta")["easy"], parameter="delta")``.

        Raises
        ------
        ValueError
            If no grid has several values of the parameter.
        """
        with self._read(folder) as found:
            return found.by_parameter(parameter)

    def table(self, folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
        """Return a row for each instance and learner with finished replications."""
        with self._read(folder) as found:
            return found.table()

    def identification_table(self, folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
        """Return a row for each instance and explorer with finished replications."""
        with self._read(folder) as found:
            return found.identification_table()

    def _read(self, folder: str | os.PathLike[str]) -> StudyFolder:
        if not Path(folder).is_dir():
            raise ValueError(f"folder must be a folder in which the study ran, got {folder}")
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
