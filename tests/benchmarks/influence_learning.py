"""Which policies learn edge probabilities on NetHEPT: true spread of the seeds of each round.

Run as a script with the path of `nethept_imm.txt.gz`; the whole table takes a quarter of an hour. With
``--seconds`` only: where the seconds of a thousand rounds of CUCB and of Thompson sampling go. `compare`
takes any environment with `k` and any policies.
"""

import sys
import time

import numpy as np

from cmab import CTS, CUCB, Clairvoyant, Session, simulate
from instances import IndependentCascade, read_edge_list, weighted_cascade
from oracles import InfluenceMaximization
from oracles.influence.search import Search

ROUNDS = (1, 10, 50, 100, 200, 400, 1000)


def learners(oracle):
    """Return name, policy and horizon of each row."""

    def cucb(radius, **prior):  # the radius is sqrt(radius ln t / T)
        return CUCB(oracle, radius_factor=float(np.sqrt(radius / 1.5)), **prior)

    rare = {"prior_mean": 0.1, "prior_weight": 10.0}
    return [
        ("CUCB, radius 1.5 (Algorithm 1)", cucb(1.5), 1000),
        ("CUCB, radius 0.02", cucb(0.02), 1000),
        ("CUCB, prior 0.1 of weight 10, radius 0.02", cucb(0.02, **rare), 200),
        ("CUCB, prior 0.1 of weight 10, radius 0.002", cucb(0.002, **rare), 400),
        ("Thompson, Beta(1, 1)", CTS(oracle), 200),
        ("Thompson, Beta(1, 10)", CTS(oracle, prior_mean=1 / 11, prior_weight=11.0), 400),
        ("Thompson, Beta(1, 30)", CTS(oracle, prior_mean=1 / 31, prior_weight=31.0), 400),
    ]


def compare(environment, rows, rng=0):
    """Print the spread of each policy's seeds at `ROUNDS`, the arms it ever saw, and milliseconds a round."""
    print(f"best known seeds: {environment.optimum:.0f}")
    print(f"{'':46}" + "".join(f"{t:>7}" for t in ROUNDS) + f"{'seen':>7}{'ms':>8}")
    for name, policy, horizon in rows:
        started = time.perf_counter()
        result = simulate(policy, environment, horizon, checkpoints=np.arange(1, horizon + 1), rng=rng)
        spent = 1e3 * (time.perf_counter() - started) / horizon
        spreads = result.reward_per_round[0]
        cells = "".join(f"{spreads[t - 1]:7.0f}" if t <= horizon else f"{'':7}" for t in ROUNDS)
        seen = getattr(result.states[0], "counts", np.ones(1)) > 0
        print(f"{name:46}{cells}{seen.mean():7.0%}{spent:8.1f}", flush=True)


def seconds(environment, policy, rounds=1000):
    """Print the processor seconds of a run: in the oracle, in cascades, elsewhere (posterior, statistics)."""
    session, coins = Session(policy, rng=0), np.random.default_rng(1)
    solve = type(policy.oracle).solve.__get__(policy.oracle)
    oracle, cascade, edges = 0.0, 0.0, 0

    def timed(means, rng):
        nonlocal oracle
        started = time.process_time()
        super_arm = solve(means, rng)
        oracle += time.process_time() - started
        return super_arm

    policy.oracle.solve = timed
    begun = time.process_time()
    for _ in range(rounds):
        super_arm = session.ask().super_arm
        started = time.process_time()
        feedback = environment.play(super_arm, coins)
        cascade += time.process_time() - started
        edges += len(feedback.arms)
        session.tell(feedback)
    total = time.process_time() - begun
    print(
        f"{type(policy).__name__}: {rounds} rounds in {total:.1f} s of processor time: oracle {oracle:.1f},",
        f"cascades {cascade:.2f}",
        end=" ",
    )
    print(f"({1e9 * cascade / edges:.1f} ns an edge), elsewhere {total - oracle - cascade:.1f};", end=" ")
    print(f"the last seeds are worth {environment.expected_reward(super_arm):.0f}", flush=True)


def main():
    graph = read_edge_list(sys.argv[1], header=True)
    environment = IndependentCascade(graph, weighted_cascade(graph), k=50, n_rr_sets=2**18)
    oracle = InfluenceMaximization(graph, 50, epsilon=0.1, search=Search(quality="fast"))
    if "--seconds" in sys.argv:
        for policy in (CUCB(oracle), CTS(oracle, prior_mean=1 / 31, prior_weight=31.0)):
            seconds(environment, policy)
        return
    compare(environment, [("clairvoyant", Clairvoyant(oracle, environment.means), 10), *learners(oracle)])


if __name__ == "__main__":
    main()
