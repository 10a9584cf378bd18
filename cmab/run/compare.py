"""Comparison of several policies or explorers on one environment, with common random numbers."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from itertools import combinations
from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.environment import Environment
from cmab.explorer import Explorer
from cmab.intervals import band, holm, paired_p_value, proportion_interval, sign_p_value, without_noise
from cmab.oracle import Oracle
from cmab.policies.exploration import Clairvoyant
from cmab.policy import AnyPolicy
from cmab.run import identify as identification
from cmab.run import simulate as simulation
from cmab.run.results import Identification, Simulation
from cmab.run.tables import Form, Row, Rows, Table, frame_of, is_missing, number, text
from cmab.seeding import Seed, root
from cmab.validation import check_jobs, integer, shown

#: The column that says which learner is the best and which ones are not distinguishable from it.
VERDICT = "against the best"
BEST, TIED, WORSE = "best", "not distinguishable", "worse"
EQUAL, TOO_OFTEN, UNTESTED, INFORMED = "equal", "wrong too often", "not tested", "knows the means"
#: Chance of a single false "yes" in a table of pairs.
ERROR = 0.05
DIFFER = "differ at 5 %"
#: Largest relative difference between two sums of the same rewards in different orders.
_ROUNDING = 1e-12


def compare(
    learners: Mapping[str, Any],
    environment: Environment,
    *,
    horizon: int | None = None,
    replications: int = 20,
    checkpoints: Sequence[int] | IntArray | None = None,
    rng: Seed = None,
    n_jobs: int = 1,
    max_samples: int | None = None,
    progress: bool | None = None,
) -> Comparison:
    """Run several policies or explorers on one environment with common random numbers.

    Parameters
    ----------
    learners : mapping of str to Policy, or of str to Explorer
        The learners, by the names that tables and figures show. An object may occur under several names.
    environment : Environment
        The instance.
    horizon : int, optional
        Number of rounds of each replication for policies, which `simulate` runs. Omit it for explorers, which
        `identify` runs until they stop.
    replications : int
        Number of independent replications. All learners share the random numbers of a replication, so the
        tests compare learners within replications.
    checkpoints : sequence of int, optional
        Rounds to record, as in `simulate`.
    rng : int, SeedSequence, Generator or None
        Seed. If it is an integer, each result equals that of `simulate` or `identify` with this seed.
    n_jobs : int
        Number of workers, or -1 for all cores. The numbers do not depend on it.
    max_samples : int, optional
        Largest number of samples of a replication of an explorer, as in `identify`.
    progress : bool, optional
        Whether to show a progress bar for each learner, as in `simulate`.

    Returns
    -------
    Comparison
        The results, with tables, tests and plots.

    Raises
    ------
    ValueError
        If `learners` is empty, if a name is not a non-empty string, if the oracles differ in sense, or if an
        oracle returns a set that is not a super arm of the environment. Also if `simulate` or `identify`
        raises for a learner; the message names the learner.
    TypeError
        If `learners` is not a mapping, or holds both explorers and policies.

    Warns
    -----
    UserWarning
        If the regret of a learner is 0 in all rounds, which often means that ties agree with the optimum.

    Examples
    --------
    >>> from cmab import CTS, CUCB, RandomPolicy, compare
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(6, k=2)
    >>> environment = SemiBandit(BernoulliArms([0.2, 0.9, 0.1, 0.8, 0.3, 0.5]), oracle)
    >>> learners = {"CUCB": CUCB(oracle), "Thompson": CTS(oracle), "Random": RandomPolicy(oracle)}
    >>> found = compare(learners, environment, horizon=500, replications=10, rng=0)
    >>> found.best, found.tied
    ('Thompson', [])
    >>> [row["learner"] for row in found.rows()]
    ['Thompson', 'CUCB', 'Random']
    """
    named = _named(learners)
    integer("replications", replications, 1)
    check_jobs(n_jobs)
    # All learners share one root: the streams of the environment are keyed by replication only.
    common: dict[str, Any] = {"replications": replications, "rng": root(rng)}
    common |= {"n_jobs": n_jobs, "progress": progress}
    if horizon is None:
        _check_explorers(named, environment, checkpoints)
        run: Any = partial(
            identification.identify, environment=environment, max_samples=max_samples, **common
        )
    else:
        if max_samples is not None:
            raise ValueError(
                f"max_samples must be omitted if horizon is given, got {max_samples}; it is for explorers"
            )
        _check_policies(named, environment)
        run = partial(
            simulation.simulate, environment=environment, horizon=horizon, checkpoints=checkpoints, **common
        )
    made = compared({name: run(learner) for name, learner in named.items()}, named, repr(environment))
    if lucky := made.without_regret:
        warnings.warn(
            f"the regret of {', '.join(lucky)} is 0 in all rounds. If oracles break ties in favour of the"
            " arms with the lowest numbers, and these are the best ones, a learner without data plays the"
            " optimum: number the arms in a random order",
            UserWarning,
            stacklevel=3,
        )
    return made


def compared(results: Mapping[str, Any], learners: Mapping[str, Any], environment: str) -> Comparison:
    """Return the comparison of the results of learners; names without a result are left out."""
    known = {name: learners[name] for name in results}
    return Comparison(
        dict(results),
        environment,
        informed=[name for name, each in known.items() if isinstance(each, Clairvoyant)],
        deltas=_declared(known, "delta"),
        budgets=_declared(known, "budget"),
    )


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Policies or explorers on one environment, ranked and tested. `compare` returns it.

    Policies are compared by regret, or by expected reward if the optimum is unknown. Explorers are compared
    by samples until they stop, or by errors if they have budgets. A run that `max_samples` cut off is never
    averaged with finished runs. An explorer with such a run has no mean. It has a median if more than half of
    its runs stopped, and its tests are sign tests.

    Parameters
    ----------
    results : dict of str to Simulation, or of str to Identification
        The result of each learner by name, with the same replications; ``comparison["CUCB"]`` is short for
        ``comparison.results["CUCB"]``. Policies have the same horizon and the same sense.
    environment : str
        A description of the environment.
    informed : sequence of str
        The names of policies that know the true means, such as `Clairvoyant`. They are a reference, ranked
        last, and are never the best one.
    deltas : dict of str to float
        The error probability that each explorer is allowed. An explorer that errs significantly more often is
        not ranked as the best.
    budgets : dict of str to int
        The budgets of the explorers with a fixed budget. If there are any, all explorers are compared by
        their errors.

    Raises
    ------
    ValueError
        If there is no result, or if the results have different horizons, senses or numbers of replications.

    Examples
    --------
    >>> from cmab import LUCB1, compare
    >>> from instances import BernoulliArms
    >>> explorers = {f"delta {delta}": LUCB1(3, 1, delta=delta) for delta in (0.2, 0.01)}
    >>> found = compare(explorers, BernoulliArms([0.2, 0.8, 0.5]), replications=20, rng=0)
    >>> found.best, [row["cut off"] for row in found.rows()]
    ('delta 0.2', [0, 0])
    >>> found["delta 0.2"].arms[0]
    array([1])
    """

    results: dict[str, Any]
    environment: str = ""
    informed: Sequence[str] = ()
    deltas: dict[str, float] = field(default_factory=dict)
    budgets: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.results:
            raise ValueError("results must not be empty, got {}; pass at least one result")
        found: dict[str, list[Any]] = {"replications": [len(each.seconds) for each in self.results.values()]}
        if self.is_regret:
            found["sense"] = [each.sense for each in self.results.values()]
            found["horizon"] = [int(each.rounds[-1]) for each in self.results.values()]
        for what, values in found.items():
            if len(set(values)) > 1:
                raise ValueError(
                    f"results must have the same {what}, got {dict(zip(self.results, values, strict=True))}"
                )

    def __getitem__(self, name: str) -> Any:
        if name not in self.results:
            raise KeyError(f"name must be one of {', '.join(map(repr, self.results))}, got {name!r}")
        return self.results[name]

    @property
    def is_regret(self) -> bool:
        """Whether policies are compared; otherwise explorers."""
        return isinstance(next(iter(self.results.values())), Simulation)

    @property
    def without_regret(self) -> list[str]:
        """The learners whose exact regret is 0 at all checkpoints, except those that know the means."""
        if not self.is_regret:
            return []
        return [
            name
            for name, each in self.results.items()
            if name not in self.informed
            and not without_noise(each.exact_regret, each.optimum, rounds=each.rounds).any()
        ]

    def rows(self, *, level: float = 0.95) -> Rows:
        """Return a row of numbers for each learner or explorer, the best first, with intervals at `level`."""
        if self.is_regret:
            rows = learner_rows(self.results, level)
            last = set(self.informed) if not set(self.informed) >= self.results.keys() else set()
            excluded = dict.fromkeys(last, INFORMED)
        else:
            rows = explorer_rows(self.results, level)
            last = set() if self.budgets else self._wrong_too_often()
            excluded = dict.fromkeys(last, TOO_OFTEN)
            if self.budgets:
                rows.sort(key=lambda row: np.inf if row["share wrong"] is None else row["share wrong"])
        rows.sort(key=lambda row: next(iter(row.values())) in last)
        if len(rows) < 2:
            return Rows(rows)
        if not self.is_regret and not self.budgets and np.isinf(rows[0]["median"]):
            return Rows({**row, VERDICT: UNTESTED} for row in rows)
        best = str(next(iter(rows[0].values())))
        verdicts = self._verdicts(best) | {best: BEST} | excluded
        # If no replication distinguishes the errors of two explorers, there is no test.
        untested = TIED if self.budgets else UNTESTED
        return Rows({**row, VERDICT: verdicts.get(str(next(iter(row.values()))), untested)} for row in rows)

    def _verdicts(self, best: str) -> dict[str, str]:
        """Return the results of the tests against the best one."""
        found = {}
        for row in self.tests():
            pair = [str(value) for value in list(row.values())[:2]]
            if best in pair and (row[DIFFER] is not None or row.get("difference") == 0.0):
                other = pair[pair[0] == best]
                found[other] = EQUAL if row[DIFFER] is None else WORSE if row[DIFFER] == "yes" else TIED
        return found

    def tests(self, *, level: float = 0.95) -> Rows:
        """Return a row for each pair: the difference, its interval at `level` and a paired test.

        Regret and samples are compared by Student's paired test. The optimum cancels in differences of
        regret, so it need not be known. If runs were cut off, samples are compared by a sign test. If an
        explorer has a budget, errors are compared by `failures`.

        The p-values in ``p (Holm)`` are corrected for all pairs, so that the probability of any false "yes"
        under "differ at 5 %" is at most 5 %. A dash means that a pair has fewer than two replications or that
        all its differences are equal.
        """
        if self.budgets:
            return self.failures()
        if self.is_regret:
            sign = -1.0 if next(iter(self.results.values())).sense == "max" else 1.0
            losses = {name: sign * each.expected_rewards[:, -1] for name, each in self.results.items()}
            names = "less regret", "more regret"
            rows = [
                {names[0]: a, names[1]: b} | _difference(losses[a], losses[b], level)
                for a, b in _rivals(losses)
            ]
        else:
            rows = _tests_of_samples(self.results, level)
        return _corrected(rows)

    def failures(self) -> Rows:
        """Return McNemar's exact test for each pair of explorers with errors in different replications."""
        wrong = {name: (~found.correct).astype(np.float64) for name, found in self.results.items()}
        rows: list[dict[str, Any]] = []
        for first, second in _rivals(wrong):
            # McNemar's test uses the replications in which exactly one of the two is wrong.
            only = [int((wrong[a] > wrong[b]).sum()) for a, b in ((first, second), (second, first))]
            # Without such a replication there is nothing to test and no p-value.
            if sum(only):
                counts = {"only the first wrong": only[0], "only the second wrong": only[1]}
                pair = {"first": first, "second": second, "pairs": len(wrong[first])}
                rows.append(pair | counts | {"p": sign_p_value(*only)})
        return _corrected(rows)

    @property
    def best(self) -> str:
        """The name of the best learner or explorer."""
        return str(next(iter(self.rows()[0].values())))

    @property
    def tied(self) -> list[str]:
        """The names that the tests do not distinguish from the best one."""
        return self._with_verdict(TIED, EQUAL)

    @property
    def headline(self) -> str:
        """A sentence that names the best one and the ones that are not distinguishable from it."""
        if not self.is_regret and not self.budgets:
            if self._wrong_too_often() >= self.results.keys():
                return "Every explorer is wrong more often than its delta allows."
            if np.isinf(self.rows()[0]["median"]):
                return "No explorer stopped in more than half of its runs, so there is no best one."
        ties, untested = ", ".join(self.tied), ", ".join(self._with_verdict(UNTESTED))
        test = "McNemar's exact tests of errors" if self.budgets else "paired t tests"
        if not self.is_regret and not all(each.stopped.all() for each in self.results.values()):
            test = "paired sign tests"
        more = f" Not distinguishable from it: {ties} ({test}, Holm, 5 %)." if ties else ""
        more += f" Not tested against it: {untested}." if untested else ""
        return f"Best: {self.best}.{more}"

    def table(self, form: Form = "plain", *, level: float = 0.95) -> Table:
        """Return a table to print, the best first.

        Parameters
        ----------
        form : {"plain", "github", "latex_booktabs", "html"}
            Plain text with a title and `headline`; or the table alone in Markdown, LaTeX or HTML.
        level : float
            The level of the confidence intervals.
        """
        found = text(self._columns(level), form)
        return Table(f"{self._title()}\n\n{found}\n\n{self.headline}" if form == "plain" else found)

    def to_frame(self, *, level: float = 0.95) -> Any:
        """Return the rows as a ``pandas.DataFrame``, in full precision.

        Raises
        ------
        ImportError
            If pandas is missing.
        """
        return frame_of(self.rows(level=level))

    def plot(
        self,
        ax: Any = None,
        *,
        log: bool = False,
        level: float = 0.95,
        path: str | os.PathLike[str] | None = None,
    ) -> Any:
        """Draw the comparison.

        For policies, draw the exact regret, or the mean expected reward per round if the optimum is unknown.
        For explorers, draw the samples until they stop, or the shares of wrong answers against the budgets.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. If omitted, a new figure is created. A learner has the same colour in all
            figures.
        log : bool
            If True, both axes of regret are logarithmic.
        level : float
            Confidence level of the bands or intervals.
        path : str or path-like, optional
            File to write the picture to, such as ``"picture.png"`` or ``"picture.pdf"``. If omitted, no file
            is written. A notebook shows the picture; a script shows it with ``matplotlib.pyplot.show()``.

        Returns
        -------
        matplotlib Axes
            The axes with the picture.
        """
        from cmab import plotting
        from cmab.plotting.style import written

        results = self.results
        if self.budgets:
            points = {}
            for name, each in results.items():
                wrong, runs = int((~each.correct).sum()), len(each.correct)
                ends = proportion_interval(wrong, runs, level=level)
                points[name] = [(self.budgets.get(name, each.samples.mean()), wrong / runs, *ends)]
            texts: dict[str, Any] = {"x_label": "Budget (samples)", "y_label": "Share of wrong answers"}
            return written(plotting.panels_of_curves({"": points}, **texts, ax=ax), path)
        if not self.is_regret:
            return written(plotting.sample_bars(results, level=level, ax=ax), path)
        settings: dict[str, Any] = {"level": level, "log": log, "ax": ax}
        if all(np.isfinite(each.optimum) for each in results.values()):
            return written(plotting.regret_curves(results, exact=True, **settings), path)
        curves = {name: (each.rounds, each.expected_rewards / each.rounds) for name, each in results.items()}
        settings |= {"x_label": "Round", "y_label": "Expected reward per round so far"}
        return written(plotting.curves_with_bands(curves, **settings), path)

    def __repr__(self) -> str:
        return f"Comparison({', '.join(self.results)}. {self.headline})"

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        return f"<p>{escape(self._title())}</p>{self.table('html')}<p>{escape(self.headline)}</p>"

    def _with_verdict(self, *verdicts: str) -> list[str]:
        return [str(next(iter(row.values()))) for row in self.rows() if row.get(VERDICT) in verdicts]

    def _wrong_too_often(self) -> set[str]:
        """Return the explorers with a share of wrong answers significantly above their delta."""
        lows = {
            name: proportion_interval(int(e.wrong.sum()), len(e.wrong))[0] for name, e in self.results.items()
        }
        return {name for name, low in lows.items() if low > self.deltas.get(name, 1.0)}

    def _columns(self, level: float) -> list[Row]:
        """Return the rows of the table: intervals as text, without columns that are implied by others."""
        rows = self.rows(level=level)
        unsaid = {"replications", *(name for name in rows[0] if all(is_missing(row[name]) for row in rows))}
        if not self.is_regret and not any(row["cut off"] for row in rows):
            unsaid |= {"cut off", "median"}
        if self.budgets:  # the budgets determine the numbers of samples
            unsaid |= {"samples, from", "samples, to", "median"}
        # The interval of the regret gives the same information as the interval of the reward.
        if any("regret" in name for name in rows[0]):
            unsaid |= {name for name in rows[0] if name.startswith(("reward a round, ", "cost a round, "))}
        return [
            _folded({name: value for name, value in row.items() if name not in unsaid}, level) for row in rows
        ]

    def _title(self) -> str:
        first = next(iter(self.results.values()))
        n = len(first.seconds)
        where = self.environment if len(self.environment) <= 80 else f"{self.environment[:77]}..."
        runs = f"{n:,} replication{'' if n == 1 else 's'}{f' on {where}' if where else ''}"
        if self.is_regret:
            return f"After round {int(first.rounds[-1]):,}: means of {runs}"
        return f"Samples until stopping, and wrong answers: {runs}"


