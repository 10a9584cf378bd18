"""The reports with hidden outcomes that a session has received, and the chain that draws these outcomes."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from cmab.arrays import FloatArray
from cmab.cascades.cascade import CascadeFeedback
from cmab.cascades.chain import Chain
from cmab.cascades.kept import KeptCascades, chain_of, reports_of
from cmab.cascades.prior import BetaPrior
from cmab.feedback import Feedback
from cmab.statistics import ArmStatistics

#: The most flips of the passes before a choice, and their largest number.
_CHOOSING, _CHOSEN = 500_000, 5


class Cascades:
    """The reports with hidden outcomes, in the order in which they were told, and their chain.

    The chain is a function of the reports alone, so the same journal gives the same chain in every process.
    It continues from report to report. At the reports 1 to 10, and whenever their number has grown by a
    tenth, it starts again with more passes. A process that opens a long journal repeats only the last part.

    Parameters
    ----------
    prior : BetaPrior
        The prior of the means.
    state : ArmStatistics
        The observed outcomes before the first of these reports.
    """

    def __init__(self, prior: BetaPrior, state: ArmStatistics) -> None:
        self.prior = prior
        self.reports: list[CascadeFeedback] = []
        self.tried = state.counts.astype(np.float64)
        self.won = self.tried * state.means
        self._since: list[Feedback] = []
        self._chain: Chain | None = None
        self._started, self._next = 0, 1

    @classmethod
    def of(cls, parts: KeptCascades, prior: BetaPrior, network: Any) -> Cascades:
        """Return the reports and the chain of a file; raise ``ValueError`` if they are impossible."""
        cascades: Cascades = object.__new__(cls)
        cascades.prior, cascades.reports = prior, reports_of(parts, network)
        cascades._chain, cascades._since = chain_of(parts, cascades.reports, prior), []
        cascades.won, cascades.tried = parts.won.copy(), parts.tried.copy()
        cascades._started, cascades._next = parts.clock[:2].tolist()
        return cascades

    @property
    def clock(self) -> tuple[int, int]:
        """The number of reports at the last start of the chain, and that of the next start."""
        return self._started, self._next

    def __bool__(self) -> bool:
        return bool(self.reports)

    def __copy__(self) -> Cascades:
        twin = object.__new__(Cascades)
        twin.__dict__.update(self.__dict__, reports=self.reports.copy(), _since=self._since.copy())
        twin.won, twin.tried = self.won.copy(), self.tried.copy()
        twin._chain = None if self._chain is None else self._chain.copy()
        return twin

    def with_prior(self, prior: BetaPrior) -> Cascades:
        """Return a copy with another prior, whose chain starts again."""
        self.chain()  # so that all observed outcomes are counted
        twin = copy(self)
        twin.prior, twin._chain, twin._started = prior, None, len(self.reports)
        return twin

    def tell(self, feedback: Feedback) -> None:
        """Add a report, with or without hidden outcomes."""
        self._since.append(feedback)
        if not isinstance(feedback, CascadeFeedback):
            return
        self.reports.append(feedback)
        n = len(self.reports)
        if n == self._next:
            for one in self._since:
                self._observe(one)
            self._since, self._chain = [], None
            self._started, self._next = n, n + max(1, n // 10)

    def chain(self) -> Chain:
        """Return the chain after all reports."""
        chain = self._chain
        if chain is not None and not self._since:
            return chain
        # An interrupt leaves the chain as it was, because the new reports are added to a copy.
        if chain is None:
            chain = Chain(self.prior, self.won, self.tried)
            for report in self.reports[: self._started]:
                chain.add(report.problem)
            chain.settle(np.random.default_rng(self._started))
        else:
            chain = chain.copy()
        number = len(self.reports) - sum(isinstance(one, CascadeFeedback) for one in self._since)
        for one in self._since:
            chain.observe(one.arms, one.outcomes)
            if isinstance(one, CascadeFeedback):
                number += 1
                chain.add(one.problem)
                chain.follow(np.random.default_rng(number), fresh=1)
        done, self._since, self._chain = self._since, [], chain
        for one in done:
            self._observe(one)
        return chain

    def drawn(self, rng: np.random.Generator) -> Chain:
        """Return a copy of the chain after some more passes."""
        return self.continued(self.chain().copy(), rng)

    def continued(self, chain: Chain, rng: np.random.Generator) -> Chain:
        """Return `chain` after some more passes."""
        own = np.random.default_rng(int(rng.integers(2**62)))
        chain.run(chain.affordable(_CHOOSING, _CHOSEN), own)
        return chain

    def completed(self, policy: Any, state: ArmStatistics, chain: Chain) -> ArmStatistics:
        """Return the state of `policy` with the outcomes that the chain has drawn."""
        won, lost = self.hidden(chain)
        completed: ArmStatistics = policy._completed(state, won, lost)
        return completed

    def hidden(self, chain: Chain) -> tuple[FloatArray, FloatArray]:
        """Return how often each arm has succeeded and failed in the outcomes that are not observed."""
        won = np.rint(chain.won - self.won)
        return won, np.rint(chain.lost - (self.tried - self.won))

    def _observe(self, feedback: Feedback) -> None:
        np.add.at(self.won, feedback.arms, feedback.outcomes)
        np.add.at(self.tried, feedback.arms, 1.0)
