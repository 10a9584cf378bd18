"""What every demo does: a study of learners on a problem; a row for each, then pictures and numbers."""

from __future__ import annotations

import contextlib
import inspect
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np

from cmab import Environment, Oracle, Simulation, Study, simulate
from cmab.arrays import FloatArray, IntArray
from cmab.results.tables import Row, write_csv
from cmab.studies.folder import StudyFolder
from cmab.validation import integer

Learners = dict[str, dict[str, Any]]

# The share of the rounds before the late ones, and blocks of rounds in the figure of rewards.
_LATE = 0.9
_BLOCKS = 25
_TEXT = """horizon : int
    Rounds of a replication
replications : int
    Independent replications of each learner
n_jobs : int
    Worker processes, -1 for all cores
out : Path
    Folder for the store, pictures (PNG and PDF) and numbers (CSV); what is stored is not run again"""


@dataclass(frozen=True)
class Problem:
    """What the learners of a demo meet, and how the last super arm of one is drawn."""

    environment: Environment
    oracle: Oracle
    draw: Callable[[IntArray], Any] | None = None
    #: What is played on, in words, with a line on each thing that was found out of a file.
    told: Sequence[str] = ()
    #: Of how much a round can reach, in words: "77 people".
    whole: str = ""
    #: Names what a super arm chooses.
    names: Callable[[IntArray], Sequence[object]] | None = None


