"""Compiled functions: decorators, the cache of their code, signatures of rules, and keyed random numbers.

Each of these decorators compiles a function with a fixed signature at its first call:

- ``solve_kernel``: ``(means, integers, reals, out) -> size`` of an oracle. Write a super arm to ``out`` and
  return its size. A negative size means that there is no super arm, and ends the run with an error.
- ``index_kernel``: ``(counts, means, deviations, memory, t, reals, rng, out)`` of a policy. Write the index
  of every base arm in round ``t`` to ``out``. ``memory`` is the memory of the rule. Only random rules may use
  ``rng``.
- ``learn_kernel``: ``(arms, n, outcomes, t, reals, memory)`` of a policy. Update the memory with the first
  ``n`` outcomes of round ``t``, after the update of the statistics.
- ``play_kernel``: ``(super_arm, size, key, integers, reals, arms, outcomes, totals) -> n`` of an
  environment. Play the first ``size`` entries of ``super_arm``. Write the ``n`` triggered arms, their
  outcomes, and to ``totals`` the realised and the expected reward.
- ``draw_kernel``: ``(arm, integers, reals, rng) -> outcome`` of an environment of explorers. Draw one
  outcome of a base arm.
- ``decide_kernel``: ``(seen, coin, integers, reals, chosen) -> size`` of an explorer. Write the base arms
  to sample next to ``chosen`` and return their number, as a negative number once the stopping rule holds.
  ``seen`` has ``counts``, ``means``, ``deviations`` and ``clock``, which starts with the number of rounds and
  the number of samples. ``coin`` is uniform on [0, 1) for rules with `is_random`.

``integers`` and ``reals`` are the parameters and scratch arrays of the `Kernel` that ``kernel()`` returns.
Loops receive these functions as pointers. A loop is therefore compiled once and works with every rule.

``kernel`` and ``lean_kernel`` compile functions that rules call, with any signature.

Examples
--------
>>> import numpy as np
>>> from cmab.compiled import Kernel, solve_kernel
>>> @solve_kernel
... def solve_best(means, integers, reals, out):
...     out[0] = np.argmax(means)
...     return 1
>>> Kernel(solve_best).function is solve_best
True
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import math
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple, TypeVar

import llvmlite
import numba
import numpy as np
from llvmlite import binding, ir
from numba import extending
from numba.core.cpu import CPUTargetOptions
from numba.core.registry import CPUDispatcher

from cmab.arrays import FloatArray, IntArray

Function = TypeVar("Function", bound=Callable[..., object])

_config: Any = numba.config
_njit: Any = numba.njit
_intrinsic: Any = extending.intrinsic
_overload: Any = extending.overload
types: Any = numba.types
IS_COMPILING = not _config.DISABLE_JIT
# Division by zero gives inf or nan, as in numpy. A check for it would prevent the vectorisation of loops.
_OPTIONS = {"nogil": True, "error_model": "numpy"}
# Two undocumented options of numba; without them, numba is only slower. `_LEAN` omits reference counts.
# `_INNER` omits the entry point for C, which takes time to compile and which kernels and Python do not need.
_LEAN = {"_nrt": False} if hasattr(CPUTargetOptions, "_nrt") else {}
_INNER = {"no_cfunc_wrapper": True} if hasattr(CPUTargetOptions, "no_cfunc_wrapper") else {}
# Without the entry point for Python as well, the compilation of a short function takes a third less.
_INNERMOST = {"no_cpython_wrapper": True} if hasattr(CPUTargetOptions, "no_cpython_wrapper") else {}

# The cache of compiled code -----------------------------------------------------------------------------

_PACKAGES = ("cmab", "oracles", "instances")
# Decorated functions and constants in capital letters, each up to the next line that is not indented.
_COMPILED = re.compile(
    rb"^(?:@\w*kernel|_?[A-Z][A-Z0-9_, ]*(?:: [^=\n]+)? = ).*\n(?:(?:@|def |[ \t)\]}]).*\n|\n)*", re.M
)
# Guards the folder of numba's cache, a setting that all threads share.
_setting = threading.Lock()


@functools.cache
def cache_folder() -> str:
    """Return the folder of compiled code for this version of all kernels.

    numba detects only changes in the file of a function. Without a folder for each version, a kernel that
    calls a changed kernel of another module would use its old code.
    """
    digest = hashlib.sha256()
    for part in (numba.__version__, llvmlite.__version__, np.__version__, binding.get_host_cpu_name()):
        digest.update(part.encode())
    root = Path(__file__).resolve().parents[1]
    for path in sorted(path for package in _PACKAGES for path in (root / package).rglob("*.py")):
        text = path.read_bytes()
        if b"kernel" in text:
            digest.update(b"".join(_COMPILED.findall(text)))
    base = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return str(Path(base) / "cmab" / f"kernels-{digest.hexdigest()[:16]}")


# Interpreted first, compiled when it pays ------------------------------------------------------------------

#: Seconds to compile a function and each byte of its bytecode, and to load it from the cache on disk.
_COMPILE, _COMPILE_BYTE, _LOAD = 0.04, 0.0005, 0.006
#: Seconds that numba takes before its first function in a process, in which it imports a module of its own.
_START, _STARTED = 0.25, "numba.np.arraymath"
#: With more array entries for each second of compilation, a call is compiled at once, if these are not few.
_ENTRIES_A_SECOND = 10_000
# The number of calls whose mean time is that of the rounds to come.
_LEAST_CALLS = 10
#: Settled functions that Python calls without the detour through `_Deferred`.
_direct: list[Any] = []


@contextmanager
def interpret(always: bool) -> Iterator[None]:
    """Interpret all kernels of the process (True), or compile them at their first call (False).

    This is for tests, and for programs that compile before they serve.
    """
    while _direct:
        _direct.pop().__class__ = _Deferred
    with _having(_Deferred, "is_interpreted", always):
        yield


@contextmanager
def _having(owner: Any, name: str, value: Any) -> Iterator[None]:
    previous = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, previous)


class _Thread(threading.local):
    rounds_left = 0


this_thread = _Thread()


def expecting(rounds: int) -> AbstractContextManager[None]:
    """Tell functions of this thread the rounds of a run, which counts them down in `this_thread`."""
    return _having(this_thread, "rounds_left", rounds)


class _Deferred(CPUDispatcher):
    """A compiled function that is interpreted until this has taken as long as its compilation would.

    This takes at most about twice the time of the better choice in hindsight (ski rental). In a run, the
    rounds to come decide after ten calls: they take as long as these, with one call each. An interpreted
    function calls others as Python functions, and a compiled one calls compiled ones, with the same bits.
    """

    calls, spent, budget, is_settled, most_entries = 0, 0.0, -1.0, False, 5_000
    is_interpreted: bool | None = None  # of all functions, if this is not None

    def __call__(self, *arguments: Any) -> Any:
        if (self.is_settled and not self.is_interpreted) or self.settle(arguments):
            result = _call_compiled(self, *arguments)
            if self.is_interpreted is None and (result is None or type(result) in (bool, np.ndarray)):
                # Such a result has the same type for interpreted callers, so the next calls are direct.
                object.__setattr__(self, "__class__", _Direct)
                _direct.append(self)
            return result
        try:
            result, seconds = _interpreted(self.python, arguments)
        except _RAISED:
            self.is_settled = True
            return _call_compiled(self, *arguments)
        self.calls, self.spent = self.calls + 1, self.spent + seconds
        return _plain(result)

    @functools.cached_property
    def python(self) -> Any:
        """The Python function, which calls the Python functions of other kernels without a detour."""
        function, names = self.py_func, dict(self.py_func.__globals__)
        self.__dict__["python"] = FunctionType(
            function.__code__, names, function.__name__, function.__defaults__, function.__closure__
        )
        for name in function.__code__.co_names:
            if type(names.get(name)) in (_Deferred, _Inner):
                names[name] = names[name].python
        return self.__dict__["python"]

    def settle(self, arguments: Sequence[Any]) -> bool:
        """Return whether to use compiled code from now on."""
        if self.is_interpreted is not None:
            return not self.is_interpreted
        if self.budget < 0.0:
            self.budget = _price(self)
        most = max(self.most_entries, _ENTRIES_A_SECOND * self.budget)
        left = this_thread.rounds_left
        to_come = self.spent / self.calls * left if self.calls >= _LEAST_CALLS else 0.0
        self.is_settled = bool(
            self.overloads
            or self.spent > (self.budget if left <= 0 else 2.0 * self.budget)
            or to_come > self.budget
            or sum(each.size for each in _leaves(arguments) if isinstance(each, np.ndarray)) > most
        )
        return self.is_settled


class _Direct(_Deferred):
    """A settled function. Threads that are in a call of it at this moment find all attributes."""

    __call__ = CPUDispatcher.__call__


class _Inner(_Deferred):
    """A compiled function without an entry point for Python, where it is always interpreted."""

    def __call__(self, *arguments: Any) -> Any:
        return _plain(_interpreted(self.python, arguments)[0])


_call_compiled = CPUDispatcher.__call__
# Python raises these where compiled code goes on with inf or nan. The call is then repeated in compiled code.
_RAISED = (ArithmeticError, ValueError)


def _interpreted(function: Callable[..., Any], arguments: Sequence[Any]) -> tuple[Any, float]:
    """Return the result of a Python function and its processor time; if it raises, it leaves no trace."""
    started, saved = time.thread_time(), [*_saved(arguments)]
    try:
        with np.errstate(all="ignore"):
            return function(*arguments), time.thread_time() - started
    except _RAISED:
        for restore in saved:
            restore()
        raise


def _saved(arguments: Sequence[Any]) -> Iterator[Callable[[], None]]:
    """Yield functions that give arrays and generators among the arguments their present state again."""
    for each in _leaves(arguments):
        if isinstance(each, np.ndarray) and each.flags.writeable:
            yield partial(np.copyto, each, each.copy())
        elif isinstance(each, np.random.Generator):
            yield partial(setattr, each.bit_generator, "state", each.bit_generator.state)


def _leaves(arguments: Sequence[Any]) -> Iterator[Any]:
    """Yield the arguments of a kernel, and the parts of tuples in their place."""
    for each in arguments:
        if isinstance(each, tuple):
            yield from _leaves(each)
        else:
            yield each


def _price(*dispatchers: Any) -> float:
    """Return the estimated seconds until some functions and those that they call are compiled."""
    known = set[int]()
    start = 0.0 if _STARTED in sys.modules else _START
    return start + sum(_seconds_to_compile(each, known) for each in dispatchers)


def _seconds_to_compile(dispatcher: Any, known: set[int]) -> float:
    """Return an estimate for a function and the functions that it calls; measured within a factor of two."""
    if dispatcher.overloads or id(dispatcher) in known:
        return 0.0
    known.add(id(dispatcher))
    code = dispatcher.py_func.__code__
    index = getattr(getattr(dispatcher._cache, "_cache_file", None), "_index_path", None)
    if index is not None and Path(index).exists():
        return _LOAD
    called = (dispatcher.py_func.__globals__.get(name) for name in code.co_names)
    inner = sum(_seconds_to_compile(other, known) for other in called if isinstance(other, _Deferred))
    return _COMPILE + _COMPILE_BYTE * len(code.co_code) + inner


def _plain(result: Any) -> Any:
    """Return the result with Python's numbers, as compiled code does."""
    if isinstance(result, np.generic):
        return result.item()
    return tuple(map(_plain, result)) if type(result) is tuple else result


