"""Counter-based random numbers: the coin of (round, arm) is a hash, the same whoever asks for it.

Two policies that play the same arm in the same round of the same replication see the same outcome
(common random numbers), in whatever order and on whatever path it is computed.
"""

import numpy as np

from cmab._kernels import kernel
from cmab.arrays import FloatArray, IntArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_ONE = np.uint64(1)
_TO_UNIT = 2.0**-53


@kernel
def mix(x: np.uint64) -> np.uint64:
    """Return splitmix64's finaliser: a bijection of 64-bit words in which every bit depends on all."""
    x = (x ^ (x >> _S30)) * _MIX_1
    x = (x ^ (x >> _S27)) * _MIX_2
    return x ^ (x >> _S31)


@kernel
def keyed_uniform(key: int, index: int) -> float:
    """Return the number of [0, 1) that belongs to the 64-bit `key` and to `index` >= 0."""
    x = mix(mix(np.uint64(key)) + (np.uint64(index) + _ONE) * _GOLDEN)
    return np.float64(x >> _S11) * _TO_UNIT


@kernel
def keyed_uniforms(key: int, indices: IntArray) -> FloatArray:
    """Return `keyed_uniform` of every entry of `indices`."""
    out = np.empty(indices.shape[0])
    for i in range(indices.shape[0]):
        out[i] = keyed_uniform(key, indices[i])
    return out
