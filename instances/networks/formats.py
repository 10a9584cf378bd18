"""Formats of other programs: GraphML, GEXF, GML, Pajek, Matrix Market, and text of networkx."""

from __future__ import annotations

import io
import re
import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from cmab.validation import shown
from instances.networks.columns import EdgeTable

# Attributes that give the names of nodes. The last one is that of yEd.
_NAMES = ("label", "name", "v_name", "NodeLabel")


class _OtherFormError(Exception):
    """A text of another form; the message names the required one."""


class _Found(NamedTuple):
    """The nodes of a file with their data, its edges with theirs, and which of them go one way."""

    nodes: Mapping[Hashable, Mapping[str, Any]]
    edges: Sequence[tuple[Hashable, Hashable, Mapping[str, Any]]]
    one_way: bool | list[bool] | None = None
    notes: tuple[str, ...] = ()


def form_of(file: Path, text: str) -> str | None:
    """Return the format of a file by its first characters or else by its suffix; None for columns."""
    start = text[:2000].lstrip().lower()
    for form, is_it in (
        ("GraphML", start.startswith("<") and "<graphml" in start),
        ("GEXF", start.startswith("<") and "<gexf" in start),
        ("Pajek", re.match(r"(%.*\s+)*\*(vertices|network)", start) is not None),
        ("Matrix Market", start.startswith("%%matrixmarket")),
        ("GML", re.search(r"^\s*graph\s*\[", start, re.MULTILINE) is not None),
        ("edge list of networkx", re.search(r"^[^#{\n]*[\s,]\{.*\}\s*$", text, re.MULTILINE) is not None),
    ):
        if is_it:
            return form
    suffixes = [suffix.lower() for suffix in file.suffixes if suffix.lower() != ".gz"]
    return _SUFFIXES.get(suffixes[-1]) if suffixes else None


def written(file: Path, data: bytes, text: str, form: str) -> EdgeTable:
    """Return the edges of a file in one of these formats.

    Raises
    ------
    ValueError
        If the file does not have this format. The message has the line, if the reader names it.
    """
    try:
        found = _READERS[form](data, text)
    except _OtherFormError as error:
        raise ValueError(f"{file} must be {error}") from None
    except Exception as error:  # readers raise many types of exceptions for damaged files
        place = re.search(r"line (\d+)|at \((\d+),", str(error))
        where = f" in line {place[1] or place[2]}" if place else ""
        raise ValueError(
            f"{file} must be {form}, but is damaged{where}; export it again, or as CSV with two names a line"
        ) from None
    names, notes = _names(found.nodes)
    keys = dict.fromkeys(key for *_, data in found.edges for key in data)
    # The ids that GraphML gives to edges are not a column of the user.
    columns = {str(key): [data.get(key) for *_, data in found.edges] for key in keys if key != "id"}
    if form in ("GEXF", "Pajek") and "weight" in columns:  # both leave out a weight of 1
        columns["weight"] = [1.0 if weight is None else weight for weight in columns["weight"]]
        if all(weight == 1.0 for weight in columns["weight"]):
            del columns["weight"]
    return EdgeTable(
        file=file,
        form=f"in the format {form}",
        ends=[(names[u], names[v]) for u, v, _ in found.edges],
        places=[f"edge {names[u]} - {names[v]}" for u, v, _ in found.edges],
        columns=columns,
        nodes=[*names.values()],
        one_way=found.one_way,
        why=f"the format {form} states it",
        notes=[*found.notes, *notes],
    )


def _names(nodes: Mapping[Hashable, Mapping[str, Any]]) -> tuple[dict[Hashable, Hashable], list[str]]:
    """Return the names of nodes; nodes with a missing or repeated label have their id as name."""
    for attribute in _NAMES:
        given = {node: " ".join(str(data.get(attribute) or "").split()) for node, data in nodes.items()}
        times = Counter(given.values())
        names = {node: name if name and times[name] == 1 else node for node, name in given.items()}
        n_ids = sum(not name or times[name] > 1 for name in given.values())
        if n_ids < len(nodes) and len({str(name) for name in names.values()}) == len(names):
            note = f"nodes with a missing or repeated label have their id as a name: {n_ids:,}"
            return names, [note] if n_ids else []
    return {node: node for node in nodes}, []


