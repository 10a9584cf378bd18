"""Published experiments, as ``cmab reproduce NAME`` runs them: rows, a page of claims, a figure."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from instances import experiments_aggregate, experiments_best_k, experiments_fixed_budget
from instances._explorations import Row

_WORDS = {True: "holds", False: "does not hold", None: "open (intervals overlap)"}


def lil_rand_lucb(
    *, quick: bool = False, seed: int = 0, jobs: int = -1, out: Path | None = None
) -> Iterator[dict[str, Any]]:
    """Figures 1 and 2 of lil'RandLUCB's paper: samples to the stop against the number of arms.

    Parameters
    ----------
    quick : bool
        At most 30 arms and 10 runs, two minutes; otherwise to 1,000 arms with 30 runs, many hours
    seed : int
        Seed of all randomness
    jobs : int
        Worker processes, -1 for all cores
    out : Path, optional
        Folder for the page of claims and the figure
    """
    rows: list[Row] = []
    for row in experiments_best_k.run(quick, seed, jobs):
        rows.append(row)
        yield row
    _write(out, "Samples of lil'RandLUCB and its rivals", experiments_best_k.claims(rows))
    if out is not None:
        _draw_samples(rows, out)


def aggregate_regret(
    *, quick: bool = False, seed: int = 0, jobs: int = -1, out: Path | None = None
) -> Iterator[dict[str, Any]]:
    """Figures 1 to 4 of AdaptiveTopK's paper: failures against the budget, for a thousand arms.

    Parameters
    ----------
    quick : bool
        Two data sets, one k, 50 runs
    seed : int
        Seed of all randomness
    jobs : int
        Worker processes, -1 for all cores
    out : Path, optional
        Folder for the page of claims
    """
    rows = experiments_aggregate.run(quick, seed, jobs)
    yield from rows
    _write(out, "Aggregate regret: AdaptiveTopK and OptMAI", experiments_aggregate.claims(rows))


def fixed_budget(
    *, quick: bool = False, seed: int = 0, jobs: int = -1, out: Path | None = None
) -> Iterator[dict[str, Any]]:
    """UGapEb, UCB-E, Successive Rejects, Sequential Halving and uniform on seven problems.

    Parameters
    ----------
    quick : bool
        One problem, 50 runs; otherwise seven with 1,000
    seed : int
        Seed of all randomness
    jobs : int
        Worker processes, -1 for all cores
    out : Path, optional
        Folder for the page of claims
    """
    rows = experiments_fixed_budget.run(quick, seed, jobs)
    yield from rows
    _write(out, "Best arm with a fixed budget", experiments_fixed_budget.claims(rows))


def _write(out: Path | None, title: str, verdicts: list[tuple[str, bool | None]]) -> None:
    """Write the claims and what became of them; the rows themselves are the command's table."""
    if out is None:
        return
    lines = [f"# {title}", "", "| claim | measured |", "|---|---|"]
    lines += [f"| {text} | {_WORDS[verdict]} |" for text, verdict in verdicts]
    (out / "claims.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _draw_samples(rows: list[Row], out: Path) -> None:
    """Draw samples against arms: a panel for each instance and mode, k = 2."""
    from cmab.plotting import pyplot, save

    plt = pyplot()
    chosen = [row for row in rows if row["k"] == 2]
    panels = list(dict.fromkeys((row["instance"], row["mode"]) for row in chosen))
    _, axes = plt.subplots(2, 2, figsize=(8, 6), layout="constrained", sharex=True)
    looks = zip(dict.fromkeys(row["explorer"] for row in rows), ("o-", "s--", "^-.", "D-", "v:"), strict=True)
    styles = dict(looks)
    for panel, (instance, mode) in zip(axes.flat, panels, strict=True):
        own = [row for row in chosen if (row["instance"], row["mode"]) == (instance, mode)]
        for explorer, style in styles.items():
            arms, samples, errors = experiments_best_k.series(own, explorer)
            panel.errorbar(arms, samples, 2 * errors, fmt=style, label=explorer, markersize=4, capsize=2)
        panel.set(title=f"{instance}, k = 2, {mode}", xscale="log", yscale="log")
    for panel in axes[1]:
        panel.set_xlabel("Arms")
    for panel in axes[:, 0]:
        panel.set_ylabel("Samples")
    axes[0, 0].legend(fontsize=8)
    save(axes[0, 0], out / "samples")