def _compiled(function: Any, kind: Any = _Deferred, **options: bool) -> Any:
    if not IS_COMPILING:
        return _quiet(function)
    dispatcher = _njit(**_OPTIONS, **options)(function)
    dispatcher.__class__ = kind
    if not hasattr(sys.modules.get(function.__module__), "__file__"):  # code of a page or of a console
        return dispatcher
    # An error means that no folder can be written.
    with _setting, suppress(OSError, RuntimeError), _having(_config, "CACHE_DIR", cache_folder()):
        dispatcher.enable_caching()
    return dispatcher


def _quiet(function: Function) -> Function:
    """Return `function` with numpy's floating-point warnings turned off, as in compiled code."""

    @functools.wraps(function)
    def quiet(*args: object) -> object:
        with np.errstate(all="ignore"):
            return function(*args)

    return quiet  # type: ignore[return-value]


# Decorators ---------------------------------------------------------------------------------------------


def kernel(function: Any) -> Any:
    """Interpret `function` until compilation pays, then compile it, and cache the code on disk if possible.

    The compiled function runs without the global interpreter lock. With ``NUMBA_DISABLE_JIT=1``, the function
    is not compiled.
    """
    return _compiled(function, **_INNER)


def eager_kernel(function: Any) -> Any:
    """Compile `function` at its first call, because interpreting a single call might take seconds."""
    return _compiled(function, CPUDispatcher, **_INNER)


