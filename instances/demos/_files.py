"""The files of a demo: pictures and tables of numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cmab import Simulation, Study, simulate
from cmab.arrays import FloatArray, IntArray
from cmab.run.tables import Row, write_csv
from cmab.studies.folder import StudyFolder
from instances.demos._demo import LEADER, Demo, Problem

# Number of blocks of rounds in the figure of rewards.
_BLOCKS = 25


def write_curves(demo: Demo, folder: StudyFolder, out: Path, *, pictures: bool) -> None:
    """Write the rewards and the regret of all learners as a table and as two figures."""
    from cmab.plotting import curves_with_bands, regret_curves, save

    results = {learner: result for (_, learner), result in folder.results().items()}
    if not results:
        return
    write_csv(out / "curves.csv", list(_curve_rows(results)))
    if not pictures:
        return
    problem = folder.study.plan.demos[demo.name]
    assert isinstance(problem, Problem)
    optimum = problem.environment.optimum
    label = f"Expected {demo.reward} per round ({demo.unit})"
    axes = curves_with_bands(
        {name: _blocks(result) for name, result in results.items()}, x_label="Round", y_label=label
    )
    axes.axhline(optimum, color="0.6", linewidth=0.8, linestyle=":", zorder=1)
    axes.annotate(
        "Best known",
        (0.99, optimum),
        (0, 2),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        ha="right",
        fontsize=7,
        color="0.4",
    )
    _title(axes, problem.title, results)
    save(axes, out / "reward")
    axes = regret_curves(results, exact=True)
    axes.set_ylabel(f"Cumulative regret ({demo.unit})")
    gains = (
        "more than the best known choice" if problem.oracle.sense == "min" else "than the best known choice"
    )
    less = "paid" if problem.oracle.sense == "min" else "less"
    _title(axes, f"{problem.title}: {less} {gains}", results)
    save(axes, out / "regret")


def write_featured(demo: Demo, study: Study, out: Path, *, pictures: bool) -> IntArray:
    """Run replication 0 of the featured learner again, and write its learned means and its last choice.

    The function returns the last choice.
    """
    from cmab.plotting import learned_against_true, save

    assert study.rounds is not None
    last, environment = int(study.rounds[-1]), study.plan.problems[demo.name]
    policy, problem = study.plan.policies[demo.name, LEADER.name], study.plan.demos[demo.name]
    assert isinstance(problem, Problem)
    played = simulate(policy, environment, last, checkpoints=[last], rng=study.seed)
    state, truth = played.states[0], environment.means
    columns: dict[str, Any] = {"arm": range(len(truth))}
    columns |= problem.arms() if problem.arms is not None else {}
    columns |= {"true mean": truth, "learned mean": state.means, "times observed": state.counts}
    rows = zip(*columns.values(), strict=True)
    write_csv(out / "arms.csv", [dict(zip(columns, row, strict=True)) for row in rows])
    if pictures:
        axes = learned_against_true(state.means, truth, counts=state.counts)
        seen = int((state.counts > 0).sum())
        what = f"{seen:,} of {len(truth):,} {demo.arms} observed"
        axes.set_title(f"{LEADER.name} after {last:,} rounds:\n{what}", loc="left", fontsize=9)
        save(axes, out / "learned")
        if (draw := problem.draw) is not None:
            save(draw(played.super_arms[0]), out / "picture")
    return played.super_arms[0]


def _title(axes: Any, title: str, results: Mapping[str, Simulation]) -> None:
    """Write a title and, below it, an explanation of the bands and of Clairvoyant."""
    replications = max(len(result.rewards) for result in results.values())
    about = [f"bands: 95 % confidence, {replications} replications"] if replications > 1 else []
    if "Clairvoyant" in results:
        about.append("Clairvoyant knows the true probabilities")
    axes.set_title("\n".join([title, *about]), loc="left", fontsize=8, parse_math=False)


def _blocks(result: Simulation) -> tuple[FloatArray, FloatArray]:
    """Return the middles of up to 25 blocks of rounds, and the mean reward per round in each block."""
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
