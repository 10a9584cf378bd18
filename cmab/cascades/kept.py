"""The reports with hidden outcomes of a session, and their chain, as arrays for a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab.arrays import AnyArray, FloatArray, IntArray
from cmab.cascades.cascade import Cascade, CascadeFeedback, Network, no_numbers
from cmab.cascades.chain import Chain
from cmab.cascades.prior import BetaPrior
from cmab.validation import shown

if TYPE_CHECKING:
    from cmab.cascades.told import Cascades

#: The lists of nodes and of arms of a report, in the order in which `numbers` holds them.
_NODES, _ARMS = ("seeds", "joined", "unseen", "absent"), ("live", "dead", "missing")
_LISTS = (*_NODES, *_ARMS, "arms")


def _reals() -> FloatArray:
    return np.empty(0)


def _bits() -> AnyArray:
    return np.empty(0, np.int8)


@dataclass
class KeptCascades:
    """Reports with hidden outcomes and their chain, as arrays.

    `sizes` has the lengths of the lists of each report, `numbers` the lists, one after the other. `clock` has
    the number of reports at the last start of the chain, that at the next one, and the next round to draw.
    """

    sizes: IntArray = field(default_factory=lambda: np.empty((0, len(_LISTS)), np.int64))
    numbers: IntArray = field(default_factory=no_numbers)
    steps: IntArray = field(default_factory=no_numbers)
    outcomes: FloatArray = field(default_factory=_reals)
    is_old: AnyArray = field(default_factory=_bits)
    won: FloatArray = field(default_factory=_reals)
    tried: FloatArray = field(default_factory=_reals)
    clock: IntArray = field(default_factory=no_numbers)
    coins: AnyArray = field(default_factory=_bits)
    is_tried: AnyArray = field(default_factory=_bits)
    counts: FloatArray = field(default_factory=lambda: np.empty((0, 0)))


@dataclass
class WithCascades:
    """A state together with the reports with hidden outcomes."""

    state: Any
    cascades: KeptCascades


def kept(cascades: Cascades) -> KeptCascades:
    """Return the reports and the chain after all of them, as arrays."""
    chain, reports = cascades.chain(), cascades.reports
    lists = [
        [getattr(report.cascade, name) for name in (*_NODES, *_ARMS)] + [report.arms] for report in reports
    ]
    return KeptCascades(
        sizes=np.array([[len(one) for one in row] for row in lists], np.int64),
        numbers=np.concatenate([one for row in lists for one in row]),
        steps=np.concatenate([report.cascade.steps for report in reports]),
        outcomes=np.concatenate([report.outcomes for report in reports]),
        is_old=np.array([report.is_old for report in reports], np.int8),
        won=cascades.won,
        tried=cascades.tried,
        clock=np.array([*cascades.clock, chain.at], np.int64),
        coins=np.concatenate(chain.outcomes),
        is_tried=np.concatenate(chain.flags),
        counts=np.stack([chain.won, chain.lost, chain.alpha, chain.beta]),
    )


def reports_of(parts: KeptCascades, network: Any) -> list[CascadeFeedback]:
    """Return the reports; raise ``ValueError`` if they are impossible in this network."""
    graph = Network(*network)
    n_reports = len(parts.sizes)
    _require(
        parts.sizes.shape == (n_reports, len(_LISTS)) and n_reports > 0, "sizes of the reports", parts.sizes
    )
    _require(bool((parts.sizes >= 0).all()), "sizes of the reports", parts.sizes)
    _require(len(parts.numbers) == parts.sizes.sum(), "as many numbers as sizes", parts.numbers)
    _require(len(parts.steps) == parts.sizes[:, 1].sum(), "a step of each person", parts.steps)
    _require(len(parts.outcomes) == parts.sizes[:, -1].sum(), "an outcome of each arm", parts.outcomes)
    _require(len(parts.is_old) == n_reports, "a flag of each report", parts.is_old)
    within = [graph.n_nodes] * len(_NODES) + [len(graph.tails)] * (len(_ARMS) + 1)
    limits = np.repeat(np.tile(within, n_reports), parts.sizes.reshape(-1))
    _require(
        bool(((parts.numbers >= 0) & (parts.numbers < limits)).all()),
        "numbers of nodes and arms",
        parts.numbers,
    )
    _require(bool(((parts.steps >= -1) & (parts.steps < graph.n_nodes)).all()), "possible steps", parts.steps)
    _require(bool(np.isfinite(parts.outcomes).all()), "finite outcomes", parts.outcomes)
    lists = iter(np.split(parts.numbers, np.cumsum(parts.sizes.reshape(-1))[:-1]))
    steps = np.split(parts.steps, np.cumsum(parts.sizes[:, 1])[:-1])
    outcomes = np.split(parts.outcomes, np.cumsum(parts.sizes[:, -1])[:-1])
    reports = []
    for step, seen, old in zip(steps, outcomes, parts.is_old.tolist(), strict=True):
        named = {name: next(lists) for name in _LISTS}
        arms = named.pop("arms")
        cascade = Cascade(steps=step, **named)
        reports.append(
            CascadeFeedback(cascade, graph, arms=arms, outcomes=seen, has_all=True, is_old=bool(old))
        )
    return reports


def chain_of(parts: KeptCascades, reports: list[CascadeFeedback], prior: BetaPrior) -> Chain:
    """Return the chain of a file; raise ``ValueError`` if it does not fit the reports."""
    n_arms = len(reports[0].network.tails)
    own, clock = (parts.won, parts.tried), parts.clock.tolist()
    _require(
        all(len(one) == n_arms and bool((one >= 0).all()) for one in own), "counts of the arms", parts.won
    )
    _require(
        len(clock) == 3 and 0 < clock[0] <= len(reports) < clock[1], "a clock of the reports", parts.clock
    )
    _require(0 <= clock[2] < len(reports), "a clock of the reports", parts.clock)
    chain = Chain(prior, *own)
    for report in reports:
        chain.add(report.problem)
    chain.resume(parts.coins, parts.is_tried, clock[2])
    _require(parts.counts.shape == (4, n_arms), "counts of the chain", parts.counts)
    won, lost, alpha, beta = parts.counts
    seen = np.stack([chain.won, chain.lost])
    _require(
        bool(np.allclose(np.stack([won, lost]), seen, rtol=1e-9, atol=1e-6)), "counts of the outcomes", won
    )
    _require(
        bool(((parts.counts[2:] > 0) & np.isfinite(parts.counts[2:])).all()), "parameters of priors", alpha
    )
    chain.won, chain.lost = won.copy(), lost.copy()
    if prior.groups is not None:
        chain.alpha, chain.beta = alpha.copy(), beta.copy()
    return chain


def _require(holds: bool, what: str, got: object) -> None:
    if not holds:
        raise ValueError(f"cascades must have {what}, got {shown(got)}")
