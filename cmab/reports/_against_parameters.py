"""The figures of a report against each parameter that has a grid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cmab.plotting import parameter_curves
from cmab.reports._labels import drawn_names, new_axes, slugs
from cmab.reports._view import View
from cmab.studies._compared import along, grids

_SAMPLES = " A hollow marker is the median if runs were cut off; an arrow means that it is a lower bound."


def against_parameters(view: View) -> Iterator[tuple[str, str, Any]]:
    """Yield the name, caption and axes of a figure for each parameter with several values in a grid."""
    finished, instance = view.finished, view.instance
    for table, stem, comparisons in (
        ("learners", "final", finished.learned),
        ("explorers", "samples", finished.ruled),
        ("explorers", "failures", finished.budgeted),
    ):
        if instance not in comparisons:
            continue
        found = grids(finished.study.specification.get(table, {}))
        for name, slug in slugs(found).items():
            curves = along(found[name], comparisons[instance].results)
            # A budget has its own figure. In a study that has just begun there may be no curve yet.
            if (stem == "failures" and name == "budget") or max(map(len, curves.values()), default=0) < 2:
                continue
            settings: dict[str, Any] = {"measure": "failures"} if stem == "failures" else {}
            axes = parameter_curves(
                _drawn(curves),
                parameter=drawn_names([name])[name],
                ax=new_axes(len(curves) + 1),
                **view.settings,
                **settings,
            )
            intervals = "Clopper-Pearson" if stem == "failures" else view.kind
            caption = f"{axes.get_ylabel()} against {name}, with {view.percent} % {intervals} intervals."
            yield f"{stem}-by-{slug}", caption + (_SAMPLES if stem == "samples" else ""), axes


def _drawn(curves: Mapping[str, Mapping[Any, Any]]) -> dict[str, dict[Any, Any]]:
    """Return the curves with names and values that a figure can show."""
    names = drawn_names(curves)
    texts = drawn_names(
        dict.fromkeys(value for points in curves.values() for value in points if isinstance(value, str))
    )
    return {
        names[curve]: {
            texts[value] if isinstance(value, str) else value: each for value, each in points.items()
        }
        for curve, points in curves.items()
    }
