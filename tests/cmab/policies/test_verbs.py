"""Own policies: arguments left out, checks whatever the names of arguments, and the old verbs."""

import functools
import inspect
from dataclasses import dataclass

import numpy as np
import pytest
from cases import EXPLORERS, GROWING, POLICIES, rows

from cmab import (
    CUCB,
    ArmStatistics,
    Context,
    Feedback,
    ForcedExploration,
    GLRRestart,
    IndexPolicy,
    LinearOracle,
    Policy,
    RandomPolicy,
    Session,
    TopRank,
)
from cmab._old_verbs import OldVerbs
from cmab.guards import unguarded
from cmab.ticket import Ticket
from oracles import TopK

ORACLE = TopK(3, k=1)
WITHIN = Context(available=np.array([True, False, True]))


class OddNames(IndexPolicy):
    def indices(self, s, r):
        return s.means + r.random(len(s.means))


class OddSelect(CUCB):
    def select(self, learned, source):
        return np.array([2])


class Whole(CUCB):
    def select(self, a, b, c=None):
        return super().select(a, b, c)

    def update(self, a, b, c, d):
        assert c is None or isinstance(c, Ticket)
        assert d is None or isinstance(d, np.random.Generator)
        super().update(a, b)


@pytest.mark.parametrize("make", [OddNames, OddSelect, Whole])
@pytest.mark.parametrize("call", ["indices", "select"])
def test_a_state_of_other_arms_is_refused_whatever_the_arguments_are_called(make, call):
    with pytest.raises(ValueError, match="state must have statistics of 3 arms"):
        getattr(make(ORACLE), call)(ArmStatistics.empty(5), np.random.default_rng(0))


@pytest.mark.parametrize("make", [OddNames, OddSelect, Whole])
def test_arguments_come_by_position_and_by_name(make):
    policy, state = make(ORACLE), make(ORACLE).initial_state()
    first = policy.select(state, 0)  # a seed stands for its generator
    assert first.tolist() == policy.select(state=state, rng=0, context=None).tolist()
    policy.update(state, feedback=Feedback([0], [1.0]), rng=0)
    policy.update(state, Feedback([0], [1.0]), Ticket(0, np.array([0])), np.random.default_rng(0))
    assert state.counts.tolist() == [2, 0, 0]


def test_a_context_is_refused_by_those_who_leave_it_out():
    policy = OddSelect(ORACLE)
    assert Session(policy, rng=0).ask(Context()).super_arm.tolist() == [2]
    with pytest.raises(ValueError, match=r"must be None for OddSelect.*select\(state, rng, context\)"):
        Session(policy, rng=0).ask(WITHIN)
    assert Session(Whole(ORACLE), rng=0).ask(WITHIN).super_arm.tolist() == [0]


def test_arguments_out_of_order_are_refused_when_a_class_is_defined():
    with pytest.raises(TypeError, match=r"Wrong.select must take \(state, rng, context\) in this order"):

        class Wrong(CUCB):
            def select(self, state, context, rng):
                return np.array([0])

    with pytest.raises(TypeError, match=r"Named.update must take .* by position"):

        class Named(CUCB):
            def update(self, state, feedback, *, ticket=None):
                pass


def test_methods_of_a_mixin_are_guarded():
    class Mixin:
        def indices(self, s, r):
            return -s.means

    class Mixed(Mixin, CUCB):
        pass

    policy = Mixed(ORACLE)
    with pytest.raises(ValueError, match="state must have statistics of 3 arms"):
        policy.indices(ArmStatistics.empty(5), 0)
    state = policy.initial_state()
    state.update(Feedback([0, 1, 2], [1.0, 0.0, 1.0]))
    assert policy.select(state, 0).tolist() == [1]


def test_an_oracle_with_odd_names_gets_a_generator():
    class Odd(LinearOracle):
        n_arms = 2

        def solve(self, m, source):
            return np.array([int(source.integers(2))])

    assert Odd().solve([0.0, 1.0], 1).tolist() == Odd().solve([0.0, 1.0], np.random.default_rng(1)).tolist()