@dataclass(frozen=True)
class Demo:
    """A demo: a study of learners on a problem.

    Parameters
    ----------
    name : str
        What it is called as a command and in studies.
    problem : callable
        Returns the `Problem` for its parameters, among them ``rng``.
    learners : mapping of str to dict
        As in a study, in the order of the table.
    reward : str
        What the reward of a round is: "spread".
    unit : str
        Its unit: "nodes".
    featured : str
        The learner whose estimates and last choice are drawn.
    sentence : str
        What was found, with places for {value} of the featured learner, {random}, {best} and {whole}.
    """

    name: str
    problem: Callable[..., Problem]
    learners: Mapping[str, Mapping[str, Any]]
    reward: str
    unit: str
    featured: str
    sentence: str

    def study(self, given: Mapping[str, Any], *, horizon: int, replications: int, rng: int) -> Study:
        """Return the demo as a study, given the parameters of its problem."""
        files, horizon = None, integer("rounds", horizon, 1)
        instance = {name: value for name, value in given.items() if value is not None}
        for name, value in instance.items():
            if isinstance(value, Path):  # a study names files below its own folder only
                path = value.resolve()
                instance[name], files = {"file": path.name}, path.parent
        tables = {
            "horizon": horizon,
            "checkpoints": checkpoints(horizon).tolist(),
            "replications": replications,
            "seed": rng,
            "instances": {self.name: {"demo": self.name, **instance, "rng": rng}},
            "learners": self.learners,
        }
        return Study(tables, files=files)

    def run(self, study: Study, *, n_jobs: int, out: Path | None) -> Iterator[dict[str, Any] | str]:
        """Yield lines on the problem, a row for each learner when it is finished, lines on what was found.

        At the end, or on Ctrl-C, the files are written to `out`.

        What the store of `out` holds already is not played again.
        """
        yield from self._opening(study)
        pictures, missing = out is not None, ""
        try:
            from cmab.plotting import pyplot

            pyplot()
        except ImportError as error:  # told before the run, not after it
            pictures, missing = False, str(error)
        if missing and out is not None:
            yield f"no pictures are drawn: {missing}"
        rows: list[dict[str, Any]] = []
        chosen: IntArray | None = None
        with contextlib.ExitStack() as stack:
            place = Path(stack.enter_context(tempfile.TemporaryDirectory())) if out is None else out
            folder = stack.enter_context(study.at(place))
            # On Ctrl-C the curves are written, and the featured picture is not.
            try:
                for row in self._rows(folder, n_jobs):
                    rows.append(row)
                    yield row
            finally:
                if out is not None:
                    self._write(folder, out, pictures=pictures)
            if out is not None:
                chosen = self._write_featured(study, out, pictures=pictures)
        yield from self._closing(study, rows, chosen)

    def _opening(self, study: Study) -> Iterator[str]:
        problem = study.plan.demos[self.name]
        assert isinstance(problem, Problem)
        assert study.rounds is not None
        yield from problem.told
        names = "; ".join(self.learners)
        runs = "once" if study.outline.replications == 1 else f"{study.outline.replications} times"
        yield (f"compared are {names}: {int(study.rounds[-1]):,} rounds each, played {runs}")

    def _closing(
        self, study: Study, rows: Sequence[Mapping[str, Any]], chosen: IntArray | None
    ) -> Iterator[str]:
        """Yield what the columns are, what was found, and whom the featured learner chose."""
        problem = study.plan.demos[self.name]
        assert isinstance(problem, Problem)
        assert study.rounds is not None
        late, last = f"late {self.reward}", int(study.rounds[-1])
        yield f"  {late}: expected {self.reward} of a round ({self.unit}), mean over the last tenth"
        yield "  s.e.: standard error of that over repetitions"
        yield f"  of best known: the same, as a share of the {self.reward} of the best choice that is known"
        arms = problem.environment.n_arms
        yield f"  arms observed: share of the {arms:,} base arms that were seen at least once"
        yield "  ms a round: median time of a round in milliseconds"
        values = {row["learner"]: row[late] for row in rows}
        yield f"After {last:,} rounds, " + self.sentence.format(
            value=f"{values[self.featured]:.1f}",
            random=f"{values['Random']:.1f}",
            best=f"{study.plan.problems[self.name].optimum:.1f}",
            whole=problem.whole,
        )
        if chosen is not None and problem.names is not None:
            # Names may hold commas.
            names = "; ".join(map(str, problem.names(chosen)))
            yield f"Chosen in the last round by {self.featured}: {names}"

    def _rows(self, folder: StudyFolder[Study], n_jobs: int) -> Iterator[dict[str, Any]]:
        folder.repair()
        missing = folder.missing()
        left, waiting = Counter(piece.learner for piece in missing), list(self.learners)

        def done(*, even_parts: bool = False) -> Iterator[dict[str, Any]]:
            # In the order of the learners, whichever finishes first: rows of a table do not change places.
            while waiting and (even_parts or not left[waiting[0]]):
                name = waiting.pop(0)
                rows = folder.rows("simulations", learner=name)
                note = " (interrupted)" if left[name] else ""
                for pair, result in folder.results(learner=name).items():
                    observed = [row["observed"] for row in rows[pair] if row["observed"] is not None]
                    yield self._row(name + note, result, observed, folder.study)

        yield from done()
        try:
            with contextlib.closing(folder.play(n_jobs=n_jobs, progress=True)) as played:
                for piece, _ in played:
                    left[piece.learner] -= 1
                    yield from done()
        except KeyboardInterrupt:
            yield from done(even_parts=True)
            raise

    def _row(self, name: str, result: Simulation, observed: Sequence[float], study: Study) -> dict[str, Any]:
        late = late_rewards(result)
        error = late.std(ddof=1) / np.sqrt(len(late)) if len(late) > 1 else np.nan
        return {
            "learner": name,
            f"late {self.reward}": float(late.mean()),
            "s.e.": float(error),
            "of best known": float(late.mean() / study.plan.problems[self.name].optimum),
            "arms observed": float(np.mean(observed)) if observed else None,
            # The median, for the first replication in a process may compile.
            "ms a round": 1000 * float(np.median(result.seconds / result.rounds[-1])),
        }

    def _write(self, folder: StudyFolder[Study], out: Path, *, pictures: bool) -> None:
        from cmab.plotting import curves_with_bands, regret_curves, save

        results = {learner: result for (_, learner), result in folder.results().items()}
        if not results:
            return
        write_csv(out / "curves.csv", list(_curve_rows(results)))
        if not pictures:
            return
        save(regret_curves(results, exact=True), out / "regret")
        blocks = {name: _blocks(result) for name, result in results.items()}
        label = f"Expected {self.reward} of a round ({self.unit})"
        save(curves_with_bands(blocks, x_label="Round", y_label=label), out / "reward")

    def _write_featured(self, study: Study, out: Path, *, pictures: bool) -> IntArray:
        """Write what the featured learner knows at the end, in its replication 0 played again.

        Returns what it chooses then.
        """
        from cmab.plotting import learned_against_true, save

        assert study.rounds is not None
        last, environment = int(study.rounds[-1]), study.plan.problems[self.name]
        policy = study.plan.policies[self.name, self.featured]
        played = simulate(policy, environment, last, checkpoints=[last], rng=study.seed)
        state, truth = played.states[0], environment.means
        rows = zip(range(len(truth)), truth, state.means, state.counts, strict=True)
        names = ("arm", "true mean", "learned mean", "observations")
        write_csv(out / "arms.csv", [dict(zip(names, row, strict=True)) for row in rows])
        if pictures:
            save(learned_against_true(state.means, truth, counts=state.counts), out / "learned")
            if (draw := study.plan.demos[self.name].draw) is not None:
                save(draw(played.super_arms[0]), out / "picture")
        return played.super_arms[0]


