"""What explorers promise, over the table: fit, certificates, families, goals, ends of runs."""

import inspect
from dataclasses import fields, replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from cases import EXPLORERS, ORACLES

import cmab
from cmab import CLUCB, CSAR, PFWS, Explorer, Feedback, LilCLUCB, LinearOracle, Session, identify
from cmab.exploration.lucb import LilUCB
from cmab.explorer import AggregateTopK, ExploreEach, ExploreM
from cmab.run import identify as identification
from cmab.run.compare import explorer_rows
from instances import BernoulliArms, EmpiricalArms, GaussianArms

ROWS = {case.name: case for case in EXPLORERS}
CLEAR = np.array([0.9, 0.1, 0.85, 0.1])


def test_every_explorer_has_a_row():
    public = {name for name in cmab.__all__ if _is_rule(getattr(cmab, name))}
    assert public <= {type(case.make()).__name__ for case in EXPLORERS}


def _is_rule(thing):
    return inspect.isclass(thing) and issubclass(thing, Explorer) and not inspect.isabstract(thing)


def unproven(explorer):
    """Return the explorer in all the modes that its parameters have, with what each may certify."""
    names = {field.name for field in fields(explorer)}
    if "mode" in names:
        yield replace(explorer, mode="heuristic")
    if "pulls_factor" in names:
        yield replace(explorer, pulls_factor=0.01)
    if getattr(explorer, "budget", None):
        yield explorer
    if isinstance(explorer, LilUCB):
        yield replace(explorer, mode="faithful")  # the ratio of the stop is not the theorem's


@pytest.mark.parametrize("name", ROWS)
def test_what_proves_nothing_certifies_nothing(name):
    for explorer in unproven(ROWS[name].make()):
        found = identify(explorer, BernoulliArms(CLEAR), rng=0, replications=3, max_samples=100_000)
        assert found.stopped.all()
        assert not found.certified.any()


@pytest.mark.parametrize("name", ROWS)
def test_what_is_proven_certifies_at_its_stop_only(name):
    explorer = ROWS[name].make()
    if not explorer.is_proven:
        return
    assert explorer.sigma is not None or explorer.support is not None
    arms = BernoulliArms(CLEAR)
    assert identify(explorer, arms, rng=0).certified.all()
    assert not identify(explorer, arms, rng=0, max_samples=4).certified.any()


@pytest.mark.parametrize("name", ROWS)
def test_what_is_right_is_counted_as_right(name):
    """A rule without a goal had every answer of a clear problem counted as wrong."""
    explorer = ROWS[name].make()
    found = identify(explorer, BernoulliArms(CLEAR), rng=0, max_samples=100_000)
    assert explorer.goal.is_correct(found.arms[0], CLEAR)
    assert found.correct.all()
    assert not found.wrong.any()


class Unsaid(GaussianArms):
    """Arms whose noise is not a number."""

    sigma = support = None

    def __init__(self, means):
        super().__init__(means, 0.5)
        self.sigma, self.support = float("nan"), (float("nan"), float("nan"))


@pytest.mark.parametrize("name", ROWS)
def test_outcomes_that_a_certificate_is_not_made_for_are_refused(name):
    explorer = ROWS[name].make()
    if not explorer.is_proven:
        return
    strangers = [
        GaussianArms(CLEAR, sigma=5.0),
        EmpiricalArms([[0.0, 10.0], [0.1], [8.0], [0.2]], support=(0.0, 10.0)),
        EmpiricalArms([[0.0, -1.0], [0.1], [-0.8], [0.2]], support=(-1.0, 1.0)),
        Unsaid(CLEAR),
    ]
    for arms in strangers:
        with pytest.raises(ValueError, match=r"environment.* must"):
            identify(explorer, arms, rng=0, max_samples=10_000)


