from .conversion import convert_graph as convert_graph
from .graph_store import StoredGraph as StoredGraph
