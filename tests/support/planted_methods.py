"""Oracles with one planted fault each outside `solve`, and sound oracles that define the same methods."""

from math import comb

import numpy as np
from planted_oracles import FAMILY, Best, Fault, K, N, best

from cmab import Oracle
from cmab.compiled import Kernel, solve_kernel
from cmab.solver_certificate import SolverCertificate, report_ratio

TAILS, HEADS = np.arange(N), np.arange(1, N + 1)


class Whole(Best):
    """Sound: defines every optional method."""

    can_constrain = True
    has_membership = True
    max_size, uniform_size = K, K
    clusters = np.arange(N)
    arm_groups = np.arange(N) % 2
    network = (TAILS, HEADS, N + 1)

    def solve_batch(self, means, rng):
        return [best(row) for row in means]

    def solve_certified(self, means, rng):
        pair = best(means)
        value = float(means[pair].sum())
        return SolverCertificate(np.sort(pair), value, value, True)

    def solve_constrained(self, means, include, exclude, rng):
        include, exclude = [*map(int, include)], {*map(int, exclude)}
        left = [arm for arm in np.argsort(-means, kind="stable") if arm not in exclude | {*include}]
        chosen = [*include, *left][:K]
        return np.array(chosen, np.int64) if len(chosen) == K >= len(include) else None

    def solve_within(self, means, available, rng):
        order = np.argsort(-means, kind="stable")
        order = order[available[order]]
        if len(order) < K:
            raise ValueError("available must have two entries")
        return order[:K]

    def optimum_bound(self, means, rng):
        return float(np.sort(means)[-K:].sum())

    def is_feasible(self, super_arm):
        return len(super_arm) == K


class Rich(Whole):
    """Sound: its batches are rows of one array that is made for each call."""

    def solve_batch(self, means, rng):
        return list(np.argsort(-np.asarray(means), axis=1, kind="stable")[:, :K])


# Structure --------------------------------------------------------------------------------------------------


class SmallBound(Whole):
    """States the size of the answers in rounds, which is one too small for lists of triggered arms."""

    max_size = K

    def triggered_arms(self, super_arm):
        return np.unique(np.append(super_arm, (super_arm[0] + 1) % N))


class SplitClusters(Whole):
    clusters = np.arange(N) // 2


class GapInClusters(Whole):
    clusters = 2 * np.arange(N)


class ShortGroups(Whole):
    arm_groups = np.zeros(N - 1, np.int64)


class Unequal(Whole):
    """Declares all sets, available or not, as fair."""

    def uniform_family(self, available):
        return comb(N, K), K


class NoSets(Whole):
    """Counts the sets of a size that is too large."""

    def uniform_family(self, available):
        return comb(int(available.sum()), N + 1), K


class WrongUniformSize(Whole):
    uniform_size = K + 1

    def uniform_family(self, available):
        return None


class StrayArcs(Whole):
    network = (TAILS, HEADS, N)


# Proofs -----------------------------------------------------------------------------------------------------


class ReportsMore(Best):
    """Reports that each answer is optimal, although it takes the second best pair for equal sums."""

    alpha, certifies_calls = 0.5, True

    def solve(self, means, rng):
        report_ratio(self, 1.0)
        first = int(np.argmax(means))
        return np.array([first, (first + 1) % N])


class BoundOfOneArm(Whole):
    def solve_certified(self, means, rng):
        pair = best(means)
        return SolverCertificate(pair, float(means[pair].sum()), float(2 * np.median(means)), True)


class StaleValue(Whole):
    def solve_certified(self, means, rng):
        pair = best(means)
        value = float(means[:K].sum())
        return SolverCertificate(pair, value, value, True)


class CertifiesAnything(Whole):
    alpha = 0.9

    def solve_certified(self, means, rng):
        pair = np.array([int(np.argmax(means)), int(np.argmin(means))])
        return SolverCertificate(pair, float(means[pair].sum()), float("inf"), np.ptp(means) > 0)


class TripleCertificate(Whole):
    def solve_certified(self, means, rng):
        three = best(means, K + 1)
        value = float(means[three].sum())
        return SolverCertificate(three, value, value, True)


# Methods ----------------------------------------------------------------------------------------------------


