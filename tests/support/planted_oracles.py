"""Oracles with one planted fault each, the check that names it, and sound oracles that look odd.

A fault without a check is one that no check can know; it says why.
"""

import ctypes
import mmap
import random
import threading
import time
from collections import deque
from dataclasses import dataclass
from itertools import combinations
from time import perf_counter
from typing import Any

import numpy as np

from cmab import LinearOracle, Oracle
from cmab.theory import Smoothness
from oracles import TopK

N, K = 6, 2
FAMILY = list(combinations(range(N), K))
LARGE = 200

START = time.time()


@dataclass(frozen=True)
class Fault:
    """Something that is wrong, and the check that finds it; None where none can."""

    make: Any
    check: str | None
    why_not: str = ""

    @property
    def name(self):
        return self.make.__name__


def best(means, k=K):
    return np.argsort(-means, kind="stable")[:k]


def worst(means, k=K):
    return np.argsort(means, kind="stable")[:k]


class Best(LinearOracle):
    """Sound: the best pair."""

    n_arms = N

    def solve(self, means, rng):
        return best(means)


class Coin(Best):
    """Is wrong twice in a thousand calls."""

    def solve(self, means, rng):
        return worst(means) if rng.random() < 0.002 else best(means)


class WallClock(Best):
    def solve(self, means, rng):
        return best(means) if time.time() < START + 3600 else worst(means)


class CumulativeLimit(Best):
    """Its time limit counts from the first call on."""

    def __init__(self):
        self.ends = perf_counter() + 60

    def solve(self, means, rng):
        return best(means) if perf_counter() < self.ends else np.arange(K)


class OnceIn5000(Best):
    calls = 0

    def solve(self, means, rng):
        self.calls += 1
        return worst(means) if self.calls % 5000 == 0 else best(means)


class OneVectorIn500(Best):
    def solve(self, means, rng):
        return worst(means) if int(means.sum() * 1e9) % 500 == 7 else best(means)


class Negative(Best):
    def solve(self, means, rng):
        return best(np.abs(means))


class SinglePrecision(Best):
    def solve(self, means, rng):
        return best(means.astype(np.float32))


class ClippedAtThousand(Best):
    def solve(self, means, rng):
        return best(np.minimum(means, 1000.0))


class AbsoluteTolerance(Best):
    """Means of the size of click rates are all alike to it, as to solvers that are not given scaled costs."""

    def solve(self, means, rng):
        return best(np.round(means, 9) if means.max() > 1e-3 else np.round(means, 6))


class IgnoresStrides(Best):
    def solve(self, means, rng):
        return best(np.lib.stride_tricks.as_strided(means, strides=(8,)) if means.strides[0] > 0 else means)


class WritesAndRestores(Best):
    def solve(self, means, rng):
        means *= -1.0
        answer = np.argsort(means, kind="stable")[:K]
        means *= -1.0
        return answer


