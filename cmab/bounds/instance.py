"""One table of all bounds of the library for an instance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.bounds.regret import (
    RewardGaps,
    gap_dependent_bound,
    gap_free_bound,
    listed_family,
    modulated_bound,
    modulated_gap_free_bound,
    reward_gaps,
)
from cmab.bounds.samples import (
    adaptive_top_k_samples,
    best_k_gaps,
    clucb_samples,
    exchange_width,
    halving_samples,
    least_best_k_samples,
    least_gaussian_samples,
    lil_clucb_samples,
    lil_rand_lucb_samples,
    lucb1_samples,
    ugapec_samples,
)
from cmab.bounds.times import ROUNDING, ConditionError, best_k_time, evidence, super_arm_time
from cmab.oracle import LinearOracle, Oracle, check_super_arm, require_oracle, smoothness_of
from cmab.validation import integer, real, vector

_FARTHEST = 1e18
_MOST_LISTS = 20_000
_MOST_OF_WIDTH = 200  # the width is found by trying all exchanges between two super arms
_MOST_PAIRS = 1_000  # the time of the best k arms compares each of them with each other arm


class Bound(NamedTuple):
    """One bound on the regret or on the samples of a rule.

    Attributes
    ----------
    rule : str
        The rule that the bound is for, or "every rule".
    kind : {"at most", "at least"}
        Whether it is an upper or a lower bound.
    value : float
        The bound; ``nan`` if the instance does not meet its conditions.
    unit : {"regret", "samples"}
        The unit of the value.
    source : str
        Where the bound is from.
    useful_from : float
        For upper bounds on the regret, the number of rounds from which on the bound is below the trivial
        bound (the largest gap in each round); infinite if there is none up to 1e18 rounds. Otherwise ``nan``.
    note : str
        The conditions of the bound, or the reason why there is no value.

    Examples
    --------
    >>> from cmab.bounds import instance_bounds
    >>> from oracles import TopK
    >>> bound = instance_bounds(TopK(4, k=2), [0.3, 0.9, 0.1, 0.8], horizon=1000)[0]
    >>> bound.rule, bound.kind, round(bound.value), bound.unit
    ('CUCB', 'at most', 1676, 'regret')
    """

    rule: str
    kind: str
    value: float
    unit: str
    source: str
    useful_from: float = math.nan
    note: str = ""


class InstanceBounds(tuple[Bound, ...]):
    """A tuple of bounds, which is printed as a table."""

    __slots__ = ()

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary for each bound, with short headings."""
        return [
            {
                "rule": bound.rule,
                "bound": f"{bound.unit}, {bound.kind}",
                "value": bound.value,
                "useful from round": bound.useful_from,
                "source": bound.source,
                "note": bound.note,
            }
            for bound in self
        ]

    def __repr__(self) -> str:
        from cmab.run.tables import text

        return text(self.rows())

    def _repr_html_(self) -> str:
        from cmab.run.tables import text

        return text(self.rows(), "html")