# XML, which networkx reads only if all edges have one direction


def _xml(data: bytes, text: str) -> Any:
    try:
        root = ElementTree.fromstring(data)  # bytes, because the first line states the encoding
    except ElementTree.ParseError:
        root = ElementTree.fromstring(re.sub(r"^\s*<\?xml.*?\?>", "", text))
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    return root


def _graphml(data: bytes, text: str) -> _Found:
    root = _xml(data, text)
    keys = {key.get("id"): key for key in root.iter("key")}
    titles = {name: key.get("attr.name") or name for name, key in keys.items()}
    defaults = {
        name: key.find("default").text for name, key in keys.items() if key.find("default") is not None
    }

    def data_of(element: Any, kind: str) -> dict[str, Any]:
        found = {titles[name]: text for name, text in defaults.items() if keys[name].get("for") == kind}
        found |= {titles.get(item.get("key"), item.get("key")): item.text for item in element.findall("data")}
        label = next(element.iter("NodeLabel"), None) if element.find("graph") is None else None
        return found if label is None else found | {"NodeLabel": label.text}

    default = root.find("graph").get("edgedefault") == "directed"
    nodes = {node.get("id"): data_of(node, "node") for node in root.iter("node")}
    edges = [(edge.get("source"), edge.get("target"), data_of(edge, "edge")) for edge in root.iter("edge")]
    kinds = [edge.get("directed") for edge in root.iter("edge")]
    return _Found(nodes, edges, [default if kind is None else kind == "true" for kind in kinds] or default)


def _gexf(data: bytes, text: str) -> _Found:
    root = _xml(data, text)
    groups = [group for group in root.iter("attributes") if group.get("class") == "edge"]
    titles = {item.get("id"): item.get("title") for group in groups for item in group.iter("attribute")}
    default = root.find("graph").get("defaultedgetype") or "undirected"
    nodes = {node.get("id"): {"label": node.get("label")} for node in root.iter("node")}
    edges, one_way = [], []
    for edge in root.iter("edge"):
        values = {
            titles.get(item.get("for"), item.get("for")): item.get("value") for item in edge.iter("attvalue")
        }
        weight = {} if edge.get("weight") is None else {"weight": float(edge.get("weight"))}
        edges.append((edge.get("source"), edge.get("target"), values | weight))
        one_way.append((edge.get("type") or default) == "directed")
    return _Found(nodes, edges, one_way or default == "directed")


# Pajek, of which networkx reads neither several sections nor lists of neighbours


def _pajek(data: bytes, text: str) -> _Found:
    nodes: dict[Hashable, dict[str, Any]] = {}
    edges: list[tuple[Hashable, Hashable, Mapping[str, Any]]] = []
    one_way: list[bool] = []
    left_out: list[str] = []
    section, is_aside, row = "", False, 0
    for number, line in enumerate(text.split("\n"), 1):
        fields = [quoted or bare for quoted, bare in re.findall(r'"([^"]*)"|(\S+)', line)]
        if not fields or line.lstrip().startswith("%"):
            continue
        if line.lstrip().startswith("*"):
            section, row = fields[0][1:].lower(), 0
            # Partitions and vectors have vertices of their own. Only the first network is read.
            is_network = section in ("vertices", "arcs", "edges", "arcslist", "edgeslist", "matrix")
            if section == "network":
                is_aside = bool(nodes)
            elif not is_network or (section == "vertices" and nodes):
                is_aside = True
            if is_aside and section not in ("vertices", "arcs", "edges"):
                left_out.append(line.strip())
            elif section == "vertices" and not is_aside:
                nodes = {str(node): {} for node in range(1, int(fields[1]) + 1)}
        elif section == "vertices" and not is_aside:
            if fields[0] in nodes and len(fields) > 1:
                nodes[fields[0]]["label"] = fields[1]
        elif not is_aside:
            row += 1
            for u, v, weight in _pajek_ties(section, row, fields):
                if u not in nodes or v not in nodes:
                    raise _OtherFormError(
                        f"Pajek with edges between vertices from 1 to {len(nodes)}, got"
                        f" {shown(line.strip())} in line {number}"
                    )
                edges.append((u, v, {"weight": float(weight)}))
                one_way.append(not section.startswith("edges"))
    notes = (f"only the first network is read, without {', '.join(left_out[:3])}",) if left_out else ()
    return _Found(nodes, edges, one_way or None, notes)


