"""The results of `simulate` and `identify`, and the archive in which they are stored."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

import numpy as np

from cmab import archive
from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.bounds.certificate import RegretCertificate
from cmab.exploration.certificate import Certificate
from cmab.oracle import Oracle, Sense
from cmab.run.tables import number, text
from cmab.validation import shown

Result = TypeVar("Result", "Simulation", "Identification")


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
        Cumulative expected reward of the super arms played; ``nan`` after an interruption.
    rewards : FloatArray, shape (R, C)
        Cumulative realised reward of the super arms played.
    oracle_seconds : FloatArray, shape (R,)
        Wall-clock time in seconds of the choices: in `Oracle.solve` on the mixed path, and in
        `Policy.select`, which calls the oracle, on the Python path; ``nan`` on the compiled path.
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
        oracle between a compiled policy and a compiled environment) or ``"python"``. All loops return the
        same numbers.
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
    certificates: list[list[RegretCertificate]] = field(default_factory=list, repr=False)

    @property
    def regret(self) -> FloatArray:
        """Cumulative (alpha, beta)-approximation regret, shape (R, C); Chen et al. 2016, Definition 4.

        It is the regret against ``alpha * beta`` times the optimum, so it can be negative. If the oracle is
        exact, it equals `exact_regret`.
        """
        return self._regret(self.alpha * self.beta)

    @property
    def exact_regret(self) -> FloatArray:
        """Cumulative regret against the optimum itself, shape (R, C)."""
        return self._regret(1.0)

    @property
    def regret_bounds(self) -> FloatArray | None:
        """Certified upper bounds on `regret`, shape (R, C), or None without certificates."""
        return self._bounds("regret")

    @property
    def exact_regret_bounds(self) -> FloatArray | None:
        """Certified upper bounds on `exact_regret`, shape (R, C), or None without certificates."""
        return self._bounds("exact_regret")

    @property
    def reward_per_round(self) -> FloatArray:
        """Mean expected reward per round since the previous checkpoint, shape (R, C)."""
        return np.diff(self.expected_rewards, prepend=0.0, axis=1) / np.diff(self.rounds, prepend=0)

    @property
    def is_exact(self) -> bool:
        """Whether `regret` and `exact_regret` are the same."""
        return self.alpha * self.beta == 1.0

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
        from cmab.plotting.style import written

        return written(regret_curves({self.policy: self}, ax=ax), path)

    def __repr__(self) -> str:
        regrets = {"regret": self.regret}
        if not self.is_exact:
            regrets["exact regret"] = self.exact_regret
        final = {name: values[:, -1][np.isfinite(values[:, -1])] for name, values in regrets.items()}
        means = ", ".join(
            f"mean {name} {f'{values.mean():.4g}' if values.size else 'unknown'}"
            for name, values in final.items()
        )
        return f"Simulation({self.policy}: {len(self.rewards)} x {self.rounds[-1]} rounds, {means})"

    def _repr_html_(self) -> str:
        from cmab.run.compare import learner_rows

        return text(learner_rows({self.policy: self}), "html")

    def _regret(self, share: float) -> FloatArray:
        """Return the regret against `share` times the optimum."""
        # With the same optimum in all rounds, t times the optimum. Otherwise the sum of the optima.
        if self.optima is None:
            return self._against((self.rounds * (share * self.optimum)).astype(np.float64, copy=False))
        return self._against(share * self.optima)

    def _against(self, benchmark: FloatArray) -> FloatArray:
        difference: FloatArray = benchmark - self.expected_rewards
        return difference if self.sense == "max" else -difference

    def _bounds(self, name: str) -> FloatArray | None:
        if not self.certificates:
            return None
        # After an interruption, the last checkpoints have no certificate.
        bounds = np.full(self.rewards.shape, np.nan)
        for row, each in zip(bounds, self.certificates, strict=True):
            row[: len(each)] = [getattr(one, name) for one in each]
        return bounds


@dataclass(frozen=True, eq=False)
class Identification:
    """The result of `identify` in R replications.

    Attributes
    ----------
    explorer : str
        The name of the explorer.
    arms : list of IntArray
        The arms returned in each replication. If `max_samples` ended the run they are only the best guess,
        and empty if the run had no sample.
    samples : IntArray, shape (R,)
        Number of samples. If `max_samples` ended the run, the rule would have needed more.
    correct : BoolArray, shape (R,)
        Whether the arms meet the explorer's goal, whether or not it stopped. All False if `judged` is False.
    stopped : BoolArray, shape (R,)
        Whether the explorer's stopping rule or budget ended the run. If False, `max_samples` ended the run
        and the arms have no guarantee.
    certified : BoolArray, shape (R,)
        Whether the arms have the guarantee of the explorer: its stopping rule ended the run and has a proof.
        Always False with a fixed budget and in heuristic modes.
    seconds : FloatArray, shape (R,)
        Wall-clock time in seconds.
    path : str
        The loop that ran: ``"compiled"`` or ``"python"``.
    judged : bool
        Whether the explorer has a goal, which decides whether an answer is correct.
    counts : IntArray, shape (R, n_arms), or None
        Samples of each arm. `cmab.bounds.best_k_time` returns the shares of an optimal rule. None for
        states that do not count.
    certificates : list of Certificate
        The certificate of each run: its guarantee, its intervals and the two arms that were the hardest to
        separate. Empty for runs read from a study or a file.

    Examples
    --------
    >>> from cmab import SAR, identify
    >>> from instances import BernoulliArms
    >>> found = identify(SAR(4, k=1, budget=400), BernoulliArms([0.9, 0.1, 0.1, 0.1]), rng=0)
    >>> found.arms, found.samples
    ([array([0])], array([399]))
    """

    explorer: str
    arms: list[IntArray]
    samples: IntArray
    correct: BoolArray
    stopped: BoolArray
    certified: BoolArray
    seconds: FloatArray
    path: str = "python"
    judged: bool = True
    counts: IntArray | None = None
    certificates: list[Certificate] = field(default_factory=list)

    @property
    def wrong(self) -> BoolArray:
        """Whether a run ended by its own rule with a wrong answer; False for runs that were cut off."""
        # The answer of a run that was cut off is a guess, which says nothing about the rule.
        return self.stopped & ~self.correct & self.judged

    @property
    def median(self) -> float:
        """The median of the samples, in which runs that were cut off rank above all others; it may be inf."""
        return float(np.median(np.where(self.stopped, self.samples, np.inf)))

    def __repr__(self) -> str:
        # There is no mean if a run was cut off.
        is_whole = bool(self.stopped.all())
        samples = float(self.samples.mean()) if is_whole else self.median
        known = number(samples) if np.isfinite(samples) else "unknown"
        wrong = f"{int(self.wrong.sum())} of them wrong" if self.judged else "not judged: it has no goal"
        runs = f"{len(self.arms)} runs, {int(self.stopped.sum())} stopped, {wrong}"
        return f"Identification({self.explorer}: {runs}, {'mean' if is_whole else 'median'} samples {known})"

    def _repr_html_(self) -> str:
        from cmab.run.compare import explorer_rows

        return text(explorer_rows({self.explorer: self}), "html")


#: Fields that all replications share. The others have one entry, or one row, for each replication.
_SHARED = {"policy", "rounds", "optimum", "alpha", "beta", "sense", "path", "explorer", "judged"}
# States and certificates are instances of classes that a reader may not have.
_LEFT_OUT = {"states", "certificates"}
_LISTS = ("super_arms", "change_points", "budgets_left", "arms")
_FORMAT = 1


def joined(results: Sequence[Result]) -> Result:
    """Return one result with the replications of all results, in their order."""
    every: list[Any] = list(results)
    first = every[0]
    values: dict[str, Any] = {}
    for name in (each.name for each in fields(first) if each.name not in _SHARED):
        parts = [getattr(result, name) for result in every]
        if isinstance(parts[0], list):
            values[name] = [entry for part in parts for entry in part]
        elif parts[0] is not None:
            values[name] = np.concatenate(parts)
    if getattr(first, "optima", None) is not None:
        values["optimum"] = float(np.mean([result.optimum for result in every]))
    joint: Result = replace(first, **values)
    return joint


def benchmark(oracle: Oracle, optimum: float) -> float:
    """Return the benchmark of the (alpha, beta)-approximation regret for a round.

    It is ``alpha * beta * optimum`` for rewards. For costs it is ``alpha * optimum`` with alpha >= 1; because
    a failure probability has no agreed meaning for costs, beta must be 1.

    Raises
    ------
    ValueError
        If the oracle minimises and declares ``beta < 1`` or ``alpha < 1``.
    """
    if oracle.sense == "min" and (oracle.beta != 1.0 or oracle.alpha < 1.0):
        raise ValueError(
            "an oracle that minimises must declare alpha >= 1 and beta = 1, got"
            f" alpha={oracle.alpha}, beta={oracle.beta} from {shown(oracle)}"
        )
    return oracle.alpha * oracle.beta * optimum


def archived(header: dict[str, Any], results: dict[str, Any]) -> bytes:
    """Return results by name, without states and certificates, as an archive of numpy without pickle."""
    arrays: dict[str, Any] = {}
    plain: dict[str, Any] = {}
    for place, (name, result) in enumerate(results.items()):
        plain[name] = {"kind": type(result).__name__}
        for key in (each.name for each in fields(result) if each.name not in _LEFT_OUT):
            value = getattr(result, key)
            if isinstance(value, np.ndarray):
                arrays[f"{place}.{key}"] = value
            elif isinstance(value, list):  # of arrays with different lengths
                arrays |= {f"{place}.{key}.{i}": part for i, part in enumerate(value)}
                plain[name][key] = len(value)
            else:
                plain[name][key] = value
    return archive.packed({"format": _FORMAT, "header": header, "results": plain}, arrays)


def from_archive(data: bytes, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the header and the results of an archive.

    Raises
    ------
    ValueError
        If `name`, the file of the data, is not such an archive.
    """
    entries, arrays = archive.unpacked(data, name)
    if not isinstance(entries, dict) or entries.get("format") != _FORMAT:
        raise ValueError(f"{name} must hold results of this version of cmab, got another archive")
    results = {}
    for place, (key, plain) in enumerate(entries["results"].items()):
        kind: Any = Simulation if plain.pop("kind") == "Simulation" else Identification
        own = {f.name: arrays[f"{place}.{f.name}"] for f in fields(kind) if f"{place}.{f.name}" in arrays}
        lists = {
            each: [arrays[f"{place}.{each}.{i}"] for i in range(length)]
            for each, length in plain.items()
            if each in _LISTS
        }
        results[key] = kind(**plain | own | lists)
    return entries["header"], results
