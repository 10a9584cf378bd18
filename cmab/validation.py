"""Checks of arguments. Each error states the name of the argument, the requirement and the value."""

from __future__ import annotations

import math
import numbers as abstract
import operator
import unicodedata
from collections.abc import Collection, Hashable, Iterable, Sequence, Set
from decimal import Decimal
from itertools import islice
from typing import TypeVar

import numpy as np

from cmab.arrays import AnyArray, ArrayLike, FloatArray, IntArray

Choice = TypeVar("Choice", bound=str)
Entry = TypeVar("Entry")

_SHOWN = 60
_REAL, _INTEGER = np.dtype(np.float64), np.dtype(np.int64)
_MOST_WORKERS = 4096
#: Whole numbers below this size are printed with all digits.
_WHOLE = 2.0**63


def shown(value: object, most: int = _SHOWN) -> str:
    """Return the ``repr`` of `value` for error messages, cut after `most` characters."""
    try:
        text = repr(value)
    except RecursionError:  # for example lists nested a thousand levels deep
        text = f"a {type(value).__name__} that is nested too deeply"
    return text if len(text) <= most else text[: most - 3] + "..."


def meant(name: object, known: Collection[Hashable]) -> str:
    """Return a question with the known name most similar to `name`: reversed, misspelt or of another type.

    Accents and capitals do not count.
    """
    from difflib import get_close_matches

    if isinstance(name, tuple) and name[::-1] in known:
        return f" (did you mean {name[::-1]!r}?)"
    texts = {bare(str(other)[:100]): other for other in islice(known, 10_000)}
    near = get_close_matches(bare(str(name)[:100]), texts, 1)
    return f" (did you mean {texts[near[0]]!r}?)" if near else ""


def bare(text: str) -> str:
    """Return a text in small letters without accents."""
    parts = unicodedata.normalize("NFKD", text).casefold()
    return "".join(part for part in parts if not unicodedata.combining(part))


def integer(
    name: str, value: object, low: int | None = None, high: int | None = None, *, any_size: bool = False
) -> int:
    """Return `value` as an ``int`` in ``[low, high]``, of at most 64 bits unless `any_size`.

    Booleans and floats raise ``ValueError``.
    """
    try:
        # This accepts integers of numpy and rejects floats, even 2.0.
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    bounds = _interval(low, high, "[", "]")
    if number is None or isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be an integer{bounds}, got {shown(value)}")
    if (low is not None and number < low) or (high is not None and number > high):
        raise ValueError(f"{name} must be an integer{bounds}, got {shown(value)}")
    if not any_size and abs(number) >= 2**63:
        raise ValueError(f"{name} must be an integer of 64 bits, got {shown(value)}")
    return number


def check_jobs(n_jobs: object) -> None:
    """Raise ``ValueError`` unless `n_jobs` is -1 or a number of workers from 1 to 4096."""
    if integer("n_jobs", n_jobs, -1, _MOST_WORKERS) == 0:
        raise ValueError(f"n_jobs must be -1 or an integer in [1, {_MOST_WORKERS}], got 0")


def real(
    name: str, value: object, low: float = -math.inf, high: float = math.inf, *, inside: bool = False
) -> float:
    """Return `value` as a finite ``float`` in ``[low, high]``, or in ``(low, high)`` if `inside`.

    Strings, booleans and `Decimal` raise ``ValueError``.
    """
    bounds = _interval(low, high, *("()" if inside else "[]"))
    try:
        number = float(value)  # type: ignore[arg-type]
        # A Decimal cannot be multiplied by a float.
        if isinstance(value, str | bytes | bool | np.bool_ | Decimal):
            number = math.nan
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a real number{bounds}, got {shown(value)}") from None
    within = low < number < high if inside else low <= number <= high
    if not (math.isfinite(number) and within):
        raise ValueError(f"{name} must be a finite number{bounds}, got {shown(value)}")
    return number


def check_flag(name: str, value: object) -> None:
    """Raise ``ValueError`` unless `value` is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {shown(value)}")


def one_of(name: str, value: Choice, choices: tuple[Choice, ...]) -> Choice:
    """Return `value`. Raise ``ValueError`` unless it is one of `choices`."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {shown(value)}")
    return value