def _pajek_ties(section: str, row: int, fields: list[str]) -> list[tuple[str, str, str]]:
    """Return the ties of a line: two ends and a weight."""
    if section == "matrix":
        return [(str(row), str(at), value) for at, value in enumerate(fields, 1) if float(value)]
    if section in ("arcslist", "edgeslist"):
        return [(fields[0], other, "1") for other in fields[1:]]
    return [(fields[0], fields[1] if len(fields) > 1 else "", fields[2] if len(fields) > 2 else "1")]


# Formats that libraries read


def _gml(data: bytes, text: str) -> _Found:
    import networkx as nx

    # networkx reads a quoted text on one line only, and repeated edges only in a multigraph.
    text = re.sub(r'"[^"]*"', lambda quoted: quoted[0].replace("\n", " "), text)
    text = re.sub(r"^\s*(Creator|Version)\b.*$", "", text, flags=re.MULTILINE | re.IGNORECASE)
    if not re.search(r"\bmultigraph\s+1", text):
        text = re.sub(r"\bgraph\s*\[", "graph [ multigraph 1 ", text, count=1)
    graph = nx.parse_gml(text, label="id")
    return _Found(graph.nodes, [*graph.edges(data=True)], graph.is_directed())


def _matrix_market(data: bytes, text: str) -> _Found:
    from scipy.io import mmread
    from scipy.sparse import coo_array

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of the type of the result in later versions
        matrix = coo_array(mmread(io.BytesIO(data)))
    if matrix.shape[0] != matrix.shape[1]:
        raise _OtherFormError(f"a square matrix, with a row and a column for each name, got {matrix.shape}")
    is_pattern = " pattern" in text[:200].lower()
    values = [{} if is_pattern else {"weight": value} for value in matrix.data.tolist()]
    nodes: dict[Hashable, dict[str, Any]] = {node: {} for node in range(1, matrix.shape[0] + 1)}
    ends = (matrix.row + 1).tolist(), (matrix.col + 1).tolist()
    return _Found(nodes, [*zip(*ends, values, strict=True)])


def _edge_list(data: bytes, text: str) -> _Found:
    import networkx as nx

    delimiter = "," if re.search(r",\s*\{", text) else None
    graph = nx.parse_edgelist(text.split("\n"), delimiter=delimiter, create_using=nx.MultiDiGraph)
    return _Found(graph.nodes, [*graph.edges(data=True)])


def _adjacency_list(data: bytes, text: str) -> _Found:
    import networkx as nx

    graph = nx.parse_adjlist(text.split("\n"), create_using=nx.DiGraph)
    return _Found(graph.nodes, [*graph.edges(data=True)])


_READERS: dict[str, Callable[[bytes, str], _Found]] = {
    "GraphML": _graphml,
    "GEXF": _gexf,
    "GML": _gml,
    "Pajek": _pajek,
    "Matrix Market": _matrix_market,
    "edge list of networkx": _edge_list,
    "adjacency list": _adjacency_list,
}
_SUFFIXES = {
    ".graphml": "GraphML",
    ".gexf": "GEXF",
    ".gml": "GML",
    ".net": "Pajek",
    ".paj": "Pajek",
    ".pajek": "Pajek",
    ".mtx": "Matrix Market",
    ".adjlist": "adjacency list",
}