class Leak(Best):
    def __init__(self):
        self.kept = []

    def solve(self, means, rng):
        self.kept.append(np.zeros(100_000 // 8))
        return best(means)


class Log(Best):
    """Keeps a copy of all means that it was ever asked for."""

    def __init__(self):
        self.kept = []

    def solve(self, means, rng):
        self.kept.append(means.copy())
        return best(means)


class LeakOutsidePython(Best):
    def solve(self, means, rng):
        ctypes.memset(_new_pages(None, 100_000, _WRITABLE, _OF_NO_FILE, -1, 0), 1, 100_000)
        return best(means)


# Not `malloc`, which first uses what earlier tests of the process have freed.
_WRITABLE, _OF_NO_FILE = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
_new_pages = ctypes.CDLL(None).mmap
_new_pages.restype = ctypes.c_void_p
_new_pages.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]


class BatchOfOneRow(Best):
    def solve_batch(self, means, rng):
        return [np.arange(K)] if len(means) == 1 else [best(row) for row in means]


class BatchOfNone(Best):
    def solve_batch(self, means, rng):
        return [best(row) for row in means] or [np.arange(K)]


class BatchBeyond200(Best):
    def solve_batch(self, means, rng):
        return [best(row) if i < 200 else np.arange(K) for i, row in enumerate(means)]


class Scratch(Best):
    """Threads that share it write to one array."""

    def __init__(self):
        self.scratch = np.empty(N)

    def solve(self, means, rng):
        for arm in range(N):
            self.scratch[arm] = -means[arm]
        time.sleep(1e-5)  # lets another thread write, whatever the machine is doing
        return np.argsort(self.scratch, kind="stable")[:K]


class Large(LinearOracle):
    n_arms = LARGE

    def solve(self, means, rng):
        return best(means, 5)


class LargeKnown(Large):
    has_membership = True

    def is_feasible(self, super_arm):
        return len(super_arm) == 5


class SecondBest(Large):
    def solve(self, means, rng):
        return np.argsort(-means, kind="stable")[1:6]


class NeverArm0(Large):
    def solve(self, means, rng):
        return 1 + best(means[1:], 5)


class NeverArm0Known(LargeKnown, NeverArm0):
    pass


class SmallIntegers(Best):
    def solve(self, means, rng):
        return best(means).astype(np.uint8)


class Locked(Best):
    def __init__(self):
        self.lock = threading.Lock()

    def solve(self, means, rng):
        with self.lock:
            return best(means)


class WarmStart(Best):
    """Keeps the last answer when it is nearly as good as the new one."""

    last = np.arange(K)

    def solve(self, means, rng):
        new = best(means)
        if means[self.last].sum() < 0.999 * means[new].sum():
            self.last = new
        return self.last.copy()


class KeptArray(Best):
    """Takes the array that it was given last for unchanged."""

    given, answer = None, None

    def solve(self, means, rng):
        if means is not self.given:
            self.given, self.answer = means, best(means)
        return self.answer.copy()


class Overstated(LinearOracle):
    """The best arm and its neighbour: half of the optimum, but 0.53 is declared."""

    has_membership = True
    n_arms, alpha = 12, 0.53

    def solve(self, means, rng):
        first = int(np.argmax(means))
        return np.array([first, (first + 1) % 12])

    def is_feasible(self, super_arm):
        return len(super_arm) == 2


class TiesOfThree(Best):
    def solve(self, means, rng):
        first = np.flatnonzero(means == means.max())
        return np.array([first[0], np.argmin(means)]) if len(first) == 3 else best(means)


class WithoutTheLastArm(Best):
    """Stops a loop one arm early."""

    def solve(self, means, rng):
        return best(means[:-1])


class BlindToOneHot(Best):
    """Overlooks an arm where it alone is worth anything."""

    def solve(self, means, rng):
        is_hot = means[3] > 0 and np.count_nonzero(means) == 1
        return worst(means) if is_hot else best(means)


class BlindToOneCold(Best):
    """Takes an arm where it alone is worth less than the others."""

    def solve(self, means, rng):
        is_cold = (np.delete(means, 3) == means.max()).all() and means[3] < means.max()
        return worst(means) if is_cold else best(means)


class InputSorted(Best):
    def solve(self, means, rng):
        answer = best(means)
        means.sort()
        return answer


class DrawsGlobal(Best):
    def solve(self, means, rng):
        random.random()
        return best(means)


class SeedsGlobal(Best):
    def solve(self, means, rng):
        np.random.seed(0)  # noqa: NPY002
        return best(means)


class CoveredTracks(Best):
    """Lets the global generator break ties, and puts its state back."""

    def solve(self, means, rng):
        state = np.random.get_state()  # noqa: NPY002
        order = np.random.permutation(N)  # noqa: NPY002
        np.random.set_state(state)  # noqa: NPY002
        return order[best(means[order])]


class Unseeded(Best):
    def solve(self, means, rng):
        return np.random.default_rng().permutation(N)[:K]


class Rarer(Best):
    beta = 0.95

    def solve(self, means, rng):
        return best(means) if rng.random() < 0.88 else worst(means)


class SetOrder(Best):
    def __init__(self):
        self.names = {f"arm {i}" for i in range(N)}

    def solve(self, means, rng):
        order = np.array([int(name[4:]) for name in self.names])
        return order[best(means[order])]


class Buffer(Best):
    def __init__(self):
        self.answer = np.empty(K, np.int64)

    def solve(self, means, rng):
        self.answer[:] = best(means)
        return self.answer


class OwnConstant(Best):
    def __init__(self):
        self.first = np.arange(K)

    def solve(self, means, rng):
        return self.first if np.ptp(means) == 0 else best(means)


class TooSmooth(Best):
    def smoothness(self):
        return Smoothness(0.9 * K)


class Jump(Oracle):
    """A bonus for certainty: the reward jumps where the sum passes one."""

    n_arms = N

    def solve(self, means, rng):
        return best(means)

    def expected_reward(self, super_arm, means):
        return float(means[super_arm].sum() + (means[super_arm].sum() > 1))


class Untriggered(Best):
    def expected_reward(self, super_arm, means):
        return float(means[super_arm].sum() + 0.1 * means.max())


class Falling(Oracle):
    n_arms = N

    def solve(self, means, rng):
        return np.array(max(FAMILY, key=lambda arm: self.expected_reward(np.array(arm), means)))

    def expected_reward(self, super_arm, means):
        return float(means[super_arm].sum() * (1.5 - means[super_arm].sum()))


class TooLarge(Best):
    max_size = 1


class Infeasible(Best):
    def solve(self, means, rng):
        return np.flatnonzero(means >= np.sort(means)[-K])


class WrongSense(Best):
    def solve(self, means, rng):
        return worst(means)


class IgnoresMeans(Best):
    def solve(self, means, rng):
        return np.arange(K)


class FailsOnTies(Best):
    def solve(self, means, rng):
        if len(np.unique(means)) == 1:
            raise ZeroDivisionError("no spread")
        return best(means)


class RareCrash(Best):
    def solve(self, means, rng):
        if means[0] > 0.9 and means[1] < 0.1 and 0.2 < means[2] < 0.8:
            raise KeyError("no entry")
        return best(means)


class Floats(Best):
    def solve(self, means, rng):
        return best(means).astype(float)


class Iterators(Best):
    """Answers with an iterator, which is empty after its first use."""

    def solve(self, means, rng):
        return iter(best(means).tolist())


class Repeats(Best):
    def solve(self, means, rng):
        return np.full(K, np.argmax(means))


class OutOfRange(Best):
    def solve(self, means, rng):
        return best(means) + 1


class LosesParameters(Best):
    k = 1

    def __init__(self):
        self.k = K

    def __getstate__(self):
        return {}

    def solve(self, means, rng):
        return best(means, self.k)


class Lenient(Best):
    has_membership = True

    def is_feasible(self, super_arm):
        return len(super_arm) >= K - 1


class IgnoresConstraints(Best):
    can_constrain = True

    def solve_constrained(self, means, include, exclude, rng):
        return best(means)


class GivesUp(Best):
    """Says that there is nothing left, although there is."""

    can_constrain = True

    def solve_constrained(self, means, include, exclude, rng):
        return None


class AnyThatFits(Best):
    """Meets the constraints, without a look at the means."""

    can_constrain = True

    def solve_constrained(self, means, include, exclude, rng):
        free = np.setdiff1d(np.arange(N), [*include, *exclude])
        missing = K - len(include)
        return np.array([*include, *free[:missing]]) if 0 <= missing <= len(free) else None


class SmallBonus(Best):
    """Includes arms by a bonus, which is too small for means that differ by more."""

    can_constrain = True

    def solve_constrained(self, means, include, exclude, rng):
        worth = means.copy()
        worth[include] += 10.0
        free = [arm for arm in best(worth, N) if arm not in exclude]
        return np.array(free[:K]) if len(free) >= K >= len(include) else None


class IgnoresAvailable(Best):
    def solve_within(self, means, available, rng):
        return best(means)


class IgnoresSquares(TopK):
    def __init__(self):
        super().__init__(N, K)

    def solve_root(self, means, squares, rng, *, tolerance=0.0, available=None):
        return self.solve(means, rng)


class WrongKernel(Best):
    """Its compiled form has another sense."""

    def kernel(self):
        return TopK(N, K, sense="min").kernel()


class NoisyReward(Best):
    def expected_reward(self, super_arm, means):
        return super().expected_reward(super_arm, means) + 1e-6 * np.random.default_rng().random()


class SortsSuperArm(Best):
    def expected_reward(self, super_arm, means):
        super_arm.sort()
        return super().expected_reward(super_arm, means)


class CheapCosts(Best):
    """Costs of at most half of the least: nobody pays less than the least."""

    sense, alpha = "min", 0.5

    def solve(self, means, rng):
        return worst(means)


class TooCertain(Best):
    beta = 1.5


class BatchOfOneStream(Best):
    """Draws for all rows at once: the answers are not those of one call after the other."""

    def solve(self, means, rng):
        return rng.permutation(np.flatnonzero(means >= np.sort(means)[-K]))[:K]

    def solve_batch(self, means, rng):
        rng.random(len(means))
        return [self.solve(row, rng) for row in means]


NO_FAMILY = "neither super_arms nor is_feasible says that those arms are in any super arm"


class AboveHalf(Best):
    """Is wrong if two means are exactly one half."""

    def solve(self, means, rng):
        return worst(means) if np.count_nonzero(means == 0.5) >= 2 and means.max() > 0.5 else best(means)


class NegativeZero(Best):
    def expected_reward(self, super_arm, means):
        return -float((-means[super_arm]).sum())


class BySign(Best):
    """Takes a mean of -0.0 for a negative number."""

    def solve(self, means, rng):
        return best(np.where(np.signbit(means), means - 1, means))


class SameLabels(Best):
    def labels(self, super_arm):
        return [int(entry) // 2 for entry in super_arm]


class SortedLabels(Best):
    """Names the entries in increasing order, whatever order was asked for."""

    def labels(self, super_arm):
        return sorted(int(entry) for entry in super_arm)


class LosesItsRatio(Best):
    """Lowers its ratio with each call."""

    alpha = 1.0

    def solve(self, means, rng):
        self.alpha = max(0.5, self.alpha - 0.001)
        return best(means)


class OnlyPCG(Best):
    def solve(self, means, rng):
        return best(means) if rng.bit_generator.state["bit_generator"] == "PCG64" else worst(means)


class StrayTriggers(Best):
    triggers_surely = False

    def triggering_probabilities(self, super_arm, means):
        return np.full(N, 0.5)


class BatchOfDistinct(Best):
    """Solves the distinct rows of a batch only."""

    def solve_batch(self, means, rng):
        answers = [np.arange(K)] * len(means)
        for row in np.unique(means, axis=0, return_index=True)[1]:
            answers[row] = best(means[row])
        return answers


class BatchInOrder(Best):
    """Solves distinct rows in rising order, and forgets to restore their order if no row occurs twice."""

    def solve_batch(self, means, rng):
        rows, places = np.unique(means, axis=0, return_inverse=True)
        answers = [best(row) for row in rows]
        return answers if len(rows) == len(means) else [answers[place].copy() for place in places.ravel()]


class LowBound(Best):
    """Leaves the last of the chosen arms out of its bound."""

    def optimum_bound(self, means, rng):
        return float(means.max())


class GapsOfTheWorst(TopK):
    """Exchanges the worst chosen arm, even if it is required."""

    def __init__(self):
        super().__init__(N, K)

    def gaps(self, means, include, exclude, rng):
        answer, gaps = super().gaps(means, include, exclude, rng)
        out = np.setdiff1d(np.flatnonzero(np.isfinite(gaps)), answer)
        gaps[out] = np.abs(means[answer].min() - means[out])
        return answer, gaps


class SharedMemo(LinearOracle):
    """Keeps the last answer in the class, whatever the arguments of the instance."""

    n_arms, last = N, (b"", None)

    def __init__(self, size=K):
        self.size = size

    def solve(self, means, rng):
        if SharedMemo.last[0] != means.tobytes():
            SharedMemo.last = means.tobytes(), best(means, self.size)
        return SharedMemo.last[1].copy()


class HardProblem(Best):
    """Fails more often than declared if the lowest arms have equal means, and never otherwise."""

    beta = 0.9

    def solve(self, means, rng):
        is_hard = len(np.unique(means)) < len(means) and rng.random() < 0.4
        return worst(means) if is_hard and means[0] == means[1] else best(means)


FAULTS = [
    Fault(HardProblem, "guarantee"),
    Fault(LowBound, "optimum bound"),
    Fault(GapsOfTheWorst, "gaps"),
    Fault(SharedMemo, "instances"),
    Fault(BatchOfDistinct, "duplication"),
    Fault(AboveHalf, "generated"),
    Fault(NegativeZero, "rewards"),
    Fault(BySign, "zeros"),
    Fault(SameLabels, "labels"),
    Fault(SortedLabels, "labels"),
    Fault(LosesItsRatio, "constancy"),
    Fault(OnlyPCG, "streams"),
    Fault(StrayTriggers, "triggered"),
    Fault(Coin, "guarantee"),
    Fault(WallClock, "clock"),
    Fault(CumulativeLimit, "clock"),
    Fault(OnceIn5000, "memory"),
    Fault(OneVectorIn500, "guarantee"),
    Fault(Negative, None, "means are said to lie in [0, 1]; low=-1 finds it"),
    Fault(SinglePrecision, "guarantee"),
    Fault(ClippedAtThousand, "scale"),
    Fault(AbsoluteTolerance, "scale"),
    Fault(IgnoresStrides, "layout"),
    Fault(WritesAndRestores, None, "a ValueError for read-only means is a refusal"),
    Fault(Leak, "growth"),
    Fault(Log, "growth"),
    Fault(LeakOutsidePython, "growth"),
    Fault(BatchOfOneRow, "batch"),
    Fault(BatchOfNone, "batch"),
    Fault(BatchBeyond200, "batch"),
    Fault(BatchInOrder, "batch"),
    Fault(Scratch, "threads"),
    Fault(SecondBest, "guarantee"),
    Fault(NeverArm0, None, NO_FAMILY),
    Fault(NeverArm0Known, "neighbours"),
    Fault(SmallIntegers, "form"),
    Fault(Locked, "pickling"),
    Fault(WarmStart, "memory"),
    Fault(KeptArray, "memory"),
    Fault(Overstated, "guarantee"),
    Fault(TiesOfThree, "guarantee"),
    Fault(WithoutTheLastArm, "guarantee"),
    Fault(BlindToOneHot, "guarantee"),
    Fault(BlindToOneCold, "guarantee"),
    Fault(InputSorted, "input"),
    Fault(DrawsGlobal, "global randomness"),
    Fault(SeedsGlobal, "global randomness"),
    Fault(CoveredTracks, "global randomness"),
    Fault(Unseeded, "determinism"),
    Fault(Rarer, "guarantee"),
    Fault(SetOrder, "hashing"),
    Fault(Buffer, "buffer"),
    Fault(OwnConstant, "buffer"),
    Fault(TooSmooth, "smoothness"),
    Fault(Jump, "smoothness"),
    Fault(Untriggered, "triggering"),
    Fault(Falling, "monotonicity"),
    Fault(TooLarge, "form"),
    Fault(Infeasible, "feasibility"),
    Fault(WrongSense, "guarantee"),
    Fault(IgnoresMeans, "guarantee"),
    Fault(FailsOnTies, "ties"),
    Fault(RareCrash, "errors"),
    Fault(Floats, "form"),
    Fault(Iterators, "form"),
    Fault(Repeats, "form"),
    Fault(OutOfRange, "form"),
    Fault(LosesParameters, "pickling"),
    Fault(Lenient, "membership"),
    Fault(IgnoresConstraints, "constraints"),
    Fault(GivesUp, "constraints"),
    Fault(AnyThatFits, "constraints"),
    Fault(Negative, "scale"),
    Fault(SmallBonus, "constraints"),
    Fault(IgnoresAvailable, "availability"),
    Fault(IgnoresSquares, "root"),
    Fault(WrongKernel, "compiled"),
    Fault(NoisyReward, "determinism"),
    Fault(SortsSuperArm, "input"),
    Fault(CheapCosts, "declaration"),
    Fault(TooCertain, "declaration"),
    Fault(BatchOfOneStream, "batch"),
]


# Sound, however odd -----------------------------------------------------------------------------------------


class HalfOptimal(Best):
    alpha = 0.5

    def solve(self, means, rng):
        first = int(np.argmax(means))
        return np.array([first, (first + 1) % N])


class Sometimes(Best):
    beta = 0.7

    def solve(self, means, rng):
        return best(means) if rng.random() < 0.7 else worst(means)


class RandomTies(Best):
    def solve(self, means, rng):
        order = rng.permutation(N)
        return order[best(means[order])]


class Spawning(Best):
    def solve(self, means, rng):
        order = rng.spawn(1)[0].permutation(N)
        return order[best(means[order])]


class LockedCopies(Locked):
    """Sound: its copies get a lock of their own."""

    def __getstate__(self):
        return {}

    def __setstate__(self, state):
        self.__init__()


class OneAtATime(LockedCopies):
    """Refuses to be shared by threads."""

    def solve(self, means, rng):
        if not self.lock.acquire(blocking=False):
            raise RuntimeError("another thread is using this oracle")
        try:
            return best(means)
        finally:
            self.lock.release()


class ThreadScratch(LockedCopies):
    def __init__(self):
        super().__init__()
        self.local = threading.local()

    def solve(self, means, rng):
        if not hasattr(self.local, "scratch"):
            self.local.scratch = np.empty(N)
        self.local.scratch[:] = -means
        return np.argsort(self.local.scratch, kind="stable")[:K]


class Remembering(Best):
    """Keeps its last thousand answers."""

    def __init__(self):
        self.known = {}

    def solve(self, means, rng):
        if len(self.known) > 1000:
            self.known = {}
        known = self.known  # another thread may put an empty one there
        return known.setdefault(means.tobytes(), best(means)).copy()


class Diary(Best):
    """Keeps the last thousand means that it was asked for."""

    def __init__(self):
        self.kept = deque(maxlen=1000)

    def solve(self, means, rng):
        self.kept.append(means.copy())
        return best(means)


class ShortIntegers(Best):
    def solve(self, means, rng):
        return best(means).astype(np.int32)


class Refusing(Best):
    def solve(self, means, rng):
        if means.min() < 0 or means.max() > 1:
            raise ValueError("means must lie in [0, 1]")
        return best(means)


class Contiguous(Best):
    def solve(self, means, rng):
        if not means.flags.c_contiguous:
            raise ValueError("means must be contiguous")
        return best(means)


class TwiceTheCost(Best):
    sense, alpha = "min", 2.0

    def solve(self, means, rng):
        pair = worst(means, 3)
        return pair[[0, 2]] if means[pair[2]] <= means[pair[1]] + means[pair[0]] else pair[:2]


class NoPromise(Best):
    alpha = float("nan")

    def solve(self, means, rng):
        return np.array([int(np.argmax(means)), int(np.argmin(means))]) if np.ptp(means) > 0 else np.arange(K)


class Timed(Best):
    """Measures its own calls."""

    seconds = 0.0

    def solve(self, means, rng):
        started = perf_counter()
        answer = best(means)
        self.seconds = perf_counter() - started
        return answer


class AnyHit(Oracle):
    n_arms = N

    def solve(self, means, rng):
        return np.sort(best(means))

    def expected_reward(self, super_arm, means):
        return float(1 - np.prod(1 - means[super_arm]))

    def triggered_arms(self, super_arm):
        return super_arm


SOUND = [
    Best, HalfOptimal, Sometimes, RandomTies, Spawning, LockedCopies, OneAtATime, ThreadScratch, Remembering,
    Diary, ShortIntegers, Refusing, Contiguous, TwiceTheCost, NoPromise, Timed, AnyHit,
]  # fmt: skip
SOUND_WITHOUT_FAMILY = [Large, LargeKnown]


def family_of(oracle):
    """Return all super arms where the checks are told them."""
    return None if oracle.n_arms > N else FAMILY