def instance_bounds(
    oracle: Oracle,
    means: ArrayLike,
    *,
    horizon: int | None = None,
    delta: float | None = None,
    epsilon: float = 0.0,
    sigma: float = 0.5,
    super_arms: Iterable[ArrayLike] | None = None,
) -> InstanceBounds:
    """Return all bounds of the library for an instance: on the regret, and on the samples of exploration.

    Bounds on the regret are for `CUCB` and outcomes in [0, 1]. Bounds on samples are for linear oracles. If
    the super arms are all sets of k arms, these are the bounds for the best k arms, otherwise those of
    combinatorial pure exploration.

    Parameters
    ----------
    oracle : Oracle
        The oracle of the instance.
    means : array_like, shape (n_arms,)
        True means of the base arms.
    horizon : int, optional
        Number of rounds of the bounds on the regret. If omitted, the table has no such bounds.
    delta : float, optional
        Error probability of the bounds on samples, in (0, 1). If omitted, the table has no such bounds.
    epsilon : float
        Tolerance of pure exploration, at least 0. Lower bounds are for 0, and are left out otherwise.
    sigma : float
        Sub-Gaussian scale of the outcomes; 1/2 is right for all outcomes in [0, 1].
    super_arms : iterable of array_like, optional
        All super arms. If omitted, they are found by testing all sets, of which there must be at most 20,000.
        Without `horizon`, they are not needed if the oracle has all sets of k arms.

    Returns
    -------
    InstanceBounds
        A tuple of `Bound`, which prints as a table and has the method `rows`.

    Raises
    ------
    ValueError
        If an argument is out of range, if neither `horizon` nor `delta` is given, or if the super arms must
        be given, because the oracle has too many.

    Examples
    --------
    >>> from cmab.bounds import instance_bounds
    >>> from oracles import TopK
    >>> for bound in instance_bounds(TopK(4, k=2), [0.3, 0.9, 0.1, 0.8], horizon=10**6):
    ...     print(bound.source, round(bound.value), bound.useful_from)
    Chen et al. 2016, Theorem 1 3329 1344.0
    Chen et al. 2016, Theorem 2 72859 1729.0
    ours, Theorem 1 51524 791.0
    ours, Theorem 2 5330 2307.0
    """
    if horizon is None and delta is None:
        raise ValueError("horizon or delta must be given, for bounds on regret or on samples, got neither")
    require_oracle(oracle)
    truth = vector("means", means, oracle.n_arms)
    sigma = real("sigma", sigma, 0.0, inside=True)
    epsilon = real("epsilon", epsilon, 0.0)
    # The bounds on the samples for the best k arms need no list of the sets of k arms.
    is_known = horizon is None and super_arms is None and _uniform_size(oracle) is not None
    family = [] if is_known else _family(oracle, super_arms)
    found: list[Bound] = []
    if horizon is not None:
        gaps = reward_gaps(oracle, truth, super_arms=family)
        found += _on_regret(oracle, truth, gaps, integer("horizon", horizon, 1), sigma)
    if delta is not None:
        delta = real("delta", delta, 0.0, 1.0, inside=True)
        found += _on_samples(oracle, truth, family, delta, epsilon, sigma)
    return InstanceBounds(found)


def _uniform_size(oracle: Oracle) -> int | None:
    return oracle._uniform_size if isinstance(oracle, LinearOracle) else None


def _family(oracle: Oracle, super_arms: Iterable[ArrayLike] | None) -> list[IntArray]:
    """Return each super arm once, in all orders if the order matters."""
    listed = listed_family(oracle)
    if super_arms is None:
        if not listed:
            raise ValueError(
                f"super_arms must list all super arms of {oracle!r}, which has too many to be found here"
            )
        return _in_all_orders(oracle, listed) if _is_ordered(oracle, listed) else listed
    given = [check_super_arm(oracle, np.asarray(arm)) for arm in super_arms]
    is_ordered = _is_ordered(oracle, given)
    kept = {tuple(arm if is_ordered else sorted(arm)): arm for arm in given}
    named = {tuple(sorted(arm)) for arm in given}
    for arm in (listed or []) if given else []:
        if tuple(arm) not in named:
            raise ValueError(f"super_arms must list all super arms of {oracle!r}, got a list without {arm}")
    return list(kept.values())


def _is_ordered(oracle: Oracle, family: Sequence[IntArray]) -> bool:
    """Return whether the order of the entries of a super arm matters, as in ranked lists."""
    probe = np.linspace(0.2, 0.4, oracle.n_arms)
    for arm in family:
        if len(arm) > 1 and oracle.is_feasible(arm[::-1].copy()):
            first = oracle.triggering_probabilities(arm, probe)
            second = oracle.triggering_probabilities(arm[::-1].copy(), probe)
            return first is not None and second is not None and not np.array_equal(first, second)
    return False


def _in_all_orders(oracle: Oracle, family: Sequence[IntArray]) -> list[IntArray]:
    if sum(math.factorial(len(arm)) for arm in family) > _MOST_LISTS:
        raise ValueError(f"super_arms must list all super arms of {oracle!r}, which has too many orders")
    return [np.array(each, np.int64) for arm in family for each in permutations(arm)]


def _in_unit(means: FloatArray, sigma: float, compute: Callable[[], float]) -> float:
    """Return the result of `compute`; raise `ConditionError` if outcomes in [0, 1] cannot be these."""
    if means.min() < 0.0 or means.max() > 1.0:
        raise ConditionError("needs outcomes in [0, 1], got means outside")
    if sigma > 0.5:
        raise ConditionError(
            f"needs outcomes in [0, 1], for which sigma is at most 1/2, got sigma = {sigma:g}"
        )
    return compute()


