"""Writes the pages of the reference: one for each namespace, and one for each class and function.

The stubs of the packages list the names. A name is documented in its namespace; the first page lists the names of the top
level of `cmab`, wherever they are documented.
"""

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
#: Modules that have a page each, by the namespace that lists them.
MODULES = {
    "cmab": "cmab.compiled cmab.errors cmab.selection cmab.validation",
    "cmab.exploration": "cmab.explorer",
}
#: Namespaces without a stub.
FURTHER = {
    "cmab": ["cmab.testing", "cmab.plotting"],
    "oracles": [],
    "instances": ["instances.datasets"],
}
NAMESPACES = [
    namespace
    for package, further in FURTHER.items()
    for namespace in [
        package,
        *sorted(
            stub.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
            for stub in (ROOT / package).rglob("*.pyi")
            if stub.parent != ROOT / package or stub.stem != "__init__"
        ),
        *further,
    ]
]


def names() -> Iterator[tuple[str, str, Any]]:
    """Every public name, its namespace, and its kind; once, and under `cmab` last."""
    seen = set()
    for namespace in sorted(NAMESPACES, key=lambda one: (-one.count("."), one == "cmab")):
        for name in sorted(import_module(namespace).__all__, key=str.lower):
            thing = getattr(import_module(namespace), name)
            if id(thing) not in seen and (inspect.isclass(thing) or inspect.isfunction(thing)):
                seen.add(id(thing))
                yield f"{namespace}.{name}", namespace, thing


def write(folder: Path) -> None:
    """Write all pages into a folder, and leave unchanged files alone, which Sphinx then does not read again."""
    places = {}
    listed: dict[str, list[str]] = {namespace: [] for namespace in NAMESPACES}
    for name, namespace, thing in names():
        places[id(thing)] = name
        listed[namespace].append(name)
        kind = "function" if inspect.isfunction(thing) else "class"
        members = "\n   :members:\n   :show-inheritance:" if kind == "class" else ""
        body = f".. currentmodule:: {namespace}\n\n.. auto{kind}:: {name.rpartition('.')[2]}{members}"
        _page(folder / f"{name}.rst", name.rpartition(".")[2], body)
    for namespace, ours in listed.items():
        module = import_module(namespace)
        shown = (
            [places.get(id(getattr(module, name)), "") for name in dir(module)]
            if namespace == "cmab"
            else ours
        )
        shown = [name for name in shown if name]
        further = MODULES.get(namespace, "").split()
        for other in further:
            _page(folder / f"{other}.rst", other, f".. automodule:: {other}\n   :members:")
        within = (
            [name for name in NAMESPACES if name.startswith(f"{namespace}.")] if "." not in namespace else []
        )
        body = f"{inspect.getdoc(module)}\n\n{_table(shown)}"
        body += "".join(
            f"{title}\n{'-' * len(title)}\n\n{_table(rows)}"
            for title, rows in (
                ("Namespaces", within),
                ("Else", [name for name in ours if name not in shown]),
                ("Modules", further),
            )
            if rows
        )
        documents = "".join(f"   {name.rpartition('.')[2]} <{name}>\n" for name in ours)
        documents += "".join(f"   {name}\n" for name in [*further, *within])
        _page(folder / f"{namespace}.rst", namespace, f"{body}.. toctree::\n   :hidden:\n\n{documents}")


def _table(names: list[str]) -> str:
    rows = "\n".join(f"   ~{name}" for name in names)
    return f".. autosummary::\n   :nosignatures:\n\n{rows}\n\n"


def _page(file: Path, title: str, body: str) -> None:
    text = f"{title}\n{'=' * len(title)}\n\n{body}\n"
    file.parent.mkdir(exist_ok=True)
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")