def vector(
    name: str, values: ArrayLike, length: int | None = None, low: float = -math.inf, high: float = math.inf
) -> FloatArray:
    """Return `values` as a new 1-D float array. Raise unless it is finite and within ``[low, high]``."""
    array = np.array(real_array(name, values))
    check_vector(name, array, length, low, high)
    return array


def per_arm(
    name: str, value: ArrayLike, n_arms: int, low: float = -math.inf, high: float = math.inf
) -> FloatArray:
    """Return `value`, one number or one number for each base arm, as a new array of shape (n_arms,)."""
    if as_array(name, value).ndim == 0:
        return np.full(n_arms, real(name, value, low, high))
    return vector(name, value, n_arms, low, high)


def as_array(name: str, values: object) -> AnyArray:
    """Return `values` as an array of any type. Raise ``ValueError`` if numpy cannot convert it."""
    try:
        return np.asarray(values)
    except (TypeError, ValueError, OverflowError, RecursionError):
        # Rows of different lengths, and lists that contain themselves or have more than 64 levels.
        raise ValueError(f"{name} must be an array, got {shown(values)}") from None


def real_array(name: str, values: ArrayLike) -> FloatArray:
    """Return `values` as a float array. Raise ``ValueError`` unless each entry is a real number.

    numpy itself would convert strings and dates, and drop imaginary parts and masks. An array of floats is
    returned without a copy.
    """
    if type(values) is np.ndarray and values.dtype == _REAL:
        return values
    wanted = f"{name} must be an array of real numbers, got"
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        raise ValueError(f"{wanted} masked entries in {shown(values)}")
    try:
        array = np.asarray(values)
        # numpy would convert strings and dates silently. Objects are valid if each is a real number.
        plain = array.dtype.kind in "fiub" or (
            array.dtype.kind == "O"
            and array.ndim > 0
            and all(isinstance(entry, abstract.Real) for entry in array.flat)
        )
        if plain:
            return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(f"{wanted} {shown(values)}")


def check_vector(
    name: str, array: FloatArray, length: int | None = None, low: float = -math.inf, high: float = math.inf
) -> None:
    """Raise ``ValueError`` unless `array` is 1-D, of `length`, finite and within ``[low, high]``."""
    if array.ndim != 1 or (length is not None and array.shape[0] != length):
        wanted = "a 1-D array" if length is None else f"a 1-D array of length {length}"
        raise ValueError(f"{name} must be {wanted}, got shape {array.shape}")
    # This runs in every round. Searching the bytes of the flags takes a quarter of the time of `all`.
    is_unbounded = low == -math.inf and high == math.inf
    if array.shape[0] == 0 or (is_unbounded and b"\0" not in np.isfinite(array).tobytes()):
        return
    smallest, largest = float(array.min()), float(array.max())
    # Comparisons with NaN are false, so the condition states the valid case.
    if not (smallest >= low and largest <= high and math.isfinite(smallest) and math.isfinite(largest)):
        bad = np.flatnonzero(~((array >= low) & (array <= high) & np.isfinite(array)))[0]
        raise ValueError(
            f"{name} must be finite{_interval(low, high, '[', ']')}, got {array[bad]} at position {bad}"
        )


def listed(name: str, values: Iterable[Entry], of: str) -> list[Entry]:
    """Return `values` as a list. Raise ``ValueError`` if it is a string or not iterable."""
    try:
        if isinstance(values, str | bytes):
            raise TypeError
        return list(values)
    except TypeError:
        raise ValueError(f"{name} must be a list of {of}, got {shown(values)}") from None


