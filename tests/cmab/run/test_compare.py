"""`compare` against `simulate` and `identify` by hand, its tests against scipy's, its refusals."""

from dataclasses import replace
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from refusals import refused
from scipy import stats

from cmab import (
    CTS,
    CUCB,
    LUCB1,
    Clairvoyant,
    Comparison,
    Greedy,
    Identification,
    RandomPolicy,
    UniformAllocation,
    compare,
    identify,
    simulate,
)
from instances import BernoulliArms, IndependentCascade, SemiBandit
from oracles import InfluenceMaximization, TopK

MEANS = [0.3, 0.9, 0.1, 0.8, 0.5]
ORACLE = TopK(5, 2)
ENVIRONMENT = SemiBandit(BernoulliArms(MEANS), ORACLE)
LEARNERS = {"CUCB": CUCB(ORACLE), "Thompson": CTS(ORACLE), "narrow": CUCB(ORACLE, radius_factor=0.1)}


@pytest.fixture(scope="module")
def found():
    return compare(LEARNERS, ENVIRONMENT, horizon=200, replications=8, rng=3)


def explored(samples, stopped=None, correct=None):
    """An explorer's results, as if it had taken so many samples."""
    n = len(samples)
    stopped = np.ones(n, bool) if stopped is None else np.array(stopped, bool)
    correct = stopped if correct is None else np.array(correct, bool)
    arms = [np.array([0])] * n
    return Identification("x", arms, np.array(samples), correct, stopped, stopped, np.ones(n))


def test_results_are_those_of_simulate(found):
    for name, learner in LEARNERS.items():
        alone = simulate(learner, ENVIRONMENT, 200, replications=8, rng=3)
        np.testing.assert_array_equal(found[name].rewards, alone.rewards)


def test_a_generator_is_drawn_from_once():
    """So that all learners meet the same coins."""
    twins = {"a": CUCB(ORACLE), "b": CUCB(ORACLE)}
    found = compare(twins, ENVIRONMENT, horizon=50, replications=2, rng=np.random.default_rng(1))
    np.testing.assert_array_equal(found["a"].rewards, found["b"].rewards)
    assert (found.best, found.tied) == ("a", ["b"])


def test_tests_are_scipys_corrected_by_the_closed_test(found):
    rows = found.tests(level=0.9)
    expected = {}
    for a, b in combinations(LEARNERS, 2):
        x, y = found[a].exact_regret[:, -1], found[b].exact_regret[:, -1]
        expected[frozenset((a, b))] = stats.ttest_rel(x, y).pvalue, abs((x - y).mean())
    raw = np.array([p for p, _ in expected.values()])
    sets = [list(each) for size in (1, 2, 3) for each in combinations(range(3), size)]
    for i, (pair, (p, difference)) in enumerate(expected.items()):
        (row,) = [r for r in rows if {r["less regret"], r["more regret"]} == pair]
        np.testing.assert_allclose((row["p"], row["difference"]), (p, difference))
        closed = max(min(1.0, len(each) * raw[each].min()) for each in sets if i in each)
        np.testing.assert_allclose(row["p (Holm)"], closed)
        assert row["differ at 5 %"] == ("yes" if closed <= 0.05 else "no")


def test_rows_rank_by_regret_with_scipys_intervals(found):
    rows = found.rows(level=0.9)
    regret = {name: each.exact_regret[:, -1] for name, each in found.results.items()}
    assert [row["learner"] for row in rows] == sorted(regret, key=lambda name: regret[name].mean())
    for row in rows:
        values = regret[row["learner"]]
        ends = stats.t.interval(0.9, 7, values.mean(), stats.sem(values))
        np.testing.assert_allclose((row["regret, from"], row["regret, to"]), ends)


def test_one_replication_tests_nothing():
    found = compare(
        {"a": CUCB(ORACLE), "b": RandomPolicy(ORACLE)}, ENVIRONMENT, horizon=50, rng=0, replications=1
    )
    assert found.headline == "Best: a. Not tested against it: b."
    assert "1 replication on" in str(found)


