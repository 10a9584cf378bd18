"""Off-policy evaluation: estimates of the reward of a policy from the log of another policy."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from cmab.arrays import FloatArray
from cmab.logs._betting import by_betting
from cmab.logs._choices import Choices, Played, Target, choices_of
from cmab.logs._rewards import rewards_by_position, told_rounds, whole_rewards
from cmab.logs._weights import TOO_FAR, largest_weights, refuse_improbable, weights_of, z_of_mean
from cmab.logs.log import Log, LoggedRound
from cmab.validation import check_flag, interval, one_of, real, shown

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
        weights w, this is ``(sum w)**2 / sum w**2``, at the position where it is smallest. For a replay, this
        is the number of matched rounds.
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
      entries at other positions.
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
    All from memory.
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
        expected, base = _modelled(kind, model, rounds, targets)
        before = np.hstack([np.ones((len(rounds), 1)), weights[:, :-1]])
        weights_of_parts, parts = np.hstack([weights, before]), np.hstack([rewards - expected, base])
    found = estimate(method, weights_of_parts, parts, level, self_normalised=self_normalised)
    refuse_improbable(kind, rounds, chances)
    if reward_range is None:
        return found
    most = None if loggers is None else largest_weights(kind, targets, loggers)
    return replace(found, interval=by_betting(rounds, weights, rewards, reward_range, level, most))


def estimate(
    method: str, weights: FloatArray, parts: FloatArray, level: float, *, self_normalised: bool = False
) -> OffPolicyEstimate:
    """Return the mean over rounds of the sums of weighted parts, after a validation of the weights."""
    from scipy.special import stdtrit

    n = len(weights)
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite((weights * parts).sum()):
            raise ValueError(
                f"weights times rewards must be finite, got weights up to {weights.max():.3g} and rewards up"
                f" to {np.abs(parts).max():.3g}"
            )
    if not weights.any(axis=0).all():
        raise ValueError("weights must not all be 0, got a target that agrees with no round of the log")
    means, far = weights.mean(axis=0), z_of_mean(weights)
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
    relative = weights / weights.max(axis=0)
    sizes = relative.sum(axis=0) ** 2 / (relative**2).sum(axis=0)
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
