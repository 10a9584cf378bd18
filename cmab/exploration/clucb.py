"""CLUCB: the best super arm of an exact linear oracle, by two calls of the oracle in each step.

The best super arm for the means is compared with its rival, the best super arm for the revised means.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.bounds.radii import (
    MODE,
    PARAMETERS,
    RADII,
    Mode,
    anytime_rate,
    around,
    hoeffding_radii,
    lil_parameters,
    lil_radius,
    radius_at,
)
from cmab.compiled import (
    EXPLORE_ORACLE,
    EXPLORE_TREES,
    MOST_SAMPLES,
    ROUNDS,
    SAMPLES,
    STEPS,
    Arguments,
    ExplorerKernel,
    Kernel,
    compiled_form,
    kernel,
    lean_kernel,
    loop_kernel,
)
from cmab.exploration.base import DELTA, EPSILON, GROWTH, POSITIVE, SamplingExplorer, grown
from cmab.explorer import BestSuperArm, Goal
from cmab.oracle import LinearOracle, require_oracle
from cmab.selection import mark_best, plant, put, restore_best, tree_size
from cmab.statistics import ArmStatistics, observe_outcome


class SuperArmExplorer(SamplingExplorer):
    """Base class of explorers of the super arms of an exact linear oracle."""

    oracle: LinearOracle
    growth: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_exact(self.oracle)
        check_takes_any_mean(self.oracle)

    @property
    def n_arms(self) -> int:  # type: ignore[override]
        """Number of base arms."""
        return self.oracle.n_arms

    @property
    def goal(self) -> Goal:
        """The goal: a super arm within `epsilon` of the best."""
        return BestSuperArm(self.oracle, self.epsilon)

    def pulls(self, state: ArmStatistics) -> int:
        return grown(state, self.growth)


def check_exact(oracle: Any) -> None:
    """Raise `ValueError` unless `oracle` is an exact `LinearOracle`."""
    require_oracle(oracle)
    if not (oracle.is_linear and oracle.is_exact):
        raise ValueError(f"oracle must be an exact LinearOracle, got {oracle!r}")


def check_takes_any_mean(oracle: LinearOracle) -> None:
    """Raise `ValueError` unless `oracle` accepts means far below and far above [0, 1]."""
    # Checked here because an error after thousands of samples would waste these samples.
    for value in (max(-10.0, oracle.least_mean), max(10.0, oracle.least_mean)):
        try:
            oracle.solve(np.full(oracle.n_arms, value), np.random.default_rng(0))
        except ValueError as error:
            raise ValueError(
                f"oracle must take the revised means, which may be any numbers from its least_mean of"
                f" {oracle.least_mean:g} on, got {oracle!r}, which raised: {error}"
            ) from error


def check_constrains(oracle: LinearOracle) -> None:
    """Raise `TypeError` unless `oracle` can find the best super arm that contains a given arm."""
    rng, means = np.random.default_rng(0), np.full(oracle.n_arms, max(0.5, oracle.least_mean))
    try:
        for arm in oracle.solve(means, rng)[:1]:
            oracle.solve_constrained(means, [int(arm)], [], rng)
    except TypeError as error:
        raise TypeError(
            f"oracle must define solve_constrained for all constraints, got {oracle!r}, which raised: {error}"
        ) from error


def possible(oracle: LinearOracle, means: FloatArray) -> FloatArray:
    """Return `means`, raised to at least the `least_mean` of `oracle`.

    The true means are never below `least_mean`, so the cut intervals contain them whenever the full ones do.
    """
    return np.maximum(means, oracle.least_mean)


#: Places in `reals`: the sign of the sense, the least mean, sigma, and the level and the epsilon of the lil
#: radius. For the anytime radius, the last two are delta and the tolerance. `integers` holds 1 for the lil
#: radius, and 1 if any k arms are a super arm.
SIGN, LEAST, SIGMA, LEVEL, TOLERANCE = range(5)


@lean_kernel
def revise(means, radii, best, sign, least, out):
    """Write the revised means: pessimistic for arms in the `best` super arm, optimistic for the others.

    They are w~ of Chen et al. (NIPS 2014), Algorithm 1, and of Jiang et al. (2017), Algorithm 3. For costs,
    the signs are opposite. No true mean is below `least`, so lower values are raised to `least`.
    """
    for i in range(means.shape[0]):
        out[i] = max(least, means[i] - sign * radii[i] if best[i] else means[i] + sign * radii[i])


@kernel
def _possible(means, least):
    return means if least == -np.inf else np.maximum(means, least)


@lean_kernel
def dispute(revised, radii, best, rival, sign):
    """Return the disputed arm with the largest radius (or -1), and the rival's advantage."""
    arm, gap = -1, 0.0
    for i in range(radii.shape[0]):
        if best[i] != rival[i]:
            # w~(M~) - w~(M). The arms of both super arms cancel, so they are left out of the sum.
            gap += sign * (revised[i] if rival[i] else -revised[i])
            if arm < 0 or radii[i] > radii[arm]:
                arm = i
    return arm, gap


