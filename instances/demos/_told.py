"""What a demo says before and after its table, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cmab import Study
from cmab.arrays import IntArray
from instances.demos._demo import YARDSTICK, Demo, Problem


def opening(demo: Demo, study: Study) -> Iterator[str]:
    """Yield what is played on, and what is compared."""
    problem = study.plan.demos[demo.name]
    assert isinstance(problem, Problem)
    assert study.rounds is not None
    yield from problem.told
    names = "; ".join(name for _, name in study.plan.policies)
    runs = "once" if study.outline.replications == 1 else f"{study.outline.replications} times"
    yield f"compared are {names}: {int(study.rounds[-1]):,} rounds each, played {runs}"


def closing(
    demo: Demo, study: Study, rows: Sequence[Mapping[str, Any]], chosen: IntArray | None
) -> Iterator[str]:
    """Yield what the columns and the yardstick are, what was found, and whom the featured learner chose."""
    problem = study.plan.demos[demo.name]
    assert isinstance(problem, Problem)
    assert study.rounds is not None
    late, last = f"late {demo.reward}", int(study.rounds[-1])
    arms = problem.environment.n_arms
    best = "least" if problem.oracle.sense == "min" else "best"
    about = {
        late: f"expected {demo.reward} of a round ({demo.unit}), mean over the last tenth",
        "s.e.": "standard error of that over repetitions",
        "of best known": f"the same, as a multiple of the {demo.reward} of the {best} choice that is known",
        "arms observed": f"share of the {arms:,} base arms that were seen at least once",
        "ms a round": "median time of a round in milliseconds, without compiling",
        demo.yardstick: YARDSTICK,
    }
    widest = max(map(len, about))
    yield ""
    yield from (f"  {column:{widest}}  {text}" for column, text in about.items())
    yield ""
    values = {row["learner"]: row[late] for row in rows}
    optimum = study.plan.problems[demo.name].optimum
    digits = 3 if optimum <= 1.0 else 2 if optimum < 10.0 else 1
    yield f"After {last:,} rounds, " + demo.sentence.format(
        value=f"{values[demo.featured]:.{digits}f}",
        random=f"{values[demo.yardstick]:.{digits}f}",
        best=f"{optimum:.{digits}f}",
        whole=problem.whole,
    )
    if chosen is not None and problem.names is not None:
        # Names may hold commas.
        names = "; ".join(map(str, problem.names(chosen)))
        yield f"Chosen in the last round by {demo.featured}: {names}"