def sparse_kernel(function: Any) -> Any:
    """Compile a function as `kernel` does, after larger calls, because it reads few entries of its arrays."""
    compiled = _compiled(function, **_INNER)
    compiled.most_entries = 500_000
    return compiled


def lean_kernel(function: Any) -> Any:
    """Compile a function that neither creates nor returns an array and calls only such functions.

    This is `kernel` without reference counts of the arguments, which take longer than a short rule itself.
    """
    return _compiled(function, **_INNER, **_LEAN)


def inner_kernel(function: Any) -> Any:
    """Compile a function as `lean_kernel` does, which only compiled functions and tests call."""
    return _compiled(function, _Inner, **_INNER, **_LEAN, **_INNERMOST)


def rule_kernel(function: Any) -> Any:
    """Compile a rule with a fixed signature, to which loops take a pointer."""
    return _compiled(function, **(_LEAN if is_ours(function) else {}))


def loop_kernel(signature: Any, *, is_lean: bool = False) -> Callable[[Any], Any]:
    """Return a decorator for functions that take rules as arguments; the first call compiles them."""

    def decorate(function: Any) -> Any:
        dispatcher = _compiled(function, **_INNER, **(_LEAN if is_lean else {}))
        return functools.wraps(function)(_Loop(dispatcher, signature)) if IS_COMPILING else dispatcher

    return decorate


