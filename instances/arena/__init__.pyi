from instances.arena.arms import ShrunkCoins as ShrunkCoins
from instances.arena.entries import ENTRIES as ENTRIES
from instances.arena.problems import PROBLEMS as PROBLEMS
from instances.arena.problems import RECORDED as RECORDED
from instances.arena.problems import UNUSUAL as UNUSUAL
