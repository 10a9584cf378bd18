"""Studies: learners on instances, whose results are stored in one SQLite file as each piece finishes."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
import traceback
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from inspect import signature
from pathlib import Path
from pkgutil import resolve_name
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from cmab.arrays import IntArray
from cmab.environment import Environment
from cmab.run import identify as identification
from cmab.run import simulate as simulation
from cmab.run.compare import Comparison, compared
from cmab.run.results import archived, from_archive, joined
from cmab.run.tables import Rows
from cmab.run.workers import Packed, ended_by_signals, in_workers, progress_bar
from cmab.seeding import root
from cmab.validation import check_jobs, integer, shown

Pair = tuple[str, str]
Specification = Mapping[str, Any] | Callable[..., Any] | str
_TABLE = """CREATE TABLE IF NOT EXISTS pieces (
    key TEXT PRIMARY KEY, instance TEXT, learner TEXT, replication INTEGER, cmab TEXT, version TEXT,
    finished TEXT, seconds REAL, measure REAL, result BLOB)"""
_INSERT = f"INSERT OR REPLACE INTO pieces VALUES ({', '.join('?' * 10)})"
# The threads of a Dask worker must not use solvers and numerical libraries at the same time.
_ONE_AT_A_TIME = threading.Lock()


class Piece(NamedTuple):
    """One replication of a learner on an instance, or of a trial (without an instance)."""

    key: str
    instance: str
    learner: str
    replication: int


#: A piece with its seconds, its measure, and its result or the traceback of its exception.
Outcome = tuple[Piece, float, float, bytes | str]


def _named(argument: str, given: Mapping[str, Specification] | None) -> dict[str, Specification]:
    if not isinstance(given, Mapping | None):
        raise TypeError(f'{argument} must be a dict of names, such as {{"ads": ...}}, got {shown(given)}')
    return dict(given or {})


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
    ...     pass  # study.run()
    ... except StudyFailed as failed:
    ...     print(failed.failures[0][1])
    """

    def __init__(self, failures: list[tuple[Piece, str]]) -> None:
        super().__init__(failures)
        self.failures = failures

    def __str__(self) -> str:
        piece, trace = self.failures[0]
        return (
            f"{len(self.failures)} pieces failed and are not stored; the first is replication"
            f" {piece.replication} of {piece.learner} on {piece.instance}:\n{trace.rstrip()}\n"
            "all other pieces are stored; run the study again to retry the failed pieces"
        )


