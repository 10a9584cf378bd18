"""The certificate of the regret of a policy: bounds that hold at all times with a stated confidence."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal

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
        An upper bound on the approximation regret of these rounds: `rounds` times `alpha` times the optimum,
        minus the sum of the expected rewards of the super arms that were played (for costs, with the opposite
        sign).
    exact_regret : float
        An upper bound on the regret against the optimum itself. It is infinite if the oracle does not bound
        the optimum.
    gap : float
        An upper bound on `alpha` times the optimum, minus the expected reward of `choice`. ``nan`` if the
        reward is not monotone in the means.
    exact_gap : float
        An upper bound on the loss in one round if `choice` is played: the optimum minus its expected reward.
    choice : IntArray, shape (size,)
        The super arm that the oracle returns for the present means.
    alpha : float
        The approximation ratio of the oracle; ``nan`` if it declares none.
    unseen : int
        The number of base arms without an outcome.
    method : str
        The confidence set that gave `exact_regret`: ``"arm by arm"`` and ``"joint"`` for sums of means,
        ``"rewards"`` for other rewards, and ``"no rewards"`` if no reward is known.
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
    exact_regret: float
    gap: float
    exact_gap: float
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

    def allows_loss(self, loss: float) -> bool:
        """Return whether `choice` certainly loses at most `loss` a round, so that learning may stop.

        The bounds hold in all rounds, so the test may be repeated after each round.

        Examples
        --------
        >>> from cmab import CTS, Feedback, Session
        >>> from oracles import TopK
        >>> session = Session(CTS(TopK(2, k=1)), rng=0)
        >>> while not session.regret_bound().allows_loss(0.2):
        ...     ticket = session.ask()
        ...     session.tell(Feedback(ticket, [0.9 if 1 in ticket else 0.1]))
        >>> session.regret_bound().choice
        array([1])
        """
        return self.exact_gap <= loss

    def gap_in_words(self, best: str = "the best super arm", choice: str = "") -> str:
        """Return a sentence on the gap.

        Parameters
        ----------
        best : str
            The words for the optimum.
        choice : str
            The words for the present choice. If omitted, its labels.
        """
        if self.exact_gap != self.exact_gap:
            return "The loss of the present choice has no bound, because the reward is not monotone."
        named = choice or f"the present choice, {_listed(self.labels or tuple(self.choice.tolist()))}"
        if self.exact_gap == float("inf"):
            return f"The loss of {named}, has no bound, because the oracle does not bound the optimum."
        verb, relation = (
            ("bring", "more a round than") if self.sense == "max" else ("cost", "less a round than")
        )
        return (
            f"{self._confidence}, {best} would {verb} at most {_raised(self.exact_gap)} {relation} {named}."
        )

    def regret_in_words(self, best: str = "the best super arm") -> str:
        """Return a sentence on the regret against the optimum; `best` is the words for it."""
        if self.exact_regret == float("inf"):
            return "The regret so far has no bound, because the oracle does not bound the optimum."
        verb = "brought" if self.sense == "max" else "cost"
        relation = "less" if self.sense == "max" else "more"
        unseen = f" Arms without an outcome: {self.unseen:,}." if self.unseen else ""
        return (
            f"{self._confidence}, the {_counted(self.rounds)} so far {verb} at most"
            f" {_raised(self.exact_regret)} {relation} than {best} would have.{unseen}"
        )

    @property
    def _confidence(self) -> str:
        if self.delta < 1e-6:
            return f"With confidence 1 - {self.delta:g}"
        return f"With {100.0 * (1.0 - self.delta):.10g} % confidence"


def _raised(bound: float) -> str:
    """Return `bound` rounded up, because a smaller number would not be a bound."""
    if bound <= 0.0 or 100.0 <= bound < 1e15:
        return f"{math.ceil(bound):,}"
    exact = Decimal(repr(float(bound)))
    step = Decimal(1).scaleb(exact.adjusted() - 2)
    return f"{float(exact.quantize(step, ROUND_CEILING)):.3g}"


def _counted(rounds: int) -> str:
    return "round" if rounds == 1 else f"{rounds:,} rounds"


def _listed(names: tuple[Hashable, ...], most: int = 10) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(map(str, names[:most])) + more
