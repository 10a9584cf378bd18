from cmab.linear.statistics import LinearStatistics as LinearStatistics
from cmab.policies.budgets import BudgetState as BudgetState
from cmab.policies.changing import RestartState as RestartState
from cmab.policies.changing import WindowStatistics as WindowStatistics
from cmab.policies.wrappers import SafeguardState as SafeguardState
from cmab.statistics import ArmStatistics as ArmStatistics