@lean_kernel
def _mark(super_arm, size, marked):
    marked[:] = False
    for j in range(size):
        marked[super_arm[j]] = True


@lean_kernel
def write_radii(counts, samples, integers, reals, out):
    """Write the radii of the rule after `samples` samples."""
    n = counts.shape[0]
    if integers[0]:
        for i in range(n):
            out[i] = lil_radius(counts[i], reals[LEVEL], reals[TOLERANCE], reals[SIGMA])
    else:
        hoeffding_radii(counts, anytime_rate(n, samples, reals[LEVEL]), reals[SIGMA], out)


@lean_kernel
def has_won(arm, gap, integers, reals):
    """Return whether no arm is disputed or, for CLUCB-PAC, the rival's advantage is within the tolerance."""
    # lil'CLUCB stops if the two sets are equal (Jiang et al., Algorithm 3). CLUCB stops if the revised
    # weights are equal, because the sets may differ for ever if weights are tied.
    return arm < 0 or (not integers[0] and gap <= reals[TOLERANCE])


@loop_kernel(EXPLORE_ORACLE)
def explore_oracle(solve, oracle, rule, draw, arms, seen, streams):
    """Run the loop of `explore`, with two calls of the compiled oracle in each step.

    If any k arms are a super arm, the loop repairs the sets of the last step and does not call the oracle.
    """
    (counts, means, deviations, clock), (integers, reals) = seen, rule
    (draw_integers, draw_reals), (oracle_integers, oracle_reals), coins = arms, oracle, streams.coins
    n, is_uniform, sign, least = means.shape[0], integers[1], reals[SIGN], reals[LEAST]
    radii, revised, super_arm = np.empty(n), np.empty(n), np.empty(n, np.int64)
    values, scratch = sign * means, np.empty(n)
    best, rival = np.empty(n, np.bool_), np.empty(n, np.bool_)
    _mark(super_arm, solve(_possible(means, least), oracle_integers, oracle_reals, super_arm), best)
    # If any k arms are a super arm, both sets are repaired from those of the last step.
    rival[:] = best
    # No value inside the set is below `within`, and no value outside is above `beyond`. In most steps these
    # bounds show that the set is unchanged, without a scan of the arms.
    within, beyond = -np.inf, np.inf
    for _ in range(clock[STEPS]):
        if is_uniform:
            if within <= beyond:
                within, beyond = restore_best(values, best)
        else:
            _mark(super_arm, solve(_possible(means, least), oracle_integers, oracle_reals, super_arm), best)
        write_radii(counts, clock[SAMPLES], integers, reals, radii)
        revise(means, radii, best, sign, least, revised)
        if is_uniform:
            for i in range(n):
                scratch[i] = sign * revised[i]
            restore_best(scratch, rival)
        else:
            _mark(super_arm, solve(revised, oracle_integers, oracle_reals, super_arm), rival)
        arm, gap = dispute(revised, radii, best, rival, sign)
        if has_won(arm, gap, integers, reals) or clock[SAMPLES] + 1 > clock[MOST_SAMPLES]:
            return True
        observe_outcome(arm, draw(arm, draw_integers, draw_reals, coins), counts, means, deviations)
        values[arm] = sign * means[arm]
        if best[arm]:
            within = min(within, values[arm])
        else:
            beyond = max(beyond, values[arm])
        clock[ROUNDS] += 1
        clock[SAMPLES] += 1
    return False


