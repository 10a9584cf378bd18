"""The page of the arena: one HTML file with the leaderboard, the heat map and the curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

import cmab
from cmab.arena._drawn import COLOURS, regret_curves
from cmab.arena._leaderboard import short_rows
from cmab.arena._scores import CLOSE, FLOOR, TAIL
from cmab.arrays import FloatArray
from cmab.results._html import table
from cmab.results.tables import Row

if TYPE_CHECKING:
    from cmab.arena.curves import Played
    from cmab.arena.standings import Standings

#: The upper ends of the classes of the heat map.
_STEPS = (1.05, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
_SHOWN = ("CTS", "CUCB")


def page_of(standings: Standings) -> str:
    """Return the page."""
    from jinja2 import Environment, PackageLoader

    rows = standings.scores()
    most = max((row["problems"] for row in rows), default=0)
    names = [row["entry"] for row in rows]
    general = [row for row in rows if 2 * row["problems"] >= most]
    special = [row for row in rows if 2 * row["problems"] < most]
    played = [p for p in standings.problems if any((p.name, e) in standings.curves for e in names)]
    environment = Environment(autoescape=True, loader=PackageLoader("cmab", "arena"))
    page: str = environment.get_template("page.html").render(
        counts=_counts(standings, played),
        headline=_headline(general),
        general=Markup(table(short_rows(general))),
        special=Markup(table(_special(standings, special, general))) if special else "",
        parts=[
            (title, _heat(standings, [p for p in played if p.held_out == is_held], names))
            for title, is_held in (("Open problems", False), ("Held-out problems", True))
        ],
        names=names,
        steps=_steps(),
        sections=[_section(standings, problem, names) for problem in played],
        floor=f"{100.0 * FLOOR:g} %",
        close=CLOSE,
        tail=f"{100.0 * TAIL:g}",
        version=cmab.__version__,
        refused=sorted({(entry, problem, reason) for (problem, entry), reason in standings.refused.items()}),
    )
    return page


def _counts(standings: Standings, played: Sequence[Played]) -> str:
    runs = {len(standings.curves[pair].regret) for pair in standings.curves}
    held = sum(p.held_out for p in played)
    entries = len({entry for _, entry in standings.curves})
    least, most = min(runs, default=0), max(runs, default=0)
    told = (
        f"{least} replication{'' if least == 1 else 's'}"
        if least == most
        else f"{least} to {most} replications"
    )
    return (
        f"{entries} entries on {len(played)} problems ({held} held out), {told} of each match,"
        f" {standings.level} level, seed {standings.seed}."
    )


def _headline(general: Sequence[Row]) -> str:
    if not general:
        return "No match is finished."
    first, parts = general[0], []
    for part in ("open", "held out"):
        known = [row for row in general if not math.isnan(row.get(f"{part} mean", math.nan))]
        if known:
            best = min(known, key=lambda row: float(row[f"{part} mean"]))
            parts.append(f"{best['entry']} ({best[f'{part} mean']:.2f}) on the {part} problems")
    worst = first.get("open worst", math.nan)
    return (
        f"Smallest geometric mean: {' and '.join(parts)}. The worst ratio of {first['entry']} is {worst:.1f}."
    )


def _special(standings: Standings, special: Sequence[Row], general: Sequence[Row]) -> list[Row]:
    """Return a row for each specialist, with the best general entry on the same problems."""
    rows: list[Row] = []
    for row in special:
        own = [p.name for p in standings.problems if (p.name, row["entry"]) in standings.curves]
        means = {
            entry: _mean([value for name in own for value in standings.ratios(name)[entry]])
            for entry in (row["entry"], *(other["entry"] for other in general))
            if all((name, entry) in standings.curves for name in own)
        }
        others = {entry: mean for entry, mean in means.items() if entry != row["entry"]}
        best = min(others, key=lambda entry: others[entry], default=None)
        kinds = dict.fromkeys(p.kind for p in standings.problems if p.name in own)
        rows.append(
            {
                "entry": row["entry"],
                "kinds": ", ".join(kinds),
                "problems": len(own),
                "mean": f"{means[row['entry']]:.2f}",
                "best general entry there": best or "-",
                "its mean": "-" if best is None else f"{others[best]:.2f}",
            }
        )
    return rows


def _mean(ratios: Sequence[float]) -> float:
    return math.exp(float(np.log(ratios).mean()))


def _heat(standings: Standings, problems: Sequence[Played], names: Sequence[str]) -> list[dict[str, Any]]:
    rows = []
    for problem in problems:
        ratios = standings.ratios(problem.name)
        cells = [_cell(_mean(ratios[name])) if name in ratios else ("", "none") for name in names]
        rows.append({"problem": problem, "anchor": anchor(problem.name), "cells": cells})
    return rows


def _cell(ratio: float) -> tuple[str, str]:
    step = next((i for i, end in enumerate(_STEPS) if ratio <= end), len(_STEPS))
    return (f"{ratio:.1f}" if ratio < 99.95 else f"{ratio:.0f}"), f"h{step}"


def _steps() -> list[tuple[str, str]]:
    ends = [f"up to {end:g}" for end in _STEPS]
    return [*((f"h{i}", text) for i, text in enumerate(ends)), (f"h{len(_STEPS)}", "more")]


def anchor(name: str) -> str:
    """Return the name of a problem as the name of an element of the page."""
    return "p-" + "".join(letter if letter.isalnum() else "-" for letter in name)


def _section(standings: Standings, problem: Played, names: Sequence[str]) -> dict[str, Any]:
    """Return the curves and the table of a problem."""
    curves = {
        name: standings.curves[problem.name, name]
        for name in names
        if (problem.name, name) in standings.curves
    }
    means = {name: (each.rounds, each.regret.mean(axis=0)) for name, each in curves.items()}
    order = sorted(means, key=lambda name: float(means[name][1][-1]))
    coloured = order[: COLOURS - len(_SHOWN)]
    coloured += [name for name in _SHOWN if name in means and name not in coloured]
    ratios, rows = standings.ratios(problem.name), []
    for name in order:
        each, row = curves[name], {"entry": name}
        for end, ratio in zip(each.ends.tolist(), ratios[name], strict=True):
            values, rounds = each.regret[:, end], f"{int(each.rounds[end]):,}"
            row[f"regret after {rounds}"] = _with_error(values)
            row[f"ratio after {rounds}"] = f"{ratio:.2f}"
        rows.append(row)
    return {
        "problem": problem,
        "anchor": anchor(problem.name),
        "best": order[0],
        "svg": Markup(regret_curves(means, coloured, f"Mean regret on {problem.name}")),
        "legend": [(f"c{i}", name) for i, name in enumerate(coloured)],
        "table": Markup(table(rows)),
    }


def _with_error(values: FloatArray) -> str:
    mean = float(values.mean())
    digits = max(0, 3 - math.floor(math.log10(abs(mean)))) if mean else 0
    if len(values) < 2:
        return f"{mean:,.{digits}f}"
    return f"{mean:,.{digits}f} ± {values.std(ddof=1) / math.sqrt(len(values)):,.{digits}f}"
