"""The one way to numba.

A module named ``_kernels_*.py`` holds compiled functions: arrays (and a ``Generator``, for kernels that
cover a whole run) in, arrays out. Such modules are imported inside the functions that call them, so that
``import cmab`` neither loads numba nor compiles anything.
"""

from __future__ import annotations

import functools
import gc
import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast, get_args, get_origin

import llvmlite
import numba
import numpy as np
from llvmlite import ir
from numba import extending

from cmab.compiled._code_cache import CheckedFile, compiled_in, first_own_folder
from cmab.compiled._notice import Stopwatch

Function = TypeVar("Function", bound=Callable[..., object])

_PACKAGES = ("cmab", "oracles", "instances")
_config: Any = numba.config
_njit: Any = numba.njit
_intrinsic: Any = extending.intrinsic
types: Any = numba.types
IS_COMPILING = not _config.DISABLE_JIT
# Division by zero gives inf or nan as in numpy: the check for it would keep loops from being vectorised.
_SCALARS = {None, int, float, bool, np.uint64, "None", "int", "float", "bool"}
_OPTIONS = {"nogil": True, "error_model": "numpy"}


def kernel(function: Function) -> Function:
    """Compile `function` with numba, cached on disk where that is possible.

    The interpreter lock is released while a kernel runs. With ``NUMBA_DISABLE_JIT=1`` the function comes
    back as it is.
    """
    return _compiled(function, no_cfunc_wrapper=True)


def part(function: Function) -> Function:
    """Compile `function` for kernels only; called from Python it runs as Python.

    What lets Python in takes a third of the time of compiling a short function.
    """
    if not IS_COMPILING:
        return _wrapping(function)
    with suppress(AttributeError):  # another numba
        compiled = _compiled(function, no_cfunc_wrapper=True, no_cpython_wrapper=True)
        return cast(Function, _Part(function, compiled))
    return kernel(function)


class _Part:
    """What stands for a function that has no way in from Python: called by one, numba's would crash."""

    def __init__(self, function: Callable[..., object], compiled: Any) -> None:
        functools.update_wrapper(self, function)
        self.py_func, self._call, self._compiled = function, _wrapping(function), compiled
        self._numba_type_ = compiled._numba_type_  # what numba asks of the names that a kernel uses

    def __call__(self, *arguments: object) -> object:
        return self._call(*arguments)


def borrows(function: Function) -> Function:
    """Say of a function, below its `kernel`, that it makes no array and returns scalars alone.

    numba then leaves out the counting of references to arguments, which takes longer than a short rule
    itself: 0.1 us for a rule of eight arguments, and a part of the time of compiling it.
    """
    returned: Any = function.__annotations__.get("return", "nothing said")
    # A returned array would be freed while it is used.
    if not _SCALARS.issuperset(get_args(returned) if get_origin(returned) is tuple else [returned]):
        raise TypeError(f"{function.__name__} must return a scalar to be called so, got {returned}")
    function.borrows = True  # type: ignore[attr-defined]
    return function


