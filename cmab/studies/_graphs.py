"""Graphs that a specification may name: listed generators of networkx, and edge lists in files."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cmab.edges import is_number, n_columns, rows_of
from cmab.validation import integer, shown

# Study files are untrusted, and networkx also has functions that read, write and import. Only these names are
# accepted: pure functions that return a graph, and the classes that `create_using` accepts.
_NAMES = """
Graph DiGraph MultiGraph MultiDiGraph graph_atlas balanced_tree barbell_graph binomial_tree complete_graph
complete_bipartite_graph circular_ladder_graph circulant_graph cycle_graph dorogovtsev_goltsev_mendes_graph
empty_graph full_rary_tree kneser_graph ladder_graph lollipop_graph null_graph path_graph star_graph
tadpole_graph trivial_graph turan_graph wheel_graph random_cograph caveman_graph connected_caveman_graph
relaxed_caveman_graph random_partition_graph planted_partition_graph gaussian_random_partition_graph
ring_of_cliques windmill_graph stochastic_block_model LFR_benchmark_graph configuration_model
directed_configuration_model expected_degree_graph havel_hakimi_graph directed_havel_hakimi_graph
degree_sequence_tree random_degree_sequence_graph gn_graph gnc_graph gnr_graph random_k_out_graph
scale_free_graph partial_duplication_graph duplication_divergence_graph ego_graph
margulis_gabber_galil_graph chordal_cycle_graph paley_graph maybe_regular_expander
maybe_regular_expander_graph random_regular_expander_graph geographical_threshold_graph
navigable_small_world_graph random_geometric_graph soft_random_geometric_graph
thresholded_random_geometric_graph waxman_graph geometric_soft_configuration_graph hnm_harary_graph
hkn_harary_graph random_internet_as_graph uniform_random_intersection_graph k_random_intersection_graph
general_random_intersection_graph interval_graph grid_2d_graph grid_graph hypercube_graph
triangular_lattice_graph hexagonal_lattice_graph line_graph inverse_line_graph mycielskian mycielski_graph
random_clustered_graph fast_gnp_random_graph gnp_random_graph dense_gnm_random_graph gnm_random_graph
erdos_renyi_graph binomial_graph newman_watts_strogatz_graph watts_strogatz_graph
connected_watts_strogatz_graph random_regular_graph barabasi_albert_graph dual_barabasi_albert_graph
extended_barabasi_albert_graph powerlaw_cluster_graph random_lobster random_lobster_graph random_shell_graph
random_powerlaw_tree LCF_graph bull_graph chvatal_graph cubical_graph desargues_graph diamond_graph
dodecahedral_graph frucht_graph generalized_petersen_graph heawood_graph hoffman_singleton_graph house_graph
house_x_graph icosahedral_graph krackhardt_kite_graph moebius_kantor_graph octahedral_graph pappus_graph
petersen_graph sedgewick_maze_graph tetrahedral_graph truncated_cube_graph truncated_tetrahedron_graph
tutte_graph karate_club_graph davis_southern_women_graph florentine_families_graph les_miserables_graph
spectral_graph_forge stochastic_graph sudoku_graph visibility_graph prefix_tree random_labeled_tree
random_labeled_rooted_tree random_unlabeled_tree random_unlabeled_rooted_tree triad_graph
"""
GENERATORS = frozenset(_NAMES.split())
_HOMES = ("networkx.generators.", "networkx.algorithms.bipartite.generators", "networkx.classes.")
_MOST_NODES = 1_000_000
_MOST_BYTES = 2**28


def generator(name: str, where: str, near: str) -> Any:
    """Return the generator or class of networkx with a name.

    Raises
    ------
    ValueError
        If the name is not in the list of accepted names.
    """
    import networkx as nx

    found = getattr(nx, name, None) if name in GENERATORS else None
    # A backend or another version may define a different object with a listed name.
    if not str(getattr(found, "__module__", "")).startswith(_HOMES):
        raise ValueError(f"{where}.networkx must be a graph generator of networkx{near}, got {name!r}")
    return found


def check_generator(maker: Any, arguments: Mapping[str, Any], where: str) -> None:
    """Check that a generator has a seed if it takes one, and that the graph is not too large.

    Raises
    ------
    ValueError
        If the seed is missing, a backend is chosen, or a number exceeds one million.
    """
    if "backend" in arguments:
        raise ValueError(f"{where} must not have the entry backend")
    if "seed" in inspect.signature(maker).parameters:
        if "seed" not in arguments:
            raise ValueError(
                f"{where} must have a seed, such as seed = 0; otherwise each process generates another graph"
            )
        integer(f"{where}.seed", arguments["seed"], 0, any_size=True)
    for key, value in arguments.items():
        if key != "seed" and any(abs(number) > _MOST_NODES for number in _numbers(value)):
            raise ValueError(f"{where}.{key} must be at most {_MOST_NODES:,} in a graph, got {shown(value)}")


def _numbers(value: Any) -> Iterator[int]:
    if isinstance(value, int):
        yield value
    elif isinstance(value, list):
        for entry in value:
            yield from _numbers(entry)


def read_graph(table: Mapping[str, Any], folder: Path | None, where: str) -> Any:
    """Return the graph of an edge list, which has two names and an optional weight per line.

    Empty lines and lines that begin with ``#`` are skipped. The nodes are integers if all names are integers.

    Raises
    ------
    ValueError
        If the file is not in the folder of the study or below, is too large, or is not an edge list.
    """
    import networkx as nx

    if unknown := set(table) - {"file", "directed"}:
        raise ValueError(f"{where} must only have the entries file and directed, got {sorted(unknown)}")
    directed = table.get("directed", False)
    if not isinstance(directed, bool):
        raise ValueError(f"{where}.directed must be true or false, got {shown(directed)}")
    numbered = rows_of(_text(table["file"], folder, f"{where}.file"))
    n_columns(numbered, f"{where}.file", "two names (and a weight)")
    for number, row in numbered:
        if not all(map(_is_weight, row[2:])):
            raise ValueError(f"{where}.file, line {number}: a weight must be a finite number, got {row[2]!r}")
    rows = [row for _, row in numbered]
    are_numbers = all(is_number(name) for row in rows for name in row[:2])
    graph: Any = nx.DiGraph() if directed else nx.Graph()
    for row in rows:
        u, v = (int(name) if are_numbers else name for name in row[:2])
        given = {"weight": float(row[2])} if len(row) == 3 else {}
        # networkx would silently keep the last weight.
        if graph.get_edge_data(u, v, given) != given:
            raise ValueError(
                f"{where}.file must give each edge one weight, got two for {row[0]} and {row[1]}"
            )
        graph.add_edge(u, v, **given)
    return graph


def _text(name: Any, folder: Path | None, where: str) -> str:
    if folder is None:
        raise ValueError(f"{where} needs a folder; pass `files`, the folder of the file, to Study")
    if not isinstance(name, str) or not name:
        raise ValueError(f"{where} must be the name of a file, got {shown(name)}")
    path = _inside(name, folder, where)
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ValueError(f"{where} must have at most {_MOST_BYTES:,} bytes, got {path.stat().st_size:,}")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{where} must be text in UTF-8, got {error}") from None
    except OSError as error:
        raise ValueError(f"{where} must be a readable file, got {shown(name)}: {error}") from None


def _inside(name: str, folder: Path, where: str) -> Path:
    """Return the resolved path of a file, which must be in a folder or below."""
    # Neither the name itself nor the links in its path may leave the folder.
    home = folder.resolve()
    try:
        path = (home / name).resolve()
        is_inside = not Path(name).is_absolute() and ".." not in Path(name).parts and home in path.parents
        if is_inside and path.is_file():  # opening a pipe would block
            return path
    except (OSError, RuntimeError, ValueError):  # too long, a loop of links, or an invalid name
        pass
    raise ValueError(f"{where} must be a file in {folder} or below, got {shown(name)}")


def inside(table: Any, folder: Path | None, where: str) -> Path:
    """Return the path of ``{file = "name"}``.

    Raises
    ------
    ValueError
        If the table has another form, or the file is not in the folder of the study or below.
    """
    if not isinstance(table, dict) or set(table) != {"file"} or not isinstance(table["file"], str):
        raise ValueError(f'{where} must be a table {{ file = "name" }}, got {shown(table)}')
    if folder is None:
        raise ValueError(f"{where} needs a folder; pass `files`, the folder of the file, to Study")
    return _inside(table["file"], folder, where)


def _is_weight(text: str) -> bool:
    try:
        return abs(float(text)) < float("inf")
    except ValueError:
        return False


def digest(graph: Any) -> str:
    """Return a hash of nodes and edges with their data, in their order, because base arms follow it."""
    found = hashlib.sha256(f"{type(graph).__name__} {sorted(graph.graph.items(), key=str)}".encode())
    for part in (graph.nodes(data=True), graph.edges(data=True)):
        for entry in part:
            found.update(repr(entry).encode() + b"\n")
    return found.hexdigest()[:16]
