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

from cmab.arrays import FloatArray
from cmab.campaign.names import Names
from cmab.feedback import Feedback
from cmab.intervals import student_quantile
from cmab.offline.log import Log, LoggedRound, outcomes_of
from cmab.oracle import names_of
from cmab.policy import Policy, check_policy_instance
from cmab.seeding import Seed
from cmab.session import Session
from cmab.validation import check_flag, one_of, real, shown

Played = tuple[Hashable, ...]
Chances = Mapping[Any, float]
#: A mapping of super arms to probabilities, for all rounds or as a function of a round.
Target = Chances | Callable[[LoggedRound], Chances]
Method = Literal["ips", "iips", "dr"]
Model = Callable[[LoggedRound, Any], float]

_ROUNDING = 1e-9
#: The largest number of rounds in an error message.
_MOST = 5
#: The probability of a choice that no round shows, below which the target may not play it.
_BY_CHANCE = 1e-6
#: The number of standard errors from which probabilities count as wrong.
_TOO_FAR = 5.0


class _Choices:
    """A distribution over super arms: tuples are lists, frozensets are sets."""

    def __init__(self, argument: str, given: Any) -> None:
        if not isinstance(given, Mapping) or not given:
            raise ValueError(f"{argument} must give a probability for each super arm, got {shown(given)}")
        kinds = {type(key) for key in given}
        if not (kinds <= {tuple} or kinds <= {frozenset}):
            raise ValueError(
                f"super arms of {argument} must be all tuples of names, or all frozensets, got {shown(given)}"
            )
        self.are_sets = kinds == {frozenset}
        for chance in given.values():
            # Real includes NumPy's numbers and fractions.
            known = isinstance(chance, Real) and not isinstance(chance, bool)
            if not known or not 0.0 <= float(chance) <= 1.0 + _ROUNDING:
                raise ValueError(f"probabilities of {argument} must lie in [0, 1], got {shown(chance)}")
        self.chances: dict[Any, float] = {key: float(chance) for key, chance in given.items() if chance > 0}
        total = math.fsum(self.chances.values())
        if abs(total - 1.0) > _ROUNDING:
            raise ValueError(f"probabilities of {argument} must sum to 1, got {total}")

    @cached_property
    def of_sets(self) -> dict[Any, float]:
        """The probability of each set of names, without their order."""
        sums: defaultdict[Any, float] = defaultdict(float)
        for key, chance in self.chances.items():
            sums[frozenset(key)] += chance
        return sums

    @cached_property
    def of_places(self) -> dict[Any, float]:
        """The probability of each name at each position."""
        sums: defaultdict[Any, float] = defaultdict(float)
        for key, chance in self.chances.items():
            for place in enumerate(key):
                sums[place] += chance
        return sums


def _choices_of(argument: str, given: object, rounds: Sequence[LoggedRound]) -> list[_Choices]:
    """Return the distribution of each round; a callable receives the round as it was before the choice."""
    if isinstance(given, Mapping):
        return [_Choices(argument, given)] * len(rounds)
    if not callable(given):
        raise TypeError(
            f"{argument} must be a mapping of super arms to probabilities, or a function of a LoggedRound"
            f" that returns one, got {shown(given)}"
        )
    # Callables often return the same mapping for many rounds. Keep the mapping, so that its id is not reused,
    # and a copy, to detect changes.
    known: dict[int, tuple[Any, Any, _Choices]] = {}
    found = []
    for row in rounds:
        answer = given(row.before())
        if id(answer) not in known or known[id(answer)][1] != answer:
            choices = _Choices(argument, answer)
            known[id(answer)] = (answer, dict(answer), choices)
        found.append(known[id(answer)][2])
    return found


def _told(log: Log) -> list[LoggedRound]:
    """Return the reported rounds."""
    if not isinstance(log, Log):
        raise TypeError(f"log must be a Log, from read_log or read_campaign, got {shown(log)}")
    rounds = [row for row in log if row.state == "told"]
    if len(rounds) < 2:
        raise ValueError(f"log must have at least two reported rounds, got {len(rounds)}")
    _refuse("rounds must have one outcome per arm, got more", rounds, [row.pulls != 1 for row in rounds])
    return rounds


def _refuse(message: str, rounds: Sequence[LoggedRound], is_bad: Sequence[Any], more: str = "") -> None:
    """Raise ``ValueError`` with the numbers of the bad rounds, if there are any."""
    if numbers := [row.number for row, bad in zip(rounds, is_bad, strict=True) if bad]:
        rest = f" and {len(numbers) - _MOST} more" if len(numbers) > _MOST else ""
        where = f"round{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers[:_MOST]))}{rest}"
        raise ValueError(f"{message} in {where}{more}")