class LeavesExclusions(Whole):
    """Keeps the excluded arms of the last call for the next calls of `solve`."""

    can_constrain = True

    def __init__(self):
        self.gone = set()

    def solve(self, means, rng):
        order = [arm for arm in np.argsort(-means, kind="stable") if arm not in self.gone]
        return np.array(order[:K])

    def solve_constrained(self, means, include, exclude, rng):
        self.gone = {*map(int, exclude)} if len(exclude) == 1 else set()
        return super().solve_constrained(means, include, exclude, rng)


class WithinInPlace(Whole):
    def optimum_bound(self, means, rng):
        means.sort()
        return float(means[-K:].sum())


class SortsIncluded(Whole):
    triggers_surely = False

    def triggering_probabilities(self, super_arm, means):
        super_arm.sort()
        return np.isin(np.arange(N), super_arm).astype(float)


class CountsBounds(Whole):
    """Tightens its bound in every call."""

    calls = 0

    def optimum_bound(self, means, rng):
        self.calls += 1
        return super().optimum_bound(means, rng) + 1.0 / self.calls


class GlobalWithin(Whole):
    """Breaks ties with the global generator, only for constrained problems."""

    can_constrain = True

    def solve_constrained(self, means, include, exclude, rng):
        return super().solve_constrained(means + 0.4 * np.random.rand(N), include, exclude, rng)  # noqa: NPY002


class OneOff(Whole):
    can_constrain = True

    def solve_constrained(self, means, include, exclude, rng):
        return np.array([[0, 1], [1, 2]][len(include) + len(exclude)])


# Batches, availability, membership, constraints, root -------------------------------------------------------


class BatchBuffer(Whole):
    """Answers with rows of one array that each batch overwrites."""

    rows = np.empty((5000, K), np.int64)

    def solve_batch(self, means, rng):
        for row, one in zip(self.rows, means, strict=False):
            row[:] = best(one)
        return list(self.rows[: len(means)])


class BatchClips(Whole):
    """Clips in batches only."""

    def solve_batch(self, means, rng):
        return [best(np.clip(row, 0.0, 1.0)) for row in means]


class BatchSharesRows(Whole):
    """Equal answers are one array."""

    def solve_batch(self, means, rng):
        known = {}
        return [known.setdefault(tuple(best(row)), best(row)) for row in means]


class BatchOfMemory(Whole):
    """Reads the rows from memory, whatever their strides."""

    def solve_batch(self, means, rng):
        flat = np.ravel(means, order="K").reshape(np.shape(means))
        return [best(row) for row in flat]


class WithinWhenAll(Whole):
    """Takes the first available entries unless one is missing."""

    def solve_within(self, means, available, rng):
        return np.arange(K) if available.all() else super().solve_within(means, available, rng)


class MarksAvailable(Whole):
    def solve_within(self, means, available, rng):
        answer = super().solve_within(means, available, rng)
        available[answer] = False
        return answer


class LastTwo(Whole):
    """Compares neighbours in the order in which they are given."""

    has_membership = True

    def solve(self, means, rng):
        return np.sort(best(means))

    def is_feasible(self, super_arm):
        return len(super_arm) == K and bool((np.diff(super_arm) > 0).all())


class AcceptsNothing(Whole):
    has_membership = True

    def is_feasible(self, super_arm):
        return len(super_arm) in (0, K)


class AcceptsAll(Whole):
    has_membership = True

    def is_feasible(self, super_arm):
        return len(super_arm) in (K, N)


class RatioOfTheFirst(Whole):
    """Declares half of the optimum, but takes the first arms that remain."""

    can_constrain = True
    alpha = 0.5

    def solve_constrained(self, means, include, exclude, rng):
        answer = super().solve_constrained(-np.arange(N, dtype=float), include, exclude, rng)
        return (
            answer if len(include) + len(exclude) else super().solve_constrained(means, include, exclude, rng)
        )


class RootOfAll(Whole):
    """Ignores which arms are available."""

    def solve_root(self, means, squares, rng, *, tolerance=0.0, available=None):
        values = [means[list(pair)].sum() + np.sqrt(squares[list(pair)].sum()) for pair in FAMILY]
        return np.array(FAMILY[int(np.argmax(values))])


# Compiled forms ---------------------------------------------------------------------------------------------


@solve_kernel
def solve_pair(means, integers, reals, out):
    """Write the best two arms, whose means are cut to a range."""
    first, second = -1, -1
    for arm in range(means.shape[0]):
        value = min(max(means[arm], reals[0]), reals[1])
        if first < 0 or value > min(max(means[first], reals[0]), reals[1]):
            first, second = arm, first
        elif second < 0 or value > min(max(means[second], reals[0]), reals[1]):
            second = arm
    out[0], out[1] = first, second
    return 2


