"""Off-policy evaluation: the reward of a policy from the log of another policy, and replay."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, Literal

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.campaign.names import Names
from cmab.feedback import Context, Feedback
from cmab.offline.log import Log, LoggedRound, outcomes_of
from cmab.oracle import names_of
from cmab.policy import Policy, check_policy_instance
from cmab.seeding import Seed, root
from cmab.session import Session
from cmab.validation import check_flag, interval, one_of, real, shown

Played = tuple[Hashable, ...]
Chances = Mapping[Any, float]
#: A mapping of super arms to probabilities, for all rounds or as a function of a round.
Target = Chances | Callable[[LoggedRound], Chances]

_ROUNDING = 1e-9


class Choices:
    """A distribution over super arms: tuples are lists, frozensets are sets."""

    def __init__(self, argument: str, given: Any) -> None:
        if not isinstance(given, Mapping) or not given:
            raise ValueError(f"{argument} must give a probability for each super arm, got {shown(given)}")
        kinds = {type(key) for key in given}
        if not (kinds <= {tuple} or kinds <= {frozenset}):
            bad = next(key for key in given if not isinstance(key, tuple | frozenset)) if kinds else given
            raise ValueError(
                f"super arms of {argument} must be all tuples of names, or all frozensets, got {shown(bad)}"
            )
        self.are_sets = kinds == {frozenset}
        self.chances: dict[Any, float] = {}
        for key, chance in given.items():
            # Real includes NumPy's numbers and fractions.
            known = isinstance(chance, Real) and not isinstance(chance, bool)
            if not known or not 0.0 <= float(chance) <= 1.0 + _ROUNDING:
                raise ValueError(f"probabilities of {argument} must lie in [0, 1], got {shown(chance)}")
            if float(chance) > 0.0:
                self.chances[key] = float(chance)
        if abs(math.fsum(self.chances.values()) - 1.0) > _ROUNDING:
            raise ValueError(
                f"probabilities of {argument} must sum to 1, got {math.fsum(self.chances.values())}"
            )

    def of(self, played: Played) -> float:
        """Return the probability of a super arm."""
        return self.chances.get(frozenset(played) if self.are_sets else played, 0.0)

    @cached_property
    def by_set(self) -> Choices:
        """The distribution of the sets of names, without their order."""
        sums: defaultdict[frozenset[Hashable], float] = defaultdict(float)
        for key, chance in self.chances.items():
            sums[frozenset(key)] += chance
        return Choices("target", sums)

    @cached_property
    def by_prefix(self) -> dict[Played, float]:
        """The probability of each possible beginning of a list."""
        sums: defaultdict[Played, float] = defaultdict(float)
        for key, chance in self.chances.items():
            for k in range(1, len(key) + 1):
                sums[key[:k]] += chance
        return dict(sums)

    @cached_property
    def by_position(self) -> dict[tuple[int, Hashable], float]:
        """The probability of each name at each position."""
        sums: defaultdict[tuple[int, Hashable], float] = defaultdict(float)
        for key, chance in self.chances.items():
            for place in enumerate(key):
                sums[place] += chance
        return dict(sums)

    @cached_property
    def continued(self) -> dict[Played, list[tuple[Played, float]]]:
        """The beginnings that are one entry longer than each beginning, and their probabilities."""
        longer: defaultdict[Played, list[tuple[Played, float]]] = defaultdict(list)
        for prefix, chance in self.by_prefix.items():
            longer[prefix[:-1]].append((prefix, chance))
        return dict(longer)


def choices_of(argument: str, given: object, rounds: Sequence[LoggedRound]) -> list[Choices]:
    """Return the distribution of each round; a callable receives the round as it was before the choice."""
    if isinstance(given, Mapping):
        return [Choices(argument, given)] * len(rounds)
    if not callable(given):
        raise TypeError(
            f"{argument} must be a mapping of super arms to probabilities, or a function of a LoggedRound"
            f" that returns one, got {shown(given)}"
        )
    # Callables often return the same mapping for many rounds. Keep the mapping, so that its id is not reused,
    # and a copy, to detect changes.
    known: dict[int, tuple[Any, Any, Choices]] = {}
    found = []
    for row in rounds:
        answer = given(row.before())
        if id(answer) not in known or known[id(answer)][1] != answer:
            choices = Choices(argument, answer)
            known[id(answer)] = (answer, dict(answer), choices)
        found.append(known[id(answer)][2])
    return found


#: The largest number of rounds in an error message.
_MOST = 5


def told_rounds(log: Log) -> list[LoggedRound]:
    """Return the reported rounds."""
    if not isinstance(log, Log):
        raise TypeError(f"log must be a Log, from read_log or read_campaign, got {shown(log)}")
    rounds = [row for row in log if row.state == "told"]
    if len(rounds) < 2:
        raise ValueError(f"log must have at least two reported rounds, got {len(rounds)}")
    if batches := [row.number for row in rounds if row.pulls != 1]:
        raise ValueError(f"rounds must have one outcome per arm, got more in {in_words(batches)}")
    return rounds


def in_words(numbers: Sequence[int]) -> str:
    """Return the numbers of some rounds as text for an error."""
    more = f" and {len(numbers) - _MOST} more" if len(numbers) > _MOST else ""
    return f"round{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers[:_MOST]))}{more}"


def reward_of(row: LoggedRound) -> float:
    """Return the reported reward of a round, or the sum of all outcomes; nan if neither is known."""
    if not math.isnan(row.reward):
        return row.reward
    return math.fsum(row.outcomes.get(name, math.nan) for name in row.names)


def whole_rewards(rounds: list[LoggedRound]) -> FloatArray:
    """Return the reward of each round, shape (n, 1)."""
    rewards = np.array([[reward_of(row)] for row in rounds])
    if np.isnan(rewards).any():
        missing = [row.number for row, reward in zip(rounds, rewards, strict=True) if math.isnan(reward[0])]
        raise ValueError(
            f"rounds must have a reward, or outcomes of all entries, got neither in {in_words(missing)}"
        )
    return rewards


def rewards_by_position(rounds: list[LoggedRound]) -> FloatArray:
    """Return the outcome of each entry, shape (n, k); 0 if it is unknown and the reward implies it."""
    sizes = {len(row.names) for row in rounds}
    if len(sizes) > 1:
        raise ValueError(f"lists must be equally long for an estimate by position, got lengths {sizes}")
    whole_rewards(rounds)
    rewards = np.array([[row.outcomes.get(name, 0.0) for name in row.names] for row in rounds])
    wrong = [
        row.number
        for row, seen in zip(rounds, rewards.tolist(), strict=True)
        if abs(reward_of(row) - math.fsum(seen)) > _ROUNDING * math.fsum(map(abs, seen))
    ]
    if wrong:
        raise ValueError(
            "rewards must be the sums of the outcomes for an estimate by position, got others in"
            f" {in_words(wrong)}"
        )
    return rewards


#: The probability of a choice that no round shows, below which the target may not play it.
_BY_CHANCE = 1e-6
#: The number of standard errors from which probabilities count as wrong.
TOO_FAR = 5.0

_COLUMN = {"set": "propensity", "position": "by_position", "prefix": "by_prefix"}


def weights_of(
    kind: str, rounds: list[LoggedRound], targets: list[Choices], loggers: list[Choices] | None
) -> tuple[FloatArray, FloatArray]:
    """Return the ratios of the target's to the log's probabilities of the logged sets, entries or prefixes.

    Returns
    -------
    weights, chances : FloatArray, shape (n, 1) or (n, k)
        The ratios, and the probabilities of the logged choices under the logging policy.

    Raises
    ------
    ValueError
        If a logging probability is missing or 0, or the target may play a choice that the log cannot contain.
    """
    if kind != "set" and any(choices.are_sets for choices in [*targets, *(loggers or [])]):
        raise ValueError("target and logging must have tuples for an estimate by position, got frozensets")
    if kind == "set" and any(choices.are_sets for choices in [*targets, *(loggers or [])]):
        targets = [choices.by_set for choices in targets]
        loggers = loggers and [choices.by_set for choices in loggers]
    wanted = [_chances(kind, row, choices) for row, choices in zip(rounds, targets, strict=True)]
    if loggers is None:
        had = [_logged(kind, row) for row in rounds]
        _refuse_unseen(kind, rounds, targets, had)
    else:
        had = [_chances(kind, row, choices) for row, choices in zip(rounds, loggers, strict=True)]
        _refuse_impossible(kind, rounds, targets, loggers)
    bad = [
        row.number
        for row, chances in zip(rounds, had, strict=True)
        if chances is None or not min(chances) > 0
    ]
    if bad:
        where = f"{_COLUMN[kind]} of the log" if loggers is None else "logging"
        raise ValueError(
            f"{where} must give the logged choices probabilities above 0, but does not in {in_words(bad)};"
            " Campaign(..., propensity_draws=200) logs those of any policy"
        )
    chances = np.array(had, dtype=np.float64)
    with np.errstate(over="ignore"):
        return np.array(wanted) / chances, chances


def _chances(kind: str, row: LoggedRound, choices: Choices) -> list[float]:
    names = row.names
    if kind == "set":
        return [choices.of(names)]
    if kind == "position":
        return [choices.by_position.get(place, 0.0) for place in enumerate(names)]
    return [choices.by_prefix.get(names[: k + 1], 0.0) for k in range(len(names))]


def _logged(kind: str, row: LoggedRound) -> list[float] | None:
    """Return the probabilities in the log; for a list of one entry, the kinds of probability are equal."""
    given: Any = {"set": row.propensity, "position": row.by_position, "prefix": row.by_prefix}[kind]
    if given is None and len(row.names) == 1:
        given = row.propensity
    if given is None:
        return None
    return [given] if isinstance(given, float | int) else list(given)


def largest_weights(kind: str, targets: list[Choices], loggers: list[Choices]) -> FloatArray:
    """Return, by position, the largest weight that is possible in any of the rounds."""
    found: dict[int, float] = {}
    for target, logger in {(id(a), id(b)): (a, b) for a, b in zip(targets, loggers, strict=True)}.values():
        if kind == "set" and (target.are_sets or logger.are_sets):
            target, logger = target.by_set, logger.by_set
        had = _support(kind, logger)
        for key, chance in _support(kind, target).items():
            place = 0 if kind == "set" else key[0] if kind == "position" else len(key) - 1
            found[place] = max(found.get(place, 0.0), chance / had[key])
    return np.array([found[place] for place in sorted(found)])


def _support(kind: str, choices: Choices) -> Mapping[Any, float]:
    if kind == "set":
        return choices.chances
    return choices.by_position if kind == "position" else choices.by_prefix


def _refuse_impossible(
    kind: str, rounds: list[LoggedRound], targets: list[Choices], loggers: list[Choices]
) -> None:
    """Raise ``ValueError`` if the target may play a choice that the logging policy cannot."""
    checked = set()
    for row, target, logger in zip(rounds, targets, loggers, strict=True):
        if (id(target), id(logger)) in checked:
            continue
        checked.add((id(target), id(logger)))
        if gone := set(_support(kind, target)) - set(_support(kind, logger)):
            first = next(iter(sorted(gone, key=repr)))
            raise ValueError(
                f"target must play only super arms that logging may, got also {shown(first)}"
                f"{f' and {len(gone) - 1} more' * (len(gone) > 1)} in {in_words([row.number])}"
            )


def _refuse_unseen(
    kind: str, rounds: list[LoggedRound], targets: list[Choices], had: list[list[float] | None]
) -> None:
    """Raise ``ValueError`` if the target plays names that no round shows, except by chance.

    By position, a name may be missing in a log of random lists. It is refused if even the least probability
    of this position in the log would show it, except with probability `_BY_CHANCE`.
    """
    different = {id(choices): choices for choices in targets}.values()
    if kind == "set":
        seen: set[Any] = {name for row in rounds for name in row.names}
        wanted: set[Any] = {name for choices in different for key in choices.chances for name in key}
        where = "in no round"
    else:
        seen = {place for row in rounds for place in enumerate(row.names)}
        wanted = {place for choices in different for place in choices.by_position}
        where = "in no round at its position"
        if kind == "position" and all(had):
            least = np.array(had, np.float64).min(axis=0)
            missed = np.exp(len(rounds) * np.log1p(-np.minimum(least, 1.0 - _ROUNDING)))
            wanted = {place for place in wanted if missed[place[0]] < _BY_CHANCE}
    if gone := sorted(wanted - seen, key=repr):
        names = [place if kind == "set" else place[1] for place in gone]
        raise ValueError(
            f"target must play only names that the log shows, got {shown(names)}, which are {where};"
            " pass the probabilities of the logging policy as logging"
        )


def spreads_of(rounds: list[LoggedRound], targets: list[Choices], chances: FloatArray) -> FloatArray:
    """Return the expected square of the weight at each position, from the probabilities in the log.

    A name that no round shows at the position has the least probability of the position.
    """
    least = chances.min(axis=0)
    seen: dict[tuple[int, Hashable], float] = {}
    for row, given in zip(rounds, chances, strict=True):
        seen.update(zip(enumerate(row.names), given, strict=True))
    squares = np.zeros(chances.shape[1])
    for choices in targets:
        for place, chance in choices.by_position.items():
            squares[place[0]] += chance**2 / seen.get(place, least[place[0]])
    return squares / len(targets)


def z_of_mean(weights: FloatArray, expected: FloatArray | None = None) -> FloatArray:
    """Return for each column the difference of the mean weight from 1, its expectation, in standard errors.

    The variance is taken about 1, not about the mean. If the propensities are correct, this estimate is
    equally good, and it is not 0 if all weights are equal. If the mean is above 1, the variance is the mean
    of ``w**2 - 1``, which has the same expectation and is larger: weights that are all a little above 1 can
    be correct if a rare choice was not played. The absolute value of the result is at most the square root of
    the number of rounds. If the expected squares of the weights are known, the variance is at least theirs.
    """
    gaps = weights - 1.0
    gaps[np.abs(gaps) < 1e-12] = 0.0
    unit = np.abs(gaps).max(axis=0).clip(min=1.0)  # scaling keeps the ratio, and squares stay finite
    far = _z(gaps / unit, 0, unit)
    if expected is None:
        return far
    known = gaps.sum(axis=0) / np.sqrt(len(weights) * np.maximum(expected - 1.0, 1e-300))
    return np.where(np.abs(known) < np.abs(far), known, far)


def _z(gaps: FloatArray, others: int, unit: FloatArray | float) -> FloatArray:
    """Return z for gaps to 1 in a given unit; `others` is the number of further gaps of -1."""
    total = gaps.sum(axis=0) - others / unit
    # w**2 - 1 = (w - 1)**2 + 2 (w - 1)
    squares = (gaps**2).sum(axis=0) + others / unit / unit + 2.0 * np.maximum(total, 0.0) / unit
    far: FloatArray = np.divide(total, np.sqrt(squares), out=np.zeros_like(total), where=squares > 0.0)
    return far


def refuse_improbable(kind: str, rounds: list[LoggedRound], chances: FloatArray) -> None:
    """Raise ``ValueError`` if a choice was played much more often than its probabilities predict.

    For any choice, the indicator that it is played, divided by its probability, has an expectation of at most
    1. So this test detects a column that is wrong for some choices, even if the mean weight of the target
    does not. If the probabilities are correct and the same in each round, 5 standard errors are exceeded with
    probability at most 3e-7, as computed for up to 1e5 rounds.
    """
    n = len(rounds)
    played: dict[Hashable, list[float]] = {}
    for row, given in zip(rounds, chances, strict=True):
        for k, chance in enumerate(given):
            keys = {"set": row.names, "position": (k, row.names[k]), "prefix": row.names[: k + 1]}
            played.setdefault(keys[kind], []).append(chance)
    for key, found in played.items():
        # The indicator over p is 1/p in rounds that played the choice and 0 elsewhere. Unit: the largest 1/p.
        inverses = 1.0 / np.maximum(found, 1e-300)
        unit = float(inverses.max())
        z = float(_z((inverses - 1.0) / unit, n - len(found), unit))
        if z > TOO_FAR:
            name = key[1] if kind == "position" and isinstance(key, tuple) else key
            raise ValueError(
                f"probabilities of the log must agree with its choices, got {shown(name)} played"
                f" {len(found)} times, {z:.3g} standard errors more often than they predict"
            )


#: The search for an end of the interval stops at this precision, relative to the range.
_PRECISION = 1e-9
# The largest share of the capital in one bet. A share of 1 would lose everything in a round without reward.
_LARGEST_BET = 0.5


def by_betting(
    rounds: list[LoggedRound],
    weights: FloatArray,
    rewards: FloatArray,
    reward_range: tuple[float, float],
    level: float,
    most: FloatArray | None,
) -> tuple[float, float]:
    """Return `betting_interval` for rewards in a range.

    Raise ``ValueError`` if a reward is outside the range or the interval is empty.
    """
    low, high = map(float, reward_range)
    outside = np.flatnonzero(((rewards < low) | (rewards > high)).any(axis=1))
    if bad := [rounds[i].number for i in outside]:
        raise ValueError(
            f"rewards must lie in reward_range, {shown(reward_range)}, got others in {in_words(bad)}"
        )
    least, largest = betting_interval(weights, (rewards - low) / (high - low), level, most)
    if least > largest:
        raise ValueError(
            "probabilities of the log must fit its rewards, got a log that no value explains; they are wrong,"
            f" or this is one of the {1 - level:.2g} of all logs whose interval may miss the value"
        )
    base, unit = weights.shape[1] * low, high - low
    return base + unit * least, base + unit * largest


def betting_interval(
    weights: FloatArray, rewards: FloatArray, level: float, most: FloatArray | None = None
) -> tuple[float, float]:
    """Return an interval for the expected sum of weighted rewards over k positions, in [0, k].

    Consider a bettor with the claim that the value is above m. Each round multiplies the bettor's capital by
    ``1 + bet * (sum w r - m)``. The game is fair if the value is m. By Markov's inequality, the final capital
    is at least ``2 / (1 - level)`` times the first with probability at most ``(1 - level) / 2``. The interval
    excludes each m for which the capital reaches this factor. The upper end is k minus the lower end for the
    rewards ``1 - r``. Weights have mean 1, so this needs no bound on the weights. If there is a bound, the
    bettor also bets on ``sum w (r - 1) + 1``, which is then bounded from below.

    Parameters
    ----------
    weights, rewards : FloatArray, shape (n, k)
        The weight and the reward of each round and position; rewards in [0, 1].
    level : float
        The confidence level of the interval.
    most : FloatArray, shape (k,), optional
        Upper bounds on the weights at each position.
    """
    alpha = (1.0 - level) / 2.0
    high = weights.shape[1] - _lower(weights, 1.0 - rewards, alpha, most)
    return _lower(weights, rewards, alpha, most), high


def _lower(weights: FloatArray, rewards: FloatArray, alpha: float, most: FloatArray | None) -> float:
    """Return the largest m in [0, k] that the bets exclude."""
    from scipy.optimize import brentq

    games = [((weights * rewards).sum(axis=1), 0.0)]
    if most is not None:
        terms = (weights * (rewards - 1.0)).sum(axis=1) + most.sum()
        games.append((terms.clip(min=0.0), float((most - 1.0).sum())))
    counted = [(*np.unique(terms, return_counts=True), beyond) for terms, beyond in games]
    goal, total = -math.log(alpha), float(weights.shape[1])

    def gain(m: float) -> float:
        logs = [log_capitals(terms, times, m + beyond, goal) for terms, times, beyond in counted]
        # The mean of all capitals, relative to the factor that excludes m.
        return float(np.logaddexp.reduce(np.concatenate(logs))) - math.log(sum(map(len, logs))) - goal

    if gain(_PRECISION) < 0.0:
        return 0.0
    if gain(total) >= 0.0:
        return total
    # All capitals decrease in m, so there is one root. Subtract the precision to stay below it.
    return max(0.0, float(brentq(gain, _PRECISION, total, xtol=_PRECISION)) - _PRECISION)


def log_capitals(terms: FloatArray, times: IntArray, mean: float, goal: float) -> FloatArray:
    """Return the logarithms of ``prod (1 + u (x / mean - 1))`` for shares u of the capital: 1/2, 1/4, ...

    If a bettor splits the capital between these shares, the bettor needs to know neither the best share nor
    the order of the rounds. Shares below ``goal / n`` are left out: with them, the capital does not reach
    ``exp(goal)`` if terms are at most twice the mean.
    """
    n = float(times.sum())
    shares = _LARGEST_BET * 0.5 ** np.arange(max(1, math.ceil(math.log2(max(n / goal, 1.0)))))
    gains: FloatArray = np.log1p(shares[:, None] * (terms / mean - 1.0)) @ times
    return gains


Method = Literal["ips", "iips", "rips", "dr", "cascade_dr"]
Model = Callable[[LoggedRound, Played], float]

_KINDS = {"ips": "set", "dr": "set", "iips": "position", "rips": "prefix", "cascade_dr": "prefix"}


@dataclass(frozen=True, eq=False)
class OffPolicyEstimate:
    """An estimate of the expected reward of a policy in one round, from the log of another policy.

    Attributes
    ----------
    value : float
        The estimate of the expected reward in one round.
    interval : tuple of float
        A confidence interval for the expected reward. By default it is Student's interval, which relies on
        the central limit theorem and is too narrow if a few rounds have most of the weight. It is nan if all
        rounds have the same weighted reward, as in a log without a click, because such rounds do not show the
        error of the estimate. If `reward_range` is given, the interval is valid for any number of rounds. The
        value can then be outside the interval if it is outside the possible range of rewards.
    level : float
        The confidence level of the interval.
    method : str
        The method of estimation.
    rounds : int
        The number of rounds of the log that were used.
    effective_size : float
        The number of rounds, played by the target policy itself, that would be equally informative. For the
        weights w, this is ``(sum w)**2 / sum w**2``, at the position where it is smallest. It is 0 if the log
        shows no entry of the target at a position, so that the interval does not cover this position. For a
        replay, this is the number of matched rounds.
    weight_mean : float
        The mean of the weights, at the position where it is furthest from its expectation, 1.
    weight_z : float
        The difference between `weight_mean` and 1, in standard errors.

    Examples
    --------
    >>> from cmab import off_policy_value, read_log
    >>> table = {"item": ["tea", "cola"] * 50, "sold": [1, 0, 1, 1] * 25, "p": [0.5] * 100}
    >>> off_policy_value(read_log(table, "item", outcome="sold", propensity="p"), {("cola",): 1.0})
    OffPolicyEstimate(0.5 in [0.327, 0.673], method='ips', rounds=100, effective_size=50, weight_mean=1)
    """

    value: float
    interval: tuple[float, float]
    level: float
    method: str
    rounds: int
    effective_size: float
    weight_mean: float
    weight_z: float

    def __repr__(self) -> str:
        low, high = self.interval
        return (
            f"OffPolicyEstimate({self.value:.3g} in [{low:.3g}, {high:.3g}], method={self.method!r},"
            f" rounds={self.rounds}, effective_size={self.effective_size:.4g},"
            f" weight_mean={self.weight_mean:.3g})"
        )


def off_policy_value(
    log: Log,
    target: Target,
    method: Method = "ips",
    *,
    logging: Target | None = None,
    model: Model | None = None,
    self_normalised: bool = False,
    level: float = 0.95,
    reward_range: tuple[float, float] | None = None,
) -> OffPolicyEstimate:
    """Estimate the expected reward of a target policy in one round by reweighting the rounds of a log.

    The weight w of a logged choice is its probability under the target policy, divided by its probability
    under the policy that made the log. The estimate is the mean over the rounds of a term:

    - ``"ips"``: the term is w r. Here w is the weight of the whole super arm and r its reward. This method
      makes no assumption about rewards.
    - ``"iips"``: the term is the sum of w r over the positions. Here w is the weight of the entry at the
      position and r its outcome. This method assumes that the outcome of an entry does not depend on the
      entries at other positions. It needs only the probabilities by position, which the log has, and not the
      probabilities of whole lists.
    - ``"rips"``: as ``"iips"``, but w is the weight of the list up to the position. This method assumes a
      cascade: the outcome of an entry does not depend on the entries below it.
    - ``"dr"``: the term is ``E[q] + w (r - q)``. Here q is the reward that `model` predicts for a super arm,
      and E is the expectation under the target policy. This method makes the same assumptions as ``"ips"``
      for any model, and has a smaller variance if the model is good.
    - ``"cascade_dr"``: as ``"dr"``, but by prefixes of the list, under the assumption of ``"rips"``.

    Each estimate is unbiased under its assumption if the probabilities are correct and `model` was not fitted
    to the same rounds. Only reported rounds are used. For policies that learn, see `replay_value`.

    Parameters
    ----------
    log : Log
        The logged rounds. Their `propensity`, `by_position` or `by_prefix` are the logging probabilities.
    target : mapping or callable
        The target policy: a mapping of super arms to probabilities for all rounds, or a function that returns
        such a mapping for a `LoggedRound` with the properties known before the choice. A super arm is a tuple
        of names (a list) or a frozenset of names (a set, without order).
    method : {"ips", "iips", "rips", "dr", "cascade_dr"}
        The method of estimation.
    logging : mapping or callable, optional
        The policy that made the log, in the form of `target`. Its probabilities replace those in the log.
    model : callable, optional
        A function ``model(round, names)``. For ``"dr"``, it returns the expected reward of a super arm. For
        ``"cascade_dr"``, `names` is the beginning of a list, and the function returns the expected sum of the
        outcomes from the last of these positions on, if the target policy chooses the rest of the list.
    self_normalised : bool
        Whether to divide by the sum of the weights instead of the number of rounds. This adds a small bias
        and reduces the variance.
    level : float
        The confidence level of the interval, in (0, 1).
    reward_range : (float, float), optional
        For ``"ips"``, the smallest and the largest possible reward of a round. For ``"iips"`` and ``"rips"``,
        the smallest and the largest possible outcome of an entry. If it is given, the interval is valid for
        any number of rounds, and is wider than Student's interval. If `logging` is given as well, it bounds
        the weights, and the interval is far shorter if rewards are rare. If `logging` is a function, this
        shorter interval is for the mean over the rounds in the log.

    Returns
    -------
    OffPolicyEstimate

    Raises
    ------
    ValueError
        If a round has no reward or no probability above 0; if the target policy plays a choice that the log
        does not show, or that `logging` cannot play; for estimates by position, if lists differ in length or
        rewards are not the sums of the outcomes; or if the mean weight is more than 5 standard errors away
        from 1, because the probabilities are wrong or the log is too small for this target. With a
        `reward_range`, if a reward is outside this range, the method is ``"dr"`` or ``"cascade_dr"``,
        `self_normalised` is true, or the interval is empty.
    TypeError
        If `log` is not a `Log`, or `target` is neither a mapping nor callable.

    Examples
    --------
    >>> from cmab import off_policy_value, read_log
    >>> table = {"a": ["tea", "cola"] * 50, "b": ["cola", "tea"] * 50, "x": [1, 0] * 50, "y": [0, 0] * 50}
    >>> log = read_log(table, ["a", "b"], outcome=["x", "y"])
    >>> both = {("tea", "cola"): 0.5, ("cola", "tea"): 0.5}
    >>> off_policy_value(log, {("tea", "cola"): 1.0}, "iips", logging=both).value
    1.0

    References
    ----------
    D. G. Horvitz, D. J. Thompson (JASA 1952); A. Swaminathan, T. Joachims (NIPS 2015), self-normalised.
    S. Li et al. (KDD 2018), by position. J. McInerney et al. (KDD 2020), by cascades.
    M. Dudik, J. Langford, L. Li (ICML 2011), doubly robust. H. Kiyohara et al. (WSDM 2022), by cascades.
    I. Waudby-Smith, A. Ramdas (JRSS B 86, 2024), intervals by betting; I. Waudby-Smith, L. Wu, A. Ramdas,
    N. Karampatziakis, P. Mineiro (arXiv 2210.10768, 2022), of off-policy values, without bounds of weights;
    F. Orabona, K.-S. Jun (IEEE Transactions on Information Theory 70, 2024), bets as a mixture.
    """
    rounds = told_rounds(log)
    one_of("method", method, tuple(_KINDS))
    check_flag("self_normalised", self_normalised)
    level = real("level", level, 0.0, 1.0, inside=True)
    if ("dr" in method) != (model is not None):
        raise ValueError(f"model must be given for 'dr' and 'cascade_dr' only, got {shown(model)}")
    if model is not None and not callable(model):
        raise TypeError(f"model must be a function of a LoggedRound and names, got {shown(model)}")
    if reward_range is not None:
        interval("reward_range", reward_range)
        if self_normalised or "dr" in method:
            name = "self_normalised" if self_normalised else repr(method)
            raise ValueError(f"reward_range must be None with {name}, got {shown(reward_range)}")
    targets = choices_of("target", target, rounds)
    loggers = None if logging is None else choices_of("logging", logging, rounds)
    kind = _KINDS[method]
    rewards = whole_rewards(rounds) if kind == "set" else rewards_by_position(rounds)
    if kind != "set" and {len(key) for choices in targets for key in choices.chances} != {rewards.shape[1]}:
        raise ValueError(f"lists of target must be as long as those of the log, {rewards.shape[1]}")
    weights, chances = weights_of(kind, rounds, targets, loggers)
    parts = rewards
    weights_of_parts = weights
    if model is not None:
        modelled, base = _modelled(kind, model, rounds, targets)
        before = np.hstack([np.ones((len(rounds), 1)), weights[:, :-1]])
        weights_of_parts, parts = np.hstack([weights, before]), np.hstack([rewards - modelled, base])
    expected = spreads_of(rounds, targets, chances) if kind == "position" and loggers is None else None
    found = estimate(
        method, weights_of_parts, parts, level, self_normalised=self_normalised, expected=expected
    )
    refuse_improbable(kind, rounds, chances)
    if reward_range is None:
        return found
    most = None if loggers is None else largest_weights(kind, targets, loggers)
    return replace(found, interval=by_betting(rounds, weights, rewards, reward_range, level, most))


def estimate(
    method: str,
    weights: FloatArray,
    parts: FloatArray,
    level: float,
    *,
    self_normalised: bool = False,
    expected: FloatArray | None = None,
) -> OffPolicyEstimate:
    """Return the mean over rounds of the sums of weighted parts, after a validation of the weights.

    If the `expected` squares of the weights are known, all weights at a position may be 0.
    """
    from scipy.special import stdtrit

    n = len(weights)
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite((weights * parts).sum()):
            raise ValueError(
                f"weights times rewards must be finite, got weights up to {weights.max():.3g} and rewards up"
                f" to {np.abs(parts).max():.3g}"
            )
    if not (weights.any(axis=0).all() if expected is None else weights.any()):
        raise ValueError("weights must not all be 0, got a target that agrees with no round of the log")
    means, far = weights.mean(axis=0), z_of_mean(weights, expected)
    worst = int(np.abs(far).argmax())
    if abs(far[worst]) > TOO_FAR:
        raise ValueError(
            f"weights must have mean 1, got {means[worst]:.4g}, {abs(far[worst]):.3g} standard errors away;"
            " the probabilities of the log are wrong, or it is too small for this target"
        )
    if self_normalised:
        ratios = (weights * parts).mean(axis=0) / means
        # First-order (delta method) approximation of the errors of the ratios.
        terms = ratios.sum() + (weights * (parts - ratios) / means).sum(axis=1)
    else:
        terms = (weights * parts).sum(axis=1)
    value = float(terms.mean())
    # Scale the terms to size 1, because squares of tiny numbers underflow and those of huge ones overflow.
    scale = float(np.abs(terms).max()) or 1.0
    spread = float((terms / scale).std(ddof=1))
    # A smaller spread is the rounding of equal terms.
    error = scale * spread / math.sqrt(n) if spread > 1e-12 else math.nan
    half = float(stdtrit(n - 1, (1 + level) / 2)) * error
    relative = weights / weights.max(axis=0).clip(min=1e-300)
    sizes = relative.sum(axis=0) ** 2 / (relative**2).sum(axis=0).clip(min=1e-300)
    return OffPolicyEstimate(
        value=value,
        interval=(value - half, value + half),
        level=float(level),
        method=f"self-normalised {method}" if self_normalised else method,
        rounds=n,
        effective_size=float(sizes.min()),
        weight_mean=float(means[worst]),
        weight_z=float(far[worst]),
    )


def _modelled(
    kind: str, model: Model, rounds: list[LoggedRound], targets: list[Choices]
) -> tuple[FloatArray, FloatArray]:
    """Return the model's predictions for the logged choices, and their means under the target policy."""

    def asked(known: LoggedRound, names: Played) -> float:
        answer: Any = model(known, names)
        try:
            return float(answer)
        except (TypeError, ValueError):
            raise ValueError(f"model must return finite numbers, got {shown(answer)}") from None

    expected: list[list[float]] = []
    base: list[list[float]] = []
    for row, choices in zip(rounds, targets, strict=True):
        known, names = row.before(), row.names
        if kind == "set":
            expected.append([asked(known, names)])
            base.append([math.fsum(p * asked(known, _listed(key)) for key, p in choices.chances.items())])
            continue
        prefixes = [names[:k] for k in range(len(names) + 1)]
        expected.append([asked(known, prefix) for prefix in prefixes[1:]])
        # Kiyohara et al. (2022): the mean over the target's next entry, given the entries before it.
        base.append([_next(asked, known, choices, prefix) for prefix in prefixes[:-1]])
    found: tuple[Any, Any] = np.array(expected), np.array(base)
    if not (np.isfinite(found[0]).all() and np.isfinite(found[1]).all()):
        raise ValueError("model must return finite numbers, got others")
    return found


