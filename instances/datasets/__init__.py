"""Real data sets that Python packages contain: the search for their files, readers and problem instances."""

from instances.datasets.airlines import Flights, flights, punctuality
from instances.datasets.choices import Fit, TravelSurvey, fit_logit, travel_offers, travel_survey
from instances.datasets.clicks import open_bandit, streaming_chances
from instances.datasets.films import Films, film_lists, film_matching, movielens
from instances.datasets.groceries import Baskets, baskets, display
from instances.datasets.networks import NETWORKS, delays, network
from instances.datasets.sources import DATASETS, DataSet

__all__ = [
    "DATASETS",
    "NETWORKS",
    "Baskets",
    "DataSet",
    "Films",
    "Fit",
    "Flights",
    "TravelSurvey",
    "baskets",
    "delays",
    "display",
    "film_lists",
    "film_matching",
    "fit_logit",
    "flights",
    "movielens",
    "network",
    "open_bandit",
    "punctuality",
    "streaming_chances",
    "travel_offers",
    "travel_survey",
]
