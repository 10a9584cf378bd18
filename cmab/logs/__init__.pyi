from cmab.logs.off_policy import OffPolicyEstimate as OffPolicyEstimate
from cmab.logs.off_policy import off_policy_value as off_policy_value
from cmab.logs.offline import OfflineChoice as OfflineChoice
from cmab.logs.offline import clcb as clcb
from cmab.logs.open_bandit import read_open_bandit as read_open_bandit
from cmab.logs.replay import replay_value as replay_value
from cmab.logs.tables import read_log as read_log
