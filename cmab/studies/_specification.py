"""Objects from plain data (TOML tables), and the keys under which their results are stored."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

from cmab.spelling import nearest
from cmab.studies._graphs import GENERATORS, check_generator, digest, generator, read_graph
from cmab.studies._registry import class_of
from cmab.validation import shown

_MAKERS = ("class", "networkx", "file", "object")


class Builder:
    """Builder of the objects that specifications describe, which records the graphs among them.

    Parameters
    ----------
    files : Path, optional
        Folder that contains the files that specifications name.
    objects : mapping, optional
        Objects that were given in place of tables, by their hash in the specification.

    Attributes
    ----------
    graphs : list of str
        A hash of each built graph, in order.
    """

    def __init__(self, files: Path | None = None, objects: Mapping[str, Any] | None = None) -> None:
        self.files, self.objects = files, objects or {}
        self.graphs: list[str] = []

    def build(self, value: Any, names: Mapping[str, Any], where: str, **extra: Any) -> Any:
        """Return the object that a specification describes.

        Parameters
        ----------
        value : object
            A table with ``class``, a registered name, describes a call with the other entries of the table as
            arguments. So does a table with ``networkx``, the name of a graph generator. A table with ``file``
            describes the graph of an edge list. If the default of an argument is a dataclass, the table for
            this argument holds its fields. ``"$name"`` refers to `names`. Lists are built entry by entry.
            Every other value is returned unchanged.
        names : mapping
            The objects to which ``$`` refers.
        where : str
            Place in the specification, for error messages.
        **extra : object
            Further arguments of the outermost call.

        Raises
        ------
        ValueError
            If an entry is unknown or a call raises any exception. The message begins with the place.
        """
        if isinstance(value, str) and value.startswith("$"):
            if value[1:] not in names:
                known = ", ".join(f"${name}" for name in names) or "none here"
                raise ValueError(f"{where} must refer to one of the known objects ({known}), got {value!r}")
            return names[value[1:]]
        if isinstance(value, list):
            return [self.build(entry, names, f"{where}[{i}]") for i, entry in enumerate(value)]
        if not isinstance(value, Mapping):
            return value
        kinds = [kind for kind in _MAKERS if kind in value]
        if len(kinds) != 1 or not isinstance(value[kinds[0]], str):
            raise ValueError(
                f"{where} must have one of the entries class, networkx and file, got {shown(dict(value))}"
            )
        if kinds == ["file"]:
            return self._noted(read_graph(value, self.files, where))
        if kinds == ["object"]:
            if value["object"] not in self.objects:
                raise ValueError(f"{where} must be given as an object again: {shown(value.get('is'))}")
            return self.objects[value["object"]]
        given = {key: entry for key, entry in value.items() if key != kinds[0]}
        maker = class_of(value["class"], where) if kinds == ["class"] else None
        for key, group in _value_objects(maker).items():
            if isinstance(given.get(key), Mapping) and not given[key].keys() & {*_MAKERS}:
                given[key] = called(group, given[key], f"{where}.{key}")
        arguments = {key: self.build(entry, names, f"{where}.{key}") for key, entry in given.items()}
        if maker is not None:
            return called(maker, extra | arguments, where)
        name = value["networkx"]
        maker = generator(name, where, nearest(name, GENERATORS))
        check_generator(maker, arguments, where)
        return self._noted(called(maker, extra | arguments, where))

    def _noted(self, graph: Any) -> Any:
        self.graphs.append(digest(graph))
        return graph


def _value_objects(maker: Any) -> dict[str, type]:
    """Return the classes of the arguments that have dataclass instances as defaults."""
    try:
        defaults = {p.name: p.default for p in inspect.signature(maker).parameters.values()}
    except (TypeError, ValueError):
        return {}
    return {name: type(default) for name, default in defaults.items() if is_dataclass(default)}


def called(maker: Any, arguments: Mapping[str, Any], where: str) -> Any:
    """Return the result of a class or function for untrusted arguments, with the place in all errors."""
    try:
        parameters = inspect.signature(maker).parameters.values()
        known = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        # Generators of networkx accept any keyword for their backends (`orig_func` is the undecorated
        # function), so they would ignore a misspelt argument.
        any_name = any(p.kind == p.VAR_KEYWORD for p in parameters) and not hasattr(maker, "orig_func")
        unknown = sorted(set(arguments) - set(known)) if not any_name else []
    except (TypeError, ValueError):  # compiled functions may have no signature
        unknown, known = [], []
    if unknown:
        hint = nearest(unknown[0], known)
        raise ValueError(
            f"{where} must only have the entries {', '.join(known)}; got {', '.join(unknown)}{hint}"
        )
    try:
        return maker(**arguments)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{where}: {error}") from error
    except MemoryError as error:
        raise ValueError(f"{where} must fit into memory, got {shown(dict(arguments))}") from error
    except Exception as error:  # for example, a list in place of an object
        raise ValueError(f"{where} must have valid arguments, got {type(error).__name__}: {error}") from error


def packages_of(value: Any) -> Iterator[str]:
    """Yield the packages of the given objects in a specification."""
    for entry in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from packages_of(entry)
    if isinstance(value, Mapping) and isinstance(value.get("object"), str):
        yield from value.get("packages", ())


def classes(value: Any) -> Iterator[str]:
    """Yield the names of all classes in a specification."""
    if isinstance(value, Mapping):
        if isinstance(value.get("class"), str):
            yield value["class"]
        for entry in value.values():
            yield from classes(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from classes(entry)


def unnamed(value: Any) -> Any:
    """Return a specification without names of files. Its hashes of the graphs determine their content."""
    if isinstance(value, Mapping):
        return {key: "" if key == "file" else unnamed(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [unnamed(entry) if isinstance(entry, Mapping | list) else entry for entry in value]
    return value


def key_of(content: Mapping[str, Any]) -> str:
    """Return a hash of the content that does not depend on the order of its entries."""
    # Equal contents must give equal texts: another text is another key, and all pieces would run again.
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()