# The trees of lil'CLUCB if any k arms are a super arm. For each of two sets, the best arms (by means) and
# their rivals (by revised means), one tree has the worst arm inside the set and one the best arm outside. The
# last tree has the radii of the arms that are in exactly one of the two sets.
_WORST, _NEXT, _WORST_RIVAL, _NEXT_RIVAL, _DISPUTED = 0, 1, 2, 3, 4
_OUT = -np.inf


@lean_kernel
def _side(keys, winners, arm, value, inside, worst):
    """Put `arm` with `value` into the trees of a set: `worst` (inside) and ``worst + 1`` (outside)."""
    put(keys, winners, worst, arm, -value if inside else _OUT, True)
    put(keys, winners, worst + 1, arm, _OUT if inside else value, False)


@lean_kernel
def _out_of_order(keys, winners, worst):
    """Return whether the best arm outside a set must replace the worst arm inside."""
    inside, outside = -keys[worst, 1], keys[worst + 1, 1]
    return bool(outside > inside or (outside == inside and winners[worst + 1, 1] < winners[worst, 1]))


@lean_kernel
def _revised(value, radius, is_best):
    return value - radius if is_best else value + radius


@lean_kernel
def _settle(keys, winners, arm, values, radii, is_best, is_rival):
    """Update every tree after a change of the value and the radius of `arm`."""
    out, into = -1, -1
    _side(keys, winners, arm, values[arm], is_best[arm], _WORST)
    # Only one value changed, so at most one pair of arms changes places.
    if _out_of_order(keys, winners, _WORST):
        out, into = winners[_WORST, 1], winners[_NEXT, 1]
        for moved in (out, into):
            is_best[moved] = not is_best[moved]
            _side(keys, winners, moved, values[moved], is_best[moved], _WORST)
    for i in (arm, out, into):
        if i >= 0:
            _side(keys, winners, i, _revised(values[i], radii[i], is_best[i]), is_rival[i], _WORST_RIVAL)
            _dispute(keys, winners, i, radii, is_best, is_rival)
    # `arm` was in exactly one of the two sets. At most one place among the rivals therefore changes: `into`
    # or `arm` leaves, or `out` or `arm` replaces the worst rival.
    if _out_of_order(keys, winners, _WORST_RIVAL):
        for i in (winners[_WORST_RIVAL, 1], winners[_NEXT_RIVAL, 1]):
            is_rival[i] = not is_rival[i]
            _side(keys, winners, i, _revised(values[i], radii[i], is_best[i]), is_rival[i], _WORST_RIVAL)
            _dispute(keys, winners, i, radii, is_best, is_rival)


@lean_kernel
def _dispute(keys, winners, arm, radii, is_best, is_rival):
    put(keys, winners, _DISPUTED, arm, radii[arm] if is_best[arm] != is_rival[arm] else _OUT, False)


@loop_kernel(EXPLORE_TREES)
def explore_clucb_trees(rule, draw, arms, seen, streams):
    """Run the loop of `explore_oracle` for super arms of any k of n arms, in O(log n) time per sample.

    `integers` holds k and the sign of the sense, and `reals` the parameters and the table of `radius_at`.
    """
    (counts, means, deviations, clock), reals = seen, rule.reals
    (draw_integers, draw_reals), coins = arms, streams.coins
    n, k, sign = means.shape[0], rule.integers[0], rule.integers[1]
    values, radii, revised = sign * means, np.empty(n), np.empty(n)
    is_best, is_rival = np.empty(n, np.bool_), np.empty(n, np.bool_)
    mark_best(values, k, is_best)
    for i in range(n):
        radii[i] = radius_at(counts[i], True, reals)
        revised[i] = _revised(values[i], radii[i], is_best[i])
    mark_best(revised, k, is_rival)
    keys, winners = plant(5, tree_size(n))
    for i in range(n):
        _side(keys, winners, i, values[i], is_best[i], _WORST)
        _side(keys, winners, i, revised[i], is_rival[i], _WORST_RIVAL)
        _dispute(keys, winners, i, radii, is_best, is_rival)
    for _ in range(clock[STEPS]):
        # Jiang et al. (2017), Algorithm 2: stop if the two sets are equal.
        if keys[_DISPUTED, 1] == _OUT or clock[SAMPLES] + 1 > clock[MOST_SAMPLES]:
            return True
        arm = winners[_DISPUTED, 1]
        observe_outcome(arm, draw(arm, draw_integers, draw_reals, coins), counts, means, deviations)
        values[arm], radii[arm] = sign * means[arm], radius_at(counts[arm], True, reals)
        _settle(keys, winners, arm, values, radii, is_best, is_rival)
        clock[ROUNDS] += 1
        clock[SAMPLES] += 1
    return False


