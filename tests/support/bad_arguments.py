"""Bad values for each parameter of each public callable, found from signatures, annotations and examples.

Run: PYTHONPATH=.:tests python tests/support/bad_arguments.py [PREFIX]. A new public name needs no line here:
its docstring has an example (`test_docstrings.py`), and the arguments of the first call in it are the good
ones, in which one at a time is replaced.
"""

import contextlib
import doctest
import functools
import inspect
import io
import re
import signal
import sys
import warnings
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from unittest.mock import patch

import numpy as np

MODULES = ("cmab", "cmab.explorer", "cmab.bounds", "oracles", "instances")
SECONDS = 120
#: Parameters that need no bad values: what the names are for.
OPEN = {
    "rng": "None, numbers and generators, tried by test_a_seed_stands_for_its_generator",
    "path": "a file",
    "names": "names of users may be of any type",
    "labels": "names of users may be of any type",
    "classes": "labels may be of any type",
    "source": "a node may be of any type",
    "target": "a node may be of any type",
    **dict.fromkeys(("directed", "ties_only", "timeout"), "of a file of the example, which is gone by then"),
}
#: (name, parameter, value) that is accepted or refused in another way, and why.
ACCEPTED = {
    ("cmab.Feedback", "reward", "nan"): "nan says that the reward is unknown",
    ("cmab.Feedback", "reward", "numpy_nan"): "nan says that the reward is unknown",
    ("cmab.Feedback", "reward", "decimal_nan"): "nan says that the reward is unknown",
    ("cmab.Feedback", "reward", "array_nan"): "nan says that the reward is unknown",
    ("cmab.Campaign", "propensity_draws", "int8"): "it is accepted, and the folder of the example is gone",
    ("cmab.Campaign", "propensity_draws", "small"): "it is accepted, and the folder of the example is gone",
    ("cmab.LoggedRound", "reward", "nan"): "nan says that the reward is unknown",
    ("oracles.GeneralizedAssignment", "time_limit", "subnormal"): "the solver says that it had no time",
    ("oracles.MultidimensionalKnapsack", "time_limit", "subnormal"): "the solver says that it had no time",
    ("oracles.PuLPOracle", "time_limit", "subnormal"): "the solver says that it had no time",
    ("instances.Coverage", "probability", "text"): "a text names an attribute of the edges",
    ("cmab.bounds.adaptive_top_k_samples", "delta", "subnormal"): "its inverse is infinite",
    ("cmab.bounds.lucb1_samples", "delta", "subnormal"): "its inverse is infinite",
    ("cmab.bounds.worst_case_samples", "epsilon", "subnormal"): "its square is 0",
}
#: Values that `cmab` makes and hands out. Users read them, so that their constructors check nothing.
RESULTS = re.compile(
    r"Simulation|Identification|.*Comparison|SimulationInterrupted|OffPolicyEstimate"
    r"|OfflineChoice|.*Certificate|SamplePlan|Request|Ticket|.*State|.*Statistics|Fit|Network"
    r"|StudyFailed|OracleError|SolverError|Propensity|Health|AnyExplorer|Mixture|RewardGaps"
)


#: Without good arguments to begin with: why.
UNTRIED = {
    **dict.fromkeys(
        (
            "cmab.CompiledIndexPolicy",
            "cmab.Environment",
            "cmab.Explorer",
            "cmab.Goal",
            "cmab.IndexPolicy",
            "cmab.LUCBRule",
            "cmab.LinearOracle",
            "cmab.Oracle",
            "cmab.PhasedExplorer",
            "cmab.Policy",
            "cmab.RuledExplorer",
            "oracles.InfluenceOracle",
            "oracles.TriggeringModel",
            "instances.Arms",
            "instances.SpreadingInfluence",
        ),
        "it is abstract: users write the classes of its examples themselves",
    ),
    "cmab.bounds.kl.bernoulli_divergence": "it checks nothing, as its docstring says: it is for inner loops",
}
#: Class methods that make an object, tried like functions.
MAKERS = {"oracles.DirectedGraph": "from_edges"}


class Captured(Exception):
    """The first call of an example was reached."""


