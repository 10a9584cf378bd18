"""All loops compute the same run, and only rules that belong together are fused."""

import contextlib
import signal

import numpy as np
import pytest
from cases import ORACLES, POLICIES, PlainBandit, assert_same_state, rows
from numba.core.runtime import _nrt_python, rtsys
from scipy.special import ndtri
from scipy.stats import norm

from cmab import CTS, CUCB, ESCB, SimulationInterrupted, simulate
from cmab.bounds.radii import LogRadius
from cmab.compiled import (
    Kernel,
    compiled_form,
    interpret,
    keyed_uniform,
    keyed_uniforms,
    normal_quantile,
    play_kernel,
)
from cmab.policies.ucb import LLR
from cmab.run import loops
from cmab.run.loops import CompiledLoop, compiled_run
from cmab.run.simulate import _blank
from instances import BernoulliArms, GaussianArms, SemiBandit
from oracles import TopK

MEANS = np.random.default_rng(3).permutation(np.linspace(0.1, 0.9, 30))
ARMS = {"bernoulli": BernoulliArms(MEANS), "gaussian": GaussianArms(MEANS, 0.3)}


class PlainTopK(TopK):
    """The same answers, through Python only."""

    def solve(self, means, rng):
        return super().solve(means, rng)


def all_paths(make_policy, arms, sense="max", k=4, **settings):
    runs = []
    for oracle in (TopK(30, k, sense=sense), PlainTopK(30, k, sense=sense), PlainTopK(30, k, sense=sense)):
        environment = (PlainBandit if len(runs) == 2 else SemiBandit)(arms, oracle)
        runs.append(simulate(make_policy(oracle), environment, rng=5, **settings))
    return runs


def assert_same_runs(runs):
    for run in runs[1:]:
        assert np.array_equal(run.rewards, runs[0].rewards)
        assert np.array_equal(run.expected_rewards, runs[0].expected_rewards)
        for a, b in zip(run.states, runs[0].states, strict=True):
            assert_same_state(a, b)
        for a, b in zip(run.super_arms, runs[0].super_arms, strict=True):
            assert np.array_equal(a, b)


def random_pair(number):
    """Return a rule and an oracle of the tables that fit together, and the environment."""
    rng = np.random.default_rng(number)
    rules = [row.values[0] for row in rows(POLICIES, "runs") if not row.marks]
    while True:
        rule, case = rules[rng.integers(len(rules))], ORACLES[rng.integers(len(ORACLES))]
        with contextlib.suppress(ValueError):
            oracle = case.make()
            environment = SemiBandit(BernoulliArms(np.linspace(0.2, 0.8, oracle.n_arms)), oracle)
            policy = rule.make(oracle)
            simulate(policy, environment, 40, rng=6)  # raises if the indices do not fit the oracle
            return policy, environment


@pytest.mark.filterwarnings("ignore:the regret is unknown")
@pytest.mark.parametrize("number", range(200))
def test_interpreted_kernels_give_the_same_run(number):
    runs = []
    for always in (True, False):
        with interpret(always):
            runs.append(simulate(*random_pair(number), 40, replications=2, rng=6))
    assert_same_runs(runs)


