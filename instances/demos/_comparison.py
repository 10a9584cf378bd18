"""The common part of all demos: a study of learners on a problem, and a table row for each learner."""

from __future__ import annotations

import contextlib
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cmab import Simulation, Study, StudyFailed, simulate
from cmab.arrays import FloatArray, IntArray
from cmab.studies.folder import StudyFolder
from instances.demos._demo import LEADER, Demo
from instances.demos._files import write_curves, write_featured
from instances.demos._told import ERROR, SEEN, SHARE, TIME, closing, opening

# The late rounds begin after this share of all rounds.
_LATE = 0.9
# Rounds of each learner that are played before time is measured, so that its code is compiled.
_FIRST_ROUNDS = 5


def run(demo: Demo, study: Study, *, n_jobs: int, out: Path | None) -> Iterator[dict[str, Any] | str]:
    """Yield lines on the problem, a row for each learner when it is finished, and lines on the results.

    At the end, or after Ctrl-C, the files are written to `out`. Pieces that the store in `out` has are not
    run again.
    """
    yield from opening(demo, study)
    pictures, missing = out is not None, ""
    try:
        from cmab.plotting import pyplot

        pyplot()
    except ImportError as error:  # reported before the run, not after it
        pictures, missing = False, str(error)
    if missing and out is not None:
        yield f"without pictures: {missing}"
    rows: list[dict[str, Any]] = []
    chosen: IntArray | None = None
    with contextlib.ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory())) if out is None else out
        folder = stack.enter_context(study.at(place))
        # After Ctrl-C the curves are written, but not the picture of the leader.
        failed: StudyFailed | None = None
        try:
            for row in _rows(demo, folder, n_jobs):
                rows.append(row)
                yield row
        except StudyFailed as error:  # some learners failed; report the results of the others first
            failed = error
        finally:
            if out is not None:
                write_curves(demo, folder, out, pictures=pictures)
        is_told = {LEADER.name, demo.yardstick} <= {row["learner"] for row in rows}
        if out is not None and is_told:
            chosen = write_featured(demo, study, out, pictures=pictures)
    if is_told:
        yield from closing(demo, study, rows, chosen)
    if failed is not None:
        raise failed


def _rows(demo: Demo, folder: StudyFolder, n_jobs: int) -> Iterator[dict[str, Any]]:
    folder.repair()
    missing = folder.missing()
    left = Counter(piece.learner for piece in missing)
    waiting = [name for _, name in folder.study.plan.policies]

    def done(*, even_parts: bool = False) -> Iterator[dict[str, Any]]:
        # In the order of the learners, whichever finishes first, so that the table always has the same order.
        while waiting and (even_parts or not left[waiting[0]]):
            name = waiting.pop(0)
            rows = folder.rows("simulations", learner=name)
            note = " (incomplete)" if left[name] else ""
            for pair, result in folder.results(learner=name).items():
                observed = [row["observed"] for row in rows[pair] if row["observed"] is not None]
                yield _row(demo, name + note, result, observed, folder.study)

    yield from done()
    try:
        _compile(folder.study, left)
        with contextlib.closing(folder.play(n_jobs=n_jobs, progress=None)) as played:
            for piece, _ in played:
                left[piece.learner] -= 1
                yield from done()
    except (KeyboardInterrupt, StudyFailed):
        yield from done(even_parts=True)
        raise


def _compile(study: Study, learners: Mapping[str, int]) -> None:
    """Play a few rounds of each learner, so that workers load compiled code and times exclude compilation."""
    for (instance, name), policy in study.plan.policies.items():
        if learners[name]:
            environment = study.plan.problems[instance]
            with contextlib.suppress(Exception):  # the error is reported when the pieces of the learner run
                simulate(policy, environment, _FIRST_ROUNDS, rng=study.seed)


def _row(
    demo: Demo, name: str, result: Simulation, observed: Sequence[float], study: Study
) -> dict[str, Any]:
    late = late_rewards(result)
    error = late.std(ddof=1) / np.sqrt(len(late)) if len(late) > 1 else np.nan
    return {
        "learner": name,
        demo.heading: float(late.mean()),
        ERROR: float(error),
        SHARE: float(100.0 * late.mean() / study.plan.problems[demo.name].optimum),
        SEEN: float(100.0 * np.mean(observed)) if observed else None,
        # The median, because the first replication in a process may compile code.
        TIME: 1000 * float(np.median(result.seconds / result.rounds[-1])),
    }


def late_rewards(result: Simulation) -> FloatArray:
    """Return the mean expected reward per round over the last tenth of the played rounds, by replication."""
    late = []
    for earned in result.expected_rewards:
        played = np.flatnonzero(np.isfinite(earned))
        if len(played):
            last = played[-1]
            # The last checkpoint before the late rounds, or the start if the run was too short.
            first = int(np.searchsorted(result.rounds, _LATE * result.rounds[last], side="right")) - 1
            before, since = (0.0, 0) if first < 0 or first == last else (earned[first], result.rounds[first])
            late.append((earned[last] - before) / (result.rounds[last] - since))
    return np.array(late)