class _Loop:
    """A loop with one signature, which runs in calls of a part of a second.

    It takes its rules as pointers, so these are compiled with it. `spent` has the seconds of interpretation
    with the same rules, and infinity once they run compiled; `prices` has those of their compilation.
    """

    def __init__(self, dispatcher: Any, signature: Any) -> None:
        self.dispatcher, self.signature, self.lock = dispatcher, signature, threading.Lock()
        self.spent: dict[tuple[Any, ...], float] = {}
        self.prices: dict[tuple[Any, ...], float] = {}

    def __call__(self, *arguments: Any) -> Any:
        rules = _rules(arguments)
        if self.spent.get(rules) == math.inf and not _Deferred.is_interpreted:
            return _call_compiled(self.dispatcher, *arguments)
        plain = [getattr(each, "python", getattr(each, "py_func", each)) for each in arguments]
        try:
            result, seconds = _interpreted(self.dispatcher.python, plain)
        except _RAISED:
            self.prepare(math.inf, arguments)
            return _call_compiled(self.dispatcher, *arguments)
        self.spent[rules] = self.spent.get(rules, 0.0) + seconds
        return result

    def prepare(self, expected: float, arguments: Sequence[Any]) -> bool:
        """Compile the loop if the rest of the run takes `expected` seconds; return whether it is compiled."""
        rules = _rules(arguments)
        if rules not in self.prices:
            self.prices[rules] = _price(self.dispatcher, *rules)
        pays = not _Deferred.is_interpreted
        if _Deferred.is_interpreted is None:
            pays = self.prices[rules] <= self.spent.get(rules, 0.0) + expected
        if pays:
            with self.lock:
                if not self.dispatcher.signatures:
                    self.dispatcher.compile(self.signature)
                    self.dispatcher.disable_compile()
            self.spent[rules] = math.inf
        return pays


