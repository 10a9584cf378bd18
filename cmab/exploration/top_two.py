"""Top-two explorers for the best arm, which sample a leader or its closest challenger."""

from __future__ import annotations

from dataclasses import dataclass, field

from cmab.compiled import Rule
from cmab.declared import real
from cmab.exploration.likelihood import LikelihoodStop


@dataclass(frozen=True, eq=False, kw_only=True)
class _TopTwo(LikelihoodStop):
    """Base class of top-two rules, in which the leader gets the share `beta` of the samples."""

    k: int = field(default=1, init=False)
    beta: float = field(default=0.5, metadata=real(0.0, 1.0, inside=True))


@dataclass(frozen=True, eq=False)
class TTUCB(_TopTwo):
    """TTUCB (Jourdan and Degenne 2023): a top-two rule with an optimistic leader and no randomness.

    Use this explorer for the best arm if choices must be deterministic and the mean number of samples must
    have a proven bound. `BestKGLR` needs fewer samples on most instances, but is not proven to stop.

    After n samples, the leader is the arm with the largest ``m_i + sigma sqrt(y / T_i)``. The bonus y comes
    from a mixture of martingales: it is the solution of ``y - ln y = 2.88 ln n + 2 ln(2 + 1.2 ln n) + 2``
    with ``y > 1``. The paper also has the bonus ``5.28 ln n`` from a union bound, which is larger. On random
    instances it needed a tenth more samples with the heuristic threshold, and as many with the proven one
    (`tests/benchmarks/top_two.py`).

    The challenger is the arm with the least evidence that the leader is better. For each arm, the explorer
    counts the steps in which the arm was the leader, and how often it was sampled in these steps. It samples
    the leader if the second number is at most `beta` times the first, and the challenger otherwise. Each call
    of `update` counts as one step.

    The stopping rule is that of `BestKGLR`. For Gaussian arms, the mean number of samples divided by ``ln(1 /
    delta)`` tends, as `delta` tends to 0, to the least value of all rules that give the best arm the share
    `beta` (`cmab.theory.characteristic_time` with ``beta``). For ``beta = 1/2``, this is at most twice the
    least value of all rules. The paper also bounds the mean number of samples for fixed `delta`.

    Parameters
    ----------
    n_arms : int
        Number of arms, at least 2.
    delta : float
        Probability of failure, in (0, 1).
    sigma : float
        Standard deviation of Gaussian outcomes, or sub-Gaussian scale. Omit it if `family` is
        ``"bernoulli"``.
    epsilon : float
        Tolerance. With 0, the default, the answer must be the best arm. With a positive tolerance, runs also
        end if arms are tied.
    family : {"gaussian", "bernoulli"}
        Distribution in the likelihoods. ``"bernoulli"`` is valid for all outcomes in [0, 1].
    mode : {"faithful", "heuristic"}
        As for `BestKGLR`. With "heuristic", no answer is certified.
    beta : float
        Share of the samples for the leader, in (0, 1).

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

    def rule(self) -> Rule:
        """Return the compiled rule, which counts the steps of each leader and its samples in them."""
        from cmab.exploration._kernels_top_two import ttucb_rule

        return ttucb_rule(self.n_arms, self._stop, self.beta, self.sigma)