def learner_rows(results: Mapping[str, Simulation], level: float = 0.95) -> list[dict[str, Any]]:
    """Return a row for each learner, with intervals at `level`; regret only if the optimum is known."""
    rows: list[dict[str, Any]] = []
    is_exact = all(each.is_exact for each in results.values())
    for name, result in results.items():
        last = int(result.rounds[-1])
        row: dict[str, Any] = {"learner": name, "replications": len(result.seconds)}
        if np.isfinite(result.optimum):
            exact = without_noise(result.exact_regret[:, -1], result.optimum, rounds=last)
            row |= _with_ends("regret" if is_exact else "exact regret", exact, level)
            if not is_exact:  # below 0 if the learner does better than the guarantee of its oracle
                row["regret"] = float(result.regret[:, -1].mean())
        row |= _with_ends(_measure(result), result.expected_rewards[:, -1] / last, level)
        # The median ignores the replication in which code was compiled.
        row["ms a round"] = 1e3 * float(np.median(result.seconds)) / last
        inside = 100 * float(result.oracle_seconds.sum() / result.seconds.sum())
        # The compiled loop does not measure the time in the oracle.
        row["in the oracle"] = f"{inside:.0f} %" if np.isfinite(inside) else None
        rows.append(row)
    first = next(iter(results.values()))
    # Sorted by reward, because the regret is unknown if the optimum is.
    return sorted(rows, key=lambda row: float(row[_measure(first)]), reverse=first.sense == "max")


