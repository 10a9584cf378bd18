"""Off-policy values: unbiased under their assumptions, intervals, refusals, replay, real clicks."""

import math
from collections import Counter
from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest
from refusals import refused
from scipy import stats

from cmab import (
    CTS,
    CUCB,
    Context,
    Feedback,
    Log,
    LoggedRound,
    Session,
    off_policy_value,
    read_log,
    replay_value,
)
from instances.datasets import open_bandit
from oracles import RankedTopK, TopK

ITEMS = ("a", "b", "c")
LISTS = list(permutations(ITEMS, 2))
# Sixteenths: how often each list is shown to each user by the log, and how the target would.
SHOWN = {"new": (1, 2, 3, 4, 5, 1), "old": (6, 1, 2, 2, 1, 4)}
WANTED = {"new": (0, 8, 0, 1, 3, 4), "old": (5, 5, 5, 1, 0, 0)}
ATTRACTION = {"a": 1, "b": 2, "c": 3}  # quarters, of which positions take their part


def alone(user, listed, k, clicked):
    """A click depends on the entry and its position."""
    return ATTRACTION[listed[k]] - k * (user == "new") * (listed[k] != "a")


def cascade(user, listed, k, clicked):
    """And on what stands above it, and was clicked there."""
    if k == 0:
        return ATTRACTION[listed[0]]
    return (0 if clicked else 3) if listed[0] == "b" else 2


def free(user, listed, k, clicked):
    """And on what stands below it."""
    return (1 + 2 * (listed[1 - k] == "c")) if k == 0 else cascade(user, listed, k, clicked)


def population(world, of=SHOWN):
    """Yield every round that may come, as often as it is probable: users are equally many."""
    for user, shares in of.items():
        for listed, share in zip(LISTS, shares, strict=True):
            for clicks in product((0, 1), repeat=2):
                times = share
                for k in range(2):
                    quarters = world(user, listed, k, clicks[0])
                    times *= quarters if clicks[k] else 4 - quarters
                yield from [(user, listed, clicks)] * times


def truth(world, of=WANTED):
    return float(np.mean([sum(clicks) for _, _, clicks in population(world, of)]))


def logged(world):
    """Return the population as a log, with its probabilities of lists, entries and beginnings."""
    rounds = []
    for i, (user, listed, clicks) in enumerate(population(world)):
        shares = dict(zip(LISTS, SHOWN[user], strict=True))
        chance = [sum(s for other, s in shares.items() if other[k] == listed[k]) / 16 for k in range(2)]
        row = LoggedRound(
            number=i,
            state="told",
            names=listed,
            outcomes=dict(zip(listed, map(float, clicks), strict=True)),
            propensity=shares[listed] / 16,
            by_position=tuple(chance),
            facts={"user": user},
        )
        rounds.append(row)
    return Log(rounds)


def distribution(of):
    tables = {
        user: {listed: share / 16 for listed, share in zip(LISTS, shares, strict=True)}
        for user, shares in of.items()
    }
    return lambda row: tables[row.facts["user"]]


def guess(row, names):
    """A model that has nothing to do with the truth."""
    return (
        0.3 * len(names)
        + 0.17 * ITEMS.index(names[-1])
        + 0.4 * (row.facts["user"] == "old") * (names[0] == "b")
    )


LOGS = {world: logged(world) for world in (alone, cascade, free)}
TARGET, LOGGING = distribution(WANTED), distribution(SHOWN)


@pytest.mark.parametrize(
    ("world", "unbiased"), [(alone, {"ips", "dr", "iips"}), (cascade, {"ips", "dr"}), (free, {"ips", "dr"})]
)
def test_expectations_are_the_truth_where_the_assumption_holds(world, unbiased):
    """The mean over all rounds that may come, each as often as it is probable, is the expectation."""
    for method in ("ips", "dr", "iips"):
        model = guess if method == "dr" else None
        found = off_policy_value(LOGS[world], TARGET, method, model=model)
        assert (abs(found.value - truth(world)) < 1e-12) == (method in unbiased), (method, found)
        assert found.weight_mean == pytest.approx(1.0, abs=1e-12)
        assert abs(found.weight_z) < 1e-9
        if method not in unbiased:
            assert abs(found.value - truth(world)) > 1e-3