def _of_coins(means: FloatArray, sigma: float, compute: Callable[[], float]) -> float:
    """Return the result of `compute`; raise `ConditionError` if coins with these means vary more."""
    spread = float(np.sqrt(np.maximum(means * (1.0 - means), 0.0)).max())
    if spread > sigma:
        raise ConditionError(
            f"needs Bernoulli outcomes, which have deviations up to {spread:g} here, got less"
        )
    return _in_unit(means, min(sigma, 0.5), compute)


def _on_regret(
    oracle: Oracle, means: FloatArray, gaps: RewardGaps, rounds: int, sigma: float
) -> Iterator[Bound]:
    smoothness = smoothness_of(oracle)
    for source, note, function in (
        ("Chen et al. 2016, Theorem 1", "depends on all gaps", gap_dependent_bound),
        ("Chen et al. 2016, Theorem 2", "depends on the largest gap", gap_free_bound),
        ("ours, Theorem 1", "without 1 / p*", modulated_gap_free_bound),
        ("ours, Theorem 2", "without 1 / p*, with the smallest gap", modulated_bound),
    ):

        def at(n: float, function: Callable[..., FloatArray] = function) -> float:
            return float(function(gaps, smoothness, rounds=n))

        try:
            value = _in_unit(means, sigma, lambda: at(rounds))
        except ValueError as error:
            yield Bound("CUCB", "at most", math.nan, "regret", source, note=str(error))
            continue
        yield Bound("CUCB", "at most", value, "regret", source, _useful_from(at, gaps.overall), note)


def _useful_from(bound: Callable[[float], float], largest_gap: float) -> float:
    """Return the least number of rounds from which on `bound` is below `largest_gap` in each round.

    The bounds are concave in the number of rounds up to terms of this kind, so that they are below the line
    in all rounds from the first of them on.
    """
    if largest_gap == 0.0:
        return math.nan
    low, high = 1.0, 2.0
    while bound(high) >= largest_gap * high:
        low, high = high, 2.0 * high
        if high > _FARTHEST:
            return math.inf
    while low < (middle := float(math.floor((low + high) / 2.0))) < high:
        low, high = (low, middle) if bound(middle) < largest_gap * middle else (middle, high)
    return high


def _on_samples(
    oracle: Oracle, means: FloatArray, family: Sequence[IntArray], delta: float, epsilon: float, sigma: float
) -> Iterator[Bound]:
    none = Bound("every rule", "at least", math.nan, "samples", "")
    if not isinstance(oracle, LinearOracle):
        yield none._replace(note=f"needs a linear oracle, got {oracle!r}")
        return
    n_arms, k = len(means), _uniform_size(oracle)
    sizes = {len(arms) for arms in family}
    if k is None and len(sizes) == 1 and len(family) == math.comb(n_arms, min(sizes)):
        k = min(sizes)
    if len(family) == 1 or k in (0, n_arms):
        yield none._replace(value=0.0, note="there is one super arm only")
        return
    if k is not None:
        # The best arms of costs are those of the mirrored outcomes.
        rows = _of_best_k(means if oracle.sense == "max" else 1.0 - means, k, delta, epsilon, sigma)
    else:
        rows = _of_super_arms(oracle, means, family, delta, epsilon, sigma)
    for rule, source, note, compute in rows:
        kind = "at least" if rule == "every rule" else "at most"
        if kind == "at least" and epsilon > 0.0:
            continue
        try:
            with np.errstate(all="ignore"):
                value = float(compute())
        except ConditionError as error:
            value, note = math.nan, str(error)
        except (ValueError, RuntimeError, ArithmeticError):
            value, note = math.nan, "too large or too small for floating-point numbers"
        yield Bound(rule, kind, value, "samples", source, note=note)


#: The rule, the source and the note of a bound, and the function that returns its value.
_Row = tuple[str, str, str, Callable[[], float]]
_HELD = "if all intervals hold"


