"""No public callable takes nonsense in silence: every array-like, numeric and boolean parameter is tried."""

from itertools import product

import bad_arguments
import networkx as nx
import numpy as np
import pytest

from cmab import (
    CTS,
    MNLUCB,
    SAR,
    AdaptiveTopK,
    ContextualMNLTS,
    ContextualMNLUCB,
    EpsilonGreedy,
    Feedback,
    Log,
    LoggedRound,
    Session,
    simulate,
)
from cmab import (
    explorer as goals,
)
from cmab.bounds.radii import anytime_radii
from cmab.exploration.phases import Halving
from cmab.testing import check_environment
from instances import BernoulliArms, EmpiricalArms, MultinomialLogit, SemiBandit, two_groups
from oracles import (
    Assortment,
    DirectedGraph,
    InfluenceMaximization,
    SetCover,
    SteinerTree,
    TopK,
    clcb_cascades,
)

PUBLIC = bad_arguments.public()
#: Runs of hundreds of rounds: their other arguments are tried by the tests of their families.
LONG = {
    "cmab.plan",
    "cmab.compare",
    "cmab.identify",
    "cmab.simulate",
    "cmab.replay_value",
    "oracles.clcb_cascades",
}


@pytest.mark.parametrize("name", [name for name in PUBLIC if name not in LONG])
def test_bad_arguments_are_refused_by_name(name):
    assert list(bad_arguments.faults(name, PUBLIC[name])) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(LONG))
def test_bad_arguments_of_runs_are_refused_by_name(name):
    assert list(bad_arguments.faults(name, PUBLIC[name])) == []


def test_public_callables_that_are_not_tried_are_known():
    """The others have an example that calls them. What `cmab` makes and hands out is in `RESULTS`."""
    untried = {
        name
        for name, thing in PUBLIC.items()
        if not bad_arguments.RESULTS.fullmatch(name.rpartition(".")[2])
        and bad_arguments.example_call(name, thing) is None
    }
    called_without_checks = {"cmab.bounds.kl.bernoulli_divergence"}
    assert untried | called_without_checks == set(bad_arguments.UNTRIED)


@pytest.mark.parametrize("seed", [2**100, np.uint64(2**64 - 1), np.random.SeedSequence(2**100)])
def test_seeds_may_be_larger_than_64_bits(seed):
    """They are no counts: a seed sequence takes integers of any size, and saves them."""
    ours, rng = EpsilonGreedy(TopK(5, 2)), np.random.default_rng(seed)
    session = Session(ours, rng=seed)
    assert session.ask().super_arm.tolist() == Session(ours, rng=rng).ask().super_arm.tolist()
    found = [
        simulate(ours, SemiBandit(BernoulliArms(np.full(5, 0.5)), ours.oracle), 5, rng=seed) for _ in "ab"
    ]
    assert repr(found[0]) == repr(found[1])


def test_numbers_of_numpy_do_not_overflow():
    """Eight bits hold -128 to 127: products of them are wrong without a conversion to Python's integers."""
    few, many = np.int8(100), np.int8(10)
    for small, usual in (
        (AdaptiveTopK(few, many, epsilon=0.1, delta=0.1), AdaptiveTopK(100, 10, epsilon=0.1, delta=0.1)),
        (Halving(few, many, epsilon=0.1, delta=0.1), Halving(100, 10, epsilon=0.1, delta=0.1)),
        (SAR(few, many, budget=1000), SAR(100, 10, budget=1000)),
    ):
        assert repr(small) == repr(usual)
        first, second = (
            small.initial_state(np.random.default_rng(0)),
            usual.initial_state(np.random.default_rng(0)),
        )
        assert small.pulls(first) == usual.pulls(second)
    environment, policy = SemiBandit(BernoulliArms(np.full(4, 0.5)), TopK(4, 2)), CTS(TopK(4, 2))
    late = [
        simulate(policy, environment, 200, batch=n, delay=d, rng=0).regret.tolist()
        for n, d in ((np.int8(100), np.int8(100)), (100, 100))
    ]
    assert late[0] == late[1]


def test_a_text_is_no_list_of_its_letters():
    town = nx.Graph([("a", "b"), ("b", "c")])
    for make in (
        lambda: SetCover(["ab", "bc"]),
        lambda: SetCover({"left": "ab", "right": "bc"}),
        lambda: SteinerTree(town, "ac"),
        lambda: TopK(3, 1).named("abc"),
        lambda: DirectedGraph.from_edges([0, 1], [1, 2], labels="abc"),
        lambda: Log([], choices="ab"),
    ):
        with pytest.raises(ValueError, match=r"(sets|terminals|names|labels|choices).*must be"):
            make()
    assert SetCover({"left": iter([1, 2]), "right": iter([2, 3])}).n_arms == 2


