"""The interface to numba.

A module named ``_kernels_*.py`` holds compiled functions, which take and return arrays. Kernels of a whole
run also take a ``Generator``. These modules are imported inside the functions that use them, so ``import
cmab`` neither loads numba nor compiles anything.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from llvmlite import ir
from numba import extending
from numba.core import caching
from numba.core.cpu import CPUTargetOptions

from cmab.compiled._code_cache import PACKAGES, compiled_in, may_write, module_folder
from cmab.compiled._watch import watch

Function = TypeVar("Function", bound=Callable[..., object])

_config: Any = numba.config
_njit: Any = numba.njit
_intrinsic: Any = extending.intrinsic
_FunctionCache: Any = caching.FunctionCache
types: Any = numba.types
# Guards CACHE_DIR, a setting of numba that all threads share.
_setting = threading.Lock()
IS_COMPILING = not _config.DISABLE_JIT
# Division by zero gives inf or nan, as in numpy. A check for it would prevent the vectorisation of loops.
_OPTIONS = {"nogil": True, "error_model": "numpy"}
# Two undocumented options of numba; without them, numba is only slower. `_LEAN` omits reference counts.
# `_INNER` omits the entry point for C, which takes time to compile and which kernels and Python do not need.
_LEAN = {"_nrt": False} if hasattr(CPUTargetOptions, "_nrt") else {}
_INNER = {"no_cfunc_wrapper": True} if hasattr(CPUTargetOptions, "no_cfunc_wrapper") else {}


def kernel(function: Any) -> Any:
    """Compile `function` with numba at its first call, and cache the code on disk if possible.

    The compiled function runs without the global interpreter lock. With ``NUMBA_DISABLE_JIT=1``, the function
    is not compiled.
    """
    return _compiled(function, **_INNER)


def lean_kernel(function: Any) -> Any:
    """Compile a function that neither creates nor returns an array and calls only such functions.

    This is `kernel` without reference counts of the arguments, which take longer than a short rule itself.
    """
    return _compiled(function, **_INNER, **_LEAN)


def typed_kernel(signature: Any, *, is_lean: bool = True) -> Callable[[Any], Any]:
    """Return a decorator for rules with a fixed signature, which loops take without a new compilation.

    Rules of this project are compiled when they are first used. Rules of users are compiled at once, so that
    an error is raised where the rule is defined.
    """

    def decorate(function: Any) -> Any:
        if is_ours(function):
            return _compiled(function, **(_LEAN if is_lean else {}))
        compiled = _compiled(function)
        if IS_COMPILING:
            compiled.compile(signature)
        return compiled

    return decorate


def loop_kernel(signature: Any, *, is_lean: bool = False) -> Callable[[Any], Any]:
    """Return a decorator for functions that take rules as arguments; the first call compiles them."""

    def decorate(function: Any) -> Any:
        dispatcher = _compiled(function, **_INNER, **(_LEAN if is_lean else {}))
        return functools.wraps(function)(_Loop(dispatcher, signature)) if IS_COMPILING else dispatcher

    return decorate


class _Loop:
    """A loop with one signature, which is compiled at the first call."""

    def __init__(self, dispatcher: Any, signature: Any) -> None:
        self.dispatcher, self.signature, self.lock = dispatcher, signature, threading.Lock()

    def __call__(self, *arguments: Any) -> Any:
        if not self.dispatcher.signatures:
            with self.lock:
                if not self.dispatcher.signatures:
                    self.dispatcher.compile(self.signature)
                    self.dispatcher.disable_compile()
        return self.dispatcher(*arguments)


def is_ours(function: Callable[..., object]) -> bool:
    """Return whether a function, or its compiled form, belongs to one of our packages."""
    return (function.__module__ or "").partition(".")[0] in PACKAGES


def _compiled(function: Any, **options: bool) -> Any:
    if not IS_COMPILING:
        return _wrapping(function)
    dispatcher = _njit(**_OPTIONS, **options)(function)
    watch(dispatcher)
    # A function without a module, for example from `exec`, could not be loaded from the cache again.
    has_file = function.__module__ in sys.modules and Path(function.__code__.co_filename).is_file()
    if has_file and (folder := _folder_of(function)):
        _keep(dispatcher, folder)
    return dispatcher


class _Kept(_FunctionCache):  # type: ignore[misc]
    """The cache files of a function. Unreadable code is compiled again; failed writes are ignored."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # unpickling a damaged file can raise any exception
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        if may_write():
            with suppress(OSError):
                super().save_overload(sig, data)


def _keep(dispatcher: Any, folder: str) -> None:
    """Cache the code of a function in a folder, if the folder can be written."""
    # The setting is restored because only our own kernels use this folder.
    with _setting:
        previous, _config.CACHE_DIR = _config.CACHE_DIR, folder
        try:
            kept = _Kept(dispatcher.py_func)
        except (OSError, RuntimeError):
            return
        finally:
            _config.CACHE_DIR = previous
    # If the folder cannot be written, numba chooses another one.
    if Path(kept.cache_path).is_relative_to(folder):
        dispatcher._cache = kept


def _folder_of(function: Any) -> str:
    """Return the cache folder of the code of a function.

    For our functions, it is the folder of the module, because the name of the cache folder contains a hash of
    our files with kernels. For other functions, the name of the folder contains the digest of `compiled_in`.
    """
    return module_folder(function.__module__ if is_ours(function) else f"own-{compiled_in(function)[:16]}")


def _calling(context: Any, address: Any) -> Any:
    """Generate the call of the C function at an address, which takes no arguments and returns an int64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function = ir.FunctionType(ir.IntType(64), [])
        return builder.call(builder.inttoptr(arguments[0], function.as_pointer()), [])

    return types.int64(types.int64), generate


call_address: Any = _intrinsic(_calling)


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


def _nothing(array: Any, index: int) -> None:
    """Replace `prefetch` if numba does not compile."""


prefetch: Any = _intrinsic(_prefetching) if IS_COMPILING else _nothing
"""Start loading ``array[index]`` into the processor cache; an index beyond the end is harmless."""


def _wrapping(function: Function) -> Function:
    """Return `function` with numpy's floating-point warnings turned off, as in compiled code."""

    @functools.wraps(function)
    def quiet(*args: object) -> object:
        with np.errstate(all="ignore"):
            return function(*args)

    return quiet  # type: ignore[return-value]