def test_a_wrong_model_changes_the_variance_alone():
    """And the right one makes the interval shorter."""
    exact = Counter()
    for user, listed, clicks in population(free):
        exact[user, listed] += sum(clicks)
    times = Counter((user, listed) for user, listed, _ in population(free))
    right = off_policy_value(
        LOGS[free],
        TARGET,
        "dr",
        model=lambda row, names: exact[row.facts["user"], names] / times[row.facts["user"], names],
    )
    plain = off_policy_value(LOGS[free], TARGET)
    assert right.value == pytest.approx(plain.value, abs=1e-12)
    assert np.diff(right.interval) < 0.8 * np.diff(plain.interval)


def test_the_arithmetic_of_ips():
    log = LOGS[free]
    w = np.array([TARGET(row)[row.names] / row.propensity for row in log])
    r = np.array([sum(row.outcomes.values()) for row in log])
    found = off_policy_value(log, TARGET, level=0.9)
    wanted = stats.t.interval(0.9, len(log) - 1, np.mean(w * r), stats.sem(w * r))
    assert found.interval == pytest.approx(wanted, rel=1e-9)
    assert found.effective_size == pytest.approx(w.sum() ** 2 / (w**2).sum())
    again = off_policy_value(log, TARGET, self_normalised=True)
    assert again.value == pytest.approx((w * r).sum() / w.sum())
    assert again.method == "self-normalised ips"
    # The delta method's error, as textbooks have it for a ratio.
    error = np.std(w * (r - again.value), ddof=1) / w.mean() / np.sqrt(len(w))
    assert np.diff(again.interval)[0] == pytest.approx(2 * stats.t.isf(0.025, len(w) - 1) * error)


def test_the_log_s_own_rule_has_its_own_mean():
    for method in ("ips", "iips"):
        for normal in (False, True):
            found = off_policy_value(LOGS[cascade], LOGGING, method, self_normalised=normal)
            assert found.value == pytest.approx(truth(cascade, SHOWN), abs=1e-12)
            assert found.effective_size == pytest.approx(found.rounds)
            assert found.weight_z == 0.0


def test_sets_have_no_order():
    """A log of sets as lists in any order, by a target of sets."""
    log = read_log(
        {"one": list("abca") * 5, "two": list("bcbb") * 5, "r": [1, 0, 2, 3] * 5, "p": [0.5] * 20},
        ["one", "two"],
        reward="r",
        propensity="p",
    )
    target = {frozenset("ab"): 0.5, frozenset("bc"): 0.5}
    assert off_policy_value(log, target).value == pytest.approx(1.5)
    with pytest.raises(ValueError, match="have tuples for an estimate by position"):
        off_policy_value(LOGS[alone], target, "iips")


def drawn(rng, n):
    """Return a log of n rounds of the cascade's world."""
    rounds = list(LOGS[cascade])
    return Log([rounds[i] for i in rng.integers(len(rounds), size=n)])


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ips", "iips", "dr", "self-normalised ips"])
def test_intervals_hold_as_often_as_they_say(method):
    """Of 300 logs of 200 rounds; 7 instead of 5 in 100, as the interval is one for large logs (1e-6)."""
    rng, missed, wanted = np.random.default_rng(1), 0, truth(cascade)
    for _ in range(300):
        name = method.split()[-1]
        found = off_policy_value(
            drawn(rng, 200),
            TARGET,
            name,
            model=guess if "dr" in name else None,
            self_normalised=" " in method,
        )
        missed += not found.interval[0] <= wanted <= found.interval[1]
    assert missed <= stats.binom.isf(1e-6, 300, 0.07)
    assert missed > 0


def test_a_wrong_column_is_noticed():
    """The mean weight of the population is 1; of a column that is a fifth too large, or turned, it is not."""
    for change in (lambda p: p / 1.2, lambda p: min(1.0, 1.3 * p), lambda p: p**0.5):
        log = Log([replace(row, propensity=change(row.propensity)) for row in [*LOGS[alone]] * 4])
        with pytest.raises(ValueError, match=r"weights must have mean 1.*wrong, or it is too small"):
            off_policy_value(log, TARGET)
    # With right ones it happens to hardly any log: 60 of 100 rounds, each by chance less often than 1e-5.
    rng, refused = np.random.default_rng(2), 0
    for _ in range(60):
        refused += abs(off_policy_value(drawn(rng, 100), TARGET).weight_z) > 4.5
    assert refused == 0


def change(log, **parts):
    return Log([replace(row, **parts) if i in (3, 5) else row for i, row in enumerate(log)])


A_THIRD = {("a", "d"): 1.0}


