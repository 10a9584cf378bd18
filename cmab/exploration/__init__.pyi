from cmab.exploration.aggregate import AdaptiveTopK as AdaptiveTopK
from cmab.exploration.aggregate import OptMAI as OptMAI
from cmab.exploration.clucb import CLUCB as CLUCB
from cmab.exploration.clucb import LilCLUCB as LilCLUCB
from cmab.exploration.continuous_rejects import ContinuousRejects as ContinuousRejects
from cmab.exploration.gap_based import UCBE as UCBE
<<<<<<< HEAD
from cmab.exploration.gap_based import GapE as _GapE
from cmab.exploration.halving import Halving as _Halving
=======
from cmab.exploration.gap_based import GapE as GapE
from cmab.exploration.halving import Halving as Halving
>>>>>>> main
from cmab.exploration.halving import UniformAllocation as UniformAllocation
from cmab.exploration.kl_lucb import KLLUCB as KLLUCB
from cmab.exploration.lil_ucb import LilUCB as LilUCB
from cmab.exploration.lucb import LUCB1 as LUCB1
from cmab.exploration.lucb import LilLUCB as LilLUCB
from cmab.exploration.lucb import LilRandLUCB as LilRandLUCB
from cmab.exploration.lucb import LUCBPlusPlus as LUCBPlusPlus
from cmab.exploration.lucb import LUCBRule as LUCBRule
from cmab.exploration.lucb import RadiusRule as RadiusRule
from cmab.exploration.lucb_halving import LUCB1Halving as LUCB1Halving
from cmab.exploration.mixture import BestKGLR as BestKGLR
from cmab.exploration.pfws import PFWS as PFWS
from cmab.exploration.phases import PhasedExplorer as PhasedExplorer
from cmab.exploration.races import BernsteinRace as BernsteinRace
from cmab.exploration.races import HoeffdingRace as HoeffdingRace
from cmab.exploration.rejects import CSAR as CSAR
from cmab.exploration.rejects import SAR as SAR
from cmab.exploration.rejects import SuccessiveRejects as SuccessiveRejects
from cmab.exploration.ruled import RuledExplorer as RuledExplorer
from cmab.exploration.top_two import TTUCB as TTUCB
from cmab.exploration.track_and_stop import TrackAndStop as TrackAndStop
from cmab.exploration.ugape import UGapEb as UGapEb
from cmab.exploration.ugape import UGapEc as UGapEc
from cmab.exploration.ugape import UGapEcV as UGapEcV
from cmab.exploration.variance_lucb import BernsteinLUCB as BernsteinLUCB
from cmab.exploration.variance_lucb import StudentLUCB as StudentLUCB
from cmab.goals import Goal as Goal
<<<<<<< HEAD

# Classes that have left the namespace.
GapE = _GapE
Halving = _Halving
KLLUCB = _KLLUCB
LilLUCB = _LilLUCB
LilUCB = _LilUCB
SuccessiveRejects = _SuccessiveRejects
UGapEcV = _UGapEcV
=======
>>>>>>> main
