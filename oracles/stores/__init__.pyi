from oracles.stores.convert import convert_graph as convert_graph
from oracles.stores.stored_graph import StoredGraph as StoredGraph
from oracles.stores.stored_graph import open_graph as open_graph