@pytest.mark.parametrize("arms", ARMS)
@pytest.mark.parametrize("sense", ["max", "min"])
@pytest.mark.parametrize("case", rows(POLICIES, "runs"))
def test_all_loops_give_the_same_run(case, sense, arms):
    # Rules for a super arm as a whole may look at thousands of sets a round where many arms are alike.
    last, k = (100, 2) if isinstance(case.make(TopK(30, 4)), ESCB) else (400, 4)
    settings = {"horizon": last, "replications": 2, "checkpoints": [1, 2, 7, last // 4, last - 1, last]}
    fused, mixed, plain = all_paths(case.make, ARMS[arms], sense, k, **settings)
    assert plain.path == "python"
    assert_same_runs([plain, fused, mixed])


@pytest.mark.filterwarnings("ignore:the regret is unknown")
@pytest.mark.parametrize("make", [CUCB, CTS, LLR])
@pytest.mark.parametrize("case", ORACLES, ids=lambda case: case.name)
def test_compiled_oracles_give_the_same_run(case, make):
    if not case.make().is_linear or compiled_form(case.make()) is None:
        pytest.skip("no compiled form")
    runs = []
    for bandit in (SemiBandit, SemiBandit, PlainBandit):
        oracle = case.make()
        if runs:
            oracle.kernel = lambda: None
        environment = bandit(BernoulliArms(np.linspace(0.2, 0.8, oracle.n_arms)), oracle)
        runs.append(simulate(make(oracle), environment, 300, replications=2, rng=6))
    assert [run.path for run in runs] == ["compiled", "mixed", "python"]
    for run in runs[1:]:
        assert np.array_equal(run.rewards, runs[0].rewards)
        assert np.array_equal(run.expected_rewards, runs[0].expected_rewards)
        assert np.array_equal(run.states[1].means, runs[0].states[1].means)
        assert np.array_equal(run.super_arms[1], runs[0].super_arms[1])


@pytest.mark.filterwarnings("ignore:the regret is unknown")
@pytest.mark.parametrize("case", ORACLES, ids=lambda case: case.name)
def test_threads_do_not_share_scratch_space(case):
    oracle = case.make()
    if not oracle.is_linear or compiled_form(oracle) is None:
        pytest.skip("not on the compiled path")
    environment = SemiBandit(BernoulliArms(np.linspace(0.2, 0.8, oracle.n_arms)), oracle)
    one, two = (simulate(CUCB(oracle), environment, 3000, replications=8, rng=1, n_jobs=n) for n in (1, 2))
    assert one.path == two.path == "compiled"
    assert np.array_equal(one.rewards, two.rewards)


def test_an_overridden_rule_is_not_fused_away():
    class Mine(CUCB):
        def indices(self, stats, rng):
            return np.arange(30.0)

    class Observed(BernoulliArms):
        def quantile(self, arms, uniforms):
            return 1 - super().quantile(arms, uniforms)

    oracle = TopK(30, 4)
    assert compiled_run(CUCB(oracle), SemiBandit(ARMS["bernoulli"], oracle))
    assert not compiled_run(Mine(oracle), SemiBandit(ARMS["bernoulli"], oracle))
    assert compiled_run(CUCB(PlainTopK(30, 4)), SemiBandit(ARMS["bernoulli"], oracle)).oracle is None
    assert not compiled_run(CUCB(oracle), SemiBandit(Observed(MEANS), oracle))
    chosen = simulate(Mine(oracle), SemiBandit(ARMS["bernoulli"], oracle), 3, rng=0).super_arms[0]
    assert chosen.tolist() == [26, 27, 28, 29]


def test_normal_quantiles_match_scipy():
    uniforms = np.concatenate([keyed_uniforms(1, np.arange(10_000)), [0.0], 2.0 ** -np.arange(1, 53)])
    ours = np.array([normal_quantile(u) for u in uniforms])
    exact = ndtri(uniforms + 2.0**-54)
    assert np.allclose(ours, exact, rtol=1e-9, atol=1e-12)
    assert np.allclose(norm.cdf(ours), uniforms, atol=1e-14)
    assert normal_quantile(1 - 2.0**-53) == -normal_quantile(0.0)  # the outermost cells mirror each other


def test_an_infeasible_super_arm_stops_the_run():
    class TooMany(TopK):
        def solve(self, means, rng):
            return np.arange(self.k + 1)

    oracle = TooMany(30, 4)
    with pytest.raises(ValueError, match="feasible"):
        simulate(CUCB(oracle), SemiBandit(ARMS["bernoulli"], TopK(30, 4)), 5, rng=0)


class Failing(TopK):
    """Fails at its 50th call."""

    calls, error = 0, None

    def solve(self, means, rng):
        self.calls += 1
        if self.calls == 50 and isinstance(self.error, signal.Signals):
            signal.raise_signal(self.error)
        elif self.calls == 50:
            raise self.error
        return super().solve(means, rng)


@play_kernel
def play_and_look_aside(super_arm, size, key, integers, reals, arms, outcomes, totals):
    """As Bernoulli arms do, but the first arm is not observed; the one seven places behind the last is."""
    totals[0], totals[1] = 0.0, 0.0
    for j in range(1, size):
        arm = super_arm[j]
        arms[j - 1], outcomes[j - 1] = arm, 1.0 if keyed_uniform(key, arm) < reals[arm] else 0.0
        totals[1] += reals[arm]
    aside = (arms[size - 2] + 7) % reals.shape[0]
    arms[size - 1], outcomes[size - 1] = aside, 1.0 if keyed_uniform(key, aside) < reals[aside] else 0.0
    return size


class Aside(SemiBandit):
    def kernel(self):
        return Kernel(play_and_look_aside, reals=np.array(self.means))


MANY = np.random.default_rng(4).random(1500)
LAZY = {
    "plain": ({}, SemiBandit, MANY),
    "steep": ({"radius_factor": 0.1}, SemiBandit, MANY),
    "greedy": ({"radius_factor": 0.0}, SemiBandit, MANY),
    "loglog": ({"radius": LogRadius.tight(), "radius_factor": 0.2}, SemiBandit, MANY),
    "certain": ({"radius_factor": 0.3}, SemiBandit, np.round(MANY)),
    "lattice": ({"radius_factor": 0.02}, SemiBandit, np.round(MANY, 1)),
    "aside": ({"radius_factor": 0.2}, Aside, MANY),
    "prior": ({"prior_mean": 0.9, "prior_weight": 2.0, "radius_factor": 0.1}, SemiBandit, MANY),
}


@pytest.mark.parametrize("k", [1, 15])
@pytest.mark.parametrize("case", LAZY)
def test_looking_at_few_arms_gives_the_run_of_a_full_scan(case, k, monkeypatch):
    parameters, bandit, means = LAZY[case]
    k = max(k - 1, 2) if case == "aside" else k
    oracle, runs = TopK(1500, k), []
    policy, environment = CUCB(oracle, **parameters), bandit(BernoulliArms(means), oracle)
    forms = compiled_run(policy, environment)
    assert (forms.policy.is_lazy and loops._is_small_top_k(forms.oracle, 1500)) == (case != "prior")
    for _ in range(2):
        runs.append(simulate(policy, environment, 6000, checkpoints=[1, 999, 1700, 6000], rng=7))
        monkeypatch.setattr(loops, "_is_small_top_k", lambda *compiled: False)
    assert np.array_equal(runs[0].rewards, runs[1].rewards, equal_nan=True)
    assert np.array_equal(runs[0].expected_rewards, runs[1].expected_rewards)
    assert np.array_equal(runs[0].super_arms[0], runs[1].super_arms[0])
    for name in ("counters", "means", "deviations"):
        assert np.array_equal(getattr(runs[0].states[0], name), getattr(runs[1].states[0], name)), name


def test_what_an_oracle_raises_gets_through_the_compiled_loop():
    oracle = Failing(30, 4)
    oracle.error = ZeroDivisionError("no spread")
    with pytest.raises(ZeroDivisionError, match="no spread") as caught:
        simulate(CUCB(oracle), SemiBandit(ARMS["bernoulli"], TopK(30, 4)), 100, rng=0)
    assert caught.value.__notes__ == ["in replication 0 of CUCB"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_an_oracle_ends_the_run_after_a_few_rounds(number):
    oracle, whole = Failing(30, 4), simulate(*setting(TopK(30, 4)), rng=0)
    oracle.error = number
    with pytest.raises(SimulationInterrupted) as caught:
        simulate(*setting(oracle), rng=0)
    partial = caught.value.partial
    assert partial.path == "mixed"
    played = partial.states[0].rounds
    assert 49 < played < 100
    assert np.array_equal(partial.rewards[0, :played], whole.rewards[0, :played])
    assert np.isnan(partial.rewards[0, played:]).all()
    assert partial.states[0].counts.sum() == 4 * played


def setting(oracle):
    return CUCB(oracle), SemiBandit(ARMS["bernoulli"], TopK(30, 4)), 100


@pytest.mark.parametrize("n_arms", [30, 1000])
@pytest.mark.parametrize("case", POLICIES, ids=lambda case: case.name)
def test_a_compiled_round_allocates_nothing(case, n_arms):
    """As many allocations of compiled code for 600 rounds as for 100."""
    oracle = TopK(n_arms, 4)
    policy, environment = case.make(oracle), SemiBandit(BernoulliArms(np.linspace(0.1, 0.9, n_arms)), oracle)
    compiled, made = compiled_run(policy, environment), []
    if compiled is None:
        pytest.skip("no compiled form")
    streams = (np.random.default_rng(0), np.random.default_rng(1))
    record = _blank(policy, environment, np.array([700]), "compiled")
    run = CompiledLoop(compiled, oracle, policy.initial_state(), streams, record)
    run.prepare(np.inf)
    _nrt_python.memsys_enable_stats()
    try:
        for last in (1, 101, 701):
            before = rtsys.get_allocation_stats().alloc
            run.play(last)
            made.append(rtsys.get_allocation_stats().alloc - before)
    finally:
        _nrt_python.memsys_disable_stats()
    assert 0 < made[1] == made[2]


@pytest.mark.slow
def test_ten_million_updates_keep_the_mean():
    """The running mean of 0s and 1s against their exact count, to 1e-12 relative; counters do not wrap."""
    oracle, horizon = TopK(1, 1), 10_000_000
    environment = SemiBandit(BernoulliArms([0.3]), oracle)
    result = simulate(CUCB(oracle), environment, horizon, checkpoints=[horizon], rng=0)
    (stats,) = result.states
    assert stats.counts.tolist() == [horizon]
    exact = result.rewards[0, 0] / horizon
    assert abs(stats.means[0] - exact) < 1e-12 * exact
    assert abs(stats.variances[0] - exact * (1 - exact)) < 1e-7