def _rules(arguments: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(each for each in arguments if isinstance(each, CPUDispatcher))


def is_ours(function: Callable[..., object]) -> bool:
    """Return whether a function, or its compiled form, belongs to one of our packages."""
    return (function.__module__ or "").partition(".")[0] in _PACKAGES


def _prefetching(context: Any, array: Any, index: Any) -> Any:
    """Generate the prefetch of the cache line of an array entry, for reading and with high locality."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer())
        hints = [ir.Constant(ir.IntType(32), hint) for hint in (0, 3, 1)]
        kinds = [address.type, *(hint.type for hint in hints)]
        function = ir.FunctionType(ir.VoidType(), kinds)
        builder.call(
            builder.module.declare_intrinsic("llvm.prefetch", kinds[:1], function), [address, *hints]
        )
        return context.get_dummy_value()

    return types.void(array, index), generate


_prefetch: Any = _intrinsic(_prefetching)


def prefetch(array: Any, index: int) -> None:
    """Start loading ``array[index]`` into the processor cache; an index beyond the end is harmless."""


@_overload(prefetch, inline="always")
def _compiled_prefetch(array, index):
    return lambda array, index: _prefetch(array, index)


def _calling(context: Any, address: Any) -> Any:
    """Generate the call of the C function at an address, which takes no arguments and returns an int64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function = ir.FunctionType(ir.IntType(64), [])
        return builder.call(builder.inttoptr(arguments[0], function.as_pointer()), [])

    return types.int64(types.int64), generate


_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64)
_called: Any = _intrinsic(_calling)


def _call_address(address: int) -> int:
    return int(_FUNCTION(int(address))())


@_overload(_call_address)
def _compiled_call(address):
    return lambda address: _called(address)


# Signatures of rules -------------------------------------------------------------------------------------

#: Places in `Seen.clock`: rounds and samples so far; for loops also the limits of samples and steps per call.
ROUNDS, SAMPLES, MOST_SAMPLES, STEPS = range(4)


class Seen(NamedTuple):
    """The statistics of the arms, and the clock; a loop updates these arrays in place."""

    counts: IntArray
    means: FloatArray
    deviations: FloatArray
    clock: IntArray


class Arguments(NamedTuple):
    """Parameters and scratch space of a rule, of arms or of an oracle."""

    integers: IntArray
    reals: FloatArray


class Streams(NamedTuple):
    """The random generators of the learner and of the arms."""

    learner: np.random.Generator
    coins: np.random.Generator


_reals, _integers = types.Array(types.float64, 1, "C"), types.Array(types.int64, 1, "C")
_generator = types.NumPyRandomGeneratorType("NumPyRandomGeneratorType")
_seen = types.NamedTuple((_integers, _reals, _reals, _integers), Seen)
_arguments = types.NamedTuple((_integers, _reals), Arguments)

INDEX = types.void(_integers, _reals, _reals, _reals, types.int64, _reals, _generator, _reals)
LEARN = types.void(_integers, types.int64, _reals, types.int64, _reals, _reals)
SOLVE = types.int64(_reals, _integers, _reals, _integers)
PLAY = types.int64(_integers, types.int64, types.int64, _integers, _reals, _integers, _reals, _reals)
DRAW = types.float64(types.int64, _integers, _reals, _generator)
DECIDE = types.int64(_seen, types.float64, _integers, _reals, _integers)

# The arguments that all loops of exploration share. Functions are separate arguments, because numba finds no
# common type for functions in a tuple.
_run = (types.FunctionType(DRAW), _arguments, _seen, types.NamedUniTuple(_generator, 2, Streams))
EXPLORE = types.boolean(types.FunctionType(DECIDE), types.boolean, _arguments, *_run)
EXPLORE_ORACLE = types.boolean(types.FunctionType(SOLVE), _arguments, _arguments, *_run)
EXPLORE_TREES = types.boolean(_arguments, *_run)