def explorer_rows(results: Mapping[str, Identification], level: float = 0.95) -> list[dict[str, Any]]:
    """Return a row for each explorer, with intervals at `level`.

    A run that was cut off would have needed more samples, so there is no mean if any run was cut off. In the
    median, runs that were cut off rank above all others. If half of the runs or more were cut off, the median
    is unknown as well, given as infinity.
    """
    rows: list[dict[str, Any]] = []
    for name, found in results.items():
        samples = found.samples.astype(np.float64) if found.stopped.all() else np.full(1, np.nan)
        runs, wrong = len(found.samples), int(found.wrong.sum())
        low, high = proportion_interval(wrong, runs, level=level)
        shares = (wrong, wrong / runs, low, high) if found.judged else (None,) * 4
        names = "wrong", "share wrong", "share wrong, from", "share wrong, to"
        rows.append(
            {
                "explorer": name,
                "replications": runs,
                "cut off": int((~found.stopped).sum()),
                **_with_ends("samples", samples, level),
                "median": found.median,
                **dict(zip(names, shares, strict=True)),
                "seconds": float(np.median(found.seconds)),
            }
        )
    # Means and medians must not be mixed: if any explorer has a run that was cut off, sort all by medians.
    by = "median" if any(row["cut off"] for row in rows) else "samples"
    return sorted(rows, key=lambda row: float(row[by]))


