"""The former names of classes, which keep working for one version, with a warning."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

#: For each former name, the module of the class and its present name.
CLASSES = {
    "BanditOverWindows": ("cmab.policies.over_windows", "BanditOverBandit"),
    "Explored": ("cmab.policies.explored", "ForcedExploration"),
    "HYBRID": ("cmab.policies.hybrid", "HybridFTRL"),
    "HybridCUCB": ("cmab.policies.hybrid_cucb", "OfflineCUCB"),
    "MixtureGLR": ("cmab.exploration.mixture", "BestKGLR"),
    "OffPolicyValue": ("cmab.logs.off_policy", "OffPolicyEstimate"),
    "Restarting": ("cmab.policies.restarting", "GLRRestart"),
    "UniformlyRandom": ("cmab.policies.baselines", "RandomPolicy"),
    "Windowed": ("cmab.policies.windowed", "SlidingWindow"),
}
#: Former classes in place of which stands a parameter of another class, with their modules and that class: a
#: call makes an object of that class, with a warning.
REPLACED = {
    "AESCB": ("cmab.policies.escb", "ESCB"),
    "AdaptiveTopKBudget": ("cmab.exploration.aggregate", "AdaptiveTopK"),
    "MultiBanditUGapEb": ("cmab.exploration.ugape", "UGapEb"),
    "MultiBanditUGapEc": ("cmab.exploration.ugape", "UGapEc"),
}
_FORMER = {present: former for former, (_, present) in CLASSES.items()}


def present_name(name: str) -> str:
    """Return the present name of a class, which is `name` itself unless the class was renamed."""
    return CLASSES[name][1] if name in CLASSES else name


def first_name(name: str) -> str:
    """Return the name under which results of a class are stored: its first one."""
    return _FORMER.get(name, name)


def warn(former: str, present: str) -> None:
    """Warn the caller of the caller that a name is a former one."""
    text = f"{former} is now called {present}; the former name will be removed in the next version"
    warnings.warn(text, DeprecationWarning, stacklevel=3)


def former(name: str) -> Any:
    """Return the class of a former name, with a warning; the ``__getattr__`` of the modules of these classes.

    Raises
    ------
    AttributeError
        If `name` is not a former name.
    """
    if name in REPLACED:
        return getattr(import_module(REPLACED[name][0]), name)
    if name not in CLASSES:
        raise AttributeError(f"the module has no attribute {name!r}")
    module, present = CLASSES[name]
    warn(name, present)
    return getattr(import_module(module), present)


def up_to_date(described: Any) -> Any:
    """Return the description of a policy in a file with the present names of classes."""
    if not isinstance(described, dict):
        return described
    former = described.get("class")
    described = {
        key: present_name(part) if key == "class" and isinstance(part, str) else up_to_date(part)
        for key, part in described.items()
    }
    if former in REPLACED:
        described["class"] = REPLACED[former][1]
        if former == "AESCB":
            described["tolerance"] = described.pop("epsilon", None)
        if "arms_per_bandit" in described:
            described["bandits"] = described.pop("arms_per_bandit")
            described["n_arms"] = sum(described["bandits"])
    return described