def test_an_init_of_ones_own_is_told_of_dataclasses():
    class Mine(IndexPolicy):
        def __init__(self, oracle, scale):
            self.oracle = oracle
            self.scale = scale

        def indices(self, stats, rng):
            return stats.means

    with pytest.raises(TypeError, match="Mine must declare its parameters as fields of a dataclass"):
        Mine(ORACLE, 2.0)


def test_old_verbs_of_a_class_work_and_warn():
    with pytest.warns(DeprecationWarning) as warned:

        class Old(CUCB):
            def start(self, rng):
                state = super().start(rng)
                rng.random()
                return state

            def select_for(self, state, context, rng):
                chosen = super().select_for(state, context, rng)
                return chosen if context is None else self.select(state, rng)

            def learn(self, state, ticket, feedback, rng):
                assert ticket.number == 0
                super().learn(state, ticket, feedback, rng)
                self.update(state, feedback)

    assert [str(one.message).split(": ")[0] for one in warned] == [
        "Old defines start(rng), which is now initial_state(rng=None)",
        "Old defines select_for(state, context, rng), which is now select(state, rng, context=None)",
        "Old defines learn(state, ticket, feedback, rng), which is now update(state, feedback, ticket=None,"
        " rng=None)",
    ]
    assert {one.filename for one in warned} == {__file__}
    with pytest.warns(DeprecationWarning, match="is now"):
        session = Session(Old(ORACLE), rng=0)
        other = np.random.default_rng(0)
        other.random()
        assert session.rng.bit_generator.state == other.bit_generator.state
        ticket = session.ask(WITHIN)
        session.tell(Feedback(ticket, [1.0]), ticket)
    assert session.state.counts.sum() == 2
    with pytest.raises(ValueError, match="state must have statistics of 3 arms"):
        Old(ORACLE).select(ArmStatistics.empty(5), 0)


def test_old_verbs_of_policies_warn_and_work():
    policy, rng = CUCB(ORACLE), np.random.default_rng(0)
    with pytest.warns(DeprecationWarning, match=r"start\(rng\) is now initial_state"):
        state = policy.start(rng)
    with pytest.warns(DeprecationWarning, match="select_for.*is now select"):
        assert policy.select_for(state, WITHIN, rng).tolist() == [0]
    with pytest.warns(DeprecationWarning, match="learn.*is now update"):
        policy.learn(state, Ticket(0, np.array([0])), Feedback([0], [1.0]), rng)
    assert state.counts.tolist() == [1, 0, 0]


def test_frozen_dataclasses_of_ones_own_stay_plain():
    @dataclass(frozen=True, eq=False)
    class Scaled(IndexPolicy):
        scale: float = 2.0

        def indices(self, stats, rng):
            return self.scale * stats.means

    assert Scaled(ORACLE).scale == 2.0


def passed_on(method):
    """Return a method behind a decorator that passes on all that it gets."""

    @functools.wraps(method)
    def inner(self, *args, **named):
        return method(self, *args, **named)

    return inner


class Own(Policy):
    """A policy with a verb of each kind that a class body can hold, and options of its own behind others."""

    oracle = ORACLE

    def initial_state(self, n_arms=3):
        return ArmStatistics.empty(n_arms)

    @passed_on
    def select(self, state, rng):
        return np.array([1])

    def update(self, state, feedback, times=2):
        for _ in range(times):
            state.update(feedback)


class Static(Own):
    @staticmethod
    def select(state, rng):
        return np.array([1])

    @classmethod
    def update(cls, state, feedback, ticket=None, rng=None, extra="x"):
        assert (cls, extra) == (Static, "x")
        state.update(feedback)
        state.update(feedback)


class Partial(Own):
    def _chosen(self, arm, state, rng, sure=True):
        assert sure is True
        return np.array([arm])

    def _updated(self, times, state, feedback):
        Own.update(self, state, feedback, times=times)

    select, update = functools.partialmethod(_chosen, 1), functools.partialmethod(_updated, 2)