@pytest.mark.parametrize(
    ("gap", "spread", "word"), [(0.1, 4e-16, "not tested"), (0.0, 4e-16, "equal"), (0.1, 1e-6, "worse")]
)
def test_rounding_is_no_evidence(found, gap, spread, word):
    """Gaps that are equal but for the last digits of the sums have no spread, thus no test and no p."""
    first = found["CUCB"]
    noise = 1.0 + spread * np.linspace(-1.0, 1.0, len(first.rewards))[:, None]
    second = replace(first, expected_rewards=(first.expected_rewards - gap) * noise)
    compared = Comparison({"first": first, "second": second})
    (row,) = compared.tests()
    assert row["differ at 5 %"] == ("yes" if word == "worse" else None)
    assert np.isnan(row["p"]) == (word != "worse")
    assert [each["against the best"] for each in compared.rows()] == ["best", word]


def test_frames_and_other_forms(found):
    pandas = pytest.importorskip("pandas")
    pandas.testing.assert_frame_equal(found.to_frame(), pandas.DataFrame(list(found.rows())))
    odd = compare({"50 % & <b>|": CUCB(ORACLE)}, ENVIRONMENT, horizon=5, replications=2, rng=0)
    assert r"50 \% \& \ensuremath{<}b\ensuremath{>}|" in odd.table("latex_booktabs")
    assert r"| 50 % & <b>\| " in odd.table("github")
    assert "50 % &amp; &lt;b&gt;|" in odd._repr_html_()


@pytest.mark.slow
def test_without_an_optimum_rewards_are_compared():
    graph = nx.DiGraph([(0, 1), (1, 2), (3, 2)])
    oracle = InfluenceMaximization(graph, k=1)
    world = IndependentCascade(graph, [0.9, 0.9, 0.1])
    found = compare(
        {"CUCB": CUCB(oracle), "r": RandomPolicy(oracle)}, world, horizon=30, replications=4, rng=0
    )
    assert np.isnan(found["CUCB"].optimum)
    assert "regret" not in found.rows()[0]
    assert "reward a round, 95 %" in str(found)
    assert found.plot().get_ylabel() == "Expected reward per round so far"


def test_cut_off_runs_are_not_averaged_with_finished_ones():
    capped = explored([100, 300, 50, 60, 70, 80, 90, 95], [1, 0, 1, 1, 1, 1, 1, 1])
    whole = explored([20, 30, 10, 20, 30, 10, 12, 13])
    found = Comparison({"capped": capped, "whole": whole})
    first, second = found.rows()
    assert (first["explorer"], second["cut off"], second["median"]) == ("whole", 1, 85.0)
    assert np.isnan(second["samples"])
    (row,) = found.tests()
    assert (row["test"], row["fewer samples"], row["difference"]) == ("sign", "whole", None)
    np.testing.assert_allclose(row["p"], stats.binomtest(8, 8).pvalue)


def test_what_a_cut_off_run_leaves_unknown_does_not_count():
    """It was at 300 when it was cut off: who needed 200 was faster; of who needed 400 nothing is known."""
    cut, whole = explored([300, 300], [0, 0]), explored([200, 400])
    (row,) = Comparison({"cut": cut, "whole": whole}).tests()
    np.testing.assert_allclose(row["p"], 1.0)
    never = Comparison({"a": cut, "b": cut})
    assert never.headline == "No explorer stopped in more than half of its runs, so there is no best one."


def test_who_errs_too_often_is_not_the_best():
    hasty, sound = explored(range(5, 35), correct=[0] * 30), explored(range(100, 130))
    found = Comparison({"hasty": hasty, "sound": sound}, deltas={"hasty": 0.1, "sound": 0.1})
    assert [row["against the best"] for row in found.rows()] == ["best", "wrong too often"]
    assert found.best == "sound"


def test_budgets_are_compared_by_errors():
    right = [1, 1, 0, 1, 1, 1, 1, 1, 1, 1]
    results = {"a": explored([50] * 10, correct=right), "b": explored([10] * 10, correct=[0] * 10)}
    found = Comparison(results, budgets={"a": 50, "b": 10})
    (row,) = found.tests()
    np.testing.assert_allclose(row["p"], stats.binomtest(0, 9).pvalue)
    assert found.best == "a"
    assert found.plot().get_ylabel() == "Share of wrong answers"