def public():
    """Return each public class and function by the name that users import it by."""
    found = {}
    for module in MODULES:
        home = import_module(module)
        for name in getattr(home, "__all__", None) or [n for n in vars(home) if not n.startswith("_")]:
            thing = getattr(home, name)
            own = getattr(thing, "__module__", "").startswith(module)
            if callable(thing) and own and thing not in found.values():
                found[f"{module}.{name}"] = getattr(thing, MAKERS.get(f"{module}.{name}", ""), thing)
    return found


@functools.cache
def example_call(name, thing):
    """Return the arguments of the first call of `thing` in its docstring's example; None without one."""
    module, _, short = name.rpartition(".")
    if inspect.isclass(thing) and issubclass(thing, BaseException):
        return None
    calls, signature = [], inspect.signature(thing)

    def note(*arguments, **named):
        calls.append(signature.bind(*arguments, **named).arguments)
        raise Captured

    if inspect.isclass(thing):

        def start(self, *arguments, **named):
            if type(self) is thing:
                note(*arguments, **named)
            original(self, *arguments, **named)

        original = thing.__init__
        homes = [(thing, "__init__", start)]
    elif inspect.ismethod(thing):
        homes = [(thing.__self__, thing.__name__, functools.wraps(thing)(note))]
    else:  # examples import it from where it is public, or from where it is
        found = {module, thing.__module__}
        homes = [(import_module(home), short, functools.wraps(thing)(note)) for home in found]
    told = inspect.getdoc(thing.__self__ if inspect.ismethod(thing) else thing)
    source = "".join(e.source for e in doctest.DocTestParser().get_examples(told or ""))
    with (
        contextlib.ExitStack() as stack,
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        for home in homes:
            stack.enter_context(patch.object(*home))
        warnings.simplefilter("ignore")
        with contextlib.suppress(Captured):
            exec(compile(source, name, "exec"), {})
    return calls[0] if calls else None


def endless():
    """Return a list that contains itself."""
    loop = []
    loop.append(loop)
    return loop


def deep(depth):
    """Return a number within that many lists."""
    value = 0.5
    for _ in range(depth):
        value = [value]
    return value


NO_NUMBERS = {
    "text": lambda: "0.5",
    "bytes": lambda: b"1",
    "truth": lambda: True,
    "numpy_truth": lambda: np.True_,
    "complex": lambda: 1j,
    "nan": lambda: float("nan"),
    "numpy_nan": lambda: np.float32("nan"),
    "decimal_nan": lambda: Decimal("nan"),
    "decimal_signal": lambda: Decimal("sNaN"),
    "array_nan": lambda: np.array(np.nan),
    "object": object,
    "list": lambda: [1.0],
    "huge": lambda: -(10**400),
}
#: Valid in some places.
ODD_NUMBERS = {
    "fraction": lambda: Fraction(1, 3),
    "decimal": lambda: Decimal("0.25"),
    "array": lambda: np.array(0.5),
    "float32": lambda: np.float32(0.5),
    "int8": lambda: np.int8(2),
    "subnormal": lambda: 5e-324,
    "minus_zero": lambda: -0.0,
    "infinite": lambda: float("inf"),
    "negative": lambda: -1,
    "two_to_70": lambda: 2**70,
    "googol": lambda: 10**400,
}
#: Those that leave a function's work as small as it is: 2**70 rounds take long.
SMALL = {"fraction", "decimal", "float32", "subnormal", "minus_zero", "infinite", "negative"}
NO_FLAGS = {
    "decimal_nan": lambda: Decimal("nan"),
    "text": lambda: "yes",
    "two": lambda: 2,
    "list": lambda: [True],
    "nan": lambda: float("nan"),
}
NO_ARRAYS = {
    "text": lambda: "0.5",
    "bytes": lambda: b"ab",
    "object": object,
    "loop": endless,
    "deep": lambda: deep(80),
    "deeper": lambda: deep(10_000),
    "mapping": lambda: {"a": 1.0},
    "keys": lambda: {"a": 1.0}.keys(),
    "nan_text": lambda: ["nan"],
    "complex": lambda: [1j, 2j],
    "no_dimension": lambda: np.array(np.nan),
}


def iterators(good):
    """Yield the good entries as what can be read once only."""
    entries = list(good)
    yield "iterator", lambda: iter(entries)
    yield "generator", lambda: (entry for entry in entries)
    yield "map", lambda: map(entries.__getitem__, range(len(entries)))
    yield "values", lambda: dict(enumerate(entries)).values()
    if entries and all(isinstance(entry, list | tuple) for entry in entries):
        yield "iterators", lambda: [iter(entry) for entry in entries]


NUMBER = re.compile(r"^(int|float)( \| None)?$")
ARRAY = re.compile(r"ArrayLike|FloatArray|IntArray|BoolArray|Sequence|Iterable|tuple\[float|Rounds")


def trials(parameter, good, is_made):
    """Yield (name of the value, its maker, whether it must be refused or "same") for a parameter."""
    kind = str(parameter.annotation)
    if kind == "bool":
        yield from ((name, make, "refused") for name, make in NO_FLAGS.items())
    elif NUMBER.match(kind):
        yield from ((name, make, "refused") for name, make in NO_NUMBERS.items())
        yield from ((name, make, "odd") for name, make in ODD_NUMBERS.items() if is_made or name in SMALL)
        if type(good) is int and 0 <= good < 128:
            yield "small", lambda: np.int8(good), "same"
        if "None" not in kind:
            yield "none", lambda: None, "refused"
    elif ARRAY.search(kind) and not kind.startswith("Callable"):
        yield from ((name, make, "refused") for name, make in NO_ARRAYS.items())
        if isinstance(good, Mapping) and good:
            yield "iterators", lambda: {name: iter(entries) for name, entries in good.items()}, "same"
        if isinstance(good, list | tuple) or (isinstance(good, np.ndarray) and good.ndim):
            yield from ((name, make, "same") for name, make in iterators(good))


class TooLong(Exception):
    """A call took more than `SECONDS`."""


def _stop(*_):
    raise TooLong


def called(thing, arguments):
    """Return the answer to a call, or its error."""
    signal.signal(signal.SIGALRM, _stop)
    signal.alarm(SECONDS)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            return thing(**arguments)
    except Exception as error:
        return error
    finally:
        signal.alarm(0)


def fault(thing, given, name, make, expected):
    """Return what is wrong with a call in which one argument is replaced; "" if nothing is."""
    answer = called(thing, {**given, name: make()})
    if isinstance(answer, ValueError | TypeError):
        # A number that is odd may be the reason why another argument does not fit.
        if expected == "odd" and any(re.search(rf"\b{other}\b", str(answer)) for other in given):
            return ""
        return "" if re.search(rf"\b{name}\b", str(answer)) else f"refused without its name: {answer}"[:150]
    if isinstance(answer, Exception):
        return f"{type(answer).__name__}: {answer}"[:150]
    if expected == "refused":
        return f"accepted: {answer!r}"[:150]
    if expected == "same":
        kept = getattr(answer, name, None)
        if kept is not None and iter_once(kept):
            return "an iterator is kept"
        usual = called(thing, given)
        return "" if repr(answer) == repr(usual) else f"{answer!r} is not {usual!r}"[:150]
    return ""


def iter_once(value):
    """Return whether a value is empty after it was read."""
    return hasattr(value, "__next__")


def faults(name, thing):
    """Yield (parameter, value, what is wrong) of a public callable that is not in `RESULTS` or `UNTRIED`."""
    if RESULTS.fullmatch(name.rpartition(".")[2]) or name in UNTRIED:
        return
    try:
        given = example_call(name, thing)
        parameters = inspect.signature(thing).parameters
    except ValueError:  # exceptions have no signature
        return
    if given is None:
        return
    for parameter in parameters.values():
        if parameter.name in OPEN or parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        good = given.get(parameter.name, parameter.default)
        for value, make, expected in trials(parameter, good, inspect.isclass(thing)):
            wrong = fault(thing, given, parameter.name, make, expected)
            if wrong and (name, parameter.name, value) not in ACCEPTED:
                yield parameter.name, value, wrong


if __name__ == "__main__":
    prefix = sys.argv[1] if len(sys.argv) > 1 else ""
    for name, thing in public().items():
        if name.startswith(prefix):
            for found in faults(name, thing):
                print(name, *found, sep=" | ", flush=True)
