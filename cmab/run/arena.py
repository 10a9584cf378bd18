"""The arena: play policies on problems, store each match, and rank the policies by their regret ratios."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.environment import Environment
from cmab.oracle import Oracle, Sense
from cmab.policy import AnyPolicy
from cmab.run.simulate import simulate
from cmab.run.study import Outcome, Piece, finished, outcome_of, store
from cmab.run.tables import Form, text
from cmab.run.workers import in_workers
from cmab.validation import integer

Row = dict[str, Any]
Matches = Mapping[tuple[str, str], list[Row]]
#: The floor of regrets, as a share of the benchmark: smaller regrets count as equal.
FLOOR = 0.001
#: Ratios of at most this number count as close to the best.
CLOSE = 1.5
#: The entry whose median is the reference of the tail, and the quantile that is compared with it.
REFERENCE, TAIL = "CTS", 0.95
_BOOTSTRAP = 1000
# Number of rounds that decide whether a policy accepts a problem.
_PROBE = 2


class CannotPlay(ValueError):
    """Exception for a policy that rejects a problem, with the reason of the policy.

    Examples
    --------
    >>> from cmab.run.arena import CannotPlay
    >>> issubclass(CannotPlay, ValueError)
    True
    """


@dataclass(frozen=True, eq=False)
class Facts:
    """The facts of an instance that every policy may know. The means are not among them.

    Attributes
    ----------
    kind : str
        The kind of the problem.
    horizon : int
        Number of rounds of the run.
    support : tuple of float
        The interval of the outcomes.
    sense : {"max", "min"}
        Whether rewards are maximised or costs minimised.
    batch : int
        Number of rounds of a batch.
    is_late : bool
        Whether feedback is delayed.
    other : mapping
        Facts of the problem, for example the features of the arms.

    Examples
    --------
    >>> from cmab.run.arena import Facts
    >>> Facts(kind="top-k", horizon=1000).support
    (0.0, 1.0)
    """

    kind: str
    horizon: int
    support: tuple[float, float] = (0.0, 1.0)
    sense: Sense = "max"
    batch: int = 1
    is_late: bool = False
    other: Mapping[str, Any] = field(default_factory=dict)

    @property
    def best_outcome(self) -> float:
        """The best outcome of an arm: the upper end of the support, or the lower end for costs."""
        return self.support[1] if self.sense == "max" else self.support[0]


@dataclass(frozen=True, eq=False)
class Entry:
    """A named rule of the arena, which makes a policy for each instance.

    Parameters
    ----------
    name : str
        The name in all tables.
    make : callable
        ``make(oracle, facts)`` returns the policy for an instance. `facts` is a `Facts`.
    kinds : collection of str, optional
        The kinds of problems on which the entry plays. If omitted, it plays on all problems. A problem that
        its policy rejects with a ``ValueError`` or a ``TypeError`` has no result for this entry.
    tuned : bool
        Whether parameters of the entry were chosen on problems of the arena.
    version : str
        Part of the keys of stored matches. Change it if the code of the policy changes.

    Examples
    --------
    >>> from cmab import CUCB
    >>> from cmab.run.arena import Entry, Facts
    >>> from oracles import TopK
    >>> entry = Entry("CUCB, short", lambda oracle, facts: CUCB(oracle, radius_factor=0.3))
    >>> entry.make(TopK(3, k=1), Facts(kind="top-k", horizon=100)).radius_factor
    0.3
    """

    name: str
    make: Callable[[Oracle, Facts], AnyPolicy]
    kinds: Iterable[str] | None = None
    tuned: bool = False
    version: str = ""

    @classmethod
    def of(
        cls,
        policy: Callable[..., AnyPolicy],
        name: str | None = None,
        *,
        kinds: Iterable[str] | None = None,
        tuned: bool = False,
        **parameters: Any,
    ) -> Entry:
        """Return the entry of a class of policies with the given parameters.

        The class receives the oracle, the parameters and, on problems whose outcomes are not in [0, 1], their
        `support`.
        """

        def make(oracle: Oracle, facts: Facts) -> AnyPolicy:
            usual = facts.support == (0.0, 1.0)
            return policy(oracle, **({} if usual else {"support": facts.support}), **parameters)

        version = ", ".join(f"{key}={value!r}" for key, value in parameters.items())
        return cls(name or policy.__name__, make, kinds, tuned, version)

    def plays(self, kind: str) -> bool:
        """Return whether the entry plays on problems of a kind."""
        return self.kinds is None or kind in self.kinds


class Instance(NamedTuple):
    """An instance of a problem, drawn for one replication.

    Attributes
    ----------
    oracle : Oracle
        The oracle of all policies.
    environment : Environment
        The environment, which the policies never see.
    facts : mapping
        Facts about this instance that a policy may know, for example the features of its arms. They replace
        the facts of the problem with the same names.

    Examples
    --------
    >>> from cmab.run.arena import Instance
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(3, k=1)
    >>> Instance(oracle, SemiBandit(BernoulliArms([0.1, 0.7, 0.6]), oracle)).facts
    {}
    """

    oracle: Oracle
    environment: Environment
    facts: Mapping[str, Any] = {}

    @property
    def benchmark(self) -> float:
        """The expected reward of a round that regret is measured against.

        It is the optimum of the environment. If the environment does not know it, it is the value of the
        oracle's super arm for the true means.
        """
        optimum = float(self.environment.optimum)
        if not math.isnan(optimum):
            return optimum
        best = self.oracle.solve(self.environment.means, np.random.default_rng(0))
        return float(self.environment.expected_reward(best))


@dataclass(frozen=True, eq=False)
class Problem:
    """A family of instances on which policies are compared.

    Parameters
    ----------
    name : str
        The name in all tables. It is part of the seed, so a renamed problem has other instances.
    kind : str
        The kind of the problem, for example ``"matching"``. An entry may be restricted to some kinds.
    make : callable
        ``make(rng)`` draws an instance: a pair (oracle, environment), or an `Instance` with facts. It must
        number the arms in random order, because otherwise a policy that prefers the first arms has an
        advantage.
    horizon : int
        Number of rounds, at least 10. Scores are also computed after a tenth of them.
    source : str
        The paper of the problem, or the reason for it.
    held_out : bool
        Whether the problem belongs to the held-out part, which nobody uses to design policies.
    replications : int
        Number of replications.
    batch : int
        Number of rounds of a batch, as in `simulate`.
    delay : int or callable, optional
        The delay of the feedback, as in `simulate`.
    facts : mapping
        Facts that a policy may know, for example ``{"dimension": 5}``.

    Examples
    --------
    >>> from cmab.run.arena import Problem
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> def ten_arms(rng):
    ...     oracle = TopK(10, k=2)
    ...     return oracle, SemiBandit(BernoulliArms(rng.random(10)), oracle)
    >>> problem = Problem("ten arms", "top-k", ten_arms, horizon=1000, source="an example")
    >>> problem.draw(seed=0, replication=3).oracle
    TopK(n_arms=10, k=2)
    """

    name: str
    kind: str
    make: Callable[[np.random.Generator], Instance | tuple[Oracle, Environment]]
    horizon: int
    source: str
    held_out: bool = False
    replications: int = 6
    batch: int = 1
    delay: int | Callable[[int, np.random.Generator], int] | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        integer(f"horizon of the problem {self.name}", self.horizon, 10)
        integer(f"replications of the problem {self.name}", self.replications, 1)

    def draw(self, *, seed: int = 0, replication: int = 0) -> Instance:
        """Return the instance of a replication, which depends on the name, the seed and the number only."""
        return Instance(*self.make(np.random.default_rng(self.seeds(seed, replication)[0])))

    def seeds(self, seed: int, replication: int) -> tuple[np.random.SeedSequence, np.random.SeedSequence]:
        """Return the seed of the instance and the seed of the runs of a replication, for all entries."""
        words = np.frombuffer(hashlib.sha256(self.name.encode()).digest()[:16], np.uint32)
        key = (*(int(word) for word in words), replication)
        own, runs = (np.random.SeedSequence(seed, spawn_key=(*key, part)) for part in (0, 1))
        return own, runs


def play(
    problem: Problem,
    entry: Entry,
    replication: int,
    *,
    seed: int = 0,
    horizon: int | None = None,
    instance: Instance | None = None,
) -> Row:
    """Play one replication of an entry on a problem.

    All entries meet the same instance and the same random numbers of the environment in a replication.

    Parameters
    ----------
    problem : Problem
        The problem.
    entry : Entry
        The entry.
    replication : int
        The number of the replication, from 0 on.
    seed : int
        The seed of the arena.
    horizon : int, optional
        Number of rounds, at least 10. The default is the horizon of the problem.
    instance : Instance, optional
        The instance of the replication, if it was drawn before.

    Returns
    -------
    dict
        ``regret``, the cumulative regret after a tenth of the rounds and after all rounds, which is negative
        if the entry earned more than the benchmark; ``worth``, the cumulative benchmark in these rounds; and
        ``seconds``, the wall-clock time of a round.

    Raises
    ------
    CannotPlay
        If the entry does not play problems of this kind, or if the policy rejects the problem: the policy or
        its first two rounds raise a ``ValueError`` or a ``TypeError``.

    Examples
    --------
    >>> from cmab import CTS
    >>> from cmab.run.arena import Entry, play
    >>> from instances.arena import PROBLEMS
    >>> play(PROBLEMS["top 5 of 20"], Entry.of(CTS), 0, horizon=100)["regret"][1] > 0
    True
    """
    rounds = problem.horizon if horizon is None else integer("horizon", horizon, 10)
    if not entry.plays(problem.kind):
        raise CannotPlay(f"{entry.name} does not play problems of the kind {problem.kind}")
    oracle, environment, facts = instance = instance or problem.draw(seed=seed, replication=replication)
    low, high = (float(end) for end in environment.support)
    is_late, known = problem.delay is not None, {**problem.facts, **facts}
    told = Facts(problem.kind, rounds, (low, high), oracle.sense, problem.batch, is_late, known)
    streams = problem.seeds(seed, replication)[1]
    settings: Any = {"rng": streams, "batch": problem.batch, "delay": problem.delay, "progress": False}
    ends = [rounds // 10, rounds]
    started = time.perf_counter()
    try:
        policy = entry.make(oracle, told)
        result = simulate(policy, environment, rounds, checkpoints=ends, **settings)
    except (ValueError, TypeError) as error:
        try:
            simulate(entry.make(oracle, told), environment, _PROBE, **settings)
        except (ValueError, TypeError) as reason:
            raise CannotPlay(f"{entry.name} cannot play {problem.name}: {reason}") from error
        raise  # the policy accepted the problem, so this is a fault
    seconds = (time.perf_counter() - started) / rounds
    worth = result.rounds * instance.benchmark if result.optima is None else result.optima[0]
    sign = 1.0 if result.sense == "max" else -1.0
    regret = sign * (worth - result.expected_rewards[0])
    return {"regret": _short(regret), "worth": _short(np.abs(worth)), "seconds": _short([seconds])[0]}


def _short(values: Any) -> list[float]:
    """Return numbers with six digits, which is far below the noise of a replication."""
    return [float(f"{value:.6g}") for value in values]


def _key(problem: Problem, entry: Entry, replication: int, seed: int, horizon: int) -> str:
    from cmab import __version__

    told = [problem.name, problem.kind, problem.batch, entry.name, entry.version, replication, seed, horizon]
    return json.dumps([*told, __version__])


class _Replication(NamedTuple):
    """The missing matches of a replication. They are one task, so that the instance is drawn once."""

    problem: Problem
    entries: dict[Piece, Entry]
    seed: int
    horizon: int

    def outcomes(self) -> list[Outcome]:
        number = next(iter(self.entries)).replication
        instance = self.problem.draw(seed=self.seed, replication=number)
        settings: Any = {"seed": self.seed, "horizon": self.horizon, "instance": instance}

        def match(entry: Entry) -> tuple[float, bytes]:
            try:
                found = play(self.problem, entry, number, **settings)
            except CannotPlay as reason:
                return math.nan, json.dumps({"refused": str(reason)}).encode()
            return found["regret"][-1], json.dumps(found).encode()

        return [outcome_of(piece, partial(match, entry)) for piece, entry in self.entries.items()]


def run(
    problems: Iterable[Problem],
    entries: Iterable[Entry],
    *,
    folder: str | os.PathLike[str] | None = None,
    rng: int = 0,
    replications: int | None = None,
    horizon: int | None = None,
    n_jobs: int = 1,
    recorded: Matches | None = None,
) -> Standings:
    """Play all entries on all problems and return the standings.

    Parameters
    ----------
    problems : iterable of Problem
        The problems. ``instances.arena.PROBLEMS.values()`` are those of this library.
    entries : iterable of Entry
        The entries. ``instances.arena.ENTRIES`` are those of this library.
    folder : path-like, optional
        The folder of the store. A run with the same folder plays only the missing matches. If omitted,
        nothing is kept.
    rng : int
        The seed. The instances of a replication depend on the seed and on the name of the problem only.
    replications, horizon : int, optional
        Numbers that replace those of all problems.
    n_jobs : int
        Number of workers, or -1 for all cores. The numbers do not depend on it.
    recorded : mapping, optional
        Earlier matches with the same seed by (problem, entry), as `read_matches` returns them. They are not
        played again.

    Returns
    -------
    Standings
        The scores and tables.

    Raises
    ------
    ValueError
        If two problems or two entries have the same name, or if there is none.
    StudyFailed
        If a policy failed after its first rounds. All other matches are stored before.

    Examples
    --------
    >>> from cmab import CTS, CUCB
    >>> from cmab.run.arena import Entry, Problem, run
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> def ten_arms(rng):
    ...     oracle = TopK(10, k=2)
    ...     return oracle, SemiBandit(BernoulliArms(rng.random(10)), oracle)
    >>> problem = Problem("ten arms", "top-k", ten_arms, horizon=1000, source="an example")
    >>> run([problem], [Entry.of(CTS), Entry.of(CUCB)]).best("ten arms")
    'CTS'
    """
    games, players = [*problems], [*entries]
    for what, named in (("problems", games), ("entries", players)):
        names = [thing.name for thing in named]
        if not names or len({*names}) < len(names):
            raise ValueError(f"{what} must have different names, and there must be one, got {names}")
    pairs = {(game.name, entry.name) for game in games for entry in players}
    matches = {pair: rows for pair, rows in (recorded or {}).items() if pair in pairs}
    plays: dict[Piece, tuple[Problem, Entry, int]] = {}
    for game in games:
        length = horizon or game.horizon
        mine = [
            entry for entry in players if entry.plays(game.kind) and (game.name, entry.name) not in matches
        ]
        for r in range(replications or game.replications):
            for entry in mine:
                key = _key(game, entry, r, rng, length)
                plays[Piece(key, game.name, entry.name, r)] = game, entry, length
    with tempfile.TemporaryDirectory() as own:
        path = Path(own if folder is None else folder) / "arena.sqlite"
        with finished(path) as file:
            stored = {key for (key,) in file.execute("SELECT key FROM pieces")}
        # Replications are the outer loop, so that early results include all problems.
        missing = sorted((p for p in plays if p.key not in stored), key=lambda piece: piece.replication)
        tasks: dict[tuple[str, int], _Replication] = {}
        for piece in missing:
            game, entry, length = plays[piece]
            task = _Replication(game, {}, rng, length)
            tasks.setdefault((game.name, piece.replication), task).entries[piece] = entry
        run_one, listed = _Replication.outcomes, tasks.values()
        played = map(run_one, listed) if n_jobs == 1 else in_workers(run_one, listed, n_jobs)
        store(path, missing, (outcome for found in played for outcome in found))
        with finished(path) as file:
            rows = dict(file.execute("SELECT key, result FROM pieces"))
    for piece in plays:
        matches.setdefault(piece[1:3], []).append(json.loads(rows[piece.key]))
    return Standings(tuple(games), tuple(players), matches)


@dataclass(frozen=True, eq=False)
class Standings:
    """The results of a run of the arena.

    Attributes
    ----------
    problems : tuple of Problem
        The problems.
    entries : tuple of Entry
        The entries.
    matches : mapping
        The matches by (problem, entry): for each replication a dict as `play` returns, or the key
        ``refused`` with the reason why the entry cannot play.

    Examples
    --------
    >>> from cmab import CTS, CUCB
    >>> from cmab.run.arena import Entry, run
    >>> from instances.arena import PROBLEMS
    >>> entries = [Entry.of(CTS), Entry.of(CUCB)]
    >>> standings = run([PROBLEMS["top 5 of 20"]], entries, horizon=300, replications=2)
    >>> [row["entry"] for row in standings.scores()]
    ['CTS', 'CUCB']
    """

    problems: tuple[Problem, ...]
    entries: tuple[Entry, ...]
    matches: Matches

    @cached_property
    def refused(self) -> dict[tuple[str, str], str]:
        """The reason why an entry cannot play, by (problem, entry)."""
        return {
            pair: match["refused"]
            for pair, matches in self.matches.items()
            for match in matches
            if "refused" in match
        }

    @cached_property
    def regrets(self) -> dict[tuple[str, str], FloatArray]:
        """The regrets after a tenth of the rounds and after all, shape (R, 2), by (problem, entry).

        All entries of a problem have the same number of replications.
        """
        played = {pair: matches for pair, matches in self.matches.items() if pair not in self.refused}
        least = {name: min(len(m) for (p, _), m in played.items() if p == name) for name, _ in played}
        return {
            pair: np.array([m["regret"] for m in rows[: least[pair[0]]]]) for pair, rows in played.items()
        }

    def _seconds(self, pair: tuple[str, str]) -> float:
        return float(np.median([match["seconds"] for match in self.matches[pair]]))

    @cached_property
    def _values(self) -> dict[str, tuple[FloatArray, FloatArray]]:
        """The regrets (2, R, E), ``nan`` for an entry that does not play, and the floors (2,), by problem."""
        found = {}
        for problem in self.problems:
            pairs = [(problem.name, entry.name) for entry in self.entries]
            known = [pair for pair in pairs if pair in self.regrets]
            if known:
                missing = np.full_like(self.regrets[known[0]], np.nan)
                rows = np.stack([self.regrets.get(pair, missing) for pair in pairs], axis=-1)
                worth = np.mean([match["worth"] for match in self.matches[known[0]]], axis=0)
                found[problem.name] = rows.transpose(1, 0, 2), FLOOR * worth
        return found

    @cached_property
    def _draws(self) -> dict[str, FloatArray]:
        """Bootstrap draws of the ratios of each problem, shape (B, 2, E)."""
        rng, draws = np.random.default_rng(0), {}
        for name, (values, floors) in self._values.items():
            n = values.shape[1]
            weights = rng.multinomial(n, np.full(n, 1.0 / n), size=_BOOTSTRAP) / n
            draws[name] = regret_ratios(values, floors, weights)
        return draws

    def ratios(self, problem: str) -> dict[str, tuple[float, float]]:
        """Return for each entry its regret over the smallest, after a tenth of the rounds and after all."""
        first, last = regret_ratios(*self._values[problem])
        known = zip(self.entries, first, last, strict=True)
        return {entry.name: (float(a), float(b)) for entry, a, b in known if np.isfinite(b)}

    def best(self, problem: str) -> str:
        """Return the entry with the smallest mean regret after all rounds of a problem."""
        return self.entries[int(best_entries(self._values[problem][0])[1])].name

    def scores(self) -> list[Row]:
        """Return a row of scores for each entry, those that play most problems first, then by their mean.

        Returns
        -------
        list of dict
            For the open and for the held-out problems: the geometric mean of the ratios with a 95 % bootstrap
            interval, the worst ratio, the share of ratios up to 1.5, and the largest tail (the 95th
            percentile over replications, divided by the median of CTS). ``problems`` is the number of
            problems that the entry plays, and ``microseconds`` the median time of a round.
        """
        parts = {
            title: self._part(
                [p.name for p in self.problems if p.held_out == held and p.name in self._values]
            )
            for title, held in (("open", False), ("held out", True))
        }
        rows: list[Row] = []
        for i, entry in enumerate(self.entries):
            own = [pair for pair in self.regrets if pair[1] == entry.name]
            if not own:
                continue
            row: Row = {"entry": entry.name, "problems": len(own), "tuned": entry.tuned}
            for title, part in parts.items():
                row |= {f"{title} {name}": float(column[i]) for name, column in part.items()}
            rows.append(row | {"microseconds": 1e6 * float(np.median([self._seconds(p) for p in own]))})
        key = "open mean" if parts["open"] else "held out mean"
        most = max((row["problems"] for row in rows), default=0)
        # Entries for some kinds of problems come last, because their means are over other problems.
        return sorted(rows, key=lambda row: (2 * row["problems"] < most, np.nan_to_num(row[key], nan=np.inf)))

    def _part(self, names: list[str]) -> dict[str, FloatArray]:
        """Return the scores of all entries on some problems."""
        if not names:
            return {}
        values = [self._values[name] for name in names]
        ratios = np.concatenate([regret_ratios(*each) for each in values])
        draws = geometric_mean(np.concatenate([self._draws[name] for name in names], axis=1))
        low, high = np.quantile(draws, [0.025, 0.975], axis=0)
        some = np.where(np.isfinite(ratios).any(axis=0), 1.0, np.nan)
        reference = [entry.name for entry in self.entries].index(REFERENCE) if self._has_reference else None
        tails = np.concatenate([regret_tails(*each, reference) for each in values])
        count = np.maximum(np.isfinite(ratios).sum(axis=0), 1)
        return {
            "mean": geometric_mean(ratios),
            "low": low,
            "high": high,
            "worst": some * np.where(np.isfinite(ratios), ratios, 1.0).max(axis=0),
            "close": some * (ratios <= CLOSE).sum(axis=0) / count,
            "largest tail": np.where(np.isfinite(tails), tails, -np.inf).max(axis=0),
        }

    @property
    def _has_reference(self) -> bool:
        return any(entry.name == REFERENCE for entry in self.entries)

    def table(self, *, form: Form = "plain") -> str:
        """Return the leaderboard as text. `form` is a format of tabulate, such as ``"github"``."""
        rows = []
        for row in self.scores():
            short: Row = {"entry": row["entry"], "problems": row["problems"]}
            for part, head in (("open", ""), ("held out", "held out: ")):
                if f"{part} mean" in row:
                    mean, low, high = (row[f"{part} {name}"] for name in ("mean", "low", "high"))
                    short[f"{head}mean"] = _two(mean)
                    if part == "open":
                        short["95 %"] = None if np.isnan(mean) else f"{_two(low)} - {_two(high)}"
                    short[f"{head}worst"] = _two(row[f"{part} worst"])
            rows.append(short | {"us a round": _two(row["microseconds"])})
        return text(rows, form)

    def place(self, entry: str) -> str:
        """Return a sentence with the place of an entry among all that play at least half as many problems."""
        rows = self.scores()
        mine = next((row for row in rows if row["entry"] == entry), None)
        if mine is None:
            return f"{entry} plays no problem."
        rivals = [row for row in rows if 2 * row["problems"] >= mine["problems"]]
        parts = []
        for part in ("open", "held out"):
            means = {row["entry"]: row.get(f"{part} mean", np.nan) for row in rivals}
            known = sorted((mean, name) for name, mean in means.items() if np.isfinite(mean))
            places = [name for _, name in known]
            if entry in places:
                at = f"place {places.index(entry) + 1} of {len(places)} on the {part} problems"
                parts.append(f"{at} (mean ratio {_two(means[entry])})")
        return f"{entry} has {' and '.join(parts)}." if parts else f"{entry} plays no problem."

    def __repr__(self) -> str:
        return f"Standings({len(self.entries)} entries on {len(self._values)} problems)"


def write_matches(path: str | os.PathLike[str], matches: Matches) -> None:
    """Write matches to a compressed JSON file, from which `read_matches` returns them."""
    text = json.dumps([[*pair, rows] for pair, rows in matches.items()], separators=(",", ":"))
    # Without a time, equal matches give equal files.
    Path(path).write_bytes(gzip.compress(text.encode(), mtime=0))


def read_matches(path: str | os.PathLike[str]) -> dict[tuple[str, str], list[Row]]:
    """Return the matches of a file of `write_matches` by (problem, entry)."""
    told = json.loads(gzip.decompress(Path(path).read_bytes()))
    return {(problem, entry): rows for problem, entry, rows in told}


def best_entries(values: FloatArray) -> IntArray:
    """Return the entry with the least mean regret after a tenth of the rounds and after all, shape (2,)."""
    return np.asarray(np.nanargmin(values.mean(axis=1), axis=1), np.int64)


def regret_ratios(values: FloatArray, floors: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Return the mean regret of each entry divided by that of the best, shape (..., 2, E).

    Both means are at least the floor. `weights`, of shape (..., R), are the weights of the replications. They
    are the same for all entries, and the best entry does not depend on them.
    """
    means = values.mean(axis=1) if weights is None else np.einsum("...r,hre->...he", weights, values)
    raised = np.maximum(means, floors[:, None])
    return np.asarray(raised / raised[..., [0, 1], best_entries(values)][..., None], np.float64)


def regret_tails(values: FloatArray, floors: FloatArray, reference: int | None) -> FloatArray:
    """Return the 95th percentile over replications, divided by the median of the reference, shape (2, E).

    Both are at least the floor. Without a reference, the result is ``nan``.
    """
    if reference is None:
        return np.full(values[:, 0].shape, np.nan)
    high = np.maximum(np.quantile(values, TAIL, axis=1), floors[:, None])
    median = np.maximum(np.median(values[:, :, reference], axis=1), floors)
    return np.asarray(high / median[:, None], np.float64)


def geometric_mean(ratios: FloatArray) -> FloatArray:
    """Return the geometric mean over the cases (last axis but one), ``nan`` for an entry without a case."""
    played = np.isfinite(ratios)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.exp(np.log(np.where(played, ratios, 1.0)).sum(axis=-2) / played.sum(axis=-2)))


def _two(value: float) -> str | None:
    """Return a number with about three digits."""
    return f"{value:.{0 if value >= 100.0 else 1 if value >= 10.0 else 2}f}" if np.isfinite(value) else None
