"""The figures of published experiments: rows drawn as panels by `cmab.plotting`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from instances.experiments._rows import Row


def draw_samples(rows: list[Row], out: Path) -> None:
    """Draw samples divided by those of LUCB++ against the number of arms (Figures 1 and 2).

    There is a panel for each instance, k and mode. The proven form of lil'UCB, which takes ten times as many
    samples as all others, is left out as in the paper.
    """
    from cmab.plotting import panels_of_curves, save

    for figure in sorted({row["figure"] for row in rows}):
        own = [row for row in rows if row["figure"] == figure]
        # In one setting k grows with the number of arms. Its rows form one curve, so its title has no value
        # of k.
        named = [row | {"kind": "k = arms / 2" if row["k"] > 2 else f"k = {row['k']}"} for row in own]
        titled = _grouped(named, lambda row: f"{row['instance']}, {row['kind']}, {row['mode']}")
        panels = {title: _curves(_over(part, "LUCB++"), "arms", _samples) for title, part in titled.items()}
        label = "Samples relative to LUCB++"
        axes = panels_of_curves(panels, x_label="Arms", y_label=label, log_x=True, share_y=False)
        save(axes, out / f"figure-{figure}")


def draw_failures(rows: list[Row], out: Path) -> None:
    """Draw failure rates with 95 % intervals against the samples taken, in a panel per instance and k."""
    from cmab.plotting import panels_of_curves, save

    titled = _grouped(rows, lambda row: f"{row['instance']}, k = {row['k']}")
    # The x-axis shows the samples taken, because some rules do not use their whole budget.
    panels = {
        title: _curves([row | {"taken": row["samples"] / 1000.0} for row in part], "taken", _rate)
        for title, part in titled.items()
    }
    columns = len({row["k"] for row in rows})
    axes = panels_of_curves(panels, x_label="Thousand pulls", y_label="Failure rate", columns=columns)
    save(axes, out / "failures")


def draw_tolerances(rows: list[Row], out: Path) -> None:
    """Draw samples against the tolerance, in a panel for each instance and number of arms."""
    from cmab.plotting import panels_of_curves, save

    titled = _grouped(rows, lambda row: f"{row['instance']}, {row['arms']} arms")
    panels = {title: _curves(part, "epsilon", _samples) for title, part in titled.items()}
    axes = panels_of_curves(
        panels,
        x_label="Tolerance",
        y_label="Samples",
        columns=len({row["arms"] for row in rows}),
        log_x=True,
        log_y=True,
        ticks=sorted({row["epsilon"] for row in rows}),
    )
    save(axes, out / "samples")


def draw_failure_bars(rows: list[Row], out: Path) -> None:
    """Draw failure rates with 95 % intervals, in a panel for each problem."""
    from cmab.plotting import panels_of_bars, save

    titled = _grouped(rows, lambda row: f"Problem {row['problem']}, {row['budget']:,} pulls")
    panels = {title: {row["explorer"]: _rate(row) for row in part} for title, part in titled.items()}
    save(panels_of_bars(panels, x_label="Failure rate", columns=min(2, len(panels))), out / "failures")


def draw_regret(rows: list[Row], out: Path) -> None:
    """Draw mean regret with 95 % intervals, divided by CUCB's mean regret, in a panel for each instance."""
    from cmab.plotting import panels_of_bars, save

    titled = _grouped(rows, lambda row: f"{row['instance']}, {row['k']} of {row['arms']} arms")
    panels = {}
    for title, part in titled.items():
        (unit,) = (row["regret"] for row in part if row["learner"] == "CombUCB")
        shares = {row["learner"]: (row["regret"], row["low"], row["high"]) for row in part}
        panels[title] = {name: (x / unit, low / unit, high / unit) for name, (x, low, high) in shares.items()}
    save(panels_of_bars(panels, x_label="Regret relative to CombUCB"), out / "regret")


def draw_learners(rows: list[Row], panel: str, out: Path) -> None:
    """Draw mean regret with 95 % intervals, in a panel for each value of the column `panel`."""
    from cmab.plotting import panels_of_bars, save

    titled = _grouped(rows, lambda row: f"{row[panel]}, {row['horizon']:,} rounds")
    panels = {
        title: {row["learner"]: (row["regret"], row["low"], row["high"]) for row in part}
        for title, part in titled.items()
    }
    save(panels_of_bars(panels, x_label="Regret"), out)


def draw_draws(rows: list[Row], out: Path) -> None:
    """Draw mean samples with two standard errors on each side, in a panel for each instance."""
    from cmab.plotting import panels_of_bars, save

    titled = _grouped(rows, lambda row: f"Bernoulli arms with means {row['means']}")
    panels = {title: {row["explorer"]: _samples(row) for row in part} for title, part in titled.items()}
    save(panels_of_bars(panels, x_label="Samples"), out / "samples")


def _grouped(rows: Sequence[Row], key: Callable[[Row], str]) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def _curves(
    rows: Sequence[Row], x: str, ends: Callable[[Row], tuple[float, float, float]]
) -> dict[str, list[tuple[float, float, float, float]]]:
    grouped = _grouped(rows, lambda row: str(row["explorer"]))
    return {name: [(float(row[x]), *ends(row)) for row in part] for name, part in grouped.items()}


def _over(rows: Sequence[Row], unit: str) -> list[Row]:
    """Return samples and their errors divided by those of one rule at the same number of arms."""
    units = {row["arms"]: row["samples"] for row in rows if row["explorer"] == unit}
    return [
        row | {name: row[name] / units[row["arms"]] for name in ("samples", "s.e.")}
        for row in rows
        if not (row["explorer"] == "lil'UCB" and row["mode"] == "faithful")
    ]


def _samples(row: Row) -> tuple[float, float, float]:
    """Return the mean samples, and two standard errors below and above."""
    mean, margin = row["samples"], 2 * row["s.e."]
    return mean, mean - margin, mean + margin


def _rate(row: Row) -> tuple[float, float, float]:
    return row["rate"], row["low"], row["high"]
