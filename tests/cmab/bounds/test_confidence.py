"""Radii against values computed independently."""

import numpy as np
import pytest

from cmab.bounds.radii import c_epsilon, lil_parameters, lil_radii, mixture_threshold


@pytest.mark.parametrize(
    ("count", "omega", "epsilon", "sigma", "value"),
    [
        (1, 1e-3, 0.0, 0.5, 1.871070),
        (100, 1e-3, 0.0, 0.5, 0.205417),
        (10_000, 1e-5, 0.0, 0.5, 0.026204),
        (1, 1e-8, 0.01, 0.5, 3.363818),
        (100, 1e-8, 0.01, 0.5, 0.349185),
        (100, 1e-8, 0.01, 1.0, 0.698371),
    ],
)
def test_lil_radius(count, omega, epsilon, sigma, value):
    assert lil_radii(np.array([count]), omega, epsilon=epsilon, sigma=sigma)[0] == pytest.approx(
        value, abs=1e-6
    )


@pytest.mark.parametrize(
    ("x", "value"), [(1, 2.507), (2, 3.583), (3, 4.648), (4.6, 6.337), (7, 8.846), (10, 11.955)]
)
def test_mixture_threshold(x, value):
    assert mixture_threshold(x) == pytest.approx(value, abs=1e-3)


@pytest.mark.parametrize(("n", "k"), [(10, 2), (100, 50)])
def test_faithful_levels_meet_the_confidence_exactly(n, k):
    epsilon, level = lil_parameters("faithful", delta=0.01, sides=(k, n - k), n_sides=2.0)
    tight = (level / 2) ** 1.01 * (k**-0.01 + (n - k) ** -0.01)
    assert c_epsilon(epsilon) * tight == pytest.approx(0.01)
    assert lil_parameters("paper", delta=0.01, sides=(k, n - k), n_sides=2.0)[1] == pytest.approx(
        4.727e-7, rel=1e-3
    )
    assert lil_parameters("heuristic", delta=0.01, sides=(k, n - k), n_sides=2.0) == (0.0, 0.01)
