"""Top-two rules for the best arm: a leader and the challenger that is hardest to tell from it."""

from __future__ import annotations

from dataclasses import dataclass, field

from cmab.compiled.forms import Rule
from cmab.declared import real
from cmab.exploration.likelihood import LikelihoodStop


@dataclass(frozen=True, eq=False, kw_only=True)
class _TopTwo(LikelihoodStop):
    """Base: the leader gets the share `beta` of the samples."""

    k: int = field(default=1, init=False)
    beta: float = field(default=0.5, metadata=real(0.0, 1.0, inside=True))


@dataclass(frozen=True, eq=False)
class EBTCI(_TopTwo):
    """EB-TCI (Jourdan et al. 2022): the best mean, against the least evidence with a penalty on counts.

    The challenger has the least ``(m_b - m_j)^2 / (2 sigma^2 (1 / T_b + 1 / T_j)) + ln T_j``; a coin of
    probability `beta` chooses between the two. For Gaussian arms the mean number of samples over ``ln(1 /
    delta)`` tends to the least one of rules that give the best arm the share `beta`
    (`cmab.theory.characteristic_time` with ``beta``), at ``beta = 1/2`` at most twice the least of all. The
    stop is that of `BestKGLR`: proven to err with probability at most `delta`, its constants from memory of
    the paper. With the pair's own shares in place of `beta` it is `BestKGLR` with ``k = 1``.

    Parameters
    ----------
    n_arms : int
        Number of arms, at least 2.
    delta : float
        Probability of failure, in (0, 1).
    sigma : float
        Scale of Gaussian outcomes (or sub-Gaussian scale); left out where `family` is ``"bernoulli"``.
    epsilon : float
        Tolerance, 0 for the best arm exactly; with one, runs end on ties too.
    family : {"gaussian", "bernoulli"}
        What the likelihoods are of: Gaussian outcomes, or coins and any other outcomes in [0, 1].
    mode : {"faithful", "heuristic"}
        As of `BestKGLR`: "heuristic" certifies nothing.
    beta : float
        Share of the leader, in (0, 1).

    Examples
    --------
    >>> from cmab import EBTCI, identify
    >>> from instances import GaussianArms
    >>> identify(EBTCI(3, delta=0.1), GaussianArms([1.0, 0.0, 0.0], sigma=0.5), rng=0).arms
    [array([0])]

    References
    ----------
    M. Jourdan, R. Degenne, D. Baudry, R. de Heide, E. Kaufmann: Top Two Algorithms Revisited, NeurIPS 2022
    (from memory).
    """

    def rule(self) -> Rule:
        from cmab.exploration._kernels_top_two import eb_tci_rule

        return eb_tci_rule(self._stop, self.beta)


@dataclass(frozen=True, eq=False)
class TTUCB(_TopTwo):
    """TTUCB (Jourdan and Degenne 2023): an optimistic leader, and tracking instead of a coin.

    The leader has the largest ``m_i + sigma sqrt(5.28 ln n / T_i)`` after n samples, its challenger the
    least evidence; the leader is sampled whenever its own samples are at most `beta` times the steps that it
    has led. It needs no randomness. Asymptotics and stop are those of `EBTCI`, and the paper also bounds the
    mean number of samples at fixed `delta`. Every feedback counts as a step, of the leader after it.

    Parameters
    ----------
    n_arms : int
        Number of arms, at least 2.
    delta : float
        Probability of failure, in (0, 1).
    sigma : float
        Scale of Gaussian outcomes (or sub-Gaussian scale); left out where `family` is ``"bernoulli"``.
    epsilon : float
        Tolerance, 0 for the best arm exactly; with one, runs end on ties too.
    family : {"gaussian", "bernoulli"}
        What the likelihoods are of: Gaussian outcomes, or coins and any other outcomes in [0, 1].
    mode : {"faithful", "heuristic"}
        As of `BestKGLR`: "heuristic" certifies nothing.
    beta : float
        Share of the leader, in (0, 1).

    Examples
    --------
    >>> from cmab import TTUCB, identify
    >>> from instances import GaussianArms
    >>> identify(TTUCB(3, delta=0.1), GaussianArms([1.0, 0.0, 0.0], sigma=0.5), rng=0).arms
    [array([0])]

    References
    ----------
    M. Jourdan, R. Degenne: Non-Asymptotic Analysis of a UCB-based Top Two Algorithm, NeurIPS 2023 (from
    memory).
    """

    # 2 a (1 + s) at a = s = 1.2, from memory; any a, s > 1 are proven.
    _factor = 2.0 * 1.2 * 2.2

    def rule(self) -> Rule:
        """Return the compiled rule, which counts the steps of each leader: all, and those with it sampled."""
        from cmab.exploration._kernels_top_two import ttucb_rule

        bonus = self._factor * self.sigma**2
        return ttucb_rule(self.n_arms, self._stop, self.beta, bonus)
