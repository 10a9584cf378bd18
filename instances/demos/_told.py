"""The sentences that a demo prints before and after its table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import hypot
from typing import Any

from cmab import Study
from cmab.arrays import IntArray
from instances.demos._demo import LEADER, YARDSTICK, Demo, Problem

#: Headings of the columns that all demos have.
ERROR, SHARE, SEEN, TIME = "s.e.", "% of best", "% seen", "ms a round"
# If a reward is at least this share of the best one, there is little left to learn.
_CLOSE = 0.9
# The confidence level of differences.
_LEVEL = 0.95
_CLAIRVOYANT = "knows the true means; like the learners, it calls the oracle in each round"


@dataclass(frozen=True)
class Found:
    """The numbers for the closing sentences, rounded as in the table.

    Parameters
    ----------
    values : dict of str to float
        The late mean reward of each learner, without learners that know the true means.
    best : float
        The best known reward.
    is_cost : bool
        Whether less is better.
    errors : dict of str to float
        The standard error of each value; not used with one replication.
    repetitions : int
        The number of replications.
    """

    values: Mapping[str, float]
    best: float
    is_cost: bool
    errors: Mapping[str, float]
    repetitions: int

    def is_better(self, one: float, other: float) -> bool:
        """Return whether the first reward is better than the second."""
        return one < other if self.is_cost else one > other

    def is_chance(self, one: str, other: str) -> bool:
        """Return whether the difference of two learners may be due to chance.

        The test is Welch's, with the smallest possible degrees of freedom. With one replication the result is
        always True.
        """
        if self.repetitions < 2:
            return True
        from scipy.special import stdtrit

        quantile = float(stdtrit(self.repetitions - 1, (1.0 + _LEVEL) / 2.0))
        margin = quantile * hypot(self.errors[one], self.errors[other])
        return abs(self.values[one] - self.values[other]) <= margin

    def is_close(self, value: float) -> bool:
        """Return whether a reward is close to the best one."""
        return self.best >= _CLOSE * value if self.is_cost else value >= _CLOSE * self.best

    def first(self) -> str:
        """Return the learner with the best number; ties go to the leader."""
        best = (min if self.is_cost else max)(self.values.values())
        return next(name for name in (LEADER.name, *self.values) if self.values[name] == best)


def opening(demo: Demo, study: Study) -> Iterator[str]:
    """Yield lines on the problem and on the compared learners."""
    problem = study.plan.demos[demo.name]
    assert isinstance(problem, Problem)
    assert study.rounds is not None
    yield from problem.told
    names = "; ".join(name for _, name in study.plan.policies)
    runs = "once" if study.outline.replications == 1 else f"{study.outline.replications} times"
    last = int(study.rounds[-1])
    is_chosen = callable(demo.horizon) and last == demo.usual_rounds(problem)
    why = " (the default for this size; --rounds changes it)" if is_chosen else ""
    yield f"learners: {names}; each plays {last:,} rounds{why}, {runs}"


def closing(
    demo: Demo, study: Study, rows: Sequence[Mapping[str, Any]], chosen: IntArray | None
) -> Iterator[str]:
    """Yield lines on the columns of the table, the results and the choice of the leader."""
    problem = study.plan.demos[demo.name]
    assert isinstance(problem, Problem)
    assert study.rounds is not None
    last = int(study.rounds[-1])
    yield ""
    yield from _columns(demo, problem)
    yield ""
    optimum = study.plan.problems[demo.name].optimum
    digits = 3 if optimum <= 1.0 else 2 if optimum < 10.0 else 1
    values = {row["learner"]: round(row[demo.heading], digits) for row in rows}
    shown = {name: f"{value:.{digits}f}" for name, value in values.items()}
    known = {name: value for name, value in values.items() if demo.learners_class(name) != "Clairvoyant"}
    errors = {row["learner"]: row[ERROR] for row in rows}
    is_cost, repetitions = problem.oracle.sense == "min", study.outline.replications
    found = Found(known, round(optimum, digits), is_cost, errors, repetitions)
    rounds = "1 round" if last == 1 else f"{last:,} rounds"
    yield f"After {rounds}, " + demo.sentence.format(
        who=LEADER.words,
        value=shown[LEADER.name],
        random=shown[demo.yardstick],
        best=f"{optimum:.{digits}f}",
        whole=problem.whole,
    )
    yield from verdict(found, demo.yardstick, last, demo.usual_rounds(problem))
    if chosen is not None and problem.names is not None:
        # Names may contain commas, so semicolons separate them.
        names = "; ".join(map(str, problem.names(chosen)))
        yield f"Chosen in the last round by {LEADER.name}: {names}"


def verdict(found: Found, yardstick: str, last: int, usual: int) -> Iterator[str]:
    """Yield conclusions from the numbers, and advice if there were few rounds or the leader is not good."""
    leader, random = found.values[LEADER.name], found.values[yardstick]
    first, is_ahead = found.first(), found.is_better(leader, random)
    if is_ahead and found.is_chance(LEADER.name, yardstick):
        yield _chance(found.repetitions)
    if not is_ahead:
        others = ", and neither is any other learner" if first == yardstick else ""
        yield f"{LEADER.name} is not better than random probabilities here{others}."
    if first not in (LEADER.name, yardstick):
        yield f"The learner with the best number in the table is {first}."
    if found.is_close(leader) and is_ahead:
        return
    if found.is_close(leader) and found.is_close(random):
        yield "Random probabilities are close to the best known choice, so there is little to learn here."
    elif last < usual:
        played = "1 round is" if last == 1 else f"{last:,} rounds are"
        yield f"{played} few for this problem: try --rounds {usual if usual >= 2 * last else 10 * last}."
    else:
        yield f"More rounds may help: try --rounds {10 * last}."


def _chance(repetitions: int) -> str:
    """Return the sentence for a lead that may be due to chance, with advice."""
    if repetitions < 2:
        return (
            "The difference from random probabilities may be chance (one replication): try --replications 4."
        )
    what = f"The difference from random probabilities may be chance at {100 * _LEVEL:g} % confidence"
    return f"{what}: try --replications {4 * repetitions}."


def _columns(demo: Demo, problem: Problem) -> Iterator[str]:
    """Yield a line on each column of the table, and on the two reference learners."""
    about = {
        demo.heading: f"mean expected {demo.reward} per round in the last 10 % of the rounds ({demo.unit})",
        ERROR: "standard error of this mean over the replications",
        SHARE: f"this mean in percent of the {demo.reward} of the best known choice",
        SEEN: f"percentage of the {problem.environment.n_arms:,} {demo.arms} observed at least once",
        TIME: "median time per round in milliseconds, with the calls of the oracle, without compilation",
    }
    about |= {name: _CLAIRVOYANT for name in demo.learners if demo.learners_class(name) == "Clairvoyant"}
    about[demo.yardstick] = YARDSTICK
    widest = max(map(len, about))
    yield from (f"  {column:{widest}}  {text}" for column, text in about.items())