def _calling(context: Any, address: Any) -> Any:
    """Say how compiled code calls the C function at an address: no arguments, a 64-bit integer back."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function = ir.FunctionType(ir.IntType(64), [])
        return builder.call(builder.inttoptr(arguments[0], function.as_pointer()), [])

    return types.int64(types.int64), generate


call_address: Any = _intrinsic(_calling)


def _prefetching(context: Any, array: Any, index: Any) -> Any:
    """Say how compiled code asks for the cache line of an entry: to be read, and used for a while."""

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


def _nothing(array: Any, index: int) -> None:
    """Stand in for `prefetch` where nothing is compiled."""


prefetch: Any = _intrinsic(_prefetching) if IS_COMPILING else _nothing
"""Have ``array[index]`` brought into the cache without waiting; an index beyond the end does no harm."""


def typed_kernel(signature: Any) -> Callable[[Function], Function]:
    """Return a decorator for functions of one fixed signature.

    Only such a function can be handed to another kernel without that one being compiled anew.
    """
    return _typed(signature)


def loop_kernel(signature: Any) -> Callable[[Function], Function]:
    """Return what `typed_kernel` does, for functions that only Python calls: they are compiled sooner."""
    return _typed(signature, no_cfunc_wrapper=True)


def _typed(signature: Any, **more: bool) -> Callable[[Function], Function]:
    """Return the decorator of `typed_kernel`, with more options for numba.

    Functions of ours are compiled (or read) when they are first used, for a module holds rules that a run
    does without; those of others at once, so that what is wrong with them is told where they are written.
    """

    def decorate(function: Function) -> Function:
        compiled: Any = _compiled(function, **more)
        if IS_COMPILING and not (is_ours(function) and _waits(compiled, signature)):
            _compile(compiled, compiled.compile, signature)
        return cast(Function, compiled)

    return decorate


def is_ours(function: Callable[..., object]) -> bool:
    """Return whether a function, or its compiled form, stands in one of our packages."""
    return (function.__module__ or "").partition(".")[0] in _PACKAGES


def _waits(dispatcher: Any, signature: Any) -> bool:
    """Have a dispatcher compile `signature` when it is first asked for anything; say whether it will."""
    usual = getattr(dispatcher, "compile", None)
    if usual is None or not getattr(dispatcher, "_can_compile", False):  # another numba
        return False

    def compile_the_one(*_: Any) -> Any:
        try:
            if dispatcher._can_compile:
                _compile(dispatcher, usual, signature)
                dispatcher.compile = usual
        except RuntimeError:  # compiled by another thread in the meantime
            if dispatcher._can_compile:
                raise
        return dispatcher  # what is called next with the arguments, and knows by now which fit

    with suppress(AttributeError, TypeError):  # another numba
        dispatcher.compile = compile_the_one
        return True
    return False


def _compile(dispatcher: Any, usual: Callable[..., Any], signature: Any) -> None:
    """Compile one signature and no other."""
    usual(signature)
    with suppress(AttributeError, TypeError):  # another numba: other arguments have it compile again
        dispatcher.disable_compile()


def _compiled(function: Function, **more: bool) -> Function:
    if not IS_COMPILING:
        return _wrapping(function)
    if getattr(function, "borrows", False):
        more["_nrt"] = False
    known = {option: value for option, value in more.items() if _knows(option)}
    compiled = _njit(**_OPTIONS, **known)(function)
    with suppress(AttributeError, TypeError):  # another numba
        compiled.compile = _without_collecting(compiled.compile)
        if "_nrt" in known:
            compiled._compiler._compile_core = _refusing_arrays(function, compiled._compiler._compile_core)
    # What belongs to no module, as code that a program executes, could not be linked again.
    if function.__module__ in sys.modules and _cache_folder():
        # numba may change what is inside it: then each process compiles, and nothing else happens.
        with suppress(Exception):
            compiled._cache = _quick_cache(function)
    if _returns_a_tuple(function):
        kind: Any = type(compiled)
        with suppress(TypeError):  # another numba
            compiled.__class__ = _interruptible(kind)
    return cast(Function, compiled)


def _returns_a_tuple(function: Any) -> bool:
    """Return whether a function may return a tuple with arrays in it."""
    returned: Any = function.__annotations__.get("return", tuple)
    kind = get_origin(returned) or returned
    if not isinstance(kind, type):  # an annotation that is a string, or a variable
        return returned not in _SCALARS
    return issubclass(kind, tuple) and not (get_args(returned) and _SCALARS.issuperset(get_args(returned)))


@functools.cache
def _interruptible(kind: Any) -> Any:
    """Return a class of dispatchers that raise ``KeyboardInterrupt`` for Ctrl-C during a call.

    numba makes arrays of Python's from those of a returned tuple in Python code, where a signal that came
    during the call takes effect. It goes on with the next array, and then raises ``SystemError``.
    """

    class Interruptible(kind):  # type: ignore[misc]
        def __call__(self, *arguments: object, **named: object) -> object:
            try:
                return super().__call__(*arguments, **named)
            except SystemError as error:
                cause: BaseException | None = error
                while cause is not None and not isinstance(cause, KeyboardInterrupt):
                    cause = cause.__cause__ or cause.__context__
                if cause is None:
                    raise
                raise cause from None

        def _reduce_class(self) -> Any:
            return kind

    return Interruptible


def _refusing_arrays(function: Any, usual: Callable[..., Any]) -> Callable[..., Any]:
    """Return numba's `compile` for a function that borrows: an array that another returned is never freed."""

    def compile_borrowing(*arguments: Any) -> Any:
        compiled = usual(*arguments)
        returned: list[str] = []
        with suppress(AttributeError, TypeError, KeyError):  # another numba
            kinds, models = compiled.type_annotation.typemap, compiled.target_context.data_model_manager
            for call, signature in compiled.type_annotation.calltypes.items():
                called = kinds[call.func.name] if getattr(call, "op", None) == "call" else None
                counted = models[signature.return_type].contains_nrt_meminfo()
                if counted and isinstance(called, types.Dispatcher):
                    returned.append(called.dispatcher.py_func.__name__)
        if returned:
            raise TypeError(
                f"{function.__name__} borrows, and so can call nothing that returns an array, got {returned}"
            )
        return compiled

    return compile_borrowing