def _of_best_k(means: FloatArray, k: int, delta: float, epsilon: float, sigma: float) -> list[_Row]:
    gaps = best_k_gaps(means, k)
    levels: dict[str, float] = {"delta": delta, "epsilon": epsilon}

    def of_all_changes() -> float:
        if not gaps.min() > 0.0:
            return math.inf if delta < 0.5 else 0.0
        if k * (len(means) - k) > _MOST_PAIRS:
            raise ConditionError(
                f"is computed for at most {_MOST_PAIRS:,} pairs of a best arm and another one"
            )
        return best_k_time(means, k)[1] * evidence(delta)

    def coins(compute: Callable[[], float]) -> Callable[[], float]:
        return partial(_of_coins, means, sigma, compute)

    def in_unit(compute: Callable[[], float]) -> Callable[[], float]:
        return partial(_in_unit, means, sigma, compute)

    lil: dict[str, Any] = {"delta": delta, "sigma": sigma}
    every, kaufmann = "every rule", "Kaufmann et al. 2016"
    one_change = partial(least_best_k_samples, means, k, delta=delta)
    rand, ugape = partial(lil_rand_lucb_samples, gaps, k, **lil), partial(ugapec_samples, gaps, sigma=sigma)
    rows: list[_Row] = [
        (every, "Garivier and Kaufmann 2016", "Bernoulli outcomes, all changes", coins(of_all_changes)),
        (every, f"{kaufmann}, Theorem 4", "Bernoulli outcomes, one change", coins(one_change)),
        (every, kaufmann, "Gaussian outcomes, one change", partial(least_gaussian_samples, gaps, **lil)),
        (
            *("LUCB1", "Kalyanakrishnan et al. 2012, Theorem 6", "mean over all runs"),
            in_unit(partial(lucb1_samples, gaps, **levels)),
        ),
        ("LilRandLUCB", "Jiang et al. 2017, Theorem 3.1", f"mean {_HELD}", rand),
        ("LilCLUCB", "Jiang et al. 2017, Theorem 4.1", _HELD, partial(lil_clucb_samples, gaps, **lil)),
        ("UGapEc", "Gabillon et al. 2012, Theorem 2", _HELD, partial(ugape, **levels)),
    ]
    if epsilon > 0.0:
        adaptive = in_unit(partial(adaptive_top_k_samples, means, k, **levels))
        halving = in_unit(partial(halving_samples, len(means), k, **levels))
        rows += [
            ("AdaptiveTopK", "Chen et al. 2017, Theorem 1", _HELD, adaptive),
            ("Halving", "Kalyanakrishnan and Stone 2010", "exact", halving),
        ]
    return rows


def _of_super_arms(
    oracle: LinearOracle,
    means: FloatArray,
    family: Sequence[IntArray],
    delta: float,
    epsilon: float,
    sigma: float,
) -> list[_Row]:
    lil: dict[str, Any] = {"delta": delta, "sigma": sigma}

    def gaps() -> FloatArray:
        best, found = oracle.gaps(means, [], [], np.random.default_rng(0))
        # Smaller differences of sums may be due to rounding.
        found[found <= ROUNDING * np.abs(means[best]).sum()] = 0.0
        return found

    def of_all_changes() -> float:
        if not gaps().min() > 0.0:
            return math.inf if delta < 0.5 else 0.0
        return super_arm_time(means, family, sigma=sigma, sense=oracle.sense)[1] * evidence(delta)

    def width() -> int:
        if len(family) > _MOST_OF_WIDTH:
            raise ConditionError(f"the width is computed for at most {_MOST_OF_WIDTH} super arms")
        return exchange_width(family)

    def of_clucb() -> float:
        size = max(len(arms) for arms in family)
        return clucb_samples(gaps(), epsilon=epsilon, width=width(), max_super_arm_size=size, **lil)

    every, as_chen = "every rule", "as Chen et al. 2014, Theorem 2"
    one_change, all_changes = "Gaussian outcomes, one change", "Gaussian outcomes, all changes"
    return [
        (every, "as Garivier and Kaufmann 2016", all_changes, of_all_changes),
        (every, as_chen, one_change, lambda: least_gaussian_samples(gaps(), **lil)),
        ("CLUCB", "Chen et al. 2014, Theorems 1 and 5", _HELD, of_clucb),
        (
            *("LilCLUCB", "Jiang et al. 2017, Theorem 4.2", _HELD),
            lambda: lil_clucb_samples(gaps(), width=width(), **lil),
        ),
    ]
