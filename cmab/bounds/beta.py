"""Tails and quantiles of the Beta distribution, which neither numba nor numpy provides."""

import math

import numpy as np

from cmab.compiled import lean_kernel, normal_quantile

# For larger a and b, the continued fraction needs about sqrt(min(a, b)) steps, and an integral with 32 nodes
# is cheaper.
_LARGE = 1000.0
_HALF_LOG_TAU = 0.9189385332046727
_NODES, _WEIGHTS = (tuple(map(float, values)) for values in np.polynomial.legendre.leggauss(32))
_CLOSE, _STEPS = 1e-5, 100


@lean_kernel
def beta_quantile(p, a, b):
    """Return x with P(Beta(a, b) <= x) = p in (0, 1), accurate to about 1e-13 of x.

    The function applies Halley's method to the logarithm of the smaller tail as a function of w = ln(x / (1 -
    x)). The density of w is log-concave for all a and b, so both tails are, and the iteration converges.
    """
    if a == 1.0:
        return -math.expm1(math.log1p(-p) / b)
    if b == 1.0:
        return math.exp(math.log(p) / a)
    if p > 0.5:  # the upper tail of Beta(a, b) is the lower tail of Beta(b, a)
        return _expit(-_lower_logit(1.0 - p, b, a))
    return _expit(_lower_logit(p, a, b))


@lean_kernel
def _expit(w):
    """Return the inverse of w = ln(x / (1 - x)), to full relative accuracy."""
    if w > 0.0:
        return 1.0 / (1.0 + math.exp(-w))
    odds = math.exp(w)
    return odds / (1.0 + odds)


@lean_kernel
def _lower_logit(p, a, b):
    """Return w with P(logit Beta(a, b) <= w) = p <= 1/2."""
    goal, n, constant = math.log(p), a + b, _constant(a, b)
    w = _start(p, goal, a, b)
    for _ in range(_STEPS):
        log_density = _log_density(w, a, b, constant)
        log_tail = _log_tail(w, a, b, constant, log_density)
        miss = log_tail - goal
        slope = math.exp(min(log_density - log_tail, 700.0))
        # Halley's step: (ln F)'' = (ln F)' ((ln f)' - (ln F)'), and (ln f)' = a - (a + b) x.
        bend = miss * (a - n * _expit(w) - slope) / (2.0 * slope)
        w -= miss / slope / min(max(1.0 - bend, 0.5), 2.0)
        if abs(miss) < _CLOSE:  # the step above converges cubically, so about its cube remains
            break
    return w


@lean_kernel
def log_beta_tail(w, a, b):
    """Return ln P(logit Beta(a, b) <= w)."""
    constant = _constant(a, b)
    return _log_tail(w, a, b, constant, _log_density(w, a, b, constant))


@lean_kernel
def _constant(a, b):
    """Return the logarithm of the normalising constant in the form of `_log_density`."""
    n = a + b
    constant = 0.5 * math.log(a * b / n) - _HALF_LOG_TAU
    return constant + (_stirling_error(n) - _stirling_error(a) - _stirling_error(b))


@lean_kernel
def _start(p, goal, a, b):
    """Return a first guess: Abramowitz and Stegun, 26.5.22, or the leading power of x if a or b is <= 1."""
    if a > 1.0 and b > 1.0:
        z, one, other = -normal_quantile(p), 1.0 / (2.0 * a - 1.0), 1.0 / (2.0 * b - 1.0)
        lam, h = (z * z - 3.0) / 6.0, 2.0 / (one + other)
        shift = z * math.sqrt(h + lam) / h - (other - one) * (lam + 5.0 / 6.0 - 2.0 / (3.0 * h))
        return math.log(a / b) - 2.0 * shift
    log_x = (goal + math.log(a) + log_gamma(a) + log_gamma(b) - log_gamma(a + b)) / a
    return min(log_x, math.log(a / b))


