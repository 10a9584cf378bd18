"""One warning for each oracle whose answers are not certified."""

from __future__ import annotations

import warnings

from oracles.influence.certificate import Certificate


class UncertifiedOnce:
    """Warn of the first answer of an oracle that is not certified; copies of the oracle share this object."""

    has_warned = False

    def __getstate__(self) -> dict[str, object]:
        # Another process warns for itself. A saved session is the same with or without a warning before.
        return {}

    def see(self, answer: Certificate, alpha: float, name: str) -> Certificate:
        """Return `answer`, after a ``RuntimeWarning`` if it is the first that is not certified."""
        if not answer.certified and not self.has_warned:
            self.has_warned = True
            warnings.warn(
                f"{name}: an answer is not certified. Its ratio is {answer.ratio:.3g}, below alpha ="
                f" {alpha:.3g}, because max_rr_sets, time_limit or the free memory ended the search after"
                f" {answer.rr_sets} reverse-reachable sets. Raise the limit, or raise epsilon. This oracle"
                " gives no further warning; Certificate.certified tells of each answer",
                RuntimeWarning,
                stacklevel=3,
            )
        return answer
