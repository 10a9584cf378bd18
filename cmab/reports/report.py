"""The report of a study: one HTML page that stands on its own, and its figures as files."""

from __future__ import annotations

import base64
import errno
import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

import numpy as np

from cmab.plotting import Band, own_looks, save
from cmab.reports._comparisons import (
    Finished,
    compared_explorers,
    compared_failures,
    compared_learners,
)
from cmab.reports._figures import Figure, figures, slugs
from cmab.results import _html
from cmab.results._summaries import final_rows, sample_rows, told_rows
from cmab.results.tables import Row

# The page holds the first one; the files are for papers and slides.
_FORMATS = (".svg", ".png", ".pdf")
_LONG = 30
_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; max-width: 62rem;
       margin: 0 auto; padding: 1rem 1.2rem 4rem; }
h1 { font-size: 1.7rem; margin-bottom: .2rem; } h2 { margin-top: 2.6rem; border-bottom: 1px solid #bbb; }
h3 { margin: 1.8rem 0 .4rem; } a { color: #0b5394; }
figure { margin: 1.2rem 0; } figure img { max-width: 100%; height: auto; }
figcaption, .note { color: #444; font-size: .88rem; max-width: 46rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .86rem; margin: .5rem 0; }
th, td { padding: .22rem .7rem .22rem 0; border-bottom: 1px solid #ddd; vertical-align: top; }
th { border-bottom: 2px solid #777; font-weight: 600; }
.number { text-align: right; font-variant-numeric: tabular-nums; } .text { text-align: left; }
.unfinished { border-left: 4px solid #a33; padding-left: .8rem; }
pre { background: #f5f5f5; white-space: pre-wrap; overflow-wrap: anywhere;
      padding: .8rem; font-size: .8rem; }
@media print { body { max-width: none; } details { display: block; } figure { break-inside: avoid; } }
"""


def write_report(folder: str | os.PathLike[str], *, band_kind: Band = "t", level: float = 0.95) -> Path:
    """Write ``report.html`` and ``figures`` into the folder of a study, finished or not.

    Parameters
    ----------
    folder : path-like
        In which a study ran.
    band_kind : {"t", "bootstrap"}
        Kind of the intervals for means; see `cmab.plotting.band`.
    level : float
        Confidence of each interval.

    Returns
    -------
    Path
        The page. It refers to nothing outside itself; the figures are also in ``figures``, as SVG, PNG and
        PDF.

    Raises
    ------
    ValueError
        If no study ran there, no piece is finished or one is damaged, or `level` is outside (0, 1).
    ImportError
        If matplotlib is missing.
    OSError
        If the folder or the disk takes no files.

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
    if not finished.replications:
        raise ValueError(f"{folder} must hold a finished piece, got none: run the study first")
    try:
        plan = finished.study.outline
        with own_looks([*plan.learners, *plan.explorers]):  # not those of what was drawn before
            return _written(finished, Path(folder), band_kind, level)
    except OSError as error:
        raise OSError(
            f"no report can be written to {folder} ({error.strerror}); an older one is kept"
        ) from error


def _written(finished: Finished, folder: Path, band_kind: Band, level: float) -> Path:
    """Make everything in a new folder, and only then put it in place of what is there.

    No link that somebody left there is followed: a folder may have come by mail.
    """
    place, page = folder / "figures", folder / "report.html"
    # A folder that came by mail must not have figures written elsewhere.
    if place.is_symlink():
        raise OSError(errno.ELOOP, "figures must be no link", str(place))
    with tempfile.TemporaryDirectory(prefix=".report-", dir=folder) as name:
        made = Path(name)
        parts = [
            *_head(finished),
            *(
                part
                for name in finished.instances
                for part in _instance(finished, name, made, band_kind, level)
            ),
            *_comparisons(finished, level),
            *_provenance(finished),
        ]
        figures = sorted(made.iterdir())
        (made / page.name).write_text(_page("\n".join(parts)), encoding="utf-8")
        place.mkdir(exist_ok=True)
        for figure in figures:
            figure.replace(place / figure.name)
        # The page last: an old page goes with old figures until the new ones are all there.
        return (made / page.name).replace(page)


def _page(body: str) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        # Otherwise browsers ask the folder, or the server, for an icon.
        '<link rel="icon" href="data:,"><title>Report of a study</title>'
        f"<style>{_STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def _head(finished: Finished) -> Iterator[str]:
    study, plan = finished.study, finished.study.outline
    done = len(study.pieces) - len(finished.missing)
    yield "<h1>Report of a study</h1>"
    counts = [
        f"{len(things)} {word}{'' if len(things) == 1 else 's'}"
        for things, word in (
            (plan.instances, "instance"),
            (plan.learners, "learner"),
            (plan.explorers, "explorer"),
            (plan.trials, "trial"),
        )
        if things
    ]
    rounds = "" if study.rounds is None else f" of {study.rounds[-1]:,} rounds"
    yield f"<p>{', '.join(counts)}; {study.replications} replications{rounds}; seed {study.seed}.</p>"
    if finished.missing:
        counted = Counter((piece.instance, piece.learner) for piece in finished.missing)
        rows = [{"instance": i, "learner": j, "missing": n} for (i, j), n in counted.items()]
        yield (
            f'<div class="unfinished"><p><strong>Unfinished:</strong> {done:,} of {len(study.pieces):,}'
            " pieces are finished; what follows is about them. Run the study again to go on.</p>"
            f"{_table(rows, 'Missing replications')}</div>"
        )
    anchors = slugs(finished.instances).items()
    links = [f'<a href="#in-{anchor}">{escape(name)}</a>' for name, anchor in anchors]
    more = (("comparisons", "Comparisons"), ("specification", "Specification"), ("versions", "Versions"))
    links += [f'<a href="#{anchor}">{title}</a>' for anchor, title in more]
    yield f"<nav>{' · '.join(links)}</nav>"


def _instance(finished: Finished, name: str, place: Path, kind: Band, level: float) -> Iterator[str]:
    yield f'<h2 id="in-{slugs(finished.instances)[name]}">{escape(name)}</h2>'
    for environment in dict.fromkeys(about.environment for about in finished.about(name).values()):
        yield f'<p class="note">{escape(environment)}</p>'
    played, explored = finished.played(name), finished.explored(name)
    if played:
        yield _table(final_rows(played, kind, level), "After the last round, the best learner first")
        if any(not np.isfinite(result.oracle_seconds).all() for result in played.values()):
            yield (
                '<p class="note">Seconds in the oracle are not known of learners that ran compiled: there the'
                " oracle is part of the loop, and a clock inside would cost more than many a call.</p>"
            )
    if explored:
        yield _table(sample_rows(explored, kind, level), "What the explorers found")
    if name in finished.trials:
        yield _table(told_rows(finished.trials[name], kind, level), "Means over replications")
    for figure in figures(finished, name, kind, level):
        yield _figure(figure, place)


def _figure(figure: Figure, place: Path) -> str:
    stem = place / figure.stem
    save(figure.axes, stem, suffixes=_FORMATS)
    # Inside the page, which can then be sent by itself.
    data = base64.b64encode(stem.with_suffix(".svg").read_bytes()).decode("ascii")
    caption = escape(figure.caption)
    return (
        f'<figure><img alt="{caption}" src="data:image/svg+xml;base64,{data}">'
        f"<figcaption>{caption} <code>figures/{figure.stem}</code></figcaption></figure>"
    )


def _comparisons(finished: Finished, level: float) -> Iterator[str]:
    yield '<h2 id="comparisons">Comparisons</h2>'
    yield (
        '<p class="note">Every pair on an instance, paired by replication: replication r plays with the same'
        f" coins for all. The interval is Student's for one pair ({100 * level:g} %); p is that of the paired"
        " t test (where runs of an explorer were cut off, of the sign test), and “p (Holm)” is corrected for"
        " all pairs of its table, so that the chance of a single false “yes” in it is at most 5 %. A dash"
        " stands where there is nothing to test: below two common replications, or when all"
        " differences are equal.</p>"
    )
    tables = (
        ("Regret of learners", compared_learners(finished, level)),
        ("Samples of explorers that stop by a rule", compared_explorers(finished, level)),
        ("Wrong answers of explorers (exact sign test of those that differ)", compared_failures(finished)),
    )
    if not any(rows for _, rows in tables):
        yield "<p>There are no two to compare.</p>"
    for title, rows in tables:
        if rows:
            yield f"<h3>{title}</h3>"
            yield _folded(rows)


def _folded(rows: Sequence[Row]) -> str:
    """Return a table, closed where it is long."""
    if len(rows) <= _LONG:
        return _table(rows)
    return f"<details><summary>{len(rows)} pairs</summary>{_table(rows)}</details>"


def _provenance(finished: Finished) -> Iterator[str]:
    yield '<h2 id="specification">Specification</h2>'
    text = json.dumps(finished.study.specification, indent=2, ensure_ascii=False)
    # What holds nothing nested fits on a line.
    text = re.sub(r"[\[{][^\[\]{}]*[\]}]", lambda found: re.sub(r"\n\s*", " ", found.group()), text)
    yield f"<pre>{escape(text)}</pre>"
    yield '<h2 id="versions">Versions and machines</h2>'
    yield _table([{"what": name, "value": value} for name, value in finished.made_by.items()])
    if finished.versions:
        yield "<h3>Which versions played what</h3>"
        yield _folded(finished.versions)


def _table(rows: Sequence[Row], caption: str = "") -> str:
    return f'<div class="wide">{_html.table(rows, caption)}</div>'
