from .entries import ENTRIES as ENTRIES
from .linear import ShrunkCoins as ShrunkCoins
from .problems import PROBLEMS as PROBLEMS
from .problems import RECORDED as RECORDED