def command(
    *,
    learners: Mapping[str, Mapping[str, Any]],
    reward: str,
    unit: str,
    featured: str,
    sentence: str,
    horizon: int,
    replications: int,
    n_jobs: int = 1,
    then: Callable[..., Callable[[Study], object] | None] | None = None,
) -> Callable[[Callable[..., Problem]], Callable[..., Iterator[dict[str, Any] | str]]]:
    """Make the command of a demo of the function that makes its problem, with these defaults.

    `then` has further parameters of the command; it is called before the run, and what it returns after it.
    """

    def of(make: Callable[..., Problem]) -> Callable[..., Iterator[dict[str, Any] | str]]:
        demo = Demo(make.__name__.replace("_", "-"), make, learners, reward, unit, featured, sentence)

        def run(
            *,
            horizon: int = horizon,
            replications: int = replications,
            rng: int = 0,
            n_jobs: int = n_jobs,
            out: Path | None = Path(f"cmab-{demo.name}"),
            **given: Any,
        ) -> Iterator[dict[str, Any] | str]:
            wanted = {name: given.pop(name) for name in more if name in given}
            last = then(**wanted) if then is not None else None
            study = demo.study(given, horizon=horizon, replications=replications, rng=rng)
            yield from demo.run(study, n_jobs=n_jobs, out=out)
            if last is not None:
                last(study)

        more = inspect.signature(then).parameters if then is not None else {}
        _describe(run, make, demo, then)
        return run

    return of


def _describe(
    run: Callable[..., Any], make: Callable[..., Problem], demo: Demo, then: Callable[..., Any] | None
) -> None:
    """Give a command the parameters and the text of the problem before its own."""
    own = [p for p in inspect.signature(run).parameters.values() if p.kind is p.KEYWORD_ONLY]
    first = [p for p in inspect.signature(make).parameters.values() if p.name != "rng"]
    hints = get_type_hints(make) | get_type_hints(run)
    if then is not None:
        first += inspect.signature(then).parameters.values()
        hints |= get_type_hints(then)
    made: Any = run
    made.demo, made.__module__ = demo, make.__module__
    made.__name__ = made.__qualname__ = make.__name__
    made.__annotations__ = hints
    # What `cmab demo NAME --help` shows, and makes options of.
    made.__signature__ = inspect.Signature([*first, *own])
    made.__doc__ = f"{inspect.cleandoc(make.__doc__ or '')}\n{_TEXT}\n"


def late_rewards(result: Simulation) -> FloatArray:
    """Return the mean expected reward of the last tenth of the rounds played, one for each replication."""
    late = []
    for earned in result.expected_rewards:
        played = np.flatnonzero(np.isfinite(earned))
        if len(played):
            last = played[-1]
            # The last checkpoint before the late rounds; none if the run was too short.
            first = int(np.searchsorted(result.rounds, _LATE * result.rounds[last], side="right")) - 1
            before, since = (0.0, 0) if first < 0 or first == last else (earned[first], result.rounds[first])
            late.append((earned[last] - before) / (result.rounds[last] - since))
    return np.array(late)


def checkpoints(rounds: int) -> IntArray:
    """Return up to 500 evenly spaced rounds and 100 log-spaced ones, for both kinds of axes."""
    even = np.linspace(1, rounds, min(rounds, 500))
    return np.unique(np.concatenate((even, np.geomspace(1, rounds, 100))).round().astype(np.int64))


def _blocks(result: Simulation) -> tuple[FloatArray, FloatArray]:
    """Return the mean reward of a round in each of up to 25 blocks of rounds, at the middle of the block."""
    last = int(result.rounds[-1])
    wanted = np.linspace(0, last, min(_BLOCKS, last) + 1)[1:]
    ends = np.unique(np.searchsorted(result.rounds, wanted.round()))
    rounds = np.concatenate(([0], result.rounds[ends]))
    earned = np.concatenate(
        (np.zeros((len(result.expected_rewards), 1)), result.expected_rewards[:, ends]), axis=1
    )
    return (rounds[1:] + rounds[:-1] + 1) / 2, np.diff(earned, axis=1) / np.diff(rounds)


def _curve_rows(results: Mapping[str, Simulation]) -> Iterator[Row]:
    for name, result in results.items():
        regret, exact = result.regret, result.exact_regret
        for replication, checkpoint in np.ndindex(*regret.shape):
            at = replication, checkpoint
            yield {
                "learner": name,
                "replication": replication,
                "round": result.rounds[checkpoint],
                "expected_reward": result.expected_rewards[at],
                "reward": result.rewards[at],
                "regret": regret[at],
                "exact_regret": exact[at],
            }
