"""The reasons for a choice, from the estimates of a learner with their uncertainty."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.campaign.files import Problem
from cmab.campaign.posterior import Beliefs
from cmab.campaign.reports import Round
from cmab.oracle import Oracle

if TYPE_CHECKING:
    from oracles.influence.maximization import InfluenceOracle

#: The level of all intervals.
LEVEL = 0.9
# The number of posterior draws, and of ties times draws, for the contribution of a person.
_DRAWS, _LEAST_DRAWS, _SPREAD_EFFORT = 40, 12, 4_000_000
_CASCADES, _VALUE_CASCADES = 100, 300

Kind = Literal["known", "explored"]


@dataclass(frozen=True)
class Reason:
    """The reason for one name of a choice.

    Attributes
    ----------
    name : hashable
        The name.
    mean, low, high : float
        The estimated contribution, and the ends of its 90 % interval. In a network, this is the number of
        people, including this person, that join because this person is asked, too.
    kind : {"known", "explored"}
        Whether the name is also in the best choice by the present estimates.
    asked : int
        In how many reported rounds the name was chosen before.
    is_first : bool
        Whether there was no report yet.
    """

    name: Hashable
    mean: float
    low: float
    high: float
    kind: Kind
    asked: int
    is_first: bool = False

    def in_words(self, *, is_network: bool) -> str:
        """Return the reason as sentences."""
        effect = self.effect(is_network=is_network)
        return f"{effect} {self.why(is_network=is_network)}" if effect else self.why(is_network=is_network)

    def effect(self, *, is_network: bool) -> str:
        """Return the sentence with the estimated contribution; empty before the first report."""
        if self.is_first:
            return ""
        if not is_network:
            return f"The mean result is about {self.mean:.2f}."
        mean = f"{self.mean:.1f}"
        return (
            f"Adds about {mean} {'person' if mean == '1.0' else 'people'} to the round, {self.name} included."
        )

    def why(self, *, is_network: bool) -> str:
        """Return the sentence with the kind of choice and the earlier rounds."""
        verb = "asked" if is_network else "chosen"
        before = (
            f"Never {verb} before"
            if not self.asked
            else f"{verb.capitalize()} {'once' if self.asked == 1 else f'{self.asked} times'} before"
        )
        if self.is_first:
            source = "by the shape of the network" if is_network else "before the first report"
            if self.kind == "known":
                return f"{before}; among the best {source}."
            return f"{before}; chosen to learn more, because there is no report yet."
        if self.kind == "known":
            return f"{before}; among the best by all reports so far."
        if self.asked >= 2:
            return f"{before}; chosen again to learn more, because the best choice is not certain yet."
        return f"{before}; chosen to learn more, because the best could be among the less known."


def reasons_of(problem: Problem, beliefs: Beliefs, of: Round, earlier: Sequence[Round]) -> list[Reason]:
    """Return the reason for each name of a round.

    Parameters
    ----------
    problem : Problem
        The problem of the campaign.
    beliefs : Beliefs
        The present estimates.
    of : Round
        The round.
    earlier : sequence of Round
        The rounds of the campaign. Only reported ones count.
    """
    from oracles.influence.maximization import InfluenceOracle

    number = {label: at for at, label in enumerate(problem.names.labels)}
    chosen = [number[name] for name in of.names if name in number]
    rng = np.random.default_rng(0)
    best = set(np.asarray(problem.oracle.solve(beliefs.means, rng)).tolist())
    if isinstance(problem.oracle, InfluenceOracle):
        rows = contributions(problem.oracle, beliefs, chosen, rng)
    else:
        low, high = beliefs.intervals(LEVEL)
        rows = np.stack([beliefs.means[chosen], low[chosen], high[chosen]], axis=1)
    asked = [sum(name in each.names for each in earlier if each.state == "reported") for name in of.names]
    by_name = dict(zip(of.names, asked, strict=True))
    reasons, is_first = [], not any(each.state == "reported" for each in earlier)
    for at, (mean, low, high) in zip(chosen, rows.tolist(), strict=True):
        name = problem.names.labels[at]
        kind: Kind = "known" if at in best else "explored"
        reasons.append(Reason(name, mean, low, high, kind, by_name[name], is_first))
    return reasons


def value_of(oracle: Oracle, choice: IntArray, means: FloatArray) -> float:
    """Return the expected result of a choice if the means are true."""
    from oracles.influence.maximization import InfluenceOracle

    if isinstance(oracle, InfluenceOracle):
        return float(oracle.spread(choice, np.clip(means, 0.0, 1.0), cascades=_VALUE_CASCADES)[0])
    return float(means[choice].sum())


def values_alone(oracle: Oracle, beliefs: Beliefs, chosen: list[int]) -> list[float]:
    """Return the expected result of each name if only this name is chosen.

    In a network, this is the number of people that join, with the person.
    """
    from oracles.influence.maximization import InfluenceOracle

    if not isinstance(oracle, InfluenceOracle):
        return [float(mean) for mean in beliefs.means[chosen]]
    rng = np.random.default_rng(0)
    draws = [beliefs.draw(rng) for _ in range(_LEAST_DRAWS)]
    values = [[value_of(oracle, np.array([at], np.int64), means) for means in draws] for at in chosen]
    return [float(np.mean(row)) for row in values]


def contributions(
    oracle: InfluenceOracle, beliefs: Beliefs, chosen: list[int], rng: np.random.Generator
) -> FloatArray:
    """Return the mean and the ends of the interval of the contribution of each chosen person, in rows.

    The contribution is the expected number of people that join if all chosen people are asked, minus the
    number if all but this person are asked. The interval has the uncertainty of the estimates of the ties.
    """
    n_draws = int(np.clip(_SPREAD_EFFORT // max(oracle.n_arms, 1), _LEAST_DRAWS, _DRAWS))
    found = np.empty((n_draws, len(chosen)))
    everyone = np.array(chosen, np.int64)
    for row in found:
        means = np.clip(beliefs.draw(rng), 0.0, 1.0)
        whole = oracle.spread(everyone, means, cascades=_CASCADES)[0]
        for at in range(len(chosen)):
            others = np.delete(everyone, at)
            rest = oracle.spread(others, means, cascades=_CASCADES)[0] if len(others) else 0.0
            row[at] = max(whole - rest, 0.0)
    tails = ((1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0)
    low, high = np.quantile(found, tails, axis=0)
    return np.stack([found.mean(axis=0), low, high], axis=1)
