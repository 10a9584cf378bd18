"""What another rule would have earned: estimates from a log, with their intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from cmab.arrays import FloatArray
from cmab.campaigns.log import Log, LoggedRound
from cmab.logs._betting import by_betting
from cmab.logs._choices import Choices, Played, Target, choices_of
from cmab.logs._rewards import rewards_by_position, told_rounds, whole_rewards
from cmab.logs._weights import TOO_FAR, largest_weights, refuse_improbable, weights_of, z_of_mean
from cmab.renamed import find as __getattr__  # noqa: F401
from cmab.validation import check_flag, interval, one_of, real, shown

Method = Literal["ips", "iips", "rips", "dr", "cascade_dr"]
Model = Callable[[LoggedRound, Played], float]

_KINDS = {"ips": "set", "dr": "set", "iips": "position", "rips": "prefix", "cascade_dr": "prefix"}


@dataclass(frozen=True, eq=False)
class OffPolicyEstimate:
    """An estimate of what a rule earns in a round, from the log of another one.

    Attributes
    ----------
    value : float
        The estimate of the expected reward of a round.
    interval : tuple of float
        Student's interval for it. It rests on the central limit theorem, and is too narrow where a few rounds
        have most of the weight. It is nan where rounds do not differ, as in a log without a click: they say
        nothing of how far off the value may be. With a `reward_range` it is one that holds for any number of
        rounds; the value may then lie outside, where it is beyond what can be earned.
    level : float
        Its confidence.
    method : str
        How it was estimated.
    rounds : int
        Rounds of the log that were used.
    effective_size : float
        How many rounds of the rule itself would say as much: ``(sum w)**2 / sum w**2`` of the weights, at the
        position where it is smallest; of a replay, the rounds that were matched.
    weight_mean : float
        Mean of the weights, at the position where it is furthest from 1, its expectation.
    weight_z : float
        By how many standard errors it is away from 1.

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
    """Return what a rule would earn in a round, by weighting the rounds of a log.

    With w the ratio of the rule's probability of what was played to the log's, the estimate is the mean of

    - ``"ips"``: w r, with w of the whole super arm and r its reward. It assumes nothing of rewards;
    - ``"iips"``: the sum over positions of w r, with w of the entry at the position. It assumes that
      an entry earns the same whatever stands at other positions;
    - ``"rips"``: the same with w of the list up to the position. It assumes a cascade: an entry earns the
      same whatever stands below it;
    - ``"dr"``: ``E[q] + w (r - q)``, with q what `model` expects of a super arm, E over the rule. It is as
      ``"ips"`` whatever the model is, with a smaller variance if it is good;
    - ``"cascade_dr"``: the same by prefixes, under the assumption of ``"rips"``.

    Each is unbiased under its assumption, if the probabilities are right, and `model` was not fitted to the
    same rounds. Only told rounds count. For policies that learn, see `replay_value`.

    Parameters
    ----------
    log : Log
        The rounds; its `propensity`, `by_position` or `by_prefix` are the log's probabilities.
    target : mapping or callable
        The rule: a probability for each super arm, in all rounds or from a `LoggedRound` that holds what was
        known before the choice. Tuples of names are lists; frozensets are sets, whose order does not matter.
    method : {"ips", "iips", "rips", "dr", "cascade_dr"}
        The estimate.
    logging : mapping or callable, optional
        The rule that played, as `target`; its probabilities take the place of the log's.
    model : callable, optional
        ``model(round, names)`` is the reward that is expected of a super arm; for ``"cascade_dr"`` the
        outcomes from the last of these positions on, if the rule goes on from there.
    self_normalised : bool
        Whether to divide by the sum of the weights instead of their number: a small bias, and less variance.
    level : float
        Confidence of the interval, in (0, 1).
    reward_range : (float, float), optional
        The smallest and the largest reward that a round can have, for ``"ips"``, or the outcome of an entry,
        for ``"iips"`` and ``"rips"``. If it is given, the interval holds with its level for any number of
        rounds, and is wider than Student's. With `logging`, which says how large weights can be, it is far
        shorter where rewards are rare; if that is a function of the round, it then is for the mean over the
        rounds that came.

    Returns
    -------
    OffPolicyEstimate

    Raises
    ------
    ValueError
        If a round has no probability above 0, or no reward; the rule plays what the log does not show, or
        `logging` cannot play; lists are not equally long, or rewards not the sums of outcomes, for an
        estimate by position; or the mean weight is more than 5 standard errors away from 1: the
        probabilities are wrong, or the log is too small for this rule. With a `reward_range`, if a reward is
        outside of it, the method is another one or `self_normalised`, or no value is in the interval.
    TypeError
        If `log` is no `Log`, or `target` neither mapping nor callable.

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
        raise ValueError(f"model must be given for 'dr' and 'cascade_dr' alone, got {shown(model)}")
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
    """Return the mean over rounds of sums of weighted parts, refused where the weights cannot be right."""
    from scipy.special import stdtrit

    n = len(weights)
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite((weights * parts).sum()):
            raise ValueError(
                f"weights times rewards must be finite, got weights up to {weights.max():.3g} and rewards up"
                f" to {np.abs(parts).max():.3g}"
            )
    if not weights.any(axis=0).all():
        raise ValueError("weights must not all be 0, got a target that no round of the log agrees with")
    means, far = weights.mean(axis=0), z_of_mean(weights)
    worst = int(np.abs(far).argmax())
    if abs(far[worst]) > TOO_FAR:
        raise ValueError(
            f"weights must have mean 1, got {means[worst]:.4g}, {abs(far[worst]):.3g} standard errors away:"
            " the probabilities of the log are wrong, or it is too small for this target"
        )
    if self_normalised:
        ratios = (weights * parts).mean(axis=0) / means
        # The first order of the ratios' errors (delta method).
        terms = ratios.sum() + (weights * (parts - ratios) / means).sum(axis=1)
    else:
        terms = (weights * parts).sum(axis=1)
    value = float(terms.mean())
    # Of size 1 before they are squared, which is 0 of what is tiny, and infinite of what is huge.
    scale = float(np.abs(terms).max()) or 1.0
    spread = float((terms / scale).std(ddof=1))
    # What is left of equal terms is rounding.
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
    """Return what the model expects of what was played, and of what the target plays instead."""

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
        # Kiyohara et al. (2022): the mean over the target's next entries, after the entries above.
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
