"""The certificate of the regret of a policy: bounds that hold at all times with a stated confidence."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from cmab.arrays import IntArray
from cmab.oracle import Sense


@dataclass(frozen=True, eq=False)
class RegretCertificate:
    """Upper bounds on the regret so far and on the gap of the present choice.

    With probability at least ``1 - delta``, both bounds hold in all rounds. It is therefore allowed to stop
    as soon as a bound is small enough.

    Attributes
    ----------
    delta : float
        The probability with which any of the bounds is ever wrong.
    rounds : int
        The number of rounds with feedback.
    regret : float
        An upper bound on the regret of these rounds: `rounds` times `alpha` times the optimum, minus the sum
        of the expected rewards of the super arms that were played (for costs, with the opposite sign).
    gap : float
        An upper bound on the loss in one round if `choice` is played: `alpha` times the optimum, minus the
        expected reward of `choice`. ``nan`` if the reward is not monotone in the means.
    choice : IntArray, shape (size,)
        The super arm that the oracle returns for the present means.
    alpha : float
        The share of the optimum to which rewards are compared: 1, or the approximation ratio of the oracle.
    unseen : int
        The number of base arms without an outcome.
    method : str
        The bound that gave `regret`: ``"arm by arm"``, ``"joint"`` (a confidence set of all arms together)
        or ``"rewards"`` (the sum of the observed rewards).
    calls : int
        The number of calls of the oracle for this certificate.
    sense : {"max", "min"}
        Whether rewards are maximised or costs are minimised.
    labels : tuple of hashable
        The names of the entries of `choice`.
    oracle_failure : float
        The probability, in addition to `delta`, with which a randomised oracle misses its guarantee in the
        calls of this certificate; 0 for other oracles.

    Examples
    --------
    >>> from cmab import CUCB, regret_bound, simulate
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> policy = CUCB(TopK(3, k=1))
    >>> played = simulate(policy, SemiBandit(BernoulliArms([0.2, 0.9, 0.1]), policy.oracle), 400, rng=0)
    >>> found = regret_bound(policy, played.states[0], delta=0.05)
    >>> found.choice, bool(found.regret >= played.regret[0, -1])
    (array([1]), True)
    """

    delta: float
    rounds: int
    regret: float
    gap: float
    choice: IntArray
    alpha: float
    unseen: int
    method: str
    calls: int
    sense: Sense = "max"
    labels: tuple[Hashable, ...] = ()
    oracle_failure: float = 0.0

    def __repr__(self) -> str:
        return (
            f"RegretCertificate(delta={self.delta:g}, rounds={self.rounds:,}, regret<={self.regret:.4g},"
            f" gap<={self.gap:.4g}, alpha={self.alpha:g}, {self.method})"
        )

    def __str__(self) -> str:
        return f"{self.gap_in_words()} {self.regret_in_words()}"

    def gap_in_words(self, choice: str = "") -> str:
        """Return a sentence on the gap; `choice` is the text for the super arm, by default its labels."""
        if self.gap != self.gap:
            return "The gap of the present choice has no bound, because the reward is not monotone."
        named = choice or f"the present choice, {_listed(self.labels or tuple(self.choice.tolist()))}"
        what = "bring at most" if self.sense == "max" else "save at most"
        text = f"With {self._confidence} confidence, {self._best} would {what} {self.gap:.4g} more a round"
        if self.sense == "min":
            text = (
                f"With {self._confidence} confidence, {self._best} would save at most {self.gap:.4g} a round"
            )
        return f"{text} {'than' if self.sense == 'max' else 'against'} {named}."

    def regret_in_words(self) -> str:
        """Return a sentence on the regret."""
        unseen = f" {self.unseen:,} base arms have no outcome yet." if self.unseen else ""
        return (
            f"The regret of the {self.rounds:,} rounds so far is at most {self.regret:.4g} against"
            f" {self._best}.{unseen}"
        )

    @property
    def _confidence(self) -> str:
        return f"{100.0 * (1.0 - self.delta):.6g} %"

    @property
    def _best(self) -> str:
        return "the best super arm" if self.alpha == 1.0 else f"{self.alpha:.3g} times the best super arm"


def _listed(names: tuple[Hashable, ...], most: int = 10) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(map(str, names[:most])) + more
