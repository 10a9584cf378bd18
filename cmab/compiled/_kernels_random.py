"""Counter-based random numbers, which are hashes of a round and an arm.

Two policies that play the same arm in the same round of the same replication therefore observe the same
outcome (common random numbers), in any order of computation and in compiled or Python code.
"""

import math

import numpy as np

from cmab.compiled._kernels import kernel, lean_kernel

# splitmix64 increases a counter in steps of 2^64 / phi, with the golden ratio phi, and mixes each value.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_ONE = np.uint64(1)
_TO_UNIT = 2.0**-53

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


@lean_kernel
def mix(x):
    """Return the finaliser of splitmix64, a bijection of 64-bit words that mixes all bits."""
    x = (x ^ (x >> _S30)) * _MIX_1
    x = (x ^ (x >> _S27)) * _MIX_2
    return x ^ (x >> _S31)


@lean_kernel
def to_unit(word):
    """Return the first 53 bits of `word` as a number in [0, 1)."""
    return np.float64(word >> _S11) * _TO_UNIT


@lean_kernel
def keyed_word(key, index):
    """Return the 53-bit random integer for the 64-bit `key` and `index` >= 0."""
    # Entry `index` of the splitmix64 stream whose state is the hashed key. The hash separates the streams of
    # neighbouring keys. A float holds 53 bits exactly.
    return mix(mix(np.uint64(key)) + (np.uint64(index) + _ONE) * GOLDEN) >> _S11


@lean_kernel
def keyed_uniform(key, index):
    """Return `keyed_word` as a number in [0, 1)."""
    return np.float64(keyed_word(key, index)) * _TO_UNIT


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


@lean_kernel
def _ratio(x, above, below):
    """Return the quotient of two polynomials, with coefficients from the highest power down."""
    numerator, denominator = above[0], below[0]
    for i in range(1, 8):
        numerator = numerator * x + above[i]
        denominator = denominator * x + below[i]
    return numerator / denominator