def _without_collecting(usual: Callable[..., Any]) -> Callable[..., Any]:
    """Return numba's `compile` with Python's cycle collector at rest, which takes 5 % and finds nothing."""

    @functools.wraps(usual)
    def compile_at_once(*arguments: Any, **named: Any) -> Any:
        was_on = gc.isenabled()
        gc.disable()
        try:
            with _stopwatch():
                return usual(*arguments, **named)
        finally:
            if was_on:
                gc.enable()

    return compile_at_once


@functools.cache
def _stopwatch() -> Stopwatch:
    return Stopwatch(_cache_folder())


@functools.cache
def _knows(option: str) -> bool:
    """Return whether this numba has an option that is none of its public ones."""
    with suppress(ImportError):
        from numba.core.cpu import CPUTargetOptions

        return hasattr(CPUTargetOptions, option)
    return False


def _quick_cache(function: Function) -> Any:
    """Return numba's cache on disk, read only as it was written, and without getting ready to compile.

    Any damage is a miss, after which the function is compiled and saved again.
    """
    from numba.core import caching, serialize

    # Only our own kernels use this folder: the setting is put back, for users' functions are theirs.
    config, previous = _config, _config.CACHE_DIR
    config.CACHE_DIR = _cache_folder()
    try:
        cache: Any = caching.FunctionCache(function)  # type: ignore[no-untyped-call]
    finally:
        config.CACHE_DIR = previous
    place: Any = cache._impl
    path = Path(place.locator.get_cache_path()) / f"{place.filename_base}.checked"
    stamp = (numba.__version__, llvmlite.__version__, place.locator.get_source_stamp())
    cache._cache_file = CheckedFile(path, stamp, serialize.dumps)
    load, save, usual_key = cache._load_overload, cache._save_overload, cache._index_key

    def index_key(*arguments: Any) -> Any:
        return usual_key(*arguments), compiled_in(function)

    is_in_hash = is_ours(function) and Path(function.__code__.co_filename).name.startswith("_kernels")
    if not is_in_hash:  # those in it have a folder by their content
        cache._index_key = index_key

    # However numba calls them: what they do not understand is not kept.
    def load_overload(*arguments: Any, **named: Any) -> Any:
        with suppress(Exception):
            _get_ready(arguments[1])
            return load(*arguments, **named)
        return None

    def save_overload(*arguments: Any, **named: Any) -> None:
        with suppress(Exception):
            save(*arguments, **named)

    cache.load_overload, cache.save_overload = load_overload, save_overload
    return cache


def _get_ready(target: Any) -> None:
    """Set up what the code in the cache is linked to.

    Before it reads, numba's own cache sets up all that compiling needs, scipy's linear algebra among it:
    0.2 s in every process. What is compiled already links to the run-time system only (and, had it hash
    tables, to the hash secret, which the import of ``hashing`` provides); compiling brings the rest.
    """
    try:
        import numba.cpython.hashing  # noqa: F401
        from numba.core.runtime import nrt

        runtime: Any = nrt.rtsys
        runtime.initialize(target)
    except (ImportError, AttributeError, TypeError):  # another numba
        target.refresh()


def _wrapping(function: Function) -> Function:
    """Return `function` with numpy's scalar arithmetic as silent as compiled arithmetic."""

    @functools.wraps(function)
    def quiet(*args: object) -> object:
        with np.errstate(all="ignore"):
            return function(*args)

    return quiet  # type: ignore[return-value]


@functools.cache
def _cache_folder() -> str:
    """Return a folder of one's own, named by the content of all kernels, or "" where there is none.

    numba notices a change in a function's own file only; a kernel that calls one in another module would
    go on with its old code.
    """
    return first_own_folder(_folders())


def _folders() -> Iterator[Path]:
    """Yield where compiled code may go: as the user says, else his cache, else beside the source."""
    name = f"kernels-{_content_hash()}"
    if os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(os.environ["NUMBA_CACHE_DIR"]) / f"cmab-{name}"
        return
    base = os.environ.get("XDG_CACHE_HOME")
    with suppress(RuntimeError):  # no home
        yield (Path(base) if base else Path.home() / ".cache") / "cmab" / name
    yield Path(__file__).parent / "__pycache__" / name


def _content_hash() -> str:
    root = Path(__file__).resolve().parents[2]
    files = sorted(path for package in _PACKAGES for path in (root / package).rglob("_kernels*.py"))
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