def _rewards(rounds: list[LoggedRound]) -> FloatArray:
    """Return the reported reward of each round, or the sum of all outcomes; shape (n, 1)."""
    rewards = np.array([row.reward for row in rounds])
    for i in np.flatnonzero(np.isnan(rewards)):
        rewards[i] = math.fsum(rounds[i].outcomes.get(name, math.nan) for name in rounds[i].names)
    missing = np.isnan(rewards)
    _refuse("rounds must have a reward, or outcomes of all entries, got neither", rounds, missing.tolist())
    return rewards[:, None]


def _rewards_by_position(rounds: list[LoggedRound]) -> FloatArray:
    """Return the outcome of each entry, shape (n, k); 0 if it is unknown and the reward implies it."""
    sizes = {len(row.names) for row in rounds}
    if len(sizes) > 1:
        raise ValueError(f"lists must be equally long for an estimate by position, got lengths {sizes}")
    found = np.array([[row.outcomes.get(name, 0.0) for name in row.names] for row in rounds])
    gaps = np.abs(found.sum(axis=1) - _rewards(rounds)[:, 0]) > _ROUNDING * np.abs(found).sum(axis=1)
    text = "rewards must be the sums of the outcomes for an estimate by position, got others"
    _refuse(text, rounds, gaps.tolist())
    return found


def _weights(
    rounds: list[LoggedRound], targets: list[_Choices], by_position: bool
) -> tuple[FloatArray, FloatArray | None]:
    """Return the ratios of the target's to the log's probabilities of the logged super arms or entries.

    Also return, by position, upper bounds on the expected squares of the weights, from the least probability
    in the log; None in other cases, in which every part of the target is in the log.
    """
    are_sets = any(choices.are_sets for choices in targets)
    if by_position and are_sets:
        raise ValueError("target must have tuples for an estimate by position, got frozensets")
    if by_position:
        had = [row.by_position or (len(row.names) == 1 and (row.propensity,)) for row in rounds]
        wanted = [
            [of.of_places.get(place, 0.0) for place in enumerate(row.names)]
            for row, of in zip(rounds, targets, strict=True)
        ]
    else:
        had = [(row.propensity,) for row in rounds]
        wanted = [
            [of.of_sets.get(frozenset(row.names), 0.0) if are_sets else of.chances.get(row.names, 0.0)]
            for row, of in zip(rounds, targets, strict=True)
        ]
    column = "by_position" if by_position else "propensity"
    text = f"{column} of the log must give probabilities above 0, but does not"
    hint = "; Campaign(..., propensity_draws=200) logs those of any policy"
    _refuse(text, rounds, [not given or not all(given) for given in had], hint)
    logged = np.array(had, dtype=np.float64)
    _refuse_unseen(rounds, targets, logged.min(axis=0), by_position)
    with np.errstate(over="ignore"):
        weights = np.array(wanted) / logged
    return weights, 1.0 / logged.min(axis=0) if by_position else None


def _refuse_unseen(
    rounds: list[LoggedRound], targets: list[_Choices], least: FloatArray, by_position: bool
) -> None:
    """Raise ``ValueError`` if the target plays names that no round shows, except by chance.

    By position, a name may be missing in a log of random lists. It is refused if even the least probability
    of this position in the log would show it, except with probability `_BY_CHANCE`.
    """
    wanted = {place for of in {id(of): of for of in targets}.values() for place in of.of_places}
    seen = {place for row in rounds for place in enumerate(row.names)}
    if by_position:
        missed = np.exp(len(rounds) * np.log1p(-np.minimum(least, 1.0 - _ROUNDING)))
        gone = {name for k, name in wanted - seen if missed[k] < _BY_CHANCE}
    else:
        gone = {name for _, name in wanted} - {name for _, name in seen}
    if gone:
        where = " at its position" * by_position
        raise ValueError(
            f"target must play only names that the log shows, got {shown(sorted(gone, key=repr))}, which are"
            f" in no round{where}"
        )


