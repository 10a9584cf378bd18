"""Information on a round that is known before the choice."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cmab.arrays import AnyArray, ArrayLike, BoolArray, FloatArray
from cmab.validation import as_array, real_array, shown


@dataclass(frozen=True, eq=False)
class Context:
    """Information on a round that is known before the choice. Every part is optional.

    Arrays are copied, and the copies are read-only, because the environment, the ticket and all learners
    share one context.

    Attributes
    ----------
    available : BoolArray or None, shape (n_choices,)
        Whether each entry may be part of a super arm in this round; None if all may.
    features : FloatArray or None, shape (n_arms, d)
        Features of each base arm. Arrays of ``float32`` are kept in this type, which halves the time of a
        round of the linear policies with many arms.
    values : FloatArray or None, shape (n_arms,)
        Value of one unit of outcome of each base arm in this round, such as a price or a length; None for 1.
    costs : FloatArray or None, shape (n_arms,)
        Cost of each base arm in this round, independent of its outcome; None for 0.

    Raises
    ------
    ValueError
        If an array has a wrong number of dimensions, `available` is not an array of booleans, or a number is
        not finite.

    Examples
    --------
    >>> from cmab import Context
    >>> Context(available=[True, False, True]).parts
    ('available',)
    """

    available: BoolArray | None = None
    features: FloatArray | None = None
    _: KW_ONLY
    values: FloatArray | None = None
    costs: FloatArray | None = None

    if TYPE_CHECKING:  # the arguments may be array_like

        def __init__(
            self,
            available: ArrayLike | None = None,
            features: ArrayLike | None = None,
            *,
            values: ArrayLike | None = None,
            costs: ArrayLike | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "available", _flags(self.available))
        features = _numbers("features", self.features, 2)
        object.__setattr__(self, "features", features)
        # Policies compare it with their bound in every round.
        object.__setattr__(self, "_longest", 0.0 if features is None else _longest(features))
        object.__setattr__(self, "values", _numbers("values", self.values, 1))
        object.__setattr__(self, "costs", _numbers("costs", self.costs, 1))

    def __repr__(self) -> str:
        parts = (f"{name} of shape {getattr(self, name).shape}" for name in self.parts)
        return f"Context({', '.join(parts)})"

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Pickled and copied arrays are writeable again.
        self.__dict__.update(state)
        for name in self.parts:
            getattr(self, name).setflags(write=False)

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the parts that are given."""
        return tuple(name for name in _PARTS if getattr(self, name) is not None)

    def check(self, n_arms: int, n_choices: int) -> None:
        """Raise ``ValueError`` unless the arrays have `n_choices` or `n_arms` rows."""
        for name in self.parts:
            part, length = getattr(self, name), n_choices if name == "available" else n_arms
            if len(part) != length:
                raise ValueError(f"context.{name} must have {length} rows, got shape {part.shape}")

    def worth(self, means: FloatArray, sense: Literal["max", "min"] = "max") -> FloatArray:
        """Return ``mean x value - cost`` of each arm in this round.

        Parameters
        ----------
        means : FloatArray, shape (n_arms,)
            Means of the arms, or indices.
        sense : {"max", "min"}
            The sense of the oracle. For ``"min"``, means are costs themselves, so `costs` are added.

        Returns
        -------
        FloatArray, shape (n_arms,)
            `means` itself if the context has neither values nor costs.

        Examples
        --------
        >>> import numpy as np
        >>> from cmab import Context
        >>> Context(values=[10.0, 2.0], costs=[1.0, 0.0]).worth(np.array([0.5, 0.5]))
        array([4., 1.])
        """
        worth = means if self.values is None else means * self.values
        if self.costs is None:
            return worth
        return worth - self.costs if sense == "max" else worth + self.costs


# The order of the parts in messages.
_PARTS = ("available", "features", "values", "costs")


def _flags(values: ArrayLike | None) -> BoolArray | None:
    if values is None:
        return None
    array = as_array("available", values)
    masked = isinstance(values, np.ma.MaskedArray)
    if masked or array.ndim != 1 or array.dtype != np.bool_:
        raise ValueError(f"available must be a 1-D array of booleans, got {shown(values)}")
    return _frozen(np.array(array))


def _numbers(name: str, values: ArrayLike | None, ndim: int) -> FloatArray | None:
    if values is None:
        return None
    is_single = ndim == 2 and type(values) is np.ndarray and values.dtype == np.float32
    array: AnyArray = np.array(values if is_single else real_array(name, values), order="C")
    if array.ndim != ndim:
        raise ValueError(f"{name} must be a {ndim}-D array, got shape {array.shape}")
    # The sum is not finite if an entry is not, and takes less time than a test of each entry.
    if not math.isfinite(float(array.sum())) and not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got {shown(array[~np.isfinite(array)][0])}")
    return _frozen(array)


def _longest(features: AnyArray) -> float:
    """Return the largest Euclidean norm of a row."""
    with np.errstate(over="ignore"):
        squares = np.einsum("ij,ij->i", features, features)
        if not math.isfinite(float(squares.max(initial=0.0))):  # overflow in single precision
            squares = np.einsum("ij,ij->i", features, features, dtype=np.float64)
    return math.sqrt(squares.max(initial=0.0))


def _frozen(array: AnyArray) -> AnyArray:
    array.setflags(write=False)
    return array
