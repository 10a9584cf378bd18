from cmab.run.compare import ComparisonInterrupted as ComparisonInterrupted
from cmab.run.simulate import SimulationInterrupted as SimulationInterrupted
from cmab.run.study import StudyFailed as StudyFailed