test_what_a_log_cannot_say_is_refused = refused(
    (change(LOGS[alone], propensity=None), TARGET, {}, r"propensity of the log .* not in rounds 3, 5"),
    (change(LOGS[alone], propensity=0.0), TARGET, {}, r"above 0, but does not in rounds 3, 5"),
    (change(LOGS[alone], by_position=None), TARGET, {"method": "iips"}, r"by_position .* rounds 3, 5"),
    (LOGS[alone], A_THIRD, {}, r"\['d'\], which are in no round$"),
    (LOGS[alone], {("d", "a"): 1.0}, {"method": "iips"}, r"\['d'\], which are in no round at its"),
    (LOGS[alone], {("a",): 1.0}, {"method": "iips"}, "as long as those of the log, 2"),
    (LOGS[alone], {("a", "b"): 0.9}, {}, "must sum to 1, got 0.9"),
    (LOGS[alone], {"ab": 1.0}, {}, "must be all tuples"),
    (LOGS[alone], lambda row: 1.0, {}, "a probability for each super arm"),
    (LOGS[alone], TARGET, {"method": "dr"}, "model must be given"),
    (LOGS[alone], TARGET, {"model": guess}, "model must be given for 'dr' only"),
    (LOGS[alone], TARGET, {"method": "dr", "model": lambda row, names: np.nan}, "finite"),
    (change(LOGS[alone], outcomes={}), TARGET, {}, r"a reward, or outcomes .* in rounds 3, 5"),
    (change(LOGS[alone], reward=9.0), TARGET, {"method": "iips"}, r"sums of the outcomes.* rounds 3, 5"),
    (change(LOGS[alone], names=("a",)), TARGET, {"method": "iips"}, "equally long"),
    (change(LOGS[alone], pulls=2), TARGET, {}, "one outcome per arm, got more in rounds 3, 5"),
    (Log(LOGS[alone][:1]), TARGET, {}, "at least two reported rounds, got 1"),
    by=lambda log, target, how: off_policy_value(log, target, **how),
)


def test_a_target_sees_the_round_as_it_was_before_the_choice():
    seen = []

    def target(row):
        seen.append(row)
        return TARGET(row)

    off_policy_value(LOGS[alone], target)
    assert all(row.names == () and not row.outcomes and row.propensity is None for row in seen)
    assert {row.facts["user"] for row in seen} == {"new", "old"}


def uniform(n, oracle, worth, rng):
    """Return a log of random super arms whose outcomes depend on the arm alone."""
    rounds, names = [], oracle._arm_labels()
    chance = (1 if isinstance(oracle, RankedTopK) else 2) / math.perm(oracle.n_arms, oracle.k)
    for i in range(n):
        played = tuple(names[arm] for arm in rng.permutation(oracle.n_arms)[: oracle.k])
        outcomes = {name: worth[name] for name in played}
        rounds.append(LoggedRound(i, "told", played, outcomes, propensity=chance))
    return Log(rounds)


@pytest.mark.parametrize("kind", [TopK, RankedTopK])
@pytest.mark.parametrize("rule", [CUCB, CTS])
def test_a_replay_is_a_campaign_of_its_own(kind, rule):
    """Outcomes depend on arms alone here, so that the rounds which count are those of a live session."""
    oracle = kind(4, 2).named(["w", "x", "y", "z"])
    worth = {"w": 1.0, "x": 0.0, "y": 1.0, "z": 0.0}
    log = uniform(900, oracle, worth, np.random.default_rng(3))
    found = replay_value(log, rule(oracle), rng=5)
    m = round(found.effective_size)
    assert m > 40
    assert found.method == "replay"
    assert found.rounds == 900
    if rule is CUCB:  # which draws nothing: passing over rounds leaves it as it is
        live, earned = Session(rule(oracle), rng=5), []
        for _ in range(m):
            ticket = live.ask()
            outcomes = [worth[name] for name in oracle.labels(ticket.super_arm)]
            live.tell(Feedback(ticket.super_arm, outcomes), ticket)
            earned.append(sum(outcomes))
        assert found.value == pytest.approx(np.mean(earned), abs=1e-12)
        assert found.value > 1.0


def test_a_replay_hands_contexts_over():
    oracle, context = TopK(3, 1).named(["y", "z", "x"]), Context(available=[True, False, True])
    rounds = [
        LoggedRound(i, "told", (name,), {name: 1.0}, propensity=0.5, context=context)
        for i, name in enumerate(["y", "x"] * 50)
    ]
    log = Log(rounds, choices=["y", "z", "x"], arms=["y", "z", "x"])
    assert 40 <= replay_value(log, CUCB(oracle)).effective_size <= 60
    with pytest.raises(ValueError, match="contexts of the log must have the names of the oracle"):
        replay_value(log, CUCB(TopK(3, 1).named(["x", "y", "z"])))


