from oracles.diffusion.directed_graph import DirectedGraph as DirectedGraph
from oracles.diffusion.features import edge_features as edge_features
from oracles.diffusion.groups import in_degree_groups as in_degree_groups
from oracles.diffusion.triggering_models import IndependentTriggering as IndependentTriggering
from oracles.diffusion.triggering_models import TriggeringModel as TriggeringModel