@pytest.mark.parametrize("kind", [Own, Static, Partial])
def test_verbs_may_be_of_any_kind_and_have_options_of_their_own(kind):
    policy, session = kind(), Session(kind(), rng=0)
    session.tell(Feedback(session.ask(), [1.0]))
    assert session.state.counts.tolist() == [0, 2, 0]
    for call in (policy.select, policy.update):
        with pytest.raises(ValueError, match="state must have statistics of 3 arms"):
            call(ArmStatistics.empty(5), Feedback([0], [1.0]) if call == policy.update else 0)


def test_a_method_behind_a_decorator_is_guarded_by_name_and_keeps_its_decorator():
    class Doubled(IndexPolicy):
        def indices(self, stats, rng):
            return stats.means

        indices = passed_on(indices)

    class Bare(Doubled):
        pass

    Bare.indices = passed_on(lambda self, stats, rng: stats.means + 1)
    policy, state = Doubled(ORACLE), ArmStatistics.empty(5)
    with pytest.raises(ValueError, match="state must have statistics of 3 arms"):
        policy.indices(rng=0, stats=state)
    assert unguarded(Bare(ORACLE).indices)(state, 0).tolist() == [1] * 5


@pytest.mark.filterwarnings("ignore:.*is now:DeprecationWarning")
def test_old_verbs_call_the_new_ones_that_a_class_below_writes_over():
    class Old(CUCB):
        def select_for(self, state, context, rng):
            return self.select(state, rng) if context is None else np.array([0])

        def learn(self, state, ticket, feedback, rng):
            told.append(ticket.number)
            self.update(state, feedback)

    class Below(Old):
        def select(self, state, rng):
            return np.array([2])

        def update(self, state, feedback):
            told.append("update")
            super().update(state, feedback)

    class Renewed(Below):
        def update(self, state, feedback, ticket=None, rng=None):
            told.append("whole")

    told, session = [], Session(Below(ORACLE), rng=0)
    assert [session.ask(context).super_arm.tolist() for context in (None, WITHIN)] == [[2], [0]]
    session.tell(Feedback([2], [1.0]), 0)
    assert (told, session.state.counts.tolist()) == ([0, "update"], [0, 0, 1])
    session = Session(Renewed(ORACLE), rng=0)
    session.tell(Feedback(session.ask(), [1.0]))
    assert told[2:] == ["whole"]


def test_a_rule_inside_another_is_told_of_tickets_and_says_whether_it_learns_and_ends():
    class Done(RandomPolicy):
        def is_done(self, state):
            return state.rounds == 0

    for wrap in (ForcedExploration, functools.partial(GLRRestart, is_proven=False)):
        policy = wrap(TopRank(ORACLE, 0.1))
        state = policy.initial_state()
        policy.reserve(state, Ticket(4, np.array([0])))
        assert getattr(state, "learned", state).asked == 5
        assert policy.learns
        assert not wrap(Done(ORACLE)).learns
        assert wrap(Done(ORACLE)).is_done(wrap(Done(ORACLE)).initial_state())


def states_of_others(case):
    """Yield a learner, and states of another number of arms."""
    if case in EXPLORERS:
        return case.make(), [ArmStatistics.empty(n) for n in (2, 9)]
    return case.make(case.family(4, 2)), [case.make(case.family(n, 2)).initial_state() for n in (3, 7)]


@pytest.mark.parametrize("case", rows([*POLICIES, *GROWING, *EXPLORERS]))
def test_every_public_method_refuses_states_of_other_arms(case):
    learner, states = states_of_others(case)
    given = {"rng": 0, "context": None, "t": 3, "features": np.zeros((4, 4)), "super_arm": np.array([0])}
    given |= {"named": np.array([0]), "feedback": Feedback([0], [1.0]), "ticket": Ticket(0, np.array([0, 1]))}
    for name, method in inspect.getmembers(type(learner), inspect.isfunction):
        _, *arguments = inspect.signature(method).parameters
        is_inert = inspect.unwrap(method) in (Policy.reserve, *vars(OldVerbs).values())
        if arguments[:1] in (["state"], ["stats"]) and name[0] != "_" and not is_inert:
            for state in states:
                with pytest.raises(ValueError, match=r"state.* must"):
                    getattr(learner, name)(state, *map(given.get, arguments[1:]))