@dataclass(frozen=True, eq=False)
class OffPolicyEstimate:
    """An estimate of the expected reward of a policy in one round, from the log of another policy.

    Attributes
    ----------
    value, interval : float, tuple of float
        The estimate of the expected reward in one round, and Student's confidence interval. The interval
        relies on the central limit theorem and is too narrow if a few rounds have most of the weight. It is
        nan if all rounds have the same weighted reward, as in a log without a click, because such rounds do
        not show the error of the estimate.
    level, method, rounds : float, str, int
        The confidence level, the method of estimation, and the number of rounds of the log that were used.
    effective_size : float
        The number of rounds, played by the target policy itself, that would be equally informative. For the
        weights w, this is ``(sum w)**2 / sum w**2``, at the position where it is smallest. It is 0 if the log
        shows no entry of the target at a position, so that the interval does not cover this position. For a
        replay, this is the number of matched rounds.
    weight_mean, weight_z : float
        The mean of the weights, at the position where it is furthest from its expectation, 1; and the
        difference from 1 in standard errors.

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
    model: Model | None = None,
    self_normalised: bool = False,
    level: float = 0.95,
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
    - ``"dr"``: the term is ``E[q] + w (r - q)``. Here q is the reward that `model` predicts for a super arm,
      and E is the expectation under the target policy. This method makes the same assumptions as ``"ips"``
      for any model, and has a smaller variance if the model is good.

    Each estimate is unbiased under its assumption if the probabilities are correct and `model` was not fitted
    to the same rounds. Only reported rounds are used. For policies that learn, see `replay_value`.

    Parameters
    ----------
    log : Log
        The logged rounds. Their `propensity` or `by_position` are the logging probabilities. If the target
        has sets, `propensity` must be the probability of the set.
    target : mapping or callable
        The target policy: a mapping of super arms to probabilities for all rounds, or a function that returns
        such a mapping for a `LoggedRound` with the properties known before the choice. A super arm is a tuple
        of names (a list) or a frozenset of names (a set, without order).
    method : {"ips", "iips", "dr"}
        The method of estimation.
    model : callable, optional
        For ``"dr"``, a function ``model(round, names)`` that returns the expected reward of a super arm.
    self_normalised : bool
        Whether to divide by the sum of the weights instead of the number of rounds. This adds a small bias
        and reduces the variance.
    level : float
        The confidence level of the interval, in (0, 1).

    Returns
    -------
    OffPolicyEstimate

    Raises
    ------
    ValueError
        If a round has no reward or no probability above 0; if the target policy plays a choice that the log
        does not show; for ``"iips"``, if lists differ in length or rewards are
        not the sums of the outcomes; or if the mean weight is more than 5 standard errors away from 1,
        because the probabilities are wrong or the log is too small for this target.
    TypeError
        If `log` is not a `Log`, or `target` is neither a mapping nor callable.

    Examples
    --------
    >>> from cmab import off_policy_value, read_log
    >>> table = {"a": ["tea", "cola"] * 50, "b": ["cola", "tea"] * 50, "x": [1, 0] * 50, "p": [0.5] * 100}
    >>> log = read_log(table, ["a", "b"], reward="x", propensity="p")
    >>> off_policy_value(log, {("tea", "cola"): 1.0}).value
    1.0

    References
    ----------
    D. G. Horvitz, D. J. Thompson (JASA 1952); A. Swaminathan, T. Joachims (NIPS 2015), self-normalised.
    S. Li et al. (KDD 2018), by position. M. Dudik, J. Langford, L. Li (ICML 2011), doubly robust.
    """
    rounds = _told(log)
    one_of("method", method, ("ips", "iips", "dr"))
    check_flag("self_normalised", self_normalised)
    level = real("level", level, 0.0, 1.0, inside=True)
    if (method == "dr") != (model is not None):
        raise ValueError(f"model must be given for 'dr' only, got {shown(model)}")
    if model is not None and not callable(model):
        raise TypeError(f"model must be a function of a LoggedRound and names, got {shown(model)}")
    targets = _choices_of("target", target, rounds)
    by_position = method == "iips"
    parts = _rewards_by_position(rounds) if by_position else _rewards(rounds)
    if by_position and {len(key) for choices in targets for key in choices.chances} != {parts.shape[1]}:
        raise ValueError(f"lists of target must be as long as those of the log, {parts.shape[1]}")
    weights, most = _weights(rounds, targets, by_position)
    if model is not None:
        modelled, base = _modelled(model, rounds, targets)
        weights, parts = np.hstack([weights, np.ones_like(base)]), np.hstack([parts - modelled, base])
    return _estimate(method, weights, parts, level, self_normalised, most)


def _estimate(
    method: str,
    weights: FloatArray,
    parts: FloatArray,
    level: float,
    self_normalised: bool,
    most: FloatArray | None = None,
) -> OffPolicyEstimate:
    """Return the mean over rounds of the sums of weighted parts, after a validation of the weights.

    If bounds `most` on the expected squares of the weights are known, all weights at a position may be 0.
    """
    n = len(weights)
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite((weights * parts).sum()):
            raise ValueError(
                f"weights times rewards must be finite, got weights up to {weights.max():.3g} and rewards up"
                f" to {np.abs(parts).max():.3g}"
            )
    if not (weights.any(axis=0).all() if most is None else weights.any()):
        raise ValueError("weights must not all be 0, got a target that agrees with no round of the log")
    means, far = weights.mean(axis=0), _z_of_mean(weights, most)
    worst = int(np.abs(far).argmax())
    if abs(far[worst]) > _TOO_FAR:
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
    half = student_quantile(n - 1, level) * error
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


