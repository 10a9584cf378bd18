"""Index rules with a memory: all loops call one learning rule, and so does ask and tell."""

from dataclasses import dataclass

import numpy as np
import pytest

from cmab import CUCB, CompiledIndexPolicy, Feedback, Session, simulate
from cmab.compiled import index_kernel, learn_kernel
from cmab.running import _compiled_rounds
from cmab.testing import check_policy
from instances import BernoulliArms, SemiBandit
from oracles import TopK

MEANS = np.random.default_rng(3).permutation(np.linspace(0.1, 0.9, 30))


@learn_kernel
def discount(arms, n, outcomes, t, reals, memory):
    """`memory`: discounted counts, means by them, and the discounted number of rounds."""
    m, gamma = memory.shape[0] // 2, reals[0]
    for i in range(m):
        memory[i] *= gamma
    for j in range(n):
        i = arms[j]
        memory[i] += 1.0
        memory[m + i] += (outcomes[j] - memory[m + i]) * (1.0 / memory[i])
    memory[2 * m] = gamma * memory[2 * m] + 1.0


@index_kernel
def discounted_bounds(counts, means, deviations, memory, t, reals, rng, out):
    m, term = memory.shape[0] // 2, 1.5 * np.log(memory[memory.shape[0] - 1] + 1.0)
    for i in range(m):
        bound = min(memory[m + i] + np.sqrt(term / memory[i]), 1.0)
        out[i] = bound if memory[i] > 0.0 else 1.0


@dataclass(frozen=True, eq=False)
class DiscountedCUCB(CompiledIndexPolicy):
    """CUCB with counts and means in which an outcome weighs less with every round."""

    gamma: float = 1.0

    def memory(self):
        return np.zeros(2 * self.oracle.n_arms + 1)

    def rule(self):
        return discounted_bounds

    def learning_rule(self):
        return discount

    def parameters(self):
        return np.array([self.gamma])


class Counting(CUCB):
    """CUCB on the lazy loop, with a memory of how often each arm was seen and of the last round."""

    def memory(self):
        return np.zeros(31)

    def learning_rule(self):
        return count


@learn_kernel
def count(arms, n, outcomes, t, reals, memory):
    for j in range(n):
        memory[arms[j]] += 1.0
    memory[30] = t


class InPython(TopK):
    def solve(self, means, rng):
        return super().solve(means, rng)


class AtOnce(TopK):
    def solve(self, means, rng):
        return super().solve(means, rng)

    def solve_batch(self, means, rng):
        return [super(AtOnce, self).solve(row, rng) for row in means]


class NoKernel(SemiBandit):
    def kernel(self):
        return None


def runs_of(make, k, horizon=400, loops=("compiled", "mixed", "batch", "python")):
    """Return the same run by each loop, two replications."""
    runs = []
    for path in loops:
        oracle = {"mixed": InPython, "batch": AtOnce}.get(path, TopK)(30, k)
        environment = (NoKernel if path == "python" else SemiBandit)(BernoulliArms(MEANS), oracle)
        runs.append(simulate(make(oracle), environment, horizon, replications=2, rng=5))
        assert runs[-1].path == path
    return runs


def assert_same(runs, names=("counters", "means", "deviations", "memory", "rounds")):
    for run in runs[1:]:
        assert np.array_equal(run.rewards, runs[0].rewards)
        for one, other in zip(run.states, runs[0].states, strict=True):
            for name in names:
                assert np.array_equal(getattr(one, name), getattr(other, name)), (run.path, name)


@pytest.mark.parametrize("gamma", [0.97, 1.0])
def test_all_loops_call_the_learning_rule(gamma):
    runs = runs_of(lambda oracle: DiscountedCUCB(oracle, gamma=gamma), 4)
    assert_same(runs)
    assert runs[0].states[0].memory.any()


def test_without_discount_it_is_cucb():
    ours, plain = (runs_of(make, 4, loops=["compiled"]) for make in (DiscountedCUCB, CUCB))
    assert_same([*ours, *plain], ("counters", "means", "deviations"))


def test_the_lazy_loop_calls_it_too():
    policy, environment = Counting(TopK(30, 2)), SemiBandit(BernoulliArms(MEANS), TopK(30, 2))
    forms = _compiled_rounds.compiled_run(policy, environment)
    assert _compiled_rounds._is_lazy(*forms[:2], policy.initial_state())
    runs = runs_of(Counting, 2)
    assert_same(runs)
    state = runs[0].states[0]
    assert np.array_equal(state.memory, [*state.counts, 400])


def test_the_memory_is_what_its_definition_says():
    """A weighted average over the whole history, by its definition."""
    policy, rng = DiscountedCUCB(TopK(5, 2), gamma=0.9), np.random.default_rng(1)
    state, seen, sums = policy.initial_state(), np.zeros((60, 5)), np.zeros((60, 5))
    for t in range(60):
        arms = rng.choice(5, 2, replace=False)
        seen[t, arms], sums[t, arms] = 1.0, rng.random(2)
        policy.update(state, Feedback(arms, sums[t, arms]))
    weights, memory = 0.9 ** np.arange(59, -1, -1), state.memory
    assert memory[:5] == pytest.approx(weights @ seen)
    assert memory[5:10] == pytest.approx((weights @ sums) / (weights @ seen))
    assert memory[10] == pytest.approx(weights.sum())


def test_files_keep_the_memory(tmp_path):
    policy, rng = DiscountedCUCB(TopK(5, 2), gamma=0.9), np.random.default_rng(1)
    session = Session(policy, rng=0)
    for _ in range(20):
        session.tell(Feedback(session.ask(), rng.random(2)))
    session.save(tmp_path / "campaign")
    again = Session.load(tmp_path / "campaign", policy)
    assert np.array_equal(again.state.memory, session.state.memory) and session.state.memory.any()
    assert list(again.ask()) == list(session.ask())


def test_sums_of_outcomes_are_refused_and_change_nothing():
    session = Session(DiscountedCUCB(TopK(3, 1)), rng=0)
    session.ask()
    with pytest.raises(ValueError, match=r"feedback\.pulls must be None for DiscountedCUCB"):
        session.tell(Feedback([0], [2.0], pulls=[3]))
    assert session.pending == (0,) and not session.state.memory.any()


def test_states_with_another_memory_are_refused():
    with pytest.raises(ValueError, match="the memory of another policy"):
        DiscountedCUCB(TopK(3, 1)).select(CUCB(TopK(3, 1)).initial_state(), 0)


@pytest.mark.slow
def test_it_keeps_all_promises_of_a_policy():
    oracle = TopK(6, 2)
    check_policy(DiscountedCUCB(oracle, gamma=0.999), SemiBandit(BernoulliArms(MEANS[:6]), oracle))