@pytest.mark.parametrize("name", ROWS)
def test_a_session_refuses_outcomes_outside_the_support(name):
    explorer = ROWS[name].make()
    if explorer.support is None:
        return
    session = Session(explorer, rng=0)
    ticket, (low, high) = session.ask(), explorer.support
    times = np.full(len(ticket), ticket.pulls)

    def batch(mean, square):
        return Feedback(ticket.super_arm, times * mean, pulls=times, squares=times * square)

    middle = 0.5 * (low + high)
    # The last one: means within the support, of outcomes that are not, such as 5 and -4.
    for mean, square in [
        (high + 1.0, (high + 1.0) ** 2),
        (low - 0.01, (low - 0.01) ** 2),
        (middle, 25.0 * high**2),
    ]:
        with pytest.raises(ValueError, match="outcomes must lie in"):
            session.tell(batch(mean, square))
    session.tell(batch(high, high**2))
    with pytest.raises(ValueError, match="support must lie in"):
        Session(explorer, rng=0, support=(low - 1.0, high))


class Undeclared(BernoulliArms):
    """Outcomes of 0 and 3 where 0 and 1 are declared."""

    def pull(self, arms, rng):
        return 3.0 * super().pull(arms, rng)

    def pull_many(self, arms, pulls, rng):
        sums, squares = super().pull_many(arms, pulls, rng)
        return 3.0 * sums, 9.0 * squares


@pytest.mark.parametrize("name", ["kl_lucb", "halving"])
def test_an_environment_is_held_to_what_it_declares(name):
    """In the Python loop, where every environment of one's own plays."""
    with pytest.raises(ValueError, match="that the environment declares"):
        identify(ROWS[name].make(), Undeclared(CLEAR), rng=0, max_samples=10_000_000)


LINEAR = [case for case in ORACLES if case.make().is_linear and case.make().is_exact]


def clear_means(case, oracle):
    """Return means with one best super arm by enumeration, well ahead of the second, and that arm."""
    family = sorted({tuple(sorted(int(a) for a in arms)) for arms in case.super_arms()})
    sign, found = 1.0 if oracle.sense == "max" else -1.0, []
    low = 0.0 if case.low >= 0.0 else -0.4
    for seed in range(300):
        means = np.random.default_rng(seed).permutation(np.linspace(low, 0.6, oracle.n_arms))
        values = sorted((sign * means[list(arms)].sum(), arms) for arms in family)
        if len(family) == 1 or values[-1][0] - values[-2][0] > 0.05:
            found.append((means, list(values[-1][1])))
    # Where the least mean lies outside the best, its lower bound leaves what a family of costs accepts.
    return next((pair for pair in found if np.argmin(pair[0]) not in pair[1]), found[0])


@pytest.mark.parametrize("rule", [CLUCB, LilCLUCB, CSAR, PFWS])
@pytest.mark.parametrize("case", LINEAR, ids=lambda case: case.name)
def test_every_family_is_explored_or_refused_at_once(case, rule):
    """No crash in the middle: false alarm below 1e-6, for the rules err with probability 1e-8 at most."""
    oracle = case.make()
    means, best = clear_means(case, oracle)
    try:
        if rule is CSAR:
            explorer = rule(oracle, budget=40 * oracle.n_arms)
        else:
            faster = {"growth": 1.0} if rule is PFWS else {}
            explorer = rule(oracle, delta=1e-8, sigma=0.01, **faster)
    except ValueError as error:
        assert rule is PFWS
        assert oracle.least_mean == 0.0
        assert "use LilCLUCB" in str(error)
        return
    except TypeError as error:
        assert case.name in {"shortest_path", "disjoint_paths", "min_cost_flow"}
        assert rule is CSAR
        assert "oracle must" in str(error)
        return
    found = identify(explorer, GaussianArms(means, 0.01), rng=0, max_samples=20_000)
    assert found.stopped.all()
    assert found.arms[0].tolist() == best


class Picky(LinearOracle):
    """The best arm, for means in [0, 1] only, without saying so."""

    n_arms = 3

    def solve(self, means, rng):
        return np.array([np.argmax(self._check_means(means, 0.0, 1.0))])


def test_an_oracle_that_cannot_take_bounds_is_refused_when_the_rule_is_made():
    for rule in (CLUCB, LilCLUCB):
        with pytest.raises(ValueError, match="oracle must take the revised means"):
            rule(Picky(), delta=0.1)
    with pytest.raises(TypeError, match="oracle must define solve_constrained"):
        CSAR(Picky(), budget=100)


