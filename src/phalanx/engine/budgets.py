"""Budgets: what leaving costs of the disruption budgets, and whether so much is left. They count over a whole plan."""

from dataclasses import dataclass

import numpy as np

from phalanx.engine.session import Session
from phalanx.model.axis import Bool, Int
from phalanx.model.running import OVERBUDGETED, RunningTable


@dataclass(frozen=True, slots=True)
class Needs:
    """How much each unit takes of which budget: one entry per unit and budget, sorted by unit."""

    unit: Int
    budget: Int
    count: Int


def needs_of(running: RunningTable, first: Int, count: Int) -> Needs:
    """Return the needs of units that have rows first … first + count - 1; every row is in one of them."""
    rows = np.flatnonzero(running.budget >= 0)
    order = np.argsort(first, kind="stable")
    order = order[count[order] > 0]
    unit = order[np.searchsorted(first[order], rows, "right") - 1]
    budgets = max(len(running.budgets), 1)
    pairs, counts = np.unique(unit * budgets + running.budget[rows], return_counts=True)
    return Needs(pairs // budgets, pairs % budgets, counts)


def affordable(session: Session, needs: Needs, units: int) -> Bool:
    """Return, per unit, whether the budgets would let it go now if nobody else went."""
    fine = np.ones(units, np.bool_)
    fine[needs.unit[needs.count > session.columns["budgets"][needs.budget]]] = False
    return fine


def affords(session: Session, needs: Needs, unit: int) -> bool:
    """Tell whether the budgets let one unit go, after all who have gone before."""
    if not len(needs.unit):
        return True
    first, last = np.searchsorted(needs.unit, [unit, unit + 1])
    return bool((needs.count[first:last] <= session.columns["budgets"][needs.budget[first:last]]).all())


def affords_together(session: Session, needs: Needs, chosen: list[int]) -> list[int]:
    """Return whom of the chosen the budgets let go at once; the first of them go before the last."""
    if not len(needs.unit):
        return chosen
    left = session.columns["budgets"].copy()
    fine: list[int] = []
    # A loop over the tasks of few nodes.
    for unit in chosen:
        first, last = np.searchsorted(needs.unit, [unit, unit + 1])
        rest = left[needs.budget[first:last]] - needs.count[first:last]
        if (rest >= 0).all():
            left[needs.budget[first:last]] = rest
            fine.append(unit)
    return fine


def affords_all(session: Session, tasks: Int) -> bool:
    """Tell whether the budgets let all these tasks go at once."""
    under = session.snapshot.running.budget[tasks]
    used = np.bincount(under[under >= 0], minlength=len(session.columns["budgets"]))
    return bool((under != OVERBUDGETED).all() and (used <= session.columns["budgets"]).all())
