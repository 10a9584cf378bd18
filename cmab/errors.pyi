from cmab.running.comparison import ComparisonInterrupted as ComparisonInterrupted
from cmab.running.simulation import SimulationInterrupted as SimulationInterrupted
from cmab.studies._pieces import StudyFailed as StudyFailed