test_a_log_that_is_not_uniform_is_not_replayed = refused(
    (LOGS[alone], "propensity must be the same in all rounds of a replay"),
    (change(LOGS[alone], propensity=None), "known and above 0, but it is not in rounds 3, 5"),
    (Log([replace(row, propensity=1 / 6) for row in [*LOGS[alone]] * 4]), "weights must have mean 1"),
    by=lambda log: replay_value(log, CUCB(RankedTopK(3, 2).named(list("abc")))),
)


def two_arms(sold, propensity=0.5):
    table = {"item": ["a", "b"] * (len(sold) // 2), "sold": sold, "p": [propensity] * len(sold)}
    return read_log(table, "item", outcome="sold", propensity="p")


@pytest.mark.parametrize("self_normalised", [False, True])
@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e-9, 1e9, 1e160, 1e300])
def test_an_estimate_and_its_interval_have_the_scale_of_the_rewards(scale, self_normalised):
    sold, target = np.random.default_rng(0).random(60), {("a",): 0.25, ("b",): 0.75}
    one = off_policy_value(two_arms(sold), target, self_normalised=self_normalised)
    other = off_policy_value(two_arms(sold * scale), target, self_normalised=self_normalised)
    found = np.array([other.value, *other.interval]) / scale
    np.testing.assert_allclose(found, [one.value, *one.interval], rtol=1e-9)


def random_slates(seed, n_items, k, rounds=1000):
    """Return a log of slates of random items, and the probabilities of a sale of each item."""
    rng, chances = np.random.default_rng(seed), np.random.default_rng(99).random(n_items) / 2
    slates = np.array([rng.choice(n_items, k, replace=False) for _ in range(rounds)])
    sold, columns = (rng.random(slates.shape) < chances[slates]).astype(int), {}
    for j in range(k):
        columns |= {f"item{j}": slates[:, j].tolist(), f"sold{j}": sold[:, j].tolist()}
        columns[f"p{j}"] = [1 / n_items] * rounds
    named = {key: [f"{key}{j}" for j in range(k)] for key in ("item", "sold", "p")}
    return read_log(columns, named["item"], outcome=named["sold"], by_position=named["p"]), chances


@pytest.mark.parametrize(("n_items", "k"), [(1000, 9), (60, 10)])
def test_random_slates_need_the_probabilities_of_positions_only(n_items, k):
    """Of 1,000 items, a third is in no round at a position. Five standard errors: false alarms below 1e-6."""
    values = []
    for seed in range(12):
        log, chances = random_slates(seed, n_items, k)
        best = np.argsort(-chances)[:k]
        values.append(off_policy_value(log, {tuple(best.tolist()): 1.0}, "iips").value)
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    assert abs(np.mean(values) - chances[best].sum()) < 5 * error


@pytest.mark.slow
@pytest.mark.parametrize("campaign", ["men", "women", "all"])
def test_the_measured_value_lies_in_the_interval(campaign):
    """Of Thompson sampling, as often as it showed each item at each position, from the random log.

    Both intervals are of level 0.95: they overlap with far more. A wrong column is noticed.
    """
    try:
        random, thompson = open_bandit(campaign, "random"), open_bandit(campaign, "thompson")
    except FileNotFoundError as error:
        pytest.skip(str(error))
    shown = Counter((row.facts["position"], *row.names) for row in thompson)
    totals = Counter(row.facts["position"] for row in thompson)
    shares: dict = {position: {} for position in totals}
    for (position, item), times in shown.items():
        shares[position][(item,)] = times / totals[position]
    measured = np.mean([row.reward for row in thompson])
    for normal in (False, True):
        found = off_policy_value(random, lambda row: shares[row.facts["position"]], self_normalised=normal)
        assert found.interval[0] < measured < found.interval[1]
        assert abs(found.weight_z) < 4
        assert 2000 < found.effective_size < 5000
    for factor in (0.7, 1.4):
        wrong = Log([replace(row, propensity=factor * row.propensity) for row in random])
        with pytest.raises(ValueError, match="weights must have mean 1"):
            off_policy_value(wrong, lambda row: shares[row.facts["position"]])
