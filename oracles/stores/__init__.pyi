from oracles.stores.conversion import convert_graph as convert_graph
from oracles.stores.graph_store import StoredGraph as StoredGraph
from oracles.stores.graph_store import open_graph as open_graph