def _next(model: Model, known: LoggedRound, choices: Choices, prefix: Played) -> float:
    longer = choices.continued.get(prefix, [])
    total = math.fsum(p for _, p in longer)
    return math.fsum(p * model(known, key) for key, p in longer) / total if longer else 0.0


def _listed(key: Any) -> Played:
    return tuple(sorted(key, key=repr)) if isinstance(key, frozenset) else key


def replay_value(
    log: Log, target: Policy[Any] | Target, *, rng: Seed = 0, level: float = 0.95
) -> OffPolicyEstimate:
    """Estimate the reward of a policy while it learns, from the rounds in which it agrees with the log.

    In each round the policy chooses a super arm. If it is the logged one, the policy receives the outcomes,
    and the round counts. Otherwise the round is skipped, and the policy learns nothing from it. If the log
    chose all super arms with the same probability in every round, independently of earlier rounds, the rounds
    that count have the same distribution as those of a campaign of the policy itself (Li et al., Theorem 1).
    The value is the mean reward of the first `effective_size` rounds of such a campaign. A policy that learns
    earns less in these rounds than later.

    Parameters
    ----------
    log : Log
        Rounds of a policy that played all super arms with the same probability, which is their `propensity`.
    target : Policy, mapping or callable
        The policy; the names of its oracle must be those of the log. Or probabilities in the form of
        `off_policy_value`, from which a super arm is drawn in each round. Super arms are compared as sets if
        rewards are sums (`Oracle.is_linear`), and as lists for other oracles.
    rng : int, numpy.random.Generator or None
        The seed of the policy's randomness, or of the draws.
    level : float
        The confidence level of the interval, in (0, 1). It is Student's interval for rounds of one
        distribution.

    Returns
    -------
    OffPolicyEstimate
        The estimate. Its weights are the agreements (0 or 1) divided by the propensity.

    Raises
    ------
    ValueError
        If propensities are missing or differ; if fewer than two rounds agree; or if the number of agreements
        is more than 5 standard errors away from the number that the propensity predicts.
    TypeError
        If an argument has a wrong type.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import CUCB, read_log, replay_value
    >>> from oracles import TopK
    >>> rng = np.random.default_rng(0)
    >>> item = rng.integers(3, size=900)
    >>> sold = rng.random(900) < np.array([0.2, 0.5, 0.8])[item]
    >>> table = {"item": item.tolist(), "sold": sold.astype(int).tolist(), "p": [1 / 3] * 900}
    >>> found = replay_value(read_log(table, "item", outcome="sold", propensity="p"), CUCB(TopK(3, k=1)))
    >>> 0.5 < found.value < 0.8, found.rounds
    (True, 900)

    References
    ----------
    L. Li, W. Chu, J. Langford, X. Wang: Unbiased Offline Evaluation of Contextual-bandit-based News Article
    Recommendation Algorithms, WSDM 2011, Algorithm 2 and Theorem 1 (from memory).
    """
    rounds = told_rounds(log)
    level = real("level", level, 0.0, 1.0, inside=True)
    chance = _common_chance(rounds)
    rewards = whole_rewards(rounds)
    if isinstance(target, type):
        check_policy_instance(target)
    if isinstance(target, Policy):
        agreed = _agreements_of(target, log, rounds, rng)
    else:
        agreed = _drawn(choices_of("target", target, rounds), rounds, rng)
    if agreed.sum() < 2:
        raise ValueError(f"target must agree with at least two rounds of the log, got {int(agreed.sum())}")
    weights = agreed[:, None] / chance
    return replace(estimate("replay", weights, rewards, level, self_normalised=True), method="replay")