def test_means_that_the_family_does_not_accept_are_refused_at_once():
    oracle = next(case for case in ORACLES if case.name == "shortest_path").make()
    arms = GaussianArms(np.linspace(-0.5, 1.0, oracle.n_arms), sigma=0.1)
    with pytest.raises(ValueError, match="means of at least 0"):
        identify(LilCLUCB(oracle, delta=0.1), arms, rng=0)


def decimals(n):
    return [Fraction(i, n) for i in range(n + 1)]


@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e9])
def test_goals_on_grids_are_those_of_exact_arithmetic(scale):
    """All triples of means and tolerances with one decimal: what is at epsilon exactly is right."""
    for triple in combinations(decimals(10), 3):
        means = np.array([scale * float(m) for m in triple])
        for epsilon in decimals(10)[:6]:
            near = scale * float(epsilon)
            for arm in range(3):
                chosen = np.array([arm])
                good = max(triple) - triple[arm] <= epsilon
                assert ExploreM(1, near).is_correct(chosen, means) == good
                assert AggregateTopK(1, near).is_correct(chosen, means) == good
                others = np.delete(np.arange(3), arm)
                lost = sum(sorted(triple)[1:]) - sum(triple[i] for i in others)
                assert AggregateTopK(2, near).is_correct(others, means) == (lost / 2 <= epsilon)


def test_exact_goals_do_not_round():
    assert ExploreEach((2, 2), 1, epsilon=0.1).is_correct(np.array([1, 3]), np.array([0.8, 0.7, 0.3, 0.2]))
    assert not ExploreM(1).is_correct(np.array([0]), np.array([0.5, 0.5 + 1e-15]))


@pytest.mark.parametrize("name", ROWS)
def test_runs_between_equal_means_end_and_say_how(name, monkeypatch):
    """Rules with a bound of their own end by themselves, all others at the default cap, with a warning."""
    monkeypatch.setattr(identification, "DEFAULT_CAP", 3000)
    explorer = ROWS[name].make()
    arms = BernoulliArms([0.5] * 4)
    if explorer.is_bounded:
        found = identify(explorer, arms, rng=0)
        assert found.stopped.all()
    elif getattr(explorer, "epsilon", 0.0) > 0.0:
        found = identify(explorer, arms, rng=0, max_samples=3000)
    else:
        with pytest.warns(RuntimeWarning, match="cut off after"):
            found = identify(explorer, arms, rng=0)
        assert not found.certified.any()
    assert found.samples.max() <= 3000 or explorer.is_bounded


@pytest.mark.parametrize("name", ROWS)
def test_a_cap_below_the_first_samples_names_nothing(name):
    found = identify(ROWS[name].make(), BernoulliArms(CLEAR), rng=0, max_samples=3)
    assert found.samples[0] == 0
    assert len(found.arms[0]) == 0
    assert not (found.correct | found.stopped | found.certified).any()


def test_cut_off_runs_are_neither_right_nor_wrong():
    found = identify(
        cmab.LUCB1(2, 1, delta=0.1), BernoulliArms([0.55, 0.45]), rng=0, replications=200, max_samples=30
    )
    assert (~found.stopped & ~found.correct).any()
    assert found.wrong.sum() == (found.stopped & ~found.correct).sum() == 0
    (row,) = explorer_rows({"x": found})
    assert row["wrong"] == 0
    # They are in no mean; in a median they stand above all others.
    assert np.isnan(row["samples"])
    median = np.median(np.where(found.stopped, found.samples, np.inf))
    assert row["median"] == median
    assert f"0 of them wrong, median samples {'unknown' if np.isinf(median) else ''}" in repr(found)


class WithoutGoal(cmab.UniformAllocation):
    goal = None


def test_without_a_goal_nothing_is_judged():
    found = identify(WithoutGoal(4, 2, budget=8), BernoulliArms(CLEAR), rng=0, replications=3)
    assert not found.judged
    assert not (found.correct | found.wrong).any()
    assert "not judged: it has no goal" in repr(found)
    (row,) = explorer_rows({"uniform": found})
    assert row["wrong"] is row["share wrong"] is None
