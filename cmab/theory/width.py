"""The width of a family of super arms: the size of the exchanges between its super arms."""

from __future__ import annotations

from collections.abc import Iterable

from cmab.arrays import IntArray


def exchange_width(super_arms: Iterable[Iterable[int] | IntArray]) -> int:
    """Return the width of a family of super arms by trying all exchanges to another super arm.

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
    # A super arm is a number whose bits are its arms, and an exchange is the number of its moved arms.
    family = {sum(1 << int(arm) for arm in {*arms}) for arms in super_arms}
    widest = 0
    for first in family:
        exchanges = sorted((first ^ other for other in family if other != first), key=int.bit_count)
        for second in family:
            differing = first ^ second
            left = first & differing  # the arms of the first super arm that no exchange has removed yet
            for moved in exchanges:
                if not left:
                    break
                if moved & left and not moved & ~differing and second ^ moved in family:
                    left &= ~moved
                    widest = max(widest, moved.bit_count())
    return widest