class Study:
    """Learners on instances, with replications that are stored as they finish and can be resumed.

    A piece is one replication of one learner on one instance. It is stored under a hash of its specification,
    the version of cmab and `version`. A later run, also after a kill, plays only the missing pieces. Change
    `version` when your own code or data changes, because the hash does not contain them.

    A specification is a class or function, its import path ``"module:Name"``, or a dict with this ``class``
    and the arguments of the call. Arguments are plain values, arrays, functions, or further dicts with a
    ``class``. The arguments of a learner may refer to the instance: ``"$oracle"``, ``"$n_arms"``,
    ``"$means"`` (the true means) and ``"$environment"``.

    Parameters
    ----------
    path : path-like
        The SQLite file of the results. Several studies and several processes can share a file.
    instances : mapping of str to specification
        The environments by name; or dicts with an ``oracle`` and an ``environment`` that refers to
        ``"$oracle"``. Without ``oracle``, ``"$oracle"`` is the attribute `oracle` of the environment.
    learners : mapping of str to specification
        The policies or explorers by name. If they omit the argument ``oracle`` or ``n_arms``, it is that of
        the instance.
    trials : mapping of str to specification
        Functions with any results, in place of instances and learners. Each is called with two more
        arguments, `seed` (a ``SeedSequence``) and `replication`, and returns a list of dicts of plain values.
    horizon : int, optional
        The number of rounds, for policies. If omitted, the learners are explorers.
    checkpoints : sequence of int, optional
        As in `simulate`.
    max_samples : int, optional
        As in `identify`.
    replications : int
        The number of replications of each pair.
    seed : int
        The seed. Replication r has the same numbers as replication r of `simulate` or `identify`.
    version : str
        The version of your own code and data.

    Raises
    ------
    ValueError
        If a number is out of range, or a specification holds an object that has no import path. `run` raises
        it if a specification cannot be built.

    Examples
    --------
    >>> import tempfile
    >>> from cmab import CTS, CUCB, Study
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> arms = {"class": BernoulliArms, "means": [0.5, 0.1, 0.9]}
    >>> ads = {"class": SemiBandit, "arms": arms, "oracle": {"class": TopK, "n_arms": 3, "k": 1}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     study = Study(
    ...         f"{folder}/study.sqlite",
    ...         instances={"ads": ads},
    ...         learners={"CUCB": {"class": CUCB, "radius_factor": 0.5}, "Thompson": CTS},
    ...         horizon=100,
    ...         replications=2,
    ...     )
    ...     study.run()
    ...     study.missing(), study.comparisons()["ads"].best
    ([], 'CUCB')
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        instances: Mapping[str, Specification] | None = None,
        learners: Mapping[str, Specification] | None = None,
        trials: Mapping[str, Specification] | None = None,
        horizon: int | None = None,
        checkpoints: Sequence[int] | IntArray | None = None,
        max_samples: int | None = None,
        replications: int = 1,
        seed: int = 0,
        version: str = "",
    ) -> None:
        if bool(trials) == bool(instances and learners):
            raise ValueError("a study must have either instances and learners, or trials")
        self.path, self.version = Path(path), version
        self.replications, self.seed = integer("replications", replications, 1), integer("seed", seed, 0)
        self.instances, self.learners = _named("instances", instances), _named("learners", learners)
        self.trials = _named("trials", trials)
        self.max_samples = None if max_samples is None else integer("max_samples", max_samples, 1)
        self.rounds: IntArray | None = None
        if horizon is not None:
            horizon = integer("horizon", horizon, 1, simulation.LONGEST)
            self.rounds = simulation.check_rounds(checkpoints, horizon)
        self._built: dict[str, tuple[Environment, dict[str, Any]]] = {}
        self._keys = {pair: self._key(pair) for pair in self.pairs}

    @property
    def pairs(self) -> list[Pair]:
        """The pairs (instance, learner), or ("", trial)."""
        return [("", name) for name in self.trials] or [
            (i, name) for i in self.instances for name in self.learners
        ]

    @property
    def pieces(self) -> list[Piece]:
        """All pieces. Replications are the outer loop, so early results include all learners."""
        return [
            Piece(f"{key}-{number}", *pair, number)
            for number in range(self.replications)
            for pair, key in self._keys.items()
        ]

    def missing(self) -> list[Piece]:
        """Return the pieces that are not stored."""
        with finished(self.path) as file:
            stored = {key for (key,) in file.execute("SELECT key FROM pieces")}
        return [piece for piece in self.pieces if piece.key not in stored]

    def run(self, *, n_jobs: int = 1, progress: bool | None = None) -> None:
        """Play the missing pieces and store each piece as it finishes.

        Parameters
        ----------
        n_jobs : int
            Number of workers. They are started by joblib with its configured back end
            (``joblib.parallel_config``): processes, Dask or Ray. -1 uses all cores, or all workers of a
            cluster. 1 plays in this process. The numbers do not depend on `n_jobs`.
        progress : bool, optional
            Whether to show a progress bar, as in `simulate`.

        Raises
        ------
        StudyFailed
            If pieces raised exceptions. All other pieces are stored first.
        KeyboardInterrupt
            On Ctrl-C or SIGTERM. Finished pieces are stored.
        """
        check_jobs(n_jobs)
        missing = self.missing()
        plays = {pair: self._task(pair).play for pair in dict.fromkeys(piece[1:3] for piece in missing)}
        if n_jobs != 1:
            plays = {pair: Packed(play) for pair, play in plays.items()}
        tasks = [(piece, plays[piece[1:3]]) for piece in missing]
        run = partial(_play, self.seed)
        outcomes = (run(task) for task in tasks) if n_jobs == 1 else in_workers(run, tasks, n_jobs)
        store(self.path, missing, outcomes, progress=progress, version=self.version)

    def results(self) -> dict[Pair, Any]:
        """Return the finished replications, as `Simulation` or `Identification`, by (instance, learner)."""
        found: dict[Pair, list[Any]] = {}
        for piece, data in self._stored():
            found.setdefault(piece[1:3], []).append(from_archive(data, str(self.path))[1]["result"])
        return {pair: joined(results) for pair, results in found.items()}

    def comparisons(self) -> dict[str, Comparison]:
        """Return the comparison of the learners on each instance, by replications that all have played."""
        found: dict[Pair, dict[int, Any]] = {pair: {} for pair in self.pairs}
        for piece, data in self._stored():
            found[piece[1:3]][piece.replication] = from_archive(data, str(self.path))[1]["result"]
        made = {}
        for instance in self.instances:
            own = {learner: found[instance, learner] for learner in self.learners}
            if both := sorted(set.intersection(*map(set, own.values()))):
                results = {name: joined([each[number] for number in both]) for name, each in own.items()}
                learners = {name: self._task((instance, name)).learner for name in self.learners}
                made[instance] = compared(results, learners, instance)
        return made

    def trial_rows(self) -> dict[str, list[Rows]]:
        """Return the rows of each trial, one list for each finished replication."""
        found: dict[str, list[Rows]] = {}
        for piece, data in self._stored():
            found.setdefault(piece.learner, []).append(Rows(json.loads(data)))
        return found

    def table(self) -> Rows:
        """Return a row for each instance and learner with its number of finished replications and its mean.

        The mean is that of the regret (of the reward or cost if the optimum is unknown), or of the samples.
        """
        found: dict[Pair, list[tuple[float, float]]] = {}
        keys = {piece.key: piece for piece in self.pieces}
        with finished(self.path) as file:
            for key, seconds, measure in file.execute("SELECT key, seconds, measure FROM pieces"):
                if key in keys:
                    found.setdefault(keys[key][1:3], []).append(
                        (seconds, np.nan if measure is None else measure)
                    )
        return Rows(
            {"instance": pair[0], "learner": pair[1], "replications": len(found[pair])}
            | dict(zip(("seconds", "mean"), np.mean(found[pair], axis=0).tolist(), strict=True))
            for pair in self.pairs
            if pair in found
        )

    def __repr__(self) -> str:
        if self.trials:
            return f"Study({len(self.trials)} trials x {self.replications} replications)"
        return (
            f"Study({len(self.instances)} instances x {len(self.learners)} learners x {self.replications}"
            f" replications{'' if self.rounds is None else f', {self.rounds[-1]} rounds'})"
        )

    def _key(self, pair: Pair) -> str:
        """Return a hash of all that determines the numbers of a pair."""
        content: dict[str, Any] = {"seed": self.seed, "cmab": _library(), "version": self.version}
        if self.trials:
            content["trial"] = _table(self.trials[pair[1]], f"trials.{pair[1]}")
        else:
            content["instance"] = _table(self.instances[pair[0]], f"instances.{pair[0]}")
            content["learner"] = _table(self.learners[pair[1]], f"learners.{pair[1]}")
            content["rounds"] = None if self.rounds is None else self.rounds.tolist()
            content["max_samples"] = self.max_samples
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def _task(self, pair: Pair) -> Any:
        """Return the task of a pair, which any worker can play."""
        if self.trials:
            function, arguments = _call_of(self.trials[pair[1]], {}, f"trials.{pair[1]}")
            return _Trial(partial(function, **arguments))
        environment, names = self._instance(pair[0])
        where = f"learners.{pair[1]}"
        maker, arguments = _call_of(self.learners[pair[1]], names, where)
        usual = [
            name
            for name in ("oracle", "n_arms")
            if name in signature(maker).parameters and names[name] is not None
        ]
        learner = _called(maker, {name: names[name] for name in usual} | arguments, where)
        check = simulation.check_fit if self.rounds is not None else identification.check_fit
        _called(check, {}, f"{where} on {pair[0]}", learner, environment)
        return _Run(learner, environment, self.rounds, self.max_samples)

    def _instance(self, name: str) -> tuple[Environment, dict[str, Any]]:
        """Return an environment, and the objects to which its learners may refer; built once."""
        if name not in self._built:
            where, given = f"instances.{name}", self.instances[name]
            names: dict[str, Any] = {}
            if isinstance(given, Mapping) and "class" not in given:
                if "oracle" in given:
                    names["oracle"] = _made(given["oracle"], {}, f"{where}.oracle")
                given = given.get("environment", given)
            environment = _made(given, names, where)
            names = {"oracle": getattr(environment, "oracle", None)} | names
            names |= {"environment": environment, "n_arms": environment.n_arms, "means": environment.means}
            self._built[name] = environment, names
        return self._built[name]

    def _stored(self) -> Iterator[tuple[Piece, bytes]]:
        """Yield the finished pieces with their results, in the order of the study."""
        with finished(self.path) as file:
            for piece in self.pieces:
                for (data,) in file.execute("SELECT result FROM pieces WHERE key = ?", (piece.key,)):
                    yield piece, data


class _Run(NamedTuple):
    """A learner on an instance, which any process can play."""

    learner: Any
    environment: Any
    rounds: IntArray | None
    max_samples: int | None

    def play(self, seed: int, number: int) -> tuple[float, bytes]:
        """Return the measure and the archive of a replication."""
        if self.rounds is None:
            found: Any = identification.explore(
                self.learner, self.environment, root(seed), self.max_samples, number
            )
            return float(found.samples[0]), archived({}, {"result": found})
        found = simulation.replicate(self.learner, self.environment, self.rounds, root(seed), number)
        measure = found.regret[0, -1] if np.isfinite(found.optimum) else found.expected_rewards[0, -1]
        return float(measure), archived({}, {"result": found})


class _Trial(NamedTuple):
    """A function of a seed, which any process can call."""

    function: Callable[..., Any]

    def play(self, seed: int, number: int) -> tuple[float, bytes]:
        """Return the rows of a replication."""
        rows = self.function(seed=root(seed), replication=number)
        return np.nan, json.dumps(rows, default=np.generic.item).encode()


@contextmanager
def finished(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the SQLite file of finished pieces, the table ``pieces``, which several processes may share."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with closing(sqlite3.connect(path, timeout=60.0)) as file:
            file.execute(_TABLE)
            yield file
    except sqlite3.Error as error:
        raise OSError(f"{path} cannot be used as the file of a study: {error}") from error


def store(
    path: Path,
    missing: Sequence[Piece],
    outcomes: Generator[Outcome, None, None],
    *,
    progress: bool | None = None,
    version: str = "",
) -> None:
    """Store each of the missing pieces as it finishes. Raise `StudyFailed` if some of them failed."""
    failures: dict[Piece, str] = {}
    try:
        with (
            ended_by_signals(),
            closing(outcomes),
            finished(path) as file,
            progress_bar(progress, total=len(missing)) as bar,
        ):
            for piece, seconds, measure, result in outcomes:
                if isinstance(result, str):
                    failures[piece] = result
                else:
                    now = datetime.now(UTC).isoformat(timespec="seconds")
                    # One transaction, so a piece is stored completely or not at all.
                    with file:
                        file.execute(_INSERT, (*piece, _library(), version, now, seconds, measure, result))
                if bar is not None:
                    bar.update()
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted; the finished pieces are in {path}") from None
    if failures:
        raise StudyFailed([(piece, failures[piece]) for piece in missing if piece in failures])


def outcome_of(piece: Piece, play: Callable[[], tuple[float, bytes]]) -> Outcome:
    """Return the seconds, the measure and the result of a piece, or the traceback of its exception."""
    from threadpoolctl import threadpool_limits

    started = perf_counter()
    try:
        # One thread for numerical libraries, because sums depend on their number.
        with _ONE_AT_A_TIME, threadpool_limits(1):
            measure, result = play()
    except Exception:
        return piece, 0.0, 0.0, traceback.format_exc()
    return piece, perf_counter() - started, measure, result


def _play(seed: int, task: tuple[Piece, Callable[[int, int], tuple[float, bytes]]]) -> Outcome:
    piece, play = task
    return outcome_of(piece, partial(play, seed, piece.replication))


def _library() -> str:
    from cmab import __version__

    return __version__


def _table(value: Any, where: str) -> Any:
    """Return the plain form of a specification, the same one for a class and for its import path."""
    return _plain(value if isinstance(value, Mapping) else {"class": value}, where)


def _plain(value: Any, where: str) -> Any:
    """Return a value with import paths in place of classes and functions, as JSON can hold it."""
    if isinstance(value, Mapping):
        own = {"class": _maker_of(value, where)} if "class" in value else {}
        return {str(key): _plain(entry, f"{where}.{key}") for key, entry in (dict(value) | own).items()}
    if isinstance(value, list | tuple):
        return [_plain(entry, f"{where}[{i}]") for i, entry in enumerate(value)]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, str | bool | int | float | None):
        return value
    path = f"{getattr(value, '__module__', None)}:{getattr(value, '__qualname__', '<')}"
    if "<" in path:
        raise ValueError(
            f"{where} must be a plain value, an array, a class or function of a module, or a dict with a"
            f" class and arguments, got {shown(value)}"
        )
    return path


def _built(value: Any, names: Mapping[str, Any], where: str) -> Any:
    """Return the object that an argument describes. Other values than dicts with a class stay unchanged."""
    if isinstance(value, str) and value.startswith("$"):
        if value[1:] not in names:
            known = ", ".join(f"${name}" for name in names) or "none here"
            raise ValueError(f"{where} must refer to one of the known objects ({known}), got {value!r}")
        return names[value[1:]]
    if isinstance(value, list | tuple):
        return [_built(entry, names, f"{where}[{i}]") for i, entry in enumerate(value)]
    return _made(value, names, where) if isinstance(value, Mapping) and "class" in value else value


def _made(value: Any, names: Mapping[str, Any], where: str) -> Any:
    """Return the object that a specification describes."""
    maker, arguments = _call_of(value, names, where)
    return _called(maker, arguments, where)


def _call_of(value: Any, names: Mapping[str, Any], where: str) -> tuple[Callable[..., Any], dict[str, Any]]:
    """Return the class or function of a specification, and its arguments."""
    table = value if isinstance(value, Mapping) else {"class": value}
    arguments = {
        key: _built(entry, names, f"{where}.{key}") for key, entry in table.items() if key != "class"
    }
    return _maker_of(table, where), arguments


def _maker_of(table: Mapping[str, Any], where: str) -> Callable[..., Any]:
    maker: Any = table.get("class")
    if isinstance(maker, str):
        try:
            maker = resolve_name(maker)
        except (ImportError, AttributeError, ValueError) as error:
            raise ValueError(
                f"{where} must have an import path module:Name as class, got {maker!r} ({error})"
            ) from None
    if not callable(maker):
        raise ValueError(
            f"{where} must be a class, a function or its import path module:Name, or a dict with this class"
            f' and arguments such as {{"class": TopK, "n_arms": 3, "k": 1}}, got {shown(maker)}'
        )
    found: Callable[..., Any] = maker
    return found


def _called(maker: Callable[..., Any], arguments: Mapping[str, Any], where: str, *places: Any) -> Any:
    """Return the result of a call; errors name the place in the study."""
    try:
        return maker(*places, **arguments)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from error