@dataclass(frozen=True, eq=False)
class _CLUCBRule(SuperArmExplorer):
    """Base class of rules that revise the means: lower for arms in the best super arm, higher for others."""

    oracle: LinearOracle
    _: KW_ONLY
    delta: float = field(metadata=DELTA)
    sigma: float = field(default=0.5, metadata=POSITIVE)
    growth: float = field(default=0.0, metadata=GROWTH)

    _in_kernel = (*SuperArmExplorer._in_kernel, "radii", "rivals")

    @abstractmethod
    def _radius(self) -> tuple[bool, float, float]:
        """Return whether the radius is the lil radius, and its last two parameters in `reals`."""

    @cached_property
    def _rule(self) -> Arguments:
        oracle, (is_lil, *radius) = self.oracle, self._radius()
        integers = np.array([is_lil, oracle._uniform_size is not None], np.int64)
        return Arguments(integers, np.array([oracle._sign, oracle.least_mean, self.sigma, *radius]))

    def rivals(self, state: ArmStatistics) -> tuple[int, float]:
        """Compare the best super arm with its rival, the best super arm for the revised means.

        Return the arm with the largest radius of those that exactly one of the two contains (-1 if there is
        none), and the advantage of the rival, the difference of their revised values.
        """
        best, rival = np.zeros(self.n_arms, np.bool_), np.zeros(self.n_arms, np.bool_)
        radii, revised = self.radii(state), np.empty(self.n_arms)
        best[self._solve(state.means)] = True
        revise(state.means, radii, best, self.oracle._sign, self.oracle.least_mean, revised)
        rival[self._solve(revised)] = True
        found: tuple[int, float] = dispute(revised, radii, best, rival, self.oracle._sign)
        return found

    def radii(self, state: ArmStatistics) -> FloatArray:
        """Return the radius of each arm."""
        state.check_sizes(self.n_arms, 0)
        radii = np.empty(self.n_arms)
        write_radii(state.counts, int(state.counts.sum()), *self._rule, radii)
        return radii

    def intervals(self, state: ArmStatistics) -> tuple[FloatArray, FloatArray]:
        """Return the means minus and plus the radii; lower bounds are at least the oracle's `least_mean`."""
        lower, upper = around(state.means, self.radii(state))
        return np.maximum(lower, self.oracle.least_mean), upper

    def can_stop(self, state: ArmStatistics) -> bool:
        """Return whether the stopping rule holds for the best super arm."""
        return bool(has_won(*self.rivals(state), *self._rule))

    def critical(self, state: ArmStatistics, rng: np.random.Generator) -> IntArray:
        """Return the disputed arm with the largest radius; ties go to the lower index."""
        arm, _ = self.rivals(state)
        # If a caller continues after the stop and no arm is disputed, take the arm with the largest radius.
        return np.array([arm if arm >= 0 else np.argmax(self.radii(state))], np.int64)

    def step(self, state: ArmStatistics, rng: np.random.Generator) -> IntArray:
        """Return the arm to sample next after two calls of the oracle; the array is empty after the stop."""
        unseen = self.unseen(state)
        if len(unseen):
            return unseen
        arm, gap = self.rivals(state)
        return np.array([] if has_won(arm, gap, *self._rule) else [arm], np.int64)

    def kernel(self) -> ExplorerKernel | None:
        """Return the compiled loop, or None if the oracle has no compiled form or `growth` is positive."""
        oracle: Kernel | None = compiled_form(self.oracle)
        if oracle is None or self.growth > 0.0:
            return None
        parameters = oracle.function, Arguments(oracle.integers, oracle.reals), self._rule
        return ExplorerKernel(explore_oracle, parameters)

    def recommend(self, state: ArmStatistics) -> IntArray:
        """Return the best super arm for the means, in increasing order."""
        return np.sort(self._solve(state.means))

    def _solve(self, means: FloatArray) -> IntArray:
        # Exact oracles need no randomness, and the stopping rule must not advance a random generator.
        return self.oracle.solve(possible(self.oracle, means), np.random.default_rng(0))


