"""Features of contexts, which a campaign stores once and then refers to by their hash."""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import Any

import numpy as np

from cmab.arrays import AnyArray
from cmab.campaigns._schema import Event

#: Features with at most this number of entries are part of the event of their ask.
_SMALL = 64


def is_large(array: AnyArray) -> bool:
    """Return whether features are stored as an event of their own."""
    return array.ndim == 2 and array.size > _SMALL


def stored(rows: AnyArray) -> Event:
    """Return the event that stores features: their bytes, the form of these, and their hash."""
    plain = np.ascontiguousarray(rows.astype(rows.dtype.newbyteorder("<"), copy=False))
    data = plain.tobytes()
    return {
        "event": "array",
        "digest": _digest(plain.dtype.str, plain.shape, data),
        "type": plain.dtype.str,
        "shape": list(plain.shape),
        "data": base64.b64encode(data).decode("ascii"),
    }


def loaded(event: Event) -> AnyArray:
    """Return the features of an event; raise ``ValueError`` if they do not have its hash."""
    try:
        data = base64.b64decode(event["data"], validate=True)
        rows = np.frombuffer(data, event["type"]).reshape(event["shape"])
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"data must be {event['shape']} numbers in base64, got {error}") from None
    found = _digest(event["type"], rows.shape, data)
    if found != event["digest"]:
        raise ValueError(f"digest must be the hash of the data, {found}, got {event['digest']}")
    if not np.isfinite(rows).all():
        raise ValueError("data must be finite numbers, got infinite or undefined ones")
    return rows


def _digest(kind: str, shape: Any, data: bytes) -> str:
    head = f"{kind}{list(shape)}".encode()
    return hashlib.sha256(head + data).hexdigest()
