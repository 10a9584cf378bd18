"""Processor time of the compiled loops, the explorers, a session, the oracles and an influence call."""

from __future__ import annotations

import tempfile
from pathlib import Path

import networkx as nx
import numpy as np

from cmab import CTS, CUCB, LUCB1, Campaign, Feedback, Learner, LilCLUCB, Session, identify, simulate
from instances import BernoulliArms, SemiBandit
from oracles import InfluenceMaximization, Knapsack, Matching, ShortestPath, TopK

RNG = np.random.default_rng(1)
MEANS = RNG.uniform(0.1, 0.9, 100)


class Loops:
    """200,000 rounds on the best 10 of 100 arms."""

    params = (CUCB, CTS, Learner)

    def setup(self, policy):
        oracle = TopK(100, 10)
        self.policy, self.environment = policy(oracle), SemiBandit(BernoulliArms(MEANS), oracle)
        self.time_simulate(policy)

    def time_simulate(self, policy):
        simulate(self.policy, self.environment, 200_000, rng=0)


class Explorers:
    """One replication for the best 3 of 10 arms."""

    def setup(self):
        oracle = TopK(10, 3)
        self.arms = BernoulliArms(np.linspace(0.1, 0.9, 10))
        self.explorers = LUCB1(10, 3, delta=0.05), LilCLUCB(oracle, delta=0.05)
        self.time_identify()

    def time_identify(self):
        for explorer in self.explorers:
            identify(explorer, self.arms, rng=0)


class Sessions:
    """500 rounds that are played outside, in memory and in a database."""

    def play(self, session):
        for _ in range(500):
            ticket = session.ask()
            session.tell(Feedback(ticket, MEANS[ticket.super_arm]), ticket)

    def setup(self):
        self.time_session()

    def time_session(self):
        self.play(Session(CUCB(TopK(100, 10))))

    def time_campaign(self):
        with tempfile.TemporaryDirectory() as folder:
            campaign = Campaign(CUCB(TopK(100, 10)), Path(folder) / "campaign.db", rng=0)
            for _ in range(500):
                request = campaign.ask()
                campaign.tell(dict.fromkeys(request.names, 1.0), request)


class Oracles:
    """One call of each."""

    def setup(self):
        grid = nx.grid_2d_graph(60, 60)
        both = nx.complete_bipartite_graph(300, 300)
        self.calls = {
            "knapsack": Knapsack(RNG.uniform(1, 9, 2000), capacity=900.0),
            "matching": Matching(both),
            "path": ShortestPath(grid, (0, 0), (59, 59)),
        }
        self.means = {name: RNG.uniform(0.1, 0.9, oracle.n_arms) for name, oracle in self.calls.items()}
        self.time_solve()

    def time_solve(self):
        for name, oracle in self.calls.items():
            oracle.solve(self.means[name], np.random.default_rng(0))


class Influence:
    """A certified call on 2,000 people."""

    def setup(self):
        graph = nx.barabasi_albert_graph(2000, 3, seed=0).to_directed()
        self.oracle = InfluenceMaximization(graph, k=10)
        self.means = np.full(self.oracle.n_arms, 0.05)
        self.time_solve()

    def time_solve(self):
        self.oracle.solve(self.means, np.random.default_rng(0))
