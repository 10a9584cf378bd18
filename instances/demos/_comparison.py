"""What every demo does: several learners on one problem, a row for each, then pictures and numbers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cmab import Environment, Simulation, SimulationInterrupted, simulate
from cmab.arrays import FloatArray, IntArray
from cmab.policy import AnyPolicy
from cmab.results._tables import Row, write_csv
from cmab.validation import integer

_LATE = 0.9
_BLOCKS = 25


@dataclass(frozen=True)
class Comparison:
    """Learners on one environment.

    Parameters
    ----------
    environment : Environment
        The problem.
    learners : mapping of str to Policy
        In the order of the table.
    reward : str
        What the reward of a round is: "spread".
    unit : str
        Its unit: "nodes".
    featured : str
        The learner whose estimates and last choice are drawn.
    draw : callable, optional
        Draws the last super arm of the featured learner; returns matplotlib axes.
    """

    environment: Environment
    learners: Mapping[str, AnyPolicy]
    reward: str
    unit: str
    featured: str
    draw: Callable[[IntArray], Any] | None = None

    def run(
        self, rounds: int, replications: int, seed: int, jobs: int, out: Path | None
    ) -> Iterator[dict[str, Any]]:
        """Yield a row for each learner as it finishes; then, or on Ctrl-C, write the files to `out`."""
        if out is not None:
            from cmab.plotting import pyplot

            pyplot()  # a missing matplotlib must show before the run, not after it
        checkpoints = _checkpoints(integer("rounds", rounds, 1))
        results: dict[str, Simulation] = {}
        try:
            for name, policy in self.learners.items():
                terminal = sys.stderr.isatty()
                if terminal:
                    sys.stderr.write(f"{name}\n")
                try:
                    results[name] = simulate(
                        policy,
                        self.environment,
                        rounds,
                        replications=replications,
                        checkpoints=checkpoints,
                        rng=seed,
                        n_jobs=jobs,
                        progress=terminal,
                    )
                except SimulationInterrupted as stopped:
                    if np.isfinite(stopped.partial.rewards).any():
                        results[name] = stopped.partial
                        yield self._row(f"{name} (interrupted)", stopped.partial)
                    raise
                yield self._row(name, results[name])
        finally:
            if out is not None and results:
                self._write(results, out)

    def _row(self, name: str, result: Simulation) -> dict[str, Any]:
        late, played = late_rewards(result), _rounds_played(result)
        observed = [np.mean(state.counts > 0) for state in result.states if hasattr(state, "counts")]
        error = late.std(ddof=1) / np.sqrt(len(late)) if len(late) > 1 else np.nan
        return {
            "learner": name,
            f"late {self.reward}": float(late.mean()),
            "s.e.": float(error),
            "of best known": float(late.mean() / self.environment.optimum),
            "arms observed": float(np.mean(observed)) if observed else None,
            # The median, for the first replication in a process may compile.
            "ms a round": 1000 * float(np.median(result.seconds[played > 0] / played[played > 0])),
        }

    def _write(self, results: Mapping[str, Simulation], out: Path) -> None:
        from cmab.plotting import curves_with_bands, learned_against_true, regret_curves, save

        write_csv(out / "curves.csv", list(_curve_rows(results)))
        save(regret_curves(results, exact=True), out / "regret")
        blocks = {name: _blocks(result) for name, result in results.items()}
        label = f"Expected {self.reward} of a round ({self.unit})"
        save(curves_with_bands(blocks, "Round", label), out / "reward")
        featured = results.get(self.featured)
        if featured is None or not len(featured.states):
            return
        state, truth = featured.states[0], self.environment.means
        if hasattr(state, "counts"):
            rows = zip(range(len(truth)), truth, state.means, state.counts, strict=True)
            names = ("arm", "true mean", "learned mean", "observations")
            write_csv(out / "arms.csv", [dict(zip(names, row, strict=True)) for row in rows])
            save(learned_against_true(state.means, truth, state.counts), out / "learned")
        if self.draw is not None:
            save(self.draw(featured.super_arms[0]), out / "picture")


def late_rewards(result: Simulation) -> FloatArray:
    """Return the mean expected reward of the last tenth of the rounds played, one for each replication."""
    late = []
    for earned in result.expected_rewards:
        played = np.flatnonzero(np.isfinite(earned))
        if len(played):
            last = played[-1]
            first = int(np.searchsorted(result.rounds, _LATE * result.rounds[last], side="right")) - 1
            before, since = (0.0, 0) if first < 0 or first == last else (earned[first], result.rounds[first])
            late.append((earned[last] - before) / (result.rounds[last] - since))
    return np.array(late)


def _rounds_played(result: Simulation) -> IntArray:
    """Return the number of rounds of each replication, up to the last checkpoint that it reached."""
    played: IntArray = np.where(np.isfinite(result.rewards), result.rounds, 0).max(axis=1, initial=0)
    return played


def _checkpoints(rounds: int) -> IntArray:
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
