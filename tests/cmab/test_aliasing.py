"""Objects keep what they were made of: what the caller owns is neither kept nor changed."""

import copy
import inspect
from functools import partial

import cases
import networkx as nx
import numpy as np
import pytest
from fuzzing import Subject, outcome

import instances
import oracles
from cmab import Environment, Oracle, Policy

TABLES = {"ORACLES": Oracle, "ENVIRONMENTS": Environment, "POLICIES": Policy, "GROWING": Policy}


def arrays_and_graphs(values):
    """Yield the arrays, lists and graphs that are arguments, or entries of arguments."""
    for value in values:
        if isinstance(value, np.ndarray | nx.Graph):
            yield value
        elif isinstance(value, dict):
            yield value
            yield from arrays_and_graphs(value.values())
        elif isinstance(value, list | tuple):
            yield from arrays_and_graphs(value)
            if isinstance(value, list):
                yield value


def spoil(thing):
    """Change what the caller owns."""
    if isinstance(thing, nx.Graph):
        for _, data in thing.nodes(data=True):
            data.clear()
        thing.clear()
    elif isinstance(thing, np.ndarray):
        if thing.flags.writeable and thing.size:
            thing[...] = thing.flat[0]
    else:
        thing.clear()


def same(one, other):
    """Return whether two arguments are alike."""
    if isinstance(one, nx.Graph):
        return nx.utils.graphs_equal(one, other)
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return True


class Recorder:
    """Hands copies of arguments to the constructors of public classes, as arrays where lists would do."""

    def __init__(self, patch):
        self.seen = []
        self.depth = 0
        for module in (oracles, instances):
            for name in module.__all__:
                cls = getattr(module, name)
                if inspect.isclass(cls) and issubclass(cls, Oracle | Environment) and "__init__" in vars(cls):
                    patch.setattr(cls, "__init__", self.watched(cls.__init__))

    def watched(self, init):
        """Return a constructor that keeps what the outermost call was handed."""

        def constructor(thing, *args, **named):
            if self.depth == 0:
                args = tuple(owned(copied(value)) for value in args)
                named = {name: owned(copied(value)) for name, value in named.items()}
                self.seen.append((type(thing), (args, named), copied((args, named))))
            self.depth += 1
            try:
                init(thing, *args, **named)
            finally:
                self.depth -= 1

        return constructor


def copied(value):
    """Return a copy of an argument; what is no data (a model of PuLP 4 cannot be copied) stays itself."""
    if isinstance(value, list | tuple):
        return type(value)(map(copied, value))
    if isinstance(value, dict):
        return {key: copied(entry) for key, entry in value.items()}
    return copy.deepcopy(value) if isinstance(value, np.ndarray | nx.Graph) else value


def owned(value):
    """Return an argument as the kind of thing that could be kept without a copy: arrays in place of lists."""
    if isinstance(value, list | tuple) and value and all(isinstance(v, int | float) for v in value):
        return np.array(value)
    if isinstance(value, list) and value and all(isinstance(v, list | tuple) for v in value):
        plain_lists = all(isinstance(entry, int | float) for v in value for entry in v)
        return [np.array(v) for v in value] if plain_lists else value
    return value


def answers(subject):
    """Return the answers of all methods to good arguments, as text."""
    found = {}
    for method, names in subject.methods().items():
        if not method.endswith("kernel"):
            good = {name: partial(subject.good, method, name) for name in names}
            found[method] = outcome(subject.thing, method, good)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "case"),
    [(kind, case) for kind in TABLES for case in getattr(cases, kind)],
    ids=lambda v: getattr(v, "name", v),
)
def test_what_the_caller_owns_stays_his(kind, case, monkeypatch):
    with monkeypatch.context() as patch:
        recorder = Recorder(patch)
        subject = Subject(kind, case)
    before = answers(subject)
    for _, given, untouched in recorder.seen:
        assert same(list(given[0]), list(untouched[0]))
        assert same(given[1], untouched[1])
    for _, given, _ in recorder.seen:
        for thing in list(arrays_and_graphs([*given[0], *given[1].values()])):
            spoil(thing)
    after, lost = answers(subject), "weight must be read from the graph of the oracle"
    # `means_of` reads the weights that the graph of the caller has at the time of the call.
    if isinstance(after.get("means_of"), tuple) and lost in after["means_of"][1]:
        del after["means_of"], before["means_of"]
    assert after == before
