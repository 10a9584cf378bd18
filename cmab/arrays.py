"""Array types, and the letters that docstrings use for shapes.

``m`` or ``n_arms`` base arms; ``size`` entries of a super arm; ``R`` replications; ``C`` checkpoints.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
AnyArray = NDArray[Any]

__all__ = ["AnyArray", "ArrayLike", "BoolArray", "FloatArray", "IntArray"]
