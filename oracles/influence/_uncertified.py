"""A warning, once per oracle, that an answer is not certified."""

from __future__ import annotations

import warnings

from oracles.influence.certificate import Certificate


class UncertifiedOnce:
    """Warn about the first uncertified answer of an oracle; copies of the oracle share this object."""

    has_warned = False

    def __getstate__(self) -> dict[str, object]:
        # Another process gives its own warning, and a saved session does not depend on earlier warnings.
        return {}

    def see(self, answer: Certificate, alpha: float, name: str) -> Certificate:
        """Return `answer`; give a ``RuntimeWarning`` if it is the first uncertified answer."""
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