@lean_kernel
def log_gamma(z):
    """Return ln Gamma(z) for z > 0, with the same bits in both forms, unlike ``math.lgamma``."""
    product = 1.0
    while z < 10.0:
        product *= z
        z += 1.0
    return (z - 0.5) * math.log(z) - z + _HALF_LOG_TAU + _stirling_series(z) - math.log(product)


@lean_kernel
def _stirling_error(z):
    """Return ln Gamma(z + 1) less the logarithm of Stirling's formula, sqrt(2 pi z) (z / e)^z."""
    if z < 10.0:
        return log_gamma(z + 1.0) - (z + 0.5) * math.log(z) + z - _HALF_LOG_TAU
    return _stirling_series(z)


@lean_kernel
def _stirling_series(z):
    y = 1.0 / (z * z)
    return (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y * (1 / 1188 - y * 691 / 360360))))) / z


@lean_kernel
def _log_density(w, a, b, constant):
    """Return the log density of w in the saddle point form of Loader (2000), which avoids cancellation."""
    n, x = a + b, _expit(w)
    excess = n * x - a
    if w > 0.0:  # b - n (1 - x), from the smaller of x and 1 - x
        excess = b - n * _expit(-w)
    return constant - a * _deviance(excess / a, n / a, w) - b * _deviance(-excess / b, n / b, -w)


@lean_kernel
def _deviance(excess, factor, w):
    """Return e - ln(1 + e), where e is `excess` and 1 + e is `factor` times the x of logit w."""
    if excess > -0.5:
        return excess - math.log1p(excess)
    log_x = w - math.log1p(math.exp(w)) if w < 0.0 else -math.log1p(math.exp(-w))
    return excess - (math.log(factor) + log_x)


@lean_kernel
def _log_tail(w, a, b, constant, log_density):
    """Return ln P(logit Beta(a, b) <= w), given the logarithm of the density at w."""
    n = a + b
    if _expit(w) * (n + 2.0) <= a + 1.0:
        return log_density + math.log(_inner_tail(w, a, b, constant, log_density))
    upper = log_density + math.log(_inner_tail(-w, b, a, constant, log_density))
    return math.log(max(-math.expm1(upper), 1e-300)) if upper < 0.0 else -700.0


@lean_kernel
def _inner_tail(w, a, b, constant, log_density):
    """Return P(logit Beta(a, b) <= w) divided by the density at w, for w below the mean."""
    if min(a, b) > _LARGE:
        return _integrated_tail(w, a, b, constant, log_density)
    # The continued fraction of Abramowitz and Stegun, 26.5.8, by Lentz's method.
    x, n, tiny = _expit(w), a + b, 1e-300
    # 1 - n x / (a + 1), from the smaller of x and 1 - x.
    c, d = 1.0, (1.0 - n * x / (a + 1.0) if w < 0.0 else (1.0 - b + n * _expit(-w)) / (a + 1.0))
    d = 1.0 / (d if abs(d) > tiny else tiny)
    value = d
    for m in range(1, 10_000):
        term = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        d, c = 1.0 + term * d, 1.0 + term / c
        d, c = 1.0 / (d if abs(d) > tiny else tiny), (c if abs(c) > tiny else tiny)
        value *= d * c
        term = -(a + m) * (n + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        d, c = 1.0 + term * d, 1.0 + term / c
        d, c = 1.0 / (d if abs(d) > tiny else tiny), (c if abs(c) > tiny else tiny)
        value *= d * c
        if abs(d * c - 1.0) < 1e-15:
            break
    return value / a


@lean_kernel
def _integrated_tail(w, a, b, constant, log_density):
    """Return the quotient of `_inner_tail` by Gauss-Legendre quadrature, for large a and b.

    The density of w is then close to a Gaussian density.
    """
    scale = math.sqrt((a + b) / (a * b))
    z = max((math.log(a / b) - w) / scale, 0.0)
    width = 0.5 * scale * (math.sqrt(z * z + 80.0) - z)  # less than exp(-40) of the tail lies beyond
    total = 0.0
    for i in range(32):
        place = w - width * (1.0 + _NODES[i])
        total += _WEIGHTS[i] * math.exp(_log_density(place, a, b, constant) - log_density)
    return total * width
