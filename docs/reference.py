"""Writes the pages of the reference: one a class or function, listed by purpose.

Names are those in `__all__` of the packages; a new one is listed where the longest of the prefixes below says, by where it
is defined.
"""

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

PACKAGES = [
    "cmab",
    "oracles",
    "instances",
    "instances.datasets",
    "cmab.theory",
    "cmab.testing",
    "cmab.plotting",
]
#: Pages, their lists, and what of the modules goes there; modules after a colon have one page each.
PAGES = {
    "Playing and campaigns": {
        "In one call": "cmab.running cmab.results",
        "Ask and tell": "cmab.session cmab.ticket cmab.campaigns : cmab.campaigns.journal",
        "Logs": "cmab.campaigns.log cmab.campaigns.reading cmab.logs",
        "Studies": "cmab.studies : cmab.studies.folder cmab.studies.store cmab.reports.report",
    },
    "Policies": {
        "Optimism": "cmab.policies",
        "Posterior sampling": "cmab.policies.thompson cmab.policies.gaussian cmab.policies.hierarchical",
        "Baselines, and exploration in front": "cmab.policies.baselines cmab.policies.explored",
        "For your own": "cmab.policy cmab.policies._compiled cmab.statistics cmab.feedback cmab.context",
    },
    "Explorers": {
        "The k best arms, with confidence": "cmab.exploration",
        "One best arm": "cmab.exploration.lil_ucb cmab.exploration.top_two cmab.exploration.track_and_stop",
        "The best super arm": "cmab.exploration.clucb cmab.exploration.super_arm_glr",
        "With a budget": "cmab.exploration.gap_based cmab.exploration.rejects "
        "cmab.exploration.halving.SequentialHalving cmab.exploration.halving.UniformAllocation",
        "Nearly the best": "cmab.exploration.aggregate",
        "For your own": "cmab.explorer cmab.exploration.ruled cmab.exploration.phases cmab.exploration.lucb.LUCBRule "
        "cmab.exploration.lucb.RadiusRule cmab.goals : cmab.goals",
    },
    "Oracles": {
        "Sets": "oracles",
        "Matroids": "oracles.matroids",
        "Paths, flows, cuts and trees": "oracles.paths oracles.flows oracles.trees",
        "Matchings, knapsacks, covers, programs": "oracles.programs oracles.packing oracles.covers",
        "Coverage and other submodular worth": "oracles.coverage oracles.submodular",
        "Influence": "oracles.influence oracles.diffusion",
        "For your own": "cmab.oracle oracles.brute_force cmab.smoothness",
    },
    "Environments and data": {
        "Arms": "instances.arms",
        "Graphs": "instances instances.coverage instances.spreading",
        "Networks and probabilities": "instances.graphs instances.networks",
        "Means of the papers": "instances.best_k",
        "Real data": "instances.datasets",
        "For your own": "cmab.environment",
    },
    "Theory": {
        "Regret": "cmab.theory",
        "Samples": ": cmab.theory.sample_bounds cmab.theory.lower_bounds cmab.theory.hardness "
        "cmab.theory.characteristic_time cmab.theory.best_k_time cmab.theory.super_arm_time cmab.theory.width",
        "Radii": "cmab.confidence : cmab.confidence.radii cmab.confidence.kl cmab.confidence.variances",
    },
    "Checks, pictures, tools": {
        "Conformance checks": "cmab.testing",
        "Pictures": "cmab.plotting cmab.intervals",
        "Compiled rules": ": cmab.kernels cmab.rules",
        "Checks of arguments": ": cmab.validation cmab.guards",
        "Else": "cmab",
    },
}


def names() -> Iterator[tuple[str, str, Any]]:
    """Every public name, where it is defined, and what it is; once, under its first package."""
    seen = set()
    for package in PACKAGES:
        for name in sorted(import_module(package).__all__, key=str.lower):
            thing = getattr(import_module(package), name)
            if id(thing) not in seen and (inspect.isclass(thing) or inspect.isfunction(thing)):
                seen.add(id(thing))
                inside = package if package.count(".") else thing.__module__
                yield f"{package}.{name}", f"{inside}.{name}", thing


def place(defined: str) -> tuple[str, str]:
    """The page and the list of what is defined there."""
    prefixes = {
        prefix: (page, title)
        for page, lists in PAGES.items()
        for title, text in lists.items()
        for prefix in text.partition(":")[0].split()
    }
    return prefixes[max((one for one in prefixes if f"{defined}.".startswith(f"{one}.")), key=len)]


def write(folder: Path) -> None:
    """Write all pages into a folder, and leave alone what has not changed, which Sphinx then does not read again."""
    listed: dict[tuple[str, str], list[str]] = {}
    for name, defined, thing in names():
        listed.setdefault(place(defined), []).append(name)
        kind = "function" if inspect.isfunction(thing) else "class"
        members = "\n   :members:\n   :show-inheritance:" if kind == "class" else ""
        body = f".. currentmodule:: {name.rpartition('.')[0]}\n\n.. auto{kind}:: {name.rpartition('.')[2]}{members}"
        _page(folder / f"{name}.rst", name.rpartition(".")[2], body)
    for number, (page, lists) in enumerate(PAGES.items()):
        body = ""
        for title, text in lists.items():
            modules = text.partition(":")[2].split()
            for module in modules:
                _page(folder / f"{module}.rst", module, f".. automodule:: {module}\n   :members:")
            ours = listed.get((page, title), [])
            documents = "".join(f"   {name.rpartition('.')[2]} <{name}>\n" for name in ours)
            documents += "".join(f"   {name}\n" for name in modules)
            table = "\n".join(f"   ~{name}" for name in [*ours, *modules])
            if documents:
                body += f"{title}\n{'-' * len(title)}\n\n.. autosummary::\n   :nosignatures:\n\n{table}\n\n"
                body += f".. toctree::\n   :hidden:\n\n{documents}\n"
        _page(folder / f"{number}.rst", page, body)


def _page(file: Path, title: str, body: str) -> None:
    text = f"{title}\n{'=' * len(title)}\n\n{body}\n"
    file.parent.mkdir(exist_ok=True)
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")
