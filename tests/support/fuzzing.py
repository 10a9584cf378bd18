"""Bad arguments for every public method of the objects of a table, in processes that a call may end.

Run: PYTHONPATH=.:tests python tests/support/fuzzing.py ORACLES POLICIES 1. A fault is a call that kills its
process or hangs, an argument that is none and is answered, a refusal that names another argument, an answer
that depends on how a good argument is written. The parent loads compiled code once and then forks, one child
a row; what is left after a child's death goes to another.
"""

import contextlib
import dataclasses
import inspect
import os
import signal
import sys
import warnings
from fractions import Fraction
from functools import cache, partial
from itertools import chain, islice

import cases
import numpy as np

from cmab import ArmStatistics, Feedback
from cmab.feedback import Ticket
from oracles.influence.certificate import Certificate

SECONDS = 300
FAR = 10**7
STATES = ("state", "stats", "feedback")


def wrong_entries(n, good, distinct=True):
    """Yield what stands for no list of (distinct) entries of ``range(n)``."""
    yield from ([n], [-1], [0, n + FAR], [2**63], [2**70], [0.0], [np.nan], [None], ["0"], [[0]], [0, [1]])
    yield from (None, 0, "0", {}, {"a": 1}, {0, "a"}, np.full(n, True), np.array([0.0, 1.0]))
    yield from ([np.array(good, np.int64)], np.array([0], object), np.array([0], "m8[s]"))
    yield from (np.array([-1]).astype(np.uint64), np.array([2**63 + 7], np.uint64), np.array([-(2**62)]))
    yield np.array([n + FAR] * 50)
    yield np.ma.masked_array([0], mask=[True])
    if distinct:
        yield from ([0, 0], [0] * 60, np.array([0, 0]))


def same_entries(good):
    """Yield what stands for `good`."""
    yield from ([int(entry) for entry in good], np.array(good, np.uint8), np.array(good, ">i8"))
    yield np.repeat(np.array(good, np.int32), 2)[::2]


def wrong_numbers(good):
    """Yield what stands for no vector of as many finite numbers."""
    n, values = len(good), np.array(good)
    yield from (values[:-1], np.append(values, 0.25), np.empty(0), values[:, None], values[None], values[0])
    yield from (np.full(n, np.nan), np.full(n, np.inf), np.full(n, -np.inf), values + 0j, values + 1j)
    yield from (values.astype(str), np.zeros(n, "m8[s]"), np.zeros(n, "M8[s]"), None, [None] * n, "0.5", {})
    yield from (dict.fromkeys(range(n), 0.5), set(good), (value for value in values), object(), [10**400] * n)
    yield from ([*good[:-1], [0.5]], [*good[:-1], "0.5"], np.array([*good[:-1], None], object))
    yield np.ma.masked_array(values, mask=np.arange(n) == 0)


def same_numbers(good):
    """Yield what stands for `good`."""
    values = np.array(good)
    yield from (
        list(good),
        [Fraction(value) for value in good],
        np.repeat(values, 2)[::2],
        values.astype(">f8"),
    )
    yield np.ma.masked_array(values, mask=False)


def wrong_weights():
    """Yield what gives no weight to an edge or a node."""
    yield from (None, 3, 0.5, "nothing", {}, [], object(), lambda *_: None, lambda *_: np.nan)
    yield from (lambda *_: "0.5", lambda *_: np.inf, lambda *_: [0.5], lambda *_: 1j, lambda *_: True)


def wrong_counts():
    """Yield what is no positive number."""
    yield from (0, -1, 2.5, None, "2", np.nan, [2], 2 + 0j, True)


def wrong_flags(n):
    """Yield what is no array of n booleans."""
    yield from (
        None,
        3,
        "x",
        [True] * (n + 1),
        np.ones((1, n), bool),
        np.ones(n),
        np.ones(n, int),
        np.ones(0, bool),
    )


@cache
def foreign_states():
    """Return the states of all explorers, which are of use to each other in few cases."""
    return [case.make().initial_state() for case in cases.EXPLORERS]


def wrong_states(state):
    """Yield states of another problem or of none."""
    yield from (None, 3, {}, np.zeros(4))
    for n in (1, 3, 300):
        yield ArmStatistics.empty(n)
    yield from foreign_states()
    names = [name for name, value in vars(state).items() if isinstance(value, np.ndarray)]
    for name in names if isinstance(state, ArmStatistics) else ():
        value = getattr(state, name)
        others = (
            value[:0],
            np.resize(value, value.size + 500),
            value[..., None],
            value.astype(complex),
            None,
        )
        for other in others:
            # Statistics that do not fit together cannot be made: a change of length is refused here.
            with contextlib.suppress(ValueError):
                yield dataclasses.replace(state, **{name: other})


def wrong_feedback(n):
    """Yield feedback about arms that are none."""
    yield from (None, 3, {})
    for arms in ([n], [n + FAR], [-1], [-FAR], np.arange(300)):
        entries = np.array(arms, np.int64)
        yield Feedback.unchecked(entries, np.full(len(entries), 0.5), 0.0)
    yield Feedback.unchecked(np.array([0]), np.empty(0), 0.0)


