from .network import Network as Network