@pytest.mark.slow
def test_explorers_are_those_of_identify():
    explorers = {"LUCB": LUCB1(5, 2, delta=0.1), "even": UniformAllocation(5, 2, budget=50)}
    found = compare(explorers, BernoulliArms(MEANS), replications=3, rng=1, max_samples=10_000)
    assert (found.deltas, found.budgets) == ({"LUCB": 0.1}, {"even": 50})
    for name, explorer in explorers.items():
        alone = identify(explorer, BernoulliArms(MEANS), replications=3, rng=1, max_samples=10_000)
        np.testing.assert_array_equal(found[name].samples, alone.samples)


test_refusals_name_the_learner = refused(
    ([CUCB(ORACLE)], {"horizon": 5}, "learners must be a mapping such as"),
    ({" ": CUCB(ORACLE)}, {"horizon": 5}, "learners must have non-empty strings as names"),
    ({"a": CUCB}, {"horizon": 5}, r"learners\['a'\]: policy must be"),
    ({"a": CUCB(TopK(6, 2))}, {"horizon": 5}, r"learners\['a'\]: .* the same number of base arms"),
    ({"a": CUCB(ORACLE), "b": CUCB(TopK(5, 3))}, {"horizon": 5}, r"learners\['b'\]: .* super arms"),
    ({"a": CUCB(ORACLE), "b": CUCB(TopK(5, 2, sense="min"))}, {"horizon": 5}, "oracles with the same sense"),
    ({"a": CUCB(ORACLE)}, {}, "pass the horizon for policies"),
    ({"a": CUCB(ORACLE)}, {"horizon": 5, "max_samples": 5}, "max_samples must be omitted"),
    ({"a": LUCB1(5, 2, delta=0.1)}, {"checkpoints": [1]}, "checkpoints must be omitted without a horizon"),
    by=lambda learners, settings: compare(learners, ENVIRONMENT, rng=0, **settings),
    error=(TypeError, ValueError),
)


def test_who_knows_the_means_is_no_winner():
    learners = {"true": Clairvoyant(ORACLE, MEANS), "CUCB": CUCB(ORACLE), "r": RandomPolicy(ORACLE)}
    found = compare(learners, ENVIRONMENT, horizon=100, replications=4, rng=0)
    assert found.best == "CUCB"
    assert found.rows()[-1]["against the best"] == "knows the means"
    assert "true" not in found.headline
    axes = found.plot(log=True)
    assert axes.get_ylim()[0] > 1e-6  # no rounding of sums
    alone = compare({"true": learners["true"]}, ENVIRONMENT, horizon=10, replications=2, rng=0)
    assert alone.best == "true"


def test_regret_of_approximate_oracles_has_one_name():
    """`regret` is against the guarantee everywhere, `exact regret` against the optimum."""

    class Nearly(TopK):
        alpha = 0.5

    oracle = Nearly(5, 2)
    found = compare({"a": CUCB(oracle), "b": CUCB(ORACLE)}, ENVIRONMENT, horizon=50, replications=2, rng=0)
    for row in found.rows():
        result = found[row["learner"]]
        assert row["regret"] == pytest.approx(result.regret[:, -1].mean())
        assert row["exact regret"] == pytest.approx(result.exact_regret[:, -1].mean())
    assert found["a"].regret[0, -1] < 0 < found["a"].exact_regret[0, -1]
    assert "mean exact regret" in repr(found["a"]) and "exact" not in repr(found["b"])


def test_luck_in_ties_is_told():
    """Without feedback, Greedy plays the first arms, which are the best ones here."""
    sorted_arms = SemiBandit(BernoulliArms([1.0, 1.0, 0.0]), TopK(3, 2))
    with pytest.warns(UserWarning, match="the regret of greedy is 0 in all rounds"):
        found = compare(
            {"greedy": Greedy(sorted_arms.oracle)}, sorted_arms, horizon=20, replications=2, rng=0
        )
    assert found.without_regret == ["greedy"]
