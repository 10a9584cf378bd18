"""Real data that packages carry: where it is found, how it is read, and problems that are made of it."""

from instances.datasets.choices import Fit, TravelSurvey, fit_logit, travel_offers, travel_survey
from instances.datasets.clicks import open_bandit, streaming_chances
from instances.datasets.films import Films, film_lists, film_matching, movielens
from instances.datasets.networks import NETWORKS, delays, network
from instances.datasets.sources import DATASETS, DataSet

__all__ = [
    "DATASETS",
    "NETWORKS",
    "DataSet",
    "Films",
    "Fit",
    "TravelSurvey",
    "delays",
    "film_lists",
    "film_matching",
    "fit_logit",
    "movielens",
    "network",
    "open_bandit",
    "streaming_chances",
    "travel_offers",
    "travel_survey",
]