def _tests_of_samples(results: Mapping[str, Identification], level: float) -> list[dict[str, Any]]:
    """Return a row for each pair of explorers: the difference of their samples and a test.

    If runs were cut off, only the signs of the differences are known: a run that stopped needs fewer samples
    than a run that had not stopped after as many. Pairs of runs with an unknown sign do not count.
    """
    samples = {name: found.samples.astype(np.float64) for name, found in results.items()}
    rows: list[dict[str, Any]] = []
    for first, second in _rivals(samples):
        a, b = samples[first], samples[second]
        ended = results[first].stopped, results[second].stopped
        names = {"fewer samples": first, "more samples": second}
        if all(each.all() for each in ended):
            rows.append(names | _difference(a, b, level) | {"test": "t"})
            continue
        fewer, more = int(((a < b) & ended[0]).sum()), int(((b < a) & ended[1]).sum())
        if fewer < more:
            names = {"fewer samples": second, "more samples": first}
        unknown = {"pairs": len(a), "difference": None, "interval": None}
        rows.append(names | unknown | {"p": sign_p_value(fewer, more), "test": "sign"})
    return rows


def _rivals(values: Mapping[str, FloatArray]) -> Iterator[tuple[str, str]]:
    """Yield all pairs, the name with the smaller mean first, so that mean differences are not negative."""
    return combinations(sorted(values, key=lambda name: float(values[name].mean())), 2)


