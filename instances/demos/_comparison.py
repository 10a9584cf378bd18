"""What every demo does: a study of learners on a problem, and a row for each of them."""

from __future__ import annotations

import contextlib
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cmab import Environment, Oracle, Simulation, Study, simulate
from cmab.arrays import FloatArray, IntArray
from cmab.studies.folder import StudyFolder
from cmab.validation import integer

Learners = dict[str, dict[str, Any]]

# The share of the rounds before the late ones.
_LATE = 0.9
# Rounds of each learner that are played before any is timed: they compile what it needs.
_FIRST_ROUNDS = 5


@dataclass(frozen=True)
class Problem:
    """What the learners of a demo meet, and how the last super arm of one is drawn."""

    environment: Environment
    oracle: Oracle
    draw: Callable[[IntArray], Any] | None = None
    #: What is played on, in words, with a line on each thing that was found out of a file.
    told: Sequence[str] = ()
    #: What pictures of it are called.
    title: str = ""
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
    further : mapping of str to dict
        Learners that play where they are asked for.
    """

    name: str
    problem: Callable[..., Problem]
    learners: Mapping[str, Mapping[str, Any]]
    reward: str
    unit: str
    featured: str
    sentence: str
    further: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def study(
        self,
        given: Mapping[str, Any],
        *,
        horizon: int,
        replications: int,
        rng: int,
        every_learner: bool = True,
    ) -> Study:
        """Return the demo as a study, given the parameters of its problem."""
        files, horizon = None, integer("rounds", horizon, 1)
        instance = {name: value for name, value in given.items() if value is not None}
        for name, value in instance.items():
            if isinstance(value, Path):  # a study names files below its own folder only
                value.stat()
                path = value.resolve()
                instance[name], files = {"file": path.name}, path.parent
        tables = {
            "horizon": horizon,
            "checkpoints": checkpoints(horizon).tolist(),
            "replications": replications,
            "seed": rng,
            "instances": {self.name: {"demo": self.name, **instance, "rng": rng}},
            "learners": {**self.learners, **(self.further if every_learner else {})},
        }
        return Study(tables, files=files)

    def run(self, study: Study, *, n_jobs: int, out: Path | None) -> Iterator[dict[str, Any] | str]:
        """Yield lines on the problem, a row for each learner when it is finished, lines on what was found.

        At the end, or on Ctrl-C, the files are written to `out`.

        What the store of `out` holds already is not played again.
        """
        from instances.demos._files import write_curves, write_featured
        from instances.demos._told import closing, opening

        yield from opening(self, study)
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
                    write_curves(self, folder, out, pictures=pictures)
            if out is not None:
                chosen = write_featured(self, study, out, pictures=pictures)
        yield from closing(self, study, rows, chosen)

    def _rows(self, folder: StudyFolder[Study], n_jobs: int) -> Iterator[dict[str, Any]]:
        folder.repair()
        missing = folder.missing()
        left = Counter(piece.learner for piece in missing)
        waiting = [name for _, name in folder.study.plan.policies]

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
            self._compile(folder.study, left)
            with contextlib.closing(folder.play(n_jobs=n_jobs, progress=True)) as played:
                for piece, _ in played:
                    left[piece.learner] -= 1
                    yield from done()
        except KeyboardInterrupt:
            yield from done(even_parts=True)
            raise

    def _compile(self, study: Study, learners: Mapping[str, int]) -> None:
        """Play a few rounds of each learner: workers read what is compiled here, and no time has it in."""
        for (instance, name), policy in study.plan.policies.items():
            if learners[name]:
                environment = study.plan.problems[instance]
                simulate(policy, environment, _FIRST_ROUNDS, rng=study.seed)

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
