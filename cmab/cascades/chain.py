"""The Markov chain over the hidden outcomes of all reported cascades, jointly with the priors of the arms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab.arrays import AnyArray, FloatArray
from cmab.cascades.prior import BetaPrior
from cmab.cascades.problem import Problem, graph_of
from cmab.validation import shown

if TYPE_CHECKING:
    from cmab.cascades._kernels_forest import Graph

#: The most flips of one call of `settle` and of `follow`. Their time is a few seconds, and a fraction of one.
SETTLING, FOLLOWING = 5_000_000, 1_000_000
#: The largest numbers of passes over all rounds, and of draws of a new round, given the others.
_SETTLED, _FOLLOWED, _FRESH, _FIRST = 100, 20, 20, 5


class Chain:
    """Outcomes of the hidden arcs of some rounds, and parameters of the Beta prior of each arm.

    The means of the arms are integrated out: each outcome is drawn given all others. The chain has the
    posterior of the outcomes and of the priors as its stationary distribution.

    Parameters
    ----------
    prior : BetaPrior
        The prior of the means.
    won, tried : FloatArray, shape (n_arms,)
        The counts of the observed outcomes, without those of the rounds.
    """

    def __init__(self, prior: BetaPrior, won: FloatArray, tried: FloatArray) -> None:
        self.prior = prior
        self.won, self.lost = won.copy(), tried - won
        self.alpha, self.beta = prior.middle(len(won))
        self.problems: list[Problem] = []
        self.coins: list[AnyArray] = []
        self._tried: list[AnyArray] = []
        self._laid: Any = None
        self.at = 0

    @property
    def n_hidden(self) -> int:
        """The number of hidden outcomes."""
        return sum(len(coins) for coins in self.coins)

    def observe(self, arms: AnyArray, outcomes: AnyArray) -> None:
        """Add observed outcomes to the counts."""
        np.add.at(self.won, arms, outcomes)
        np.add.at(self.lost, arms, 1.0 - outcomes)

    def add(self, problem: Problem) -> None:
        """Add a round with its first outcomes. They are not counted before they are drawn."""
        self.observe(problem.sure, problem.outcomes)
        self._unpack()
        self.problems.append(problem)
        self.coins.append(problem.start.copy())
        self._tried.append(np.zeros(len(problem.start), np.int8))

    @property
    def outcomes(self) -> list[AnyArray]:
        """The outcomes of the arcs of each round."""
        self._unpack()
        return self.coins

    @property
    def flags(self) -> list[AnyArray]:
        """Whether each arc of each round was tried, so that its outcome is counted."""
        self._unpack()
        return self._tried

    def resume(self, coins: AnyArray, tried: AnyArray, at: int) -> None:
        """Continue with the outcomes of another chain over the same rounds.

        Raises
        ------
        ValueError
            If they do not satisfy the constraints.
        """
        from cmab.cascades._kernels_distances import measure
        from cmab.cascades._kernels_passes import count_outcomes

        n = sum(len(part) for part in self.coins)
        if not all(len(part) == n and ((part == 0) | (part == 1)).all() for part in (coins, tried)):
            raise ValueError(f"outcomes must be {n} numbers 0 or 1, got {shown(coins)}")
        laid = self._lay()
        laid.coins[:], laid.tried[:], self.at = coins, tried, at
        is_possible = not ((laid.graph.fixed >= 0) & (laid.graph.fixed != coins)).any()
        for first, last in laid.table[:, :2]:
            distances, queue = laid.room[0], laid.room[2]
            is_possible = is_possible and measure(laid.graph, first, last, coins, distances, queue) == 0
        if not is_possible:
            raise ValueError("outcomes must explain the reports, got others")
        count_outcomes(laid.graph, laid.table, 0, len(self.problems), 1, coins, tried, self.won, self.lost)

    def settle(self, rng: np.random.Generator) -> None:
        """Draw all rounds from their first outcomes: one after the other, then all given each other."""
        self._pass(0, len(self.problems), _FIRST, rng)
        self._draw_priors(rng)
        self.run(max(1.0, self.affordable(SETTLING, _SETTLED) - _FIRST), rng)

    def follow(self, rng: np.random.Generator, fresh: int = 0) -> None:
        """Continue the chain after `fresh` new rounds: draw these often, and all rounds as time allows."""
        n = len(self.problems)
        if fresh:
            hidden = sum(len(coins) for coins in self.coins[n - fresh :])
            self._pass(n - fresh, n, max(1, min(_FRESH, FOLLOWING // max(1, hidden))), rng)
        self.run(self.affordable(FOLLOWING, _FOLLOWED), rng)

    def run(self, passes: float, rng: np.random.Generator) -> None:
        """Make some passes over all rounds; a fraction of a pass visits the next rounds in turn."""
        n = len(self.problems)
        if not self.n_hidden:
            self._draw_priors(rng)
            return
        for _ in range(int(passes)):
            self._pass(0, n, 1, rng)
            self._draw_priors(rng)
        if passes < 1.0:
            for _ in range(max(1, int(passes * n))):
                self.at = (self.at + 1) % n
                self._pass(self.at, self.at + 1, 1, rng)
            self._draw_priors(rng)

    def copy(self) -> Chain:
        """Return a copy that can be run on without a change of this chain."""
        twin = Chain.__new__(Chain)
        twin.__dict__.update(self.__dict__)
        for name in ("won", "lost", "alpha", "beta"):
            twin.__dict__[name] = getattr(self, name).copy()
        # The outcomes of a round are replaced and never written to while they are in these lists.
        twin.problems, twin.coins, twin._tried = self.problems.copy(), self.coins.copy(), self._tried.copy()
        twin._laid = None if self._laid is None else self._laid.copy()
        return twin

    def with_means(self, means: FloatArray, weight: float) -> Chain:
        """Return a copy with these means of the priors. With a large weight, outcomes do not change them."""
        twin = self.copy()
        twin.alpha, twin.beta = weight * means, weight * (1.0 - means)
        twin.prior = BetaPrior(twin.alpha, twin.beta)
        return twin

    def tallies(
        self, names: Sequence[str], labels: Sequence[str]
    ) -> dict[str, tuple[FloatArray, FloatArray]]:
        """Return how often each arm succeeded and was tried in the drawn outcomes, by label of the rounds."""
        graph, laid, n = self._lay().graph, self._lay(), len(self.won)
        of_arcs = np.repeat([names.index(label) for label in labels], laid.table[:, 3] - laid.table[:, 2])
        is_drawn = (laid.tried == 1) & (graph.fixed < 0)
        found = {}
        for number, name in enumerate(names):
            own = is_drawn & (of_arcs == number)
            arms = graph.arms[own]
            won = np.bincount(arms, laid.coins[own].astype(np.float64), minlength=n).astype(np.float64)
            found[name] = won, np.bincount(arms, minlength=n).astype(np.float64)
        return found

    def affordable(self, flips: int, most: int) -> float:
        """Return how many passes, at most `most`, make about so many flips; a fraction if they are few."""
        passes = flips / max(1, self.n_hidden)
        return min(float(most), passes) if passes < 1.0 else float(min(most, int(passes)))

    def _draw_priors(self, rng: np.random.Generator) -> None:
        if self.prior.groups is None:
            return
        from cmab.cascades._kernels_priors import draw_priors

        prior = self.prior
        draw_priors(
            prior.groups,
            prior.n_groups,
            prior.wins,
            prior.losses,
            self.won,
            self.lost,
            self.alpha,
            self.beta,
            rng,
        )

    def _pass(self, first: int, last: int, inner: int, rng: np.random.Generator) -> None:
        from cmab.cascades._kernels_passes import pass_over

        if first == last:
            return
        laid = self._lay()
        counts = self.alpha, self.beta, self.won, self.lost
        drawn = laid.chances, laid.coins, laid.tried
        pass_over(laid.graph, laid.table, first, last, inner, *counts, *drawn, laid.room, rng)

    def _lay(self) -> Any:
        """Return all rounds as one graph for compiled code."""
        if self._laid is None:
            self._laid = _Laid(self.problems, self.coins, self._tried)
        return self._laid

    def _unpack(self) -> None:
        """Return the outcomes to the lists of the rounds."""
        if self._laid is not None:
            cuts = np.cumsum([len(coins) for coins in self.coins])[:-1]
            self.coins = [part.copy() for part in np.split(self._laid.coins, cuts)]
            self._tried = [part.copy() for part in np.split(self._laid.tried, cuts)]
            self._laid = None


class _Laid:
    """The rounds as one graph, whose nodes and arcs are in the order of the rounds."""

    def __init__(self, problems: list[Problem], coins: list[AnyArray], tried: list[AnyArray]) -> None:
        graphs = [problem.graph for problem in problems]
        nodes = np.cumsum([0, *(len(graph.status) for graph in graphs)])
        arcs = np.cumsum([0, *(len(graph.arms) for graph in graphs)])
        self.graph = _united(graphs, nodes)
        kinds = [problem.kind for problem in problems]
        self.table = np.stack([nodes[:-1], nodes[1:], arcs[:-1], arcs[1:], kinds], axis=1).astype(np.int64)
        self.coins, self.tried = np.concatenate(coins), np.concatenate(tried)
        self.chances = np.where(self.graph.fixed == 1, 1.0, 0.5)
        n, widest = int(nodes[-1]), int(np.diff(nodes).max())
        parent, mark, hung = np.full(n, -1, np.int64), np.zeros(n, np.int8), np.full(n, -1, np.int64)
        kept = np.zeros(int(np.diff(arcs).max()), np.int8)
        self.room = (parent, mark, np.zeros(2 * widest, np.int64), hung, kept)

    def copy(self) -> _Laid:
        """Return a copy with its own outcomes and the same graph."""
        twin = _Laid.__new__(_Laid)
        own = {"coins": self.coins.copy(), "tried": self.tried.copy(), "chances": self.chances.copy()}
        twin.__dict__.update(self.__dict__, **own, room=tuple(part.copy() for part in self.room))
        return twin


def _united(graphs: list[Graph], nodes: AnyArray) -> Graph:
    joined = {
        name: np.concatenate([getattr(graph, name) for graph in graphs])
        for name in ("arms", "fixed", "status", "steps")
    }
    tails, heads = (
        np.concatenate([getattr(graph, name) + start for graph, start in zip(graphs, nodes, strict=False)])
        for name in ("tails", "heads")
    )
    return graph_of(joined["arms"], tails, heads, joined["fixed"], joined["status"], joined["steps"])
