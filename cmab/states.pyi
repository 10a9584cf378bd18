from cmab.linear.statistics import LinearStatistics as LinearStatistics
from cmab.policies.budgets import BudgetState as BudgetState
from cmab.policies.restarting import RestartState as RestartState
from cmab.policies.safeguarded import SafeguardState as SafeguardState
from cmab.policies.windowed import WindowStatistics as WindowStatistics
from cmab.statistics import ArmStatistics as ArmStatistics
