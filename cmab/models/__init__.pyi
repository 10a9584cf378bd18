from cmab.models.network import NetworkRegressor as NetworkRegressor
from cmab.models.positions import PositionBased as PositionBased
