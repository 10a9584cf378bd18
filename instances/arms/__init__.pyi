from instances.arms.arms import Arms as Arms
from instances.arms.bounded import BetaArms as BetaArms
from instances.arms.bounded import EmpiricalArms as EmpiricalArms
