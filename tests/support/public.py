"""The classes that users import from the packages, by group."""

import cmab
import instances
import oracles
from cmab import cli

#: "instances" are environments.
NAMES = {"instances": "environments"}


def public_classes(group):
    """Return the sorted names of the exported classes of a group."""
    exported = {*dir(cmab), *dir(oracles), *dir(instances)}
    return sorted(name for name in cli.classes()[NAMES.get(group, group)] if name in exported)
