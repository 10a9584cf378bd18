from oracles.flows.capacitated import CapacitatedFlow as CapacitatedFlow
