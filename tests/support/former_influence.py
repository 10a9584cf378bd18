"""Learners with influence oracles, of which an earlier version wrote journals and sessions.

That version had the default quality ``"good"``, or ``"fast"`` if `epsilon` was given.
"""

import networkx as nx
import numpy as np

from cmab import CTS, CUCB, Campaign, Feedback
from oracles import DirectedGraph, InfluenceMaximization
from oracles.influence import BudgetedInfluence, RepairedInfluence, Search


def friends():
    """Return a graph of 40 nodes."""
    graph = nx.gnm_random_graph(40, 160, seed=5, directed=True)
    tails, heads = np.array(sorted(graph.edges)).T
    return DirectedGraph.from_edges(tails, heads, n_nodes=40)


LEARNERS = {
    "default": lambda: InfluenceMaximization(friends(), k=3),
    "epsilon": lambda: CUCB(InfluenceMaximization(friends(), k=3, epsilon=0.3)),
    "usual_epsilon": lambda: CTS(InfluenceMaximization(friends(), k=3, epsilon=0.1)),
    "few_sets": lambda: CTS(InfluenceMaximization(friends(), k=3, search=Search(first_rr_sets=64))),
    "stated_good": lambda: CTS(InfluenceMaximization(friends(), k=3, search=Search(quality="good"))),
    "stated_best": lambda: CTS(InfluenceMaximization(friends(), k=3, search=Search(quality="best"))),
    "stated_better": lambda: CTS(InfluenceMaximization(friends(), 3, search=Search(quality="better"))),
    "repaired": lambda: CTS(RepairedInfluence(friends(), k=3, epsilon=0.3)),
    "budgeted": lambda: CTS(BudgetedInfluence(friends(), np.ones(40), budget=3.0)),
    "budgeted_best": lambda: CTS(
        BudgetedInfluence(friends(), np.ones(40), budget=3.0, search=Search(quality="best"))
    ),
}


def play(learner, rounds):
    """Play some rounds in which half of the tried edges succeed, and return the seeds."""
    asked = []
    for _ in range(rounds):
        ticket = learner.ask()
        is_campaign = isinstance(learner, Campaign)
        seeds = [int(seed) for seed in (ticket.names if is_campaign else ticket.super_arm)]
        oracle = learner.policy.oracle
        arms = np.flatnonzero(np.isin(oracle.graph.tails, seeds))
        if is_campaign:
            names = oracle.arm_labels()
            learner.tell({names[arm]: float(arm % 2) for arm in arms}, ticket)
        else:
            learner.tell(Feedback(arms, arms % 2.0), ticket)
        asked.append(seeds)
    return asked