index_kernel = learn_kernel = solve_kernel = play_kernel = draw_kernel = rule_kernel


def decide_kernel(function: Any) -> Any:
    """Compile a rule of exploration, which may create arrays."""
    return _compiled(function)


# Compiled forms of rules with their parameters ------------------------------------------------------------


class Kernel(NamedTuple):
    """A compiled rule with its parameters and scratch space, which must be new for each run.

    Attributes
    ----------
    function : callable
        The rule, compiled by one of the decorators of this module.
    integers : IntArray
        Integer parameters and scratch space.
    reals : FloatArray
        Real parameters and scratch space.
    is_random : bool
        Whether an index rule draws from the random generator.
    learning : callable or None
        A ``learn_kernel`` that updates the memory of an index rule, if it has one.
    is_lazy : bool
        Whether an index rule is ``upper_bound`` of each arm, with the `reals` of ``pack_optimism``. The
        indices of unobserved arms then change only with the round, so the loop computes few of many indices.
    """

    function: Any
    integers: IntArray = np.empty(0, np.int64)
    reals: FloatArray = np.empty(0)
    is_random: bool = False
    learning: Any = None
    is_lazy: bool = False


class Rule(NamedTuple):
    """A compiled rule of exploration with its parameters, the result of `RuledExplorer.rule`.

    Attributes
    ----------
    decide : callable
        The rule, compiled by ``decide_kernel``.
    integers : sequence of int
        Integer parameters and scratch space.
    reals : sequence of float
        Real parameters.
    memory : FloatArray
        The memory of the rule before the first sample. `decide` finds it at the end of `reals` and may change
        it at each sample.
    is_random : bool
        Whether the rule needs a random number.
    room : int
        Number of zeros after the parameters, a table for computed values in a compiled run. A `Session` calls
        the rule without this table.
    """

    decide: Any
    integers: Sequence[int]
    reals: Sequence[float]
    memory: FloatArray = np.empty(0)
    is_random: bool = False
    room: int = 0


class ExplorerKernel(NamedTuple):
    """A compiled loop of exploration with its parameters and scratch space, which must be new for each run.

    Attributes
    ----------
    loop : callable
        The loop, which samples until the stopping rule holds. Its last arguments, from ``draw`` on, are those
        of ``cmab.exploration.base.explore``.
    parameters : tuple
        The arguments before ``draw``. The last of them is the `Arguments` of the rule.
    """

    loop: Any
    parameters: tuple[Any, ...]


def compiled_form(thing: Any, form: str = "kernel") -> Any:
    """Return ``thing.kernel()``, or the result of another method `form`; None if there is no current one.

    A class lists the methods that its kernel replaces, ``_in_kernel``. If a subclass overrides one of them,
    for example ``indices``, but not the kernel, the result is None: the method of the subclass must be used.
    """
    if not hasattr(thing, form):
        return None
    for home in type(thing).__mro__:
        if form in vars(home):
            return getattr(thing, form)()
        if not vars(home).keys().isdisjoint(getattr(thing, f"_in_{form}")):
            return None
    return None


@solve_kernel
def _ask_address(means, integers, reals, out):
    """Call the function at the address ``integers[0]``, which already has access to the arrays."""
    return int(_call_address(integers[0]))


def callback_to(answer: Callable[[], int]) -> tuple[Kernel, Any]:
    """Return a kernel that calls `answer`, and an object that the caller must keep as long as the kernel."""
    # ctypes frees the code at the address together with the pointer, so the caller must keep the pointer.
    pointer = _FUNCTION(answer)
    address = ctypes.cast(pointer, ctypes.c_void_p).value
    return Kernel(_ask_address, np.array([address], np.int64)), pointer


# Counter-based random numbers ----------------------------------------------------------------------------
#
# They are hashes of a round and an arm. Two policies that play the same arm in the same round of the same
# replication observe the same outcome (common random numbers), in any order and in compiled or Python code.

# splitmix64 increases a counter in steps of 2^64 / phi, with the golden ratio phi, and mixes each value.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_ONE = np.uint64(1)
TO_UNIT = 2.0**-53