def _z_of_mean(weights: FloatArray, most: FloatArray | None) -> FloatArray:
    """Return for each column the difference of the mean weight from 1, its expectation, in standard errors.

    The variance is taken about 1, not about the mean. If the propensities are correct, this estimate is
    equally good, and it is not 0 if all weights are equal. If the mean is above 1, the variance is the mean
    of ``w**2 - 1``, which has the same expectation and is larger: weights that are all a little above 1 can
    be correct if a rare choice was not played. If bounds on the expected squares are known, the variance is
    at least theirs: a log of random lists may show no entry of the target at a position.
    """
    gaps = weights - 1.0
    gaps[np.abs(gaps) < 1e-12] = 0.0
    unit = np.abs(gaps).max(axis=0).clip(min=1.0)  # scaling keeps the ratio, and squares stay finite
    gaps /= unit
    total = gaps.sum(axis=0)
    squares = (gaps**2).sum(axis=0) + 2.0 * np.maximum(total, 0.0) / unit
    if most is not None:
        squares = np.maximum(squares, len(weights) * (most - 1.0) / unit**2)
    far: FloatArray = np.divide(total, np.sqrt(squares), out=np.zeros_like(total), where=squares > 0.0)
    return far


def _modelled(
    model: Model, rounds: list[LoggedRound], targets: list[_Choices]
) -> tuple[FloatArray, FloatArray]:
    """Return the model's predictions for the logged super arms, and their means under the target policy."""
    modelled, base = np.zeros((len(rounds), 1)), np.zeros((len(rounds), 1))
    for i, (row, choices) in enumerate(zip(rounds, targets, strict=True)):
        known = row.before()
        try:
            modelled[i] = model(known, row.names)
            base[i] = sum(chance * model(known, key) for key, chance in choices.chances.items())
        except (TypeError, ValueError) as error:
            raise ValueError(f"model must return finite numbers, got {error}") from error
    if not (np.isfinite(modelled).all() and np.isfinite(base).all()):
        raise ValueError("model must return finite numbers, got others")
    return modelled, base


def replay_value(log: Log, target: Policy[Any], *, rng: Seed = 0, level: float = 0.95) -> OffPolicyEstimate:
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
    target : Policy
        The policy; the names of its oracle must be those of the log. Super arms are compared as sets if
        rewards are sums (`Oracle.is_linear`), and as lists for other oracles.
    rng : int, numpy.random.Generator or None
        The seed of the policy's randomness.
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
    check_policy_instance(target)
    rounds = _told(log)
    level = real("level", level, 0.0, 1.0, inside=True)
    text = "propensity must be known and above 0, but it is not"
    _refuse(text, rounds, [not row.propensity for row in rounds])
    known = np.array([row.propensity for row in rounds], np.float64)
    if np.ptp(known) > 1e-9 * known.max():
        raise ValueError(
            "propensity must be the same in all rounds of a replay, got"
            f" {shown(sorted(set(known.tolist())))}; off_policy_value accepts different ones"
        )
    rewards = _rewards(rounds)
    session, oracle = Session(target, rng), target.oracle
    own, own_arms = names_of(oracle)
    is_undirected = getattr(oracle, "is_undirected", False)
    choices, arms = (
        Names("entries of super arms", own, is_undirected),
        Names("base arms", own_arms, is_undirected),
    )
    if (log.choices, log.arms) != (own, own_arms):
        text = "contexts of the log must have the names of the oracle in its order, got others"
        _refuse(text, rounds, [row.context is not None for row in rounds])
    agreed = np.zeros(len(rounds))
    for i, row in enumerate(rounds):
        ticket = session.ask(row.context)
        wanted: list[Hashable] = oracle.labels(ticket.super_arm)
        played = [choices.form_of(name) for name in row.names]
        if wanted == played or (oracle.is_linear and set(wanted) == set(played)):
            seen = outcomes_of(row, arms)
            session.tell(Feedback(seen.arms, seen.outcomes, reward=row.reward), ticket)
            agreed[i] = 1.0
        else:
            session.cancel(ticket)
    if agreed.sum() < 2:
        raise ValueError(f"target must agree with at least two rounds of the log, got {int(agreed.sum())}")
    weights = agreed[:, None] / known[0]
    return replace(_estimate("replay", weights, rewards, level, self_normalised=True), method="replay")
