"""Arguments from the third on are given by name."""

import inspect

import pytest

import cmab
import instances
import oracles
from cmab.policies.ucb import LLR

# A pair, as networkx has it.
TERMINALS = {oracles.ShortestPath, oracles.MostReliablePath, oracles.DisjointPaths, oracles.MinimumCut}
CLASSES = [thing for thing in map(oracles.__dict__.get, oracles.__all__) if inspect.isclass(thing)]
CLASSES += [
    thing
    for thing in [getattr(instances, name) for name in instances.__all__]
    if getattr(thing, "__module__", "").startswith("instances.")
]
CLASSES += [
    *(cmab.CTS, cmab.CUCB, LLR, cmab.EpsilonGreedy, cmab.Greedy),
    *(cmab.PrimalDualCUCB, cmab.GaussianCTS, cmab.HierarchicalCTS, cmab.ForcedExploration),
    *(cmab.RarelySwitchingCUCB, cmab.Session, cmab.Context, cmab.Feedback),
]
# Values that answers are made of, or errors: no user makes them.
RESULTS = (oracles.Certificate, cmab.SolverCertificate, oracles.SolverError)


@pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.__name__) for kind in CLASSES])
def test_constructors_take_the_third_argument_by_name(kind):
    if kind in RESULTS:
        return
    parameters = inspect.signature(kind).parameters.values()
    in_order = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert len(in_order) <= (3 if kind in TERMINALS else 2), in_order