class Subject:
    """A row of a table: a good value for each argument, and what the same argument must not be."""

    def __init__(self, kind, case):
        self.kind = kind
        is_policy = kind in ("POLICIES", "GROWING")
        self.thing = case.make(case.family(6, 2)) if is_policy else case.make()
        self.n_arms = self.thing.oracle.n_arms if is_policy else self.thing.n_arms
        self.n_choices = getattr(self.thing, "n_choices", None) or self.n_arms
        listed = getattr(case, "super_arms", None) or ((0, 1),)
        family = islice(listed() if callable(listed) else listed, 20)
        self.super_arms = [np.array(list(arm), np.int64) for arm in family]
        self.super_arm = self.super_arms[0]
        self.means = np.linspace(0.1, 0.3, self.n_arms).tolist()
        self.arms = np.array([0, min(2, self.n_arms - 1)])

    def methods(self):
        """Return the names of what can be called, with the names of their arguments."""
        found = inspect.getmembers(type(self.thing), inspect.isfunction)
        return {
            # What takes keywords of any name, as reports do, has no name to be handed over by.
            name: [p.name for p in inspect.signature(method).parameters.values() if p.kind != p.VAR_KEYWORD][
                1:
            ]
            for name, method in found
            if not name.startswith("_")
        }

    def good(self, method, name):
        """Return a right value; an argument of another name is to be added here."""
        if name in ("state", "stats"):
            return self.learned()
        if name == "rivals":
            return self.thing.rivals(self.learned())
        return {
            "super_arm": self.super_arm,
            "basis": self.super_arm,
            "means": np.array([self.means] * 2) if method == "solve_batch" else np.array(self.means),
            "squares": np.full(self.n_arms, 0.01),
            "tolerance": 0.0,
            "joined": {},
            "carried": None,
            "unseen": (),
            "known": None,
            "arms": self.arms,
            "named": self.arms,
            "names": range(self.n_arms),
            "include": self.super_arm[:0],
            "exclude": self.super_arm[:0],
            "pulls": np.array([3, 4]) if method == "pull_many" else 3,
            "uniforms": np.array([0.25, 0.5]),
            "cascades": 10,
            "threads": 1,
            "rng": np.random.default_rng(3),
            "name": "super_arm",
            "feedback": Feedback(np.arange(self.n_arms), np.full(self.n_arms, 0.5), reward=1.0),
            "is_high": np.zeros(self.n_arms, bool),
            "available": np.ones(self.n_choices, bool),
            "context": None,
            "features": np.ones((self.n_arms, getattr(self.thing, "dimension", None) or 1)) / self.n_arms,
            "rows": np.ones((1, getattr(self.thing, "dimension", None) or 1)),
            "group": None,
            "ticket": Ticket(0, self.super_arm),
            "weight": lambda *_: 0.25,
            "attraction": np.full(self.n_choices, 0.25),
            "nodes": list(getattr(self.thing, "_nodes", ())),
            "items": np.ones(np.size(getattr(self.thing, "items", None)), bool),
            "examination": np.linspace(1.0, 0.5, getattr(self.thing, "positions", None) or 1),
            "units": self.thing.units(self.super_arm) if name == "units" else None,
            "t": 1,
        }[name]

    def learned(self):
        """Return a state after some feedback."""
        state = self.thing.initial_state()
        for outcome in (0.25, 0.5):
            arms = self.thing.select(state, np.random.default_rng(0))
            self.thing.update(state, Feedback(arms, np.full(len(arms), outcome), reward=outcome))
        return state

    def wrong(self, method, name):
        """Return what an argument must not be."""
        if method in ("propensity", "quantile", "waits"):
            return ()  # unknown without a definition; or for arms that the caller has checked
        if name in ("super_arm", "basis"):
            return wrong_entries(self.n_choices, self.super_arm)
        if name in ("include", "exclude", "arms"):
            many = name == "arms" and self.kind == "ENVIRONMENTS"
            return wrong_entries(self.n_arms, self.arms, not many)
        if name in ("means", "squares"):
            each = wrong_numbers(self.means)
            return map(a_row, each) if method == "solve_batch" else each
        if name == "weight":
            return wrong_weights()
        if name == "units":
            return (*wrong_numbers(self.good(method, name)), np.full(self.n_arms, 0.5), [-1] * self.n_arms)
        if name == "uniforms":
            return (*wrong_numbers([0.25, 0.5]), [0.25, 1.0], [-0.25, 0.5])
        if name == "pulls" and method == "pull_many":
            return (
                *wrong_counts(),
                [0, 1],
                [1, -1],
                [1],
                [1, 2, 3],
                [1.5, 2],
                [2**63, 1],
                np.ones((2, 1), int),
            )
        if name in ("cascades", "threads", "pulls"):
            return () if method == "affordable" else wrong_counts()  # a helper of rules, of plain Python
        if name in ("state", "stats"):
            return wrong_states(self.learned())
        if name == "available":  # None stands for all where it may be left out
            flags = wrong_flags(self.n_choices)
            return [flag for flag in flags if flag is not None] if method == "solve_root" else flags
        return wrong_feedback(self.n_arms) if name == "feedback" else ()

    def same(self, method, name):
        """Return other ways to write the good argument."""
        if name in ("super_arm", "basis", "arms"):
            return same_entries(self.good(method, name))
        if name == "means" and method != "solve_batch":
            return same_numbers(self.means)
        if name == "units":
            return same_numbers(self.good(method, name))
        if name == "weight":
            return [lambda *_: np.float32(0.25), dict.fromkeys(self.thing._arm_labels(), 0.25)]
        return ()