def arm_indices(
    name: str, values: ArrayLike | Set[int], n_choices: int, *, distinct: bool = True
) -> IntArray:
    """Return `values` as a 1-D int64 array of (distinct) entries of ``range(n_choices)``. Sets are sorted."""
    # This runs in every round. An isinstance test with the abstract type Set takes 0.3 microseconds.
    array = values if type(values) is np.ndarray else entries(name, values)
    if array.ndim != 1:
        raise ValueError(f"{name} must be a 1-D integer array, got shape {array.shape}")
    if array.shape[0] == 0:
        return np.empty(0, np.int64)
    if array.dtype.kind not in "iu":
        raise ValueError(f"{name} must hold integers, got dtype {array.dtype}")
    # For as few entries as most super arms have, plain Python is faster than numpy.
    if array.shape[0] <= 40:
        few = array.tolist()
        least, most, repeats = min(few), max(few), distinct and len({*few}) < len(few)
    else:
        ordered = np.sort(array)
        least, most, repeats = ordered[0], ordered[-1], distinct and (ordered[1:] == ordered[:-1]).any()
    if least < 0 or most >= n_choices:
        raise ValueError(f"{name} must lie in range({n_choices}), got {shown(array.tolist())}")
    if repeats:
        raise ValueError(f"{name} must not repeat an entry, got {shown(array.tolist())}")
    return array if array.dtype == _INTEGER else array.astype(np.int64)


def entries(name: str, values: ArrayLike | Set[int]) -> AnyArray:
    """Return a list, set or other array-like of entries as an array."""
    if isinstance(values, np.ma.MaskedArray):
        raise ValueError(f"{name} must not be masked, got {shown(values)}: leave masked entries out")
    try:
        return np.asarray(sorted(values) if isinstance(values, Set) else values)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a 1-D integer array, got {shown(values)}") from None


def interval(name: str, value: tuple[float, float]) -> tuple[float, float]:
    """Return two finite numbers. Raise ``ValueError`` unless the first is smaller than the second."""
    # An iterator can be read only once, and a set has no order.
    given: object = value
    is_list = isinstance(given, Sequence | np.ndarray) and not isinstance(given, str | bytes)
    try:
        if not is_list or as_array(name, value).shape != (2,):
            raise ValueError
        low, high = (real(name, end) for end in value)
    except ValueError:
        raise ValueError(f"{name} must be two finite numbers (low, high), got {shown(value)}") from None
    if not (low < high and math.isfinite(high - low)):
        raise ValueError(f"{name} must be an interval (low, high) with low < high, got {shown(value)}")
    return low, high


def frozen(array: FloatArray) -> FloatArray:
    """Return `array`, marked as read-only, so that shared parameters cannot be changed by accident."""
    array.setflags(write=False)
    return array


def _interval(low: float | None, high: float | None, left: str, right: str) -> str:
    low = None if low is None or low == -math.inf else low
    high = None if high is None or high == math.inf else high
    if low is None and high is None:
        return ""
    opening, smallest = ("(", "-inf") if low is None else (left, _exact(low))
    closing, largest = (")", "inf") if high is None else (right, _exact(high))
    return f" in {opening}{smallest}, {largest}{closing}"


def _exact(bound: float) -> str:
    """Return a bound as text, whole numbers without rounding."""
    is_whole = isinstance(bound, int) or (abs(bound) < _WHOLE and bound == int(bound))
    return str(int(bound)) if is_whole else f"{bound:g}"


def place_of(word: str, entry: object, names: list[Hashable]) -> int | None:
    """Return the position of `entry` in `names`, the names of the played entries, or None for None.

    Booleans match only booleans, because True and False equal the numbers 1 and 0.
    """
    if entry is None:
        return None
    if isinstance(entry, Hashable):
        for place, name in enumerate(names):
            if name == entry and isinstance(name, bool) == isinstance(entry, bool | np.bool_):
                return place
    raise ValueError(f"{word} must be one of {shown(names)} or None, got {shown(entry)}")


def check_name(name: object, of: str = "names") -> None:
    """Raise ``ValueError`` unless a file can store `name`: a string, finite number or tuple of these."""
    if isinstance(name, tuple):
        for part in name:
            check_name(part, of)
        return
    plain = name.item() if isinstance(name, np.generic) else name
    if isinstance(plain, str):
        # A pair of surrogates would be read back from a file as one character.
        good = plain.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in plain)
    else:
        good = isinstance(plain, int) or (isinstance(plain, float) and math.isfinite(plain))
    if not good:
        raise ValueError(
            f"{of} must be strings, finite numbers or tuples of these, to be stored in a file, got"
            f" {shown(name)}"
        )
