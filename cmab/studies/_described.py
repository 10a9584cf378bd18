"""A study as it is described: its outline, its objects, its pieces; its results are in a `StudyFolder`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from cmab.studies._notes import About, Origin, noted, notes, origins_of
from cmab.studies._outline import Outline, plain
from cmab.studies._pieces import Piece
from cmab.studies._plan import Pair, Plan
from cmab.studies.store import By, Kind


class DescribedStudy:
    """What a study is, wherever its results lie; `cmab.Study` is this with ways to run and read it.

    Attributes
    ----------
    specification : dict
        As it was given: plain data.
    accept_versions : bool
        Whether pieces of other versions count.
    objects : dict
        What was given in the place of tables, by a hash of its content.
    outline : Outline
        The tables by name, grids spread, and the numbers.
    origins : dict
        The code, versions and graphs that make the numbers of each (instance, learner).
    about : dict
        What a report says of each (instance, learner), where the study was read from its results.
    """

    specification: dict[str, Any]
    accept_versions: bool
    objects: dict[str, Any]
    outline: Outline
    origins: dict[Pair, Origin]
    about: dict[Pair, About]
    _plan: Plan | None

    def describe(self, specification: Mapping[str, Any], *, accept_versions: bool) -> None:
        """Take in all that needs no object."""
        self.objects = {}
        self.specification, self.accept_versions = plain(specification, self.objects), accept_versions
        self.outline = outline = Outline.of(self.specification)
        self.replications, self.seed = outline.replications, outline.seed
        self.rounds, self.max_samples = outline.rounds, outline.max_samples
        self.about, self._plan = {}, None

    def build(self, files: Path | None) -> None:
        """Make the objects, and note what they are made of."""
        self._plan = Plan.of(self.outline, files, self.objects)
        self.origins = self._origins_now()

    def recall(self, specification: str, pairs: str) -> None:
        """Take in what was noted when the study ran, in place of its objects."""
        content, accepts, self.origins, about = noted(specification, pairs)
        self.describe(content, accept_versions=accepts)
        self.about = about
        if not set(about) == set(self.origins) == set(self.outline.pairs):
            raise ValueError("the study noted in the store must be one, got parts of two")

    @property
    def plan(self) -> Plan:
        """The objects: environments, policies and explorers by name.

        Raises
        ------
        ValueError
            If the study was opened from its results, for which nothing is built.
        """
        if self._plan is None:
            raise ValueError(
                "a study must be made by Study or Study.load to run, got one opened from results"
            )
        return self._plan

    @cached_property
    def pieces(self) -> list[Piece]:
        """All pieces; replications in the outer loop, so that early results show all learners."""
        outline = self.outline
        pairs = [(*pair, *self.origins[pair].keys(outline.content(*pair))) for pair in outline.pairs]
        in_order = [(replication, pair) for replication in range(self.replications) for pair in pairs]
        if outline.trials:  # one after the other: a table needs all of a trial, and no other
            in_order = [(replication, pair) for pair in pairs for replication in range(self.replications)]
        return [
            Piece(f"{key}-{replication}", instance, learner, replication, f"{alike}-{replication}")
            for replication, (instance, learner, key, alike) in in_order
        ]

    @property
    def by(self) -> By:
        """Which key of a piece says whether a stored one is the same."""
        return "alike" if self.accept_versions else "key"

    def kind(self, piece: Piece) -> Kind:
        """Return the table of the store in which a piece belongs."""
        if self.outline.trials:
            return "trials"
        return "simulations" if piece.learner in self.outline.learners else "identifications"

    def check_current(self) -> None:
        """Raise ``ValueError`` unless the code is still what the keys of the pieces say."""
        # Numbers of the new code under keys of the old one would pass for the old code's.
        now = self._origins_now()
        if now != self.origins:
            names = {name for pair in now for name in now[pair].differences(self.origins[pair])}
            raise ValueError(
                "a study must be made anew when its code has changed, got one made before; changed since:"
                f" {', '.join(sorted(names)) or 'graphs'}"
            )

    def notes(self, about: Mapping[Pair, About] | None = None) -> tuple[str, str]:
        """Return the two texts that a store keeps of the study, and `recall` reads."""
        return notes(self.specification, self.accept_versions, self.origins, about)

    def _origins_now(self) -> dict[Pair, Origin]:
        outline, plan = self.outline, self.plan
        tables = outline.learners | outline.explorers
        used = dict(outline.trials) or {
            pair: [outline.instances[pair[0]], tables[pair[1]]] for pair in outline.pairs
        }
        parts = {pair: plan.parts(pair) for pair in outline.pairs}
        return origins_of(used, plan.graphs, plan.packages, parts)

    def __repr__(self) -> str:
        outline = self.outline
        if outline.trials:
            return f"Study({len(outline.trials)} trials x {self.replications} replications)"
        kinds = (("learners", outline.learners), ("explorers", outline.explorers))
        counts = " + ".join(f"{len(tables)} {kind}" for kind, tables in kinds if tables)
        rounds = "" if self.rounds is None else f", {self.rounds[-1]} rounds"
        return (
            f"Study({len(outline.instances)} instances x ({counts}) x {self.replications}"
            f" replications{rounds})"
        )