def a_row(value):
    """Return a value as the only row of a matrix."""
    return value[None] if isinstance(value, np.ma.MaskedArray) else [value]


def plain(answer):
    """Return an answer as text that compares. What a call cost may differ: kept sets are not drawn again."""
    if isinstance(answer, Certificate):
        answer = dataclasses.replace(answer, edges_examined=0)
    return repr(answer)


def outcome(thing, method, arguments):
    """Return the answer to a call, or the error as (type, text)."""
    try:
        return plain(getattr(thing, method)(**{name: value() for name, value in arguments.items()}))
    except Exception as error:
        return type(error), str(error)


def calls(subject, method):
    """Yield (what, method, way, the argument in question, all arguments) of each call of a method."""
    names = subject.methods()[method]
    good = {name: partial(subject.good, method, name) for name in names}
    for name in names:
        for way, values in (("wrong", subject.wrong), ("same", subject.same)):
            for i, value in enumerate(values(method, name)):
                what = f"{method}({name}={way}[{i}] {repr(value)[:60]!r})"
                yield what, method, way, name, {**good, name: lambda v=value: v}


def judge(subject, method, way, name, arguments):
    """Return what is wrong with the answer to a call; "" if nothing is."""
    answer = outcome(subject.thing, method, arguments)
    if way == "same":
        good = {key: partial(subject.good, method, key) for key in arguments}
        wanted = outcome(subject.thing, method, good)
        return "" if answer == wanted else f"{str(answer)[:120]}, not {str(wanted)[:120]}"
    if isinstance(answer, str):
        # A state of another problem need not be told from one of this; nothing may break over it.
        return "" if name in STATES or answer == "None" else f"answered {answer[:80]}"
    kind, text = answer
    if issubclass(kind, (ValueError, TypeError)):
        return "" if name in STATES or name in text else f"refused without its name: {text}"
    return (
        ""
        if name in STATES and issubclass(kind, (AttributeError, IndexError, ZeroDivisionError))
        else f"{kind.__name__}: {text}"
    )


def run(kind, case, skip, stride, pipe):
    """Make all calls of a row after the first `skip`; say what is under way, and what went wrong."""
    subject = Subject(kind, case)
    every = chain.from_iterable(calls(subject, method) for method in subject.methods())
    for number, (what, *call) in enumerate(every):
        if number < skip or number % stride:
            continue
        os.write(pipe, f"{number}\t{what}\n".encode())
        signal.alarm(SECONDS)
        fault = judge(subject, *call)
        if fault:
            os.write(pipe, f"!\t{' '.join(fault.split())}\n".encode())


def child(kind, case, skip, stride):
    """Return (calls made, lines of faults, where to go on or None) of a forked process."""
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reader)
        try:
            with contextlib.redirect_stdout(None), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                run(kind, case, skip, stride, writer)
        except Exception as error:
            os.write(writer, f"!\tthe test itself: {error!r}\n".encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8", errors="replace") as lines:
        told = [line.rstrip("\n").split("\t", 1) for line in lines]
    _, status = os.waitpid(process, 0)
    done = [(number, what) for number, what in told if number != "!"]
    faults = [
        f"{case.name}.{told[i - 1][1] if i else ''}: {what}"
        for i, (number, what) in enumerate(told)
        if number == "!"
    ]
    if not os.WIFSIGNALED(status):
        return len(done), faults, None
    last, what = done[-1] if done else (str(skip), "")
    return len(done), [*faults, f"{case.name}.{what}: ended by signal {os.WTERMSIG(status)}"], int(last) + 1


def main(kind, stride):
    """Print the faults of a table; return the number of calls."""
    made = 0
    foreign_states()  # here, lest each child makes them
    for case in getattr(cases, kind):
        subject, skip = Subject(kind, case), 0
        for method, names in subject.methods().items():
            # Here, so that children find the kernels loaded.
            outcome(subject.thing, method, {name: partial(subject.good, method, name) for name in names})
        while skip is not None:
            count, faults, skip = child(kind, case, skip, stride)
            made += count
            print(*faults, sep="\n", end="\n" if faults else "", flush=True)
    return made


if __name__ == "__main__":
    *kinds, stride = sys.argv[1:]
    print(f"{sum(main(kind, int(stride)) for kind in kinds)} calls")