def _difference(less: FloatArray, more: FloatArray, level: float) -> dict[str, Any]:
    gaps = more - less
    # If the gaps differ only by rounding errors of the sums, make them equal. Otherwise equal gaps would have
    # a standard deviation of 1e-16, and the test a tiny p-value.
    noise = _ROUNDING * max(np.abs(less).max(initial=0.0), np.abs(more).max(initial=0.0))
    if np.ptp(gaps) <= noise:
        gaps = np.full(len(gaps), 0.0 if np.abs(gaps).max() <= noise else gaps[0])
    mean, low, high = (float(end[0]) for end in band(gaps[:, None], level=level))
    interval = f"{number(low)} to {number(high)}" if np.isfinite(low) else "-"
    return {"pairs": len(gaps), "difference": mean, "interval": interval, "p": paired_p_value(gaps)}


def _corrected(rows: Sequence[Row]) -> Rows:
    """Return the rows with p-values corrected by Holm's method."""
    # One correction for the whole table, because readers look for its smallest p-value.
    adjusted = holm([row["p"] for row in rows])
    return Rows(
        {**row, "p (Holm)": float(p), DIFFER: None if np.isnan(p) else "yes" if p <= ERROR else "no"}
        for row, p in zip(rows, adjusted, strict=True)
    )


