"""Confidence radii and intervals of means, and the tests of differences between them."""

from cmab.confidence.change_points import change_statistic, change_threshold
from cmab.confidence.kl import bernoulli_divergence, kl_bounds, kl_rate
from cmab.confidence.mixtures import anytime_kl_bounds
from cmab.confidence.radii import (
    LogRadius,
    anytime_radii,
    bernstein_radii,
    c_epsilon,
    largest_level,
    lil_parameters,
    lil_radii,
    lucb1_radii,
    mixture_threshold,
    pair_threshold,
    scaled_radius,
)
from cmab.confidence.variances import anytime_bernstein_radii, student_radii

__all__ = [
    "LogRadius",
    "anytime_bernstein_radii",
    "anytime_kl_bounds",
    "anytime_radii",
    "bernoulli_divergence",
    "bernstein_radii",
    "c_epsilon",
    "change_statistic",
    "change_threshold",
    "kl_bounds",
    "kl_rate",
    "largest_level",
    "lil_parameters",
    "lil_radii",
    "lucb1_radii",
    "mixture_threshold",
    "pair_threshold",
    "scaled_radius",
    "student_radii",
]
