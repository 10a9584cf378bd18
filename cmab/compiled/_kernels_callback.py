"""Calls from the compiled loop to Python, used by oracles without a compiled form."""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from cmab.compiled._kernels import IS_COMPILING, call_address
from cmab.compiled._kernels_signatures import solve_kernel
from cmab.compiled.forms import Kernel

_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64)


@solve_kernel
def ask_address(means, integers, reals, out):
    """Call the function at the address ``integers[0]``, which already has access to the arrays."""
    return int(call_address(integers[0]))


def callback_to(answer: Callable[[], int]) -> tuple[Kernel, Any]:
    """Return a kernel that calls `answer`, and an object that the caller must keep as long as the kernel."""
    if not IS_COMPILING:
        # Without compilation, kernels are Python functions, which can call `answer` directly.
        return Kernel(lambda *_: answer()), None
    # ctypes frees the code at the address together with the pointer, so the caller must keep the pointer.
    pointer = _FUNCTION(answer)
    address = ctypes.cast(pointer, ctypes.c_void_p).value
    return Kernel(ask_address, np.array([address], np.int64)), pointer