def _folded(row: Row, level: float) -> dict[str, Any]:
    """Return a row in which the two ends of an interval are one text."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        if name.endswith(", from"):
            ends = value, row[name.removesuffix("from") + "to"]
            is_known = not any(map(is_missing, ends))
            title = f"{name.removesuffix(', from')}, {100 * level:g} %"
            found[title] = f"{number(ends[0])} to {number(ends[1])}" if is_known else None
        elif not name.endswith(", to"):
            found[name] = value
    return found


def _with_ends(name: str, values: FloatArray, level: float) -> dict[str, float]:
    mean, low, high = (float(end[0]) for end in band(values[:, None], level=level))
    return {name: mean, f"{name}, from": low, f"{name}, to": high}


def _measure(result: Simulation) -> str:
    return "reward a round" if result.sense == "max" else "cost a round"


def _named(learners: object) -> dict[str, Any]:
    """Return the learners by name; raise unless `learners` is a non-empty mapping of names."""
    if not isinstance(learners, Mapping):
        raise TypeError(f'learners must be a mapping such as {{"CUCB": CUCB(oracle)}}, got {shown(learners)}')
    if not learners:
        raise ValueError("learners must have at least one entry, got none")
    if strange := [name for name in learners if not isinstance(name, str) or not name.strip()]:
        raise ValueError(f"learners must have non-empty strings as names, got {shown(strange[0])}")
    return dict(learners)


def _declared(named: Mapping[str, Any], parameter: str) -> dict[str, Any]:
    """Return the values of a parameter of the explorers that have it."""
    values = {
        name: getattr(each, parameter, None) for name, each in named.items() if isinstance(each, Explorer)
    }
    return {name: value for name, value in values.items() if value is not None}


def _check_explorers(named: Mapping[str, Any], environment: Environment, checkpoints: object) -> None:
    for name, learner in named.items():
        if hasattr(learner, "oracle") and not isinstance(learner, Explorer):
            raise TypeError(
                f"learners[{name!r}] must be an Explorer if no horizon is given, got"
                f" {type(learner).__name__}; pass the horizon for policies"
            )
        _checked(identification.check_fit, name, learner, environment)
    if checkpoints is not None:
        raise ValueError(
            f"checkpoints must be omitted without a horizon, got {shown(checkpoints)}; they are for policies"
        )


def _check_policies(named: Mapping[str, Any], environment: Environment) -> None:
    # Check all learners first, because a run may take hours.
    for name, learner in named.items():
        _checked(simulation.check_fit, name, learner, environment)
        _checked(_check_family, name, learner, environment)
    senses = {name: learner.oracle.sense for name, learner in named.items()}
    if len(set(senses.values())) > 1:
        raise ValueError(f"learners must have oracles with the same sense, got {senses}")


def _check_family(learner: AnyPolicy, environment: Environment) -> None:
    """Raise ``ValueError`` unless the policy's oracle returns super arms of the environment's oracle."""
    family = getattr(environment, "oracle", None)
    if not isinstance(family, Oracle) or family is learner.oracle or not family.has_membership:
        return
    answer = learner.oracle.solve(np.array(environment.means), np.random.default_rng(0))
    if not family.is_feasible(answer):
        raise ValueError(
            f"policy.oracle must return super arms of the environment's oracle, {shown(family)}, got"
            f" {shown(answer.tolist())} from {shown(learner.oracle)}"
        )


def _checked(check: Any, name: str, learner: Any, environment: Environment) -> None:
    """Run a check and add the name of the learner to its error."""
    try:
        check(learner, environment)
    except (TypeError, ValueError) as error:
        raise type(error)(f"learners[{name!r}]: {error}") from None
