from .estimators import OffPolicyEstimate as OffPolicyEstimate
from .estimators import off_policy_value as off_policy_value
from .estimators import replay_value as replay_value
from .readers import read_log as read_log
from .warm_start import OfflineChoice as OfflineChoice
from .warm_start import clcb as clcb
