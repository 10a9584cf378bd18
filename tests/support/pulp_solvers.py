"""PuLP solvers that end as a test wants, under PuLP 3 and 4."""

import pulp


def finish(solver, lp, status, found):
    """Return what a solver returns: "optimal", "infeasible" or "stopped", with or without values."""
    if hasattr(solver, "buildStats"):  # PuLP 4
        number = {"optimal": 1, "infeasible": -1, "stopped": -4}[status]
        return solver.buildStats(lp, number, found, start=(0.0, 0.0))
    number = {"optimal": 1, "infeasible": -1, "stopped": 1 if found else 0}[status]
    lp.assignStatus(number, 2 if status == "stopped" and found else None)
    return number


class ByEnumeration(pulp.LpSolver):
    """Needs nothing but PuLP; for a few binaries."""

    name = "ByEnumeration"

    def actualSolve(self, lp, **_):
        x, best = lp.variables(), None
        for number in range(2 ** len(x)):
            values = [number >> i & 1 for i in range(len(x))]
            self._assign(x, values)
            allowed = all(v.lowBound <= value <= v.upBound for v, value in zip(x, values, strict=True))
            if allowed and all(row.valid() for row in lp.constraints()):
                worth = lp.objective.value() * (-1 if lp.sense == pulp.LpMaximize else 1)
                best = min(best or (worth, values), (worth, values))
        self._assign(x, best[1] if best else [0] * len(x))
        return finish(self, lp, "infeasible" if best is None else self.end, best is not None)

    end = "optimal"

    @staticmethod
    def _assign(x, values):
        for variable, value in zip(x, values, strict=True):
            variable.varValue = value


class Stopped(ByEnumeration):
    """Runs out of time with an incumbent."""

    end = "stopped"


class OutOfTime(pulp.LpSolver):
    """Runs out of time without one."""

    name = "OutOfTime"

    def actualSolve(self, lp, **_):
        return finish(self, lp, "stopped", False)
