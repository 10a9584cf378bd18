"""Arguments from the third on are given by name."""

import inspect

import pytest

import cmab
import instances
import oracles
from cmab.policies.ucb import LLR
from oracles import TopK

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
    *(
        cmab.PrimalDualCUCB,
        cmab.GaussianCTS,
        cmab.HierarchicalCTS,
        cmab.ForcedExploration,
    ),
    *(cmab.RarelySwitchingCUCB, cmab.Session, cmab.Context, cmab.Feedback),
]
# Values that answers are made of, or errors: no user makes them.
RESULTS = (oracles.Certificate, oracles.RobustCertificate, cmab.SolverCertificate, oracles.SolverError)


@pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.__name__) for kind in CLASSES])
def test_constructors_take_the_third_argument_by_name(kind):
    if kind in RESULTS:
        return
    parameters = inspect.signature(kind).parameters.values()
    in_order = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert len(in_order) <= (3 if kind in TERMINALS else 2), in_order


POLICIES_OF_AN_ORACLE = [
    policy
    for policy in list(vars(cmab).values())  # signatures load modules
    if inspect.isclass(policy)
    and issubclass(policy, cmab.Policy)
    and not inspect.isabstract(policy)
    and next(iter(inspect.signature(policy).parameters), "") == "oracle"
]


@pytest.mark.parametrize("policy", POLICIES_OF_AN_ORACLE)
@pytest.mark.parametrize("wrong", [None, 10, [0, 1], TopK], ids=repr)
def test_what_is_no_oracle_is_refused_by_name(policy, wrong):
    needed = inspect.signature(policy).parameters.values()
    others = {p.name: 10 for p in list(needed)[1:] if p.default is p.empty and p.kind is not p.VAR_KEYWORD}
    with pytest.raises(ValueError, match="oracle must"):
        policy(wrong, **others)
