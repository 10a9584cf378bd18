"""Array types, and the letters for shapes in docstrings.

``m`` or ``n_arms``: number of base arms; ``size``: number of entries of a super arm; ``R``: number of
replications; ``C``: number of checkpoints.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
AnyArray = NDArray[Any]

__all__ = ["AnyArray", "ArrayLike", "BoolArray", "FloatArray", "IntArray"]
