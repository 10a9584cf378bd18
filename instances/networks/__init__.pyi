from instances.graphs import constant_probabilities as constant_probabilities
from instances.graphs import read_edge_list as read_edge_list
from instances.graphs import trivalency as trivalency
from instances.graphs import uniform_probabilities as uniform_probabilities
from instances.graphs import weighted_cascade as weighted_cascade
from instances.networks.network import Network as Network