# Coefficients of AS 241: centre, middle and tail, each with numerator and denominator, highest power first.
_A = (
    2509.0809287301226727,
    33430.575583588128105,
    67265.770927008700853,
    45921.953931549871457,
    13731.693765509461125,
    1971.5909503065514427,
    133.14166789178437745,
    3.387132872796366608,
)
_B = (
    5226.495278852545925,
    28729.085735721942674,
    39307.89580009271061,
    21213.794301586595867,
    5394.1960214247511077,
    687.1870074920579083,
    42.313330701600911252,
    1.0,
)
_C = (
    7.7454501427834140764e-4,
    0.0227238449892691845833,
    0.24178072517745061177,
    1.27045825245236838258,
    3.64784832476320460504,
    5.7694972214606914055,
    4.6303378461565452959,
    1.42343711074968357734,
)
_D = (
    1.05075007164441684324e-9,
    5.475938084995344946e-4,
    0.0151986665636164571966,
    0.14810397642748007459,
    0.68976733498510000455,
    1.6763848301838038494,
    2.05319162663775882187,
    1.0,
)
_E = (
    2.01033439929228813265e-7,
    2.71155556874348757815e-5,
    0.0012426609473880784386,
    0.026532189526576123093,
    0.29656057182850489123,
    1.7848265399172913358,
    5.4637849111641143699,
    6.6579046435011037772,
)
_F = (
    2.04426310338993978564e-15,
    1.4215117583164458887e-7,
    1.8463183175100546818e-5,
    7.868691311456132591e-4,
    0.0148753612908506148525,
    0.13692988092273580531,
    0.59983220655588793769,
    1.0,
)


@inner_kernel
def mix(x):
    """Return the finaliser of splitmix64, a bijection of 64-bit words that mixes all bits."""
    x = (x ^ (x >> _S30)) * _MIX_1
    x = (x ^ (x >> _S27)) * _MIX_2
    return x ^ (x >> _S31)


@inner_kernel
def to_unit(word):
    """Return the first 53 bits of `word` as a number in [0, 1)."""
    return np.float64(word >> _S11) * TO_UNIT


@inner_kernel
def keyed_word(state, index):
    """Return the 53-bit random integer for a key, of which `state` is the hash, and `index` >= 0."""
    # Entry `index` of the splitmix64 stream whose state is the hashed key. The hash separates the streams of
    # neighbouring keys. A float holds 53 bits exactly.
    return mix(state + (np.uint64(index) + _ONE) * GOLDEN) >> _S11


@lean_kernel
def keyed_uniform(key, index):
    """Return the `keyed_word` of the 64-bit `key` as a number in [0, 1)."""
    return np.float64(keyed_word(mix(np.uint64(key)), index)) * TO_UNIT


@kernel
def keyed_uniforms(key, indices):
    """Return `keyed_uniform` of every entry of `indices`."""
    out = np.empty(indices.shape[0])
    for i in range(indices.shape[0]):
        out[i] = keyed_uniform(key, indices[i])
    return out


@lean_kernel
def normal_quantile(u):
    """Return the standard normal quantile of ``u + 2**-54``, where u is a multiple of ``2**-53`` in [0, 1).

    This is Wichura's algorithm AS 241 (PPND16), accurate to about 1e-16. The shift keeps u = 0 finite.
    """
    q = u - 0.5 + 2.0**-54
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        return q * _ratio(r, _A, _B)
    # The tails of AS 241, by the probability of the nearer tail.
    r = math.sqrt(-math.log(min(0.5 + q, 0.5 - q)))
    value = _ratio(r - 1.6, _C, _D) if r <= 5.0 else _ratio(r - 5.0, _E, _F)
    return -value if q < 0.0 else value


@inner_kernel
def _ratio(x, above, below):
    """Return the quotient of two polynomials, with coefficients from the highest power down."""
    numerator, denominator = above[0], below[0]
    for i in range(1, 8):
        numerator = numerator * x + above[i]
        denominator = denominator * x + below[i]
    return numerator / denominator
