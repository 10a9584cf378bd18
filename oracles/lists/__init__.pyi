from oracles.lists.dependent_clicks import DependentClickLists as DependentClickLists
from oracles.lists.ranked import RankedTopK as RankedTopK
from oracles.lists.slate import Slate as Slate
