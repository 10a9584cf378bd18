"""The one way to numba.

A module named ``_kernels_*.py`` holds compiled functions: arrays (and a ``Generator``, for kernels that
cover a whole run) in, arrays out. Such modules are imported inside the functions that call them, so that
``import cmab`` neither loads numba nor compiles anything.
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
# numba has one setting for all threads.
_setting = threading.Lock()
IS_COMPILING = not _config.DISABLE_JIT
# Division by zero gives inf or nan as in numpy: the check for it would keep loops from being vectorised.
_OPTIONS = {"nogil": True, "error_model": "numpy"}
# Two options that numba does not document; a numba without them is only slower. What only kernels and
# Python call needs no entry for C, which takes time to compile.
_LEAN = {"_nrt": False} if hasattr(CPUTargetOptions, "_nrt") else {}
_INNER = {"no_cfunc_wrapper": True} if hasattr(CPUTargetOptions, "no_cfunc_wrapper") else {}


def kernel(function: Any) -> Any:
    """Compile `function` with numba when it is first called, cached on disk where that is possible.

    The interpreter lock is released while a kernel runs. With ``NUMBA_DISABLE_JIT=1`` the function comes
    back as it is.
    """
    return _compiled(function, **_INNER)


def lean_kernel(function: Any) -> Any:
    """Do what `kernel` does, for a function that makes no array, returns none, and calls only such ones.

    numba then does not count references to its arguments, which takes longer than a short rule itself.
    """
    return _compiled(function, **_INNER, **_LEAN)


def typed_kernel(signature: Any, *, is_lean: bool = True) -> Callable[[Any], Any]:
    """Return a decorator for rules, which a loop takes at one fixed signature without being compiled anew.

    Rules of ours are compiled when they are first used. Those of others are compiled at once, so that what is
    wrong with them is told where they are written.
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
    """Return a decorator for functions that take rules as arguments."""
    return lambda function: _compiled(function, signature, **_INNER, **(_LEAN if is_lean else {}))


def is_ours(function: Callable[..., object]) -> bool:
    """Return whether a function, or its compiled form, stands in one of our packages."""
    return (function.__module__ or "").partition(".")[0] in PACKAGES


def _compiled(function: Any, *signature: Any, **options: bool) -> Any:
    if not IS_COMPILING:
        return _wrapping(function)
    dispatcher = _njit(**_OPTIONS, **options)(function)
    watch(dispatcher)
    # What belongs to no module, as code that a program executes, could not be linked again.
    has_file = function.__module__ in sys.modules and Path(function.__code__.co_filename).is_file()
    if has_file and (folder := _folder_of(function)):
        _keep(dispatcher, folder)
    for types_of_arguments in signature:
        dispatcher.compile(types_of_arguments)
        dispatcher.disable_compile()
    return dispatcher


class _Kept(_FunctionCache):  # type: ignore[misc]
    """numba's files of a function. What cannot be read is compiled; what cannot be written is not kept."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # what unpickling damaged files raises
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        if may_write():
            with suppress(OSError):
                super().save_overload(sig, data)


def _keep(dispatcher: Any, folder: str) -> None:
    """Have the code of a function kept in a folder; nowhere if it cannot be written."""
    # Only our own kernels use this folder: the setting is put back, for users' functions are theirs.
    with _setting:
        previous, _config.CACHE_DIR = _config.CACHE_DIR, folder
        try:
            kept = _Kept(dispatcher.py_func)
        except (OSError, RuntimeError):
            return
        finally:
            _config.CACHE_DIR = previous
    # Where the folder cannot be written numba takes others.
    if Path(kept.cache_path).is_relative_to(folder):
        dispatcher._cache = kept


def _folder_of(function: Any) -> str:
    """Return where the code of a function is kept.

    Files of kernels are part of the whole folder's name. Code of other functions is kept by what it takes.
    """
    is_hashed = is_ours(function) and Path(function.__code__.co_filename).name.startswith("_kernels")
    return module_folder(function.__module__ if is_hashed else f"own-{compiled_in(function)[:16]}")


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


def _wrapping(function: Function) -> Function:
    """Return `function` with numpy's scalar arithmetic as silent as compiled arithmetic."""

    @functools.wraps(function)
    def quiet(*args: object) -> object:
        with np.errstate(all="ignore"):
            return function(*args)

    return quiet  # type: ignore[return-value]
