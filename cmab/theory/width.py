"""The width of a family of super arms: the size of the exchanges between its super arms."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, permutations

from cmab.arrays import IntArray

Arms = frozenset[int]


def exchange_width(super_arms: Iterable[Iterable[int] | IntArray]) -> int:
    """Return the width of a family of super arms by trying all exchanges; only for small families.

    An exchange removes some arms from a super arm M and adds others; its size is the number of removed and
    added arms. For any two super arms M and N, and any arm of M that is not in N, consider the exchanges that
    remove this arm from M, remove only arms in M but not in N, and add only arms in N but not in M. Both M
    after the exchange, and N after the reverse exchange, must be in the family. The width is the smallest
    number such that for all M, N and arms there is such an exchange of at most this size.

    The width is at most 2 for the bases of a matroid, and at most the number of nodes for matchings and
    paths.

    Parameters
    ----------
    super_arms : iterable of iterable of int
        All super arms.

    Returns
    -------
    int
        The width; 0 for a single super arm.

    Examples
    --------
    >>> from cmab.theory.width import exchange_width
    >>> exchange_width([(0, 1), (0, 2), (1, 2)]), exchange_width([(0, 1), (2, 3, 4)])
    (2, 5)

    References
    ----------
    S. Chen, T. Lin, I. King, M. R. Lyu, W. Chen: Combinatorial Pure Exploration of Multi-Armed Bandits,
    NIPS 2014, section 3.1 and, from memory, Appendix A.
    """
    family = {frozenset(int(arm) for arm in arms) for arms in super_arms}
    needed = (_least_exchange(family, first, second, arm) for first, second, arm in _tasks(family))
    return max(needed, default=0)


def _tasks(family: set[Arms]) -> Iterable[tuple[Arms, Arms, int]]:
    """Yield every two super arms with every arm of the first that is not in the second."""
    for first, second in permutations(family, 2):
        for arm in first - second:
            yield first, second, arm


def _least_exchange(family: set[Arms], first: Arms, second: Arms, arm: int) -> int:
    """Return the size of the smallest exchange that removes `arm` from `first`."""
    others, additions = sorted(first - second - {arm}), sorted(second - first)
    for size in range(len(others) + len(additions) + 1):
        for moved in combinations(range(len(others) + len(additions)), size):
            out = {arm} | {others[i] for i in moved if i < len(others)}
            into = {additions[i - len(others)] for i in moved if i >= len(others)}
            if (first - out) | into in family and (second - into) | out in family:
                return size + 1
    raise AssertionError("the exchange of all differences is always possible")