class InFull(Whole):
    """Sound: its compiled form cuts nothing."""

    ends = (-np.inf, np.inf)

    def kernel(self):
        return Kernel(solve_pair, reals=np.array(self.ends))


class FromZero(InFull):
    """Its compiled form takes negative indices for 0."""

    ends = (0.0, np.inf)


class ToOne(InFull):
    ends = (-np.inf, 1.0)


class ToAHundred(InFull):
    ends = (-np.inf, 100.0)


# Indices outside the range ----------------------------------------------------------------------------------


class Chance(Oracle):
    """Sound: the probability that both arms of a pair succeed; clips its means."""

    has_membership = True
    n_arms, max_size = N, K

    def triggered_arms(self, super_arm):
        return super_arm

    def is_feasible(self, super_arm):
        return len(super_arm) == K

    def expected_reward(self, super_arm, means):
        return float(np.prod(np.clip(means, 0.0, 1.0)[super_arm]))

    def solve(self, means, rng):
        return np.sort(best(np.clip(means, 0.0, 1.0)))


class Rejects(Chance):
    """Sound: rejects means that are no probabilities."""

    def solve(self, means, rng):
        if means.max() > 1:
            raise ValueError("means must be probabilities")
        return np.sort(best(means))


class NoMore(Chance):
    """Takes the logarithm of the chance to fail, which is nan beyond 1, and then no arm at all."""

    def solve(self, means, rng):
        with np.errstate(all="ignore"):
            costs = np.log(1.0 - means)
        order = [arm for arm in np.argsort(costs, kind="stable") if not np.isnan(costs[arm])]
        return np.sort(np.array(order[:K], np.int64))


class Wraps(Chance):
    """Keeps three decimals in an index of a table of 1,000 entries."""

    def solve(self, means, rng):
        return np.sort(np.argsort(-(np.floor(means * 1e12) % (1e12 + 1)), kind="stable")[:K])


class TableOfChances(Chance):
    table = np.arange(1001)

    def solve(self, means, rng):
        assert len(self.table[(1000 * means).astype(int)])
        return np.sort(best(np.clip(means, 0, 1)))


FAULTS = [
    Fault(SmallBound, "structure"),
    Fault(SplitClusters, "structure"),
    Fault(GapInClusters, "structure"),
    Fault(ShortGroups, "structure"),
    Fault(Unequal, "structure"),
    Fault(NoSets, "structure"),
    Fault(WrongUniformSize, "structure"),
    Fault(StrayArcs, "structure"),
    Fault(ReportsMore, "proofs"),
    Fault(BoundOfOneArm, "proofs"),
    Fault(StaleValue, "proofs"),
    Fault(CertifiesAnything, "proofs"),
    Fault(TripleCertificate, "proofs"),
    Fault(LeavesExclusions, "methods"),
    Fault(WithinInPlace, "methods"),
    Fault(SortsIncluded, "methods"),
    Fault(CountsBounds, "methods"),
    Fault(GlobalWithin, "methods"),
    Fault(OneOff, "methods"),
    Fault(BatchBuffer, "batch"),
    Fault(BatchClips, "batch"),
    Fault(BatchSharesRows, "batch"),
    Fault(BatchOfMemory, "batch"),
    Fault(WithinWhenAll, "availability"),
    Fault(MarksAvailable, "availability"),
    Fault(LastTwo, "membership"),
    Fault(AcceptsNothing, "membership"),
    Fault(AcceptsAll, "membership"),
    Fault(RootOfAll, "root"),
    Fault(FromZero, "compiled"),
    Fault(ToOne, "compiled"),
    Fault(ToAHundred, "compiled"),
    Fault(RatioOfTheFirst, "constraints"),
    Fault(NoMore, "outside"),
    Fault(Wraps, "outside"),
    Fault(TableOfChances, "outside"),
]


class NeedsMembers(Whole):
    """Sound: its test of membership reads the smallest and the largest entry, which the empty set lacks."""

    has_membership = True

    def is_feasible(self, super_arm):
        return super_arm.min() < super_arm.max() and len(super_arm) == K


SOUND = [Whole, NeedsMembers, Rich, InFull, Chance, Rejects]
