"""The report of a study: one HTML page that needs no other file, and its figures as files."""

from __future__ import annotations

import base64
import errno
import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from cmab.plotting import Band, own_looks, save
from cmab.reports._figures import Figure, figures
from cmab.reports._finished import Finished
from cmab.reports._labels import slugs
from cmab.results._html import table
from cmab.results._summaries import told_rows
from cmab.results.comparison import Comparison
from cmab.results.tables import Row

# The page contains the SVG. The other files are for papers and slides.
_FORMATS = (".svg", ".png", ".pdf")
# A matrix of more learners is folded at first.
_SHORT = 8
_READS = {
    "learners": "Regret of the row minus regret of the column",
    "explorers": "Samples of the row minus samples of the column",
    "budgets": "Replications in which only the row is wrong, and in which only the column is wrong",
}


def write_report(folder: str | os.PathLike[str], *, band_kind: Band = "t", level: float = 0.95) -> Path:
    """Write ``report.html`` and the folder ``figures`` into the folder of a study, finished or not.

    Parameters
    ----------
    folder : path-like
        The folder of the results.
    band_kind : {"t", "bootstrap"}
        Kind of the intervals of means; see `cmab.plotting.band`.
    level : float
        Confidence level of each interval, in (0, 1).

    Returns
    -------
    Path
        The path of the page. The page needs no other file. The folder ``figures`` has the figures as SVG, PNG
        and PDF.

    Raises
    ------
    ValueError
        If the folder has no study or no finished piece, if a piece is damaged, or if `level` is outside (0,
        1).
    ImportError
        If matplotlib is missing.
    OSError
        If the files cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from cmab import Study
    >>> from cmab.reports.report import write_report
    >>> study = Study({
    ...     "replications": 3,
    ...     "instances": {"arms": {"environment": {"class": "BernoulliArms", "means": [0.9, 0.2]}}},
    ...     "explorers": {"LUCB": {"class": "LUCB1", "k": 1, "delta": 0.1}},
    ... })
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     study.run(folder)
    ...     page = write_report(folder).read_text(encoding="utf-8")
    >>> page[:15]
    '<!DOCTYPE html>'
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must be in (0, 1), got {level}")
    finished = Finished.read(folder)
    if not finished.instances:
        raise ValueError(f"{folder} must have a finished piece, got none; run the study first")
    try:
        plan = finished.study.outline
        with own_looks([*plan.learners, *plan.explorers]):  # independent of earlier figures
            return _written(finished, Path(folder), band_kind, level)
    except OSError as error:
        raise OSError(
            f"no report can be written to {folder} ({error.strerror}); an older one is kept"
        ) from error


def _written(finished: Finished, folder: Path, band_kind: Band, level: float) -> Path:
    """Make everything in a new folder, then move it to its place.

    The function follows no link, because the folder may come from someone else.
    """
    place, page = folder / "figures", folder / "report.html"
    # Otherwise the figures could be written to a place outside the folder.
    if place.is_symlink():
        raise OSError(errno.ELOOP, "figures must not be a link", str(place))
    with tempfile.TemporaryDirectory(prefix=".report-", dir=folder) as name:
        made = Path(name)
        sections = [_section(finished, name, made, band_kind, level) for name in finished.instances]
        text = _page(finished, sections, level)
        figures = sorted(made.iterdir())
        (made / page.name).write_text(text, encoding="utf-8")
        place.mkdir(exist_ok=True)
        for figure in figures:
            figure.replace(place / figure.name)
        # Move the page last: an old page then still matches old figures until all new ones are there.
        return (made / page.name).replace(page)


def _page(finished: Finished, sections: list[dict[str, Any]], level: float) -> str:
    """Return the filled template."""
    from jinja2 import Environment, PackageLoader

    study, plan = finished.study, finished.study.outline
    counted = Counter((piece.instance, piece.learner) for piece in finished.missing)
    unfinished = [{"instance": i, "learner": j, "missing": n} for (i, j), n in counted.items()]
    done = len(study.pieces) - len(finished.missing)
    counts = ", ".join(
        f"{len(things)} {word}{'' if len(things) == 1 else 's'}"
        for things, word in (
            (plan.instances, "instance"),
            (plan.learners, "learner"),
            (plan.explorers, "explorer"),
            (plan.trials, "trial"),
        )
        if things
    )
    rounds = "" if study.rounds is None else f" of {study.rounds[-1]:,} rounds"
    if not plan.arrival.is_at_once:
        late, batch = plan.arrival.delay or 0, plan.arrival.batch
        rounds += f" with feedback {late:,} rounds late, in batches of {batch:,}"
    specification = json.dumps(study.specification, indent=2, ensure_ascii=False)
    environment = Environment(autoescape=True, loader=PackageLoader("cmab", "reports"))
    page: str = environment.get_template("page.html").render(
        title=plan.title or "Report of a study",
        description=plan.description,
        counts=f"{counts}; {study.replications:,} replications{rounds}; seed {study.seed}.",
        unfinished=_table(unfinished, "Missing replications"),
        done=f"{done:,} of {len(study.pieces):,}",
        sections=sections,
        level=f"{100 * level:g}",
        # Write values without nested values on one line.
        specification=re.sub(
            r"[\[{][^\[\]{}]*[\]}]", lambda found: re.sub(r"\n\s*", " ", found.group()), specification
        ),
        made_by=_table([{"item": name, "value": value} for name, value in finished.made_by.items()]),
        versions=_table(finished.versions),
    )
    return page


def _section(finished: Finished, name: str, place: Path, kind: Band, level: float) -> dict[str, Any]:
    """Return the section of the page on an instance, after writing its figures to files."""
    parts = [_part(title, comparison, kind, level) for title, comparison in finished.comparisons(name)]
    told = told_rows(finished.trials[name], kind, level) if name in finished.trials else []
    return {
        "name": name,
        "anchor": slugs(finished.instances)[name],
        "environments": dict.fromkeys(about.environment for about in finished.about(name).values()),
        "parts": parts,
        "told": _table(told, "Means over replications"),
        "figures": [_figure(figure, place) for figure in figures(finished, name, kind, level)],
    }


def _part(title: str, comparison: Comparison[Any], kind: Band, level: float) -> dict[str, Any]:
    """Return the part of the page on a comparison: the sentence, the table, the matrix and all pairs."""
    budgets = getattr(comparison, "budgets", None)
    pairs = comparison.tests(level=level)
    notes = []
    clocks = [getattr(each, "oracle_seconds", 0.0) for each in comparison.results.values()]
    if not all(np.isfinite(clock).all() for clock in clocks):
        notes.append(
            "The time in the oracle is unknown for learners that ran compiled, because the oracle is part of"
            " the compiled loop; measuring it there could take longer than the oracle itself."
        )
    return {
        "title": title,
        "headline": comparison.headline,
        "table": Markup(comparison.to_html(level=level, band_kind=kind)),
        "notes": notes,
        "is_short": len(comparison.results) <= _SHORT,
        "reads": f"{_READS['budgets' if budgets else comparison.kind]}; * if they differ at 5 %.",
        "matrix": _table(comparison.matrix() if pairs else [], sortable=False),
        "pairs": _table(pairs),
    }


def _figure(figure: Figure, place: Path) -> dict[str, str]:
    stem = place / figure.stem
    save(figure.axes, stem, suffixes=_FORMATS)
    # Embedded in the page, so that the page can be sent alone.
    data = base64.b64encode(stem.with_suffix(".svg").read_bytes()).decode("ascii")
    return {"caption": figure.caption, "stem": figure.stem, "data": data}


def _table(rows: Sequence[Row], caption: str = "", *, sortable: bool = True) -> Any:
    """Return the rows as an HTML table for the template, or an empty text if there are no rows."""
    return Markup(table(rows, caption, sortable=sortable)) if rows else ""