def test_the_faults_of_the_audit():
    oracle = TopK(3, 1)
    for make in (
        lambda: EpsilonGreedy(oracle, support=map(float, [0, 1])),
        lambda: Session(EpsilonGreedy(oracle), support=map(float, [0, 1])),
        lambda: EpsilonGreedy(oracle, decay=bad_arguments.Decimal("nan")),
        lambda: goals.ExploreM(None),
        lambda: two_groups(4, 1, high=-1),
        lambda: anytime_radii(bad_arguments.endless(), 5, delta=0.1, sigma=0.5),
        lambda: anytime_radii(bad_arguments.deep(10_000), 5, delta=0.1, sigma=0.5),
        lambda: Feedback(bad_arguments.endless(), [1.0]),
    ):
        with pytest.raises(ValueError, match=r"support|decay|k must|high|counts|arms"):
            make()


CHOICE_RULES = {
    "mnl_ucb": MNLUCB,
    "contextual_mnl_ts": lambda oracle: ContextualMNLTS(oracle, np.eye(oracle.n_arms)),
    "contextual_mnl_ucb": lambda oracle: ContextualMNLUCB(oracle, np.eye(oracle.n_arms)),
}


@pytest.mark.parametrize("rule", CHOICE_RULES)
def test_two_purchases_in_a_round_are_refused_where_customers_buy_one_item(rule):
    session = Session(CHOICE_RULES[rule](Assortment(np.ones(4), k=2)), rng=0)
    ticket = session.ask()
    policy, state = session.policy, session.policy.initial_state()
    with pytest.raises(ValueError, match=r"feedback\.outcomes must have at most one item"):
        session.tell(Feedback(ticket, [1.0, 1.0]))
    with pytest.raises(ValueError, match=r"feedback\.outcomes must have at most one item"):
        policy.update(state, Feedback([0, 1], [1.0, 0.5]))
    session.tell(Feedback(ticket.super_arm[:1], [1.0]))
    other = Session(CHOICE_RULES[rule](TopK(4, 2)), rng=0)  # no choices: outcomes are customers of their own
    other.tell(Feedback(other.ask(), [1.0, 1.0]))


@pytest.mark.parametrize("chance", [-5, 1.5, float("nan"), "0.5", 1j])
@pytest.mark.parametrize("name", ["propensity", "by_position", "by_prefix"])
def test_logs_hold_probabilities(name, chance):
    with pytest.raises(ValueError, match=name):
        LoggedRound(
            0, "told", ("tea",), {"tea": 1.0}, **{name: chance if name == "propensity" else (chance,)}
        )


def test_cascades_of_iterators_are_read_once_and_texts_are_no_lists_of_letters():
    friends = nx.DiGraph([("a", "b"), ("c", "b"), ("c", "d")])
    oracle, rng = InfluenceMaximization(friends, k=1), np.random.default_rng(0)
    seeds = [[name for name in "ac" if rng.random() < 0.5] for _ in range(500)]
    active = [{"b"} if "a" in names else set() for names in seeds]
    usual = clcb_cascades(oracle, seeds, active)
    again = clcb_cascades(oracle, map(iter, seeds), (iter(names) for names in active))
    assert (usual.bounds == again.bounds).all()
    for wrong in (["".join(names) for names in seeds], 3, None, [3] * 500):
        with pytest.raises(ValueError, match="seeds must"):
            clcb_cascades(oracle, wrong, active)


@pytest.mark.slow
@pytest.mark.parametrize("attraction", [1e-100, 1e-6, 1e6])
def test_the_checks_have_no_false_alarm_at_any_scale(attraction):
    """Three super arms of a correct environment: the checks state false alarms below 1e-9 each."""
    items = np.array([0.9, 0.75, 0.6, 0.3, 0.1])
    for revenue, largest in product((1e-100, 3e99), (1e6, max(attraction, 1e-6))):
        shop = Assortment(np.array([1.0, 3.0, 0.0, 2.0, 3.0]) * revenue, k=3, max_attraction=largest)
        for v in (items * attraction, np.append(largest, items[1:] * attraction)):
            customers = MultinomialLogit(v, shop)
            check_environment(customers, [(0, 1, 2), (3,), (1, 4)])


@pytest.mark.slow
@pytest.mark.parametrize("length", [1e-300, 1e-6, 1.0, 1e6, 1e12, 1e70])
@pytest.mark.parametrize("start", [0.0, 1.0, 1e6])
def test_the_checks_have_no_false_alarm_for_rare_and_constant_arms(start, length):
    """Coins, rare outcomes, one outcome and an outcome of probability 10^-4, in intervals of many lengths.

    Beyond 1e77 the squares of variances overflow, and the checks do not end. Constant samples lack the rare
    outcomes, and their means are rounded if `start` is not 0. The checks state false alarms below 1e-8 in all
    for each of the 18 environments; ``rng=0``.
    """
    low, high = start * length, start * length + length
    samples = [[low, high], [low] * 9 + [high], [low, 0.7 * low + 0.3 * high, high], [high]]
    arms = EmpiricalArms([*samples, [low] * 9999 + [high]], support=(low, high))
    environment = SemiBandit(arms, TopK(5, 2))
    check_environment(environment, [(0, 1), (2, 4), (3, 4)])