@dataclass(frozen=True, eq=False, kw_only=True)
class LilCLUCB(_CLUCBRule):
    """lil'CLUCB: the best super arm of any exact linear oracle, with radii by the iterated logarithm.

    Use this explorer first for the best path, matching, basis or other super arm.

    The explorer stops when the best super arm is still the best after its means are lowered by their radii
    and all other means are raised by theirs. With the oracle `TopK`, it identifies the best k arms.

    Parameters
    ----------
    oracle : LinearOracle
        An exact oracle for rewards or costs. It must accept means of any size from its `least_mean` on,
        because revised means may lie outside the support. Lower means are raised to `least_mean`; for a
        shortest path, costs stay at 0 or above.
    delta : float
        Probability of failure, in (0, 1).
    sigma : float
        Sub-Gaussian scale of the outcomes.
    growth : float
        Growth of the batches, in [0, 1]. After t samples, the explorer takes ``max(1, growth t / n_arms)``
        outcomes of the selected arm at once, so the number of oracle calls grows like ``ln t``. With 0, the
        default, it calls the oracle before every sample.
    mode : {"faithful", "paper", "heuristic"}
        See `LUCBPlusPlus`.

    Raises
    ------
    ValueError
        If the oracle is not exact and linear, if it does not accept means of any size above its `least_mean`,
        or if a parameter is out of its range.

    Examples
    --------
    >>> from cmab import LilCLUCB, identify
    >>> from instances import GaussianArms
    >>> from oracles import TopK
    >>> identify(LilCLUCB(TopK(3, k=1), delta=0.1), GaussianArms([1.0, 0.0, 0.0], sigma=0.5), rng=0).arms
    [array([0])]

    References
    ----------
    H. Jiang, J. Li, M. Qiao: Practical Algorithms for Best-K Identification in Multi-Armed Bandits,
    Algorithms 2 and 3.
    """

    mode: Mode = field(default="faithful", metadata=MODE)

    @property
    def is_proven(self) -> bool:
        return self.mode != "heuristic"

    def _radius(self) -> tuple[bool, float, float]:
        epsilon, level = lil_parameters(self.mode, delta=self.delta, sides=(self.n_arms,), n_sides=1.0)
        # U(T, delta / N) of Algorithms 2 and 3.
        return True, level / self.n_arms, epsilon

    def kernel(self) -> ExplorerKernel | None:
        """Return the compiled loop: with trees if any k arms are a super arm, otherwise with the oracle."""
        k, general = self.oracle._uniform_size, super().kernel()
        # The trees support only super arms of any k arms, and no least mean.
        if k is None or general is None or self.oracle.least_mean > -np.inf:
            return general
        _, level, epsilon = self._radius()
        reals = np.zeros(PARAMETERS + RADII)
        reals[:PARAMETERS] = epsilon, self.sigma, level, level
        return ExplorerKernel(
            explore_clucb_trees, (Arguments(np.array([k, self.oracle._sign], np.int64), reals),)
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class CLUCB(_CLUCBRule):
    """CLUCB (Chen et al. 2014), and CLUCB-PAC with `epsilon`: radii that grow with the number of samples.

    Use this explorer for the best super arm if one parameter-free radius is preferred. `LilCLUCB` needs fewer
    samples.

    With probability at least ``1 - delta``, the value of the returned super arm (the sum of its means) is
    within `epsilon` of the optimum.

    Parameters
    ----------
    oracle, delta, sigma, growth
        As for `LilCLUCB`.
    epsilon : float
        Tolerance of the value of the super arm. With 0, the default, the rule is CLUCB.

    Examples
    --------
    >>> from cmab import CLUCB, identify
    >>> from instances import GaussianArms
    >>> from oracles import TopK
    >>> identify(CLUCB(TopK(3, k=1), delta=0.1), GaussianArms([1.0, 0.0, 0.0], sigma=0.5), rng=0).arms
    [array([0])]

    References
    ----------
    S. Chen, T. Lin, I. King, M. R. Lyu, W. Chen: Combinatorial Pure Exploration of Multi-Armed Bandits,
    NIPS 2014, Algorithm 1 (from memory).
    """

    epsilon: float = field(default=0.0, metadata=EPSILON)

    def _radius(self) -> tuple[bool, float, float]:
        return False, self.delta, self.epsilon
