"""The result of `simulate`."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.certificates.regret_certificate import RegretCertificate
from cmab.oracle import Sense
from cmab.results.regret import cumulative_regret


@dataclass(frozen=True, eq=False)
class Simulation:
    """The result of `simulate` in R replications with C checkpoints.

    Attributes
    ----------
    policy : str
        The name of the policy.
    rounds : IntArray, shape (C,)
        The checkpoints: rounds at which the other arrays were recorded.
    expected_rewards : FloatArray, shape (R, C)
        Cumulative expected reward of the super arms played.
    rewards : FloatArray, shape (R, C)
        Cumulative realised reward of the super arms played.
    oracle_calls : IntArray, shape (R,)
        Number of calls of ``policy.oracle.solve``. A `MemoisedOracle` counts separately how many of these
        calls it passed on.
    oracle_seconds : FloatArray, shape (R,)
        Wall-clock time in these calls, in seconds; ``nan`` on the compiled path, which does not measure it.
    seconds : FloatArray, shape (R,)
        Wall-clock time of the replication, in seconds.
    optimum : float
        Expected reward of the best super arm; ``nan`` if the environment does not know it. If rounds differ,
        the mean over all rounds played.
    alpha, beta : float
        The guarantee that the policy's oracle declares.
    sense : {"max", "min"}
        Whether rewards are maximised or costs minimised.
    path : str
        The loop that ran: ``"compiled"`` (policy, oracle and environment are compiled), ``"mixed"`` (a Python
        oracle between a compiled policy and a compiled environment), ``"batch"`` (like ``"mixed"``, with all
        replications side by side, if the oracle overrides `Oracle.solve_batch` and draws no random
        numbers) or ``"python"``. All loops return the same numbers.
    states : list
        Final state of the policy in each replication.
    super_arms : list of IntArray
        Last super arm of each replication.
    optima : FloatArray or None, shape (R, C)
        Cumulative optimum of the rounds if rounds differ (`Environment.in_round`), otherwise None. Regret is
        measured against it.
    change_points : list of IntArray
        For each replication, the rounds after which the policy detected a change of the means and restarted
        (`GLRRestart`). Empty for policies that do not detect changes.
    budgets_left : list of FloatArray
        For each replication, a lower bound on the rest of each budget: a round without feedback so far counts
        with its largest consumption. Empty for policies without budgets.
    certificates : list of list of RegretCertificate
        For each replication, the certificate at each checkpoint. Empty unless `simulate` received `certify`.

    proved_optima : FloatArray or None, shape (R, C)
        Cumulative optimum of the rounds, each times the approximation ratio that the oracle proved in the
        round; None unless the oracle certifies its calls (`certifies_calls`), as oracles with a limit
        do. In a round with several calls, the worst ratio counts. In a round without a call, the ratio of the
        last call counts. Files of studies do not store it.

    Examples
    --------
    >>> from cmab import CUCB, simulate
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(n_arms=3, k=1)
    >>> result = simulate(CUCB(oracle), SemiBandit(BernoulliArms([0.2, 0.9, 0.1]), oracle), 50, rng=0)
    >>> bool(result.regret[0, -1] == 50 * 0.9 - result.expected_rewards[0, -1])
    True
    """

    policy: str
    rounds: IntArray
    expected_rewards: FloatArray
    rewards: FloatArray
    oracle_calls: IntArray
    oracle_seconds: FloatArray
    seconds: FloatArray
    optimum: float
    alpha: float
    beta: float
    sense: Sense
    path: str = "python"
    states: list[Any] = field(default_factory=list, repr=False)
    super_arms: list[IntArray] = field(default_factory=list, repr=False)
    optima: FloatArray | None = field(default=None, repr=False)
    change_points: list[IntArray] = field(default_factory=list, repr=False)
    budgets_left: list[FloatArray] = field(default_factory=list, repr=False)
    proved_optima: FloatArray | None = field(default=None, repr=False)
    certificates: list[list[RegretCertificate]] = field(default_factory=list, repr=False)

    @property
    def regret(self) -> FloatArray:
        """Cumulative (alpha, beta)-approximation regret, shape (R, C); Chen et al. 2016, Definition 4."""
        return self._regret(self.alpha * self.beta)

    @property
    def exact_regret(self) -> FloatArray:
        """Cumulative regret against the optimum itself, shape (R, C)."""
        return self._regret(1.0)

    @property
    def regret_at_proved_ratios(self) -> FloatArray:
        """Cumulative regret against the optimum times the ratio proved in each round, shape (R, C).

        The benchmark of a round is ``ratio_t * optimum``, where `ratio_t` is the ratio that the oracle proved
        for the means of this round. The regret bounds of optimistic policies hold for this regret, because
        each round of the proof uses only the ratio of its own call (Chen et al. 2016, proof of Theorem 1). It
        equals `regret` if the oracle does not certify its calls. It is infinite or ``nan`` from the first
        round in which the call proved no ratio.
        """
        if self.proved_optima is None:
            return self.regret
        return cumulative_regret(self.expected_rewards, self.proved_optima, per_round=1.0, sense=self.sense)

    @property
    def regret_bounds(self) -> FloatArray | None:
        """Certified upper bounds on `regret`, shape (R, C), or None without certificates."""
        return self._bounds("regret")

    @property
    def exact_regret_bounds(self) -> FloatArray | None:
        """Certified upper bounds on `exact_regret`, shape (R, C), or None without certificates."""
        return self._bounds("exact_regret")

    def _bounds(self, name: str) -> FloatArray | None:
        if not self.certificates:
            return None
        # After Ctrl-C, the last checkpoints have no certificate.
        bounds = np.full(self.rewards.shape, np.nan)
        for row, each in zip(bounds, self.certificates, strict=True):
            row[: len(each)] = [getattr(one, name) for one in each]
        return bounds

    def _regret(self, share: float) -> FloatArray:
        """Return the regret against `share` times the optimum."""
        rounds: IntArray | FloatArray
        # With the same optimum in all rounds, t times the optimum. Otherwise the sum of the optima of the
        # rounds.
        if self.optima is None:
            rounds, per_round = self.rounds, share * self.optimum
        else:
            rounds, per_round = self.optima, share
        return cumulative_regret(self.expected_rewards, rounds, per_round=per_round, sense=self.sense)

    @property
    def reward_per_round(self) -> FloatArray:
        """Mean expected reward per round since the previous checkpoint, shape (R, C)."""
        return np.diff(self.expected_rewards, prepend=0.0, axis=1) / np.diff(self.rounds, prepend=0)

    def plot(self, ax: Any = None, *, path: str | os.PathLike[str] | None = None) -> Any:
        """Draw the regret with its 95 % band.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. If omitted, a new figure is created.
        path : str or path-like, optional
            File to write the picture to, such as ``"picture.png"`` or ``"picture.pdf"``. If omitted, no file
            is written. A notebook shows the picture; a script shows it with ``matplotlib.pyplot.show()``.

        Returns
        -------
        matplotlib Axes
            The axes with the picture.
        """
        from cmab.plotting import regret_curves
        from cmab.plotting._style import written

        return written(regret_curves({self.policy: self}, ax=ax), path)

    def __repr__(self) -> str:
        n_replications, last = self.rewards.shape[0], int(self.rounds[-1])
        regrets = {"regret": self.exact_regret}
        # The approximation regret may be negative, so it is named separately.
        if self.alpha * self.beta != 1.0:
            regrets["(alpha, beta)-regret"] = self.regret
        if self.proved_optima is not None:
            regrets["regret at proved ratios"] = self.regret_at_proved_ratios
        final = {name: values[:, -1][np.isfinite(values[:, -1])] for name, values in regrets.items()}
        told = ", ".join(
            f"mean {name} {f'{values.mean():.4g}' if values.size else 'unknown'}"
            for name, values in final.items()
        )
        return f"Simulation({self.policy}: {n_replications} x {last} rounds, {told})"

    def _repr_html_(self) -> str:
        from cmab.results._html import escape, table
        from cmab.results._rankings import folded, learner_rows

        if not np.isfinite(self.expected_rewards[:, -1]).any():
            return escape(repr(self))
        return table(folded(learner_rows({self.policy: self})), f"After round {self.rounds[-1]:,}")
