from .conversion import convert_graph as convert_graph
from .graph_store import StoredGraph as StoredGraph
from .graph_store import open_graph as open_graph
