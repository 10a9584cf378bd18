"""No public callable takes nonsense in silence: every array-like, numeric and boolean parameter is tried."""

from itertools import product

import bad_arguments
import networkx as nx
import numpy as np
import pytest

from cmab import (
    MNLTS,
    MNLUCB,
    ContextualMNLTS,
    ContextualMNLUCB,
    EpsilonGreedy,
    Feedback,
    LoggedRound,
    Session,
    goals,
)
from cmab.confidence import anytime_radii
from cmab.testing import check_environment
from instances import MultinomialLogit, two_groups
from oracles import Assortment, InfluenceMaximization, TopK, clcb_cascades

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


def test_most_public_callables_are_tried():
    """Each with an example that calls it; what is left is abstract or made by others."""
    tried = [name for name, thing in PUBLIC.items() if bad_arguments.example_call(name, thing)]
    assert len(tried) > 0.75 * len(PUBLIC)


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
    "mnl_ts": lambda oracle: MNLTS(oracle, 100),
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
            check_environment(customers, [(0, 1, 2), (3,), (1, 4)], rng=0, draws=300, seconds=0.05)
