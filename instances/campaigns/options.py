"""The options of a campaign, in one readable file of its folder."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from cmab.validation import integer, meant, real, shown

#: The file of the options in the folder of a campaign.
FILE = "campaign.toml"
_HEAD = "# The options of this campaign. Other files are named relative to this folder.\n"
_ABOUT = {
    "title": "The title of the campaign.",
    "network": "The file of the network.",
    "directed": "Whether a tie goes one way only, from the first name to the second.",
    "names": "The file of the list: one name a line.",
    "k": "How many are chosen in a round.",
    "costs": "The file of the costs, with the columns name and cost.",
    "budget": "The largest total cost of a round.",
    "prior_mean": "The mean result that you expect, and how many results this expectation is worth.",
    "never": "The names that are never chosen.",
    "largest": "The largest result that can be reported. The smallest is 0.",
    "events": "The file or the database of the events.",
    "seed": "The seed of the random numbers.",
}


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of a campaign; every option except the network or the list has a default.

    Parameters
    ----------
    title : str
        The title of the campaign.
    network, names : str, optional
        The file of the network, or the file of the list of names. Exactly one is given.
    directed : bool, optional
        Whether a tie goes one way only. If omitted, the file decides.
    k : int, optional
        How many are chosen in a round. Omitted if there is a budget.
    costs : str, optional
        The file of the costs.
    budget : float, optional
        The largest total cost of a round.
    prior_mean, prior_weight : float, optional
        The expected mean result before the first report, and how many results it is worth.
    never : tuple of str
        The names that are never chosen.
    largest : float
        The largest result of an item of a list.
    events : str
        The file or the database of the events.
    seed : int, optional
        The seed of the random numbers.

    Raises
    ------
    ValueError
        If an option is missing, has a wrong value, or has no effect together with the others.

    Examples
    --------
    >>> from instances.campaigns.options import Options
    >>> Options(title="Spring", network="friends.csv", k=3).k
    3
    """

    title: str
    network: str | None = None
    directed: bool | None = None
    names: str | None = None
    k: int | None = None
    costs: str | None = None
    budget: float | None = None
    prior_mean: float | None = None
    prior_weight: float | None = None
    never: tuple[str, ...] = ()
    largest: float = 1.0
    events: str = "events.sqlite"
    seed: int | None = None

    def __post_init__(self) -> None:
        for name in ("title", "network", "names", "costs", "events"):
            value = getattr(self, name)
            is_text = isinstance(value, str) and value.strip() != ""
            if not (is_text or (value is None and name not in ("title", "events"))):
                raise ValueError(f"{name} must be a text, got {shown(value)}")
        if (self.network is None) == (self.names is None):
            raise ValueError("a campaign must have either a network or a list of names, got both or neither")
        if self.directed is not None and not isinstance(self.directed, bool):
            raise ValueError(f"directed must be true or false, got {shown(self.directed)}")
        if self.names is not None and self.directed is not None:
            raise ValueError("directed has no effect on a list of names; leave it out")
        if self.network is not None and self.largest != 1.0:
            raise ValueError("largest has no effect on a network; leave it out")
        real("largest", self.largest, 0.0, inside=True)
        if (self.k is None) == (self.budget is None):
            raise ValueError("a campaign must have either k or a budget, got both or neither")
        if (self.costs is None) != (self.budget is None):
            raise ValueError("costs and a budget must be given together, got one without the other")
        if self.k is not None:
            integer("k", self.k, 1)
        if self.budget is not None:
            real("budget", self.budget, 0.0, inside=True)
        if (self.prior_mean is None) != (self.prior_weight is None):
            raise ValueError("the two numbers of a prior must be given together, got one of them")
        if self.prior_mean is not None:
            real("prior_mean", self.prior_mean, 0.0, self.largest, inside=True)
            real("prior_weight", self.prior_weight, 0.0, inside=True)
        if self.seed is not None:
            integer("seed", self.seed, 0)
        never: Any = self.never
        if not (isinstance(never, tuple) and all(isinstance(name, str) for name in never)):
            raise ValueError(f"never must be a list of names, got {shown(self.never)}")

    @property
    def is_network(self) -> bool:
        """Whether the campaign spreads in a network; otherwise it chooses from a list."""
        return self.network is not None


def read_options(folder: Path) -> Options:
    """Return the options of a folder.

    Raises
    ------
    ValueError
        If the file is not valid TOML, has an unknown option, or an option has a wrong value.
    OSError
        If the file cannot be read.
    """
    file = folder / FILE
    try:
        table: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{file} must be a TOML file: {error}") from None
    known = [field.name for field in fields(Options)]
    for name in table:
        if name not in known:
            raise ValueError(f"{file}: {name} is not an option{meant(name, known)}")
    if isinstance(table.get("never"), list):
        table["never"] = tuple(table["never"])
    try:
        return Options(**{"title": folder.name, **table})
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


def written(options: Options) -> str:
    """Return the text of the file of the options."""
    lines = [_HEAD]
    for field in fields(options):
        value = getattr(options, field.name)
        if value is None or value == () or (field.name != "events" and value == field.default):
            continue
        if field.name in _ABOUT:
            lines.append(f"\n# {_ABOUT[field.name]}\n")
        lines.append(f"{field.name} = {_toml(value)}\n")
    return "".join(lines)


def _toml(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    # JSON has the same escapes as TOML, except for the character DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
