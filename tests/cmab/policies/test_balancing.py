"""RegretBalancing: the policy that each round goes to, and what the others learn."""

import numpy as np
import pytest
from references_policies import d3rb

from cmab import CUCB, Feedback, RandomPolicy, RegretBalancing, Session, simulate
from instances import BernoulliArms, SemiBandit
from oracles import TopK

ORACLE = TopK(4, 1)


@pytest.mark.parametrize(("sense", "least"), [("max", 0.1), ("min", 0.02)])
def test_rounds_go_to_the_policy_of_the_paper(sense, least):
    """A reference in plain Python, with rewards that differ between three policies."""
    rng, horizon = np.random.default_rng(0), 400
    rewards = [np.clip(rng.normal(mean, 0.05, horizon), 0, 1) for mean in (0.2, 0.8, 0.5)]
    oracle = TopK(4, 1, sense=sense)
    master = RegretBalancing([CUCB(oracle)] * 3, least=least, confidence=0.3, reward_range=(-2.0, 3.0))
    state, found = master.initial_state(rng), []
    for t in range(horizon):
        i = int(np.argmin(state.potentials))
        found.append(i)
        place = rewards[i][t] if sense == "max" else 1.0 - rewards[i][t]
        before = state.counts.copy()
        master.update(state, Feedback([0], [0.5], reward=-2.0 + 5.0 * place))
        assert (state.counts - before).tolist() == np.eye(3, dtype=int)[i].tolist()
    assert found == d3rb(rewards, 0.1, least, 0.3)
    assert state.counts[1] > 2 * state.counts[0]


@pytest.mark.parametrize(("sharing", "learned"), [(True, [5, 5]), (False, [3, 2])])
def test_all_learn_if_they_share(sharing, learned):
    session = Session(RegretBalancing([CUCB(ORACLE), RandomPolicy(ORACLE)], sharing=sharing), rng=0)
    for _ in range(5):
        ticket = session.ask()
        session.tell(Feedback(ticket, [1.0]), ticket)
    assert [state.rounds for state in session.state.learned] == learned
    assert session.state.rounds == 5
    assert session.state.sums.sum() == 5.0


@pytest.mark.slow
def test_the_master_leaves_the_random_policy():
    """A gap of 0.7 in each round of the random policy, which the tests find. The seed is fixed."""
    place = SemiBandit(BernoulliArms([0.05, 0.95, 0.05, 0.05]), ORACLE)
    run = simulate(RegretBalancing([RandomPolicy(ORACLE), CUCB(ORACLE)]), place, 3000, rng=0)
    alone = simulate(RandomPolicy(ORACLE), place, 3000, rng=0)
    assert run.regret[0, -1] < 0.5 * alone.regret[0, -1]


def test_what_it_refuses():
    for wrong in ([CUCB(ORACLE)], "ab", CUCB(ORACLE)):
        with pytest.raises(ValueError, match="policies must be two or more"):
            RegretBalancing(wrong)
    with pytest.raises(ValueError, match="one shape"):
        RegretBalancing([CUCB(ORACLE), CUCB(TopK(5, 1))])
    with pytest.raises(TypeError, match="policy must be a Policy"):
        RegretBalancing([CUCB(ORACLE), 3])