def _common_chance(rounds: list[LoggedRound]) -> float:
    chances = [row.propensity for row in rounds]
    if missing := [row.number for row in rounds if not row.propensity]:
        raise ValueError(f"propensity must be known and above 0, but it is not in {in_words(missing)}")
    known = np.array(chances, np.float64)
    if np.ptp(known) > 1e-9 * known.max():
        raise ValueError(
            "propensity must be the same in all rounds of a replay, got"
            f" {shown(sorted(set(known.tolist())))}; off_policy_value accepts different ones"
        )
    return float(known[0])


def _agreements_of(policy: Policy[Any], log: Log, rounds: list[LoggedRound], rng: Seed) -> FloatArray:
    session = Session(policy, rng)
    oracle = policy.oracle
    own, own_arms = names_of(oracle)
    choices = Names("entry of a super arm", own, getattr(oracle, "is_undirected", False))
    arms = Names("base arm", own_arms, getattr(oracle, "is_undirected", False))
    agreed = np.zeros(len(rounds))
    for i, row in enumerate(rounds):
        ticket = session.ask(_context_for(row, log, choices, arms))
        wanted: list[Hashable] = oracle.labels(ticket.super_arm)
        played = [choices.form_of(name) for name in row.names]
        if wanted == played or (oracle.is_linear and set(wanted) == set(played)):
            seen = outcomes_of(row, arms)
            session.tell(Feedback(seen.arms, seen.outcomes, reward=row.reward), ticket)
            agreed[i] = 1.0
        else:
            session.cancel(ticket)
    return agreed


def _context_for(row: LoggedRound, log: Log, choices: Names, arms: Names) -> Context | None:
    """Return the context of a round, with its rows in the order of the policy's oracle."""
    if row.context is None:
        return None
    parts = {}
    for part in row.context.parts:
        names, known = (choices, log.choices) if part == "available" else (arms, log.arms)
        rows = {names.form_of(name): i for i, name in enumerate(known)}
        if missing := [name for name in names.own if name not in rows]:
            raise ValueError(f"context.{part} of the log must have all names, but lacks {shown(missing)}")
        parts[part] = getattr(row.context, part)[[rows[name] for name in names.own]]
    return Context(**parts)


def _drawn(targets: list[Choices], rounds: list[LoggedRound], rng: Seed) -> FloatArray:
    """Return 1 for each round in which a random super arm agrees, which has the target's probability."""
    uniform = np.random.default_rng(root(rng)).random(len(rounds))
    chances = np.array([choices.of(row.names) for choices, row in zip(targets, rounds, strict=True)])
    return (uniform < chances).astype(np.float64)
