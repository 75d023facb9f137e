"""Disruption budgets: what leaving costs of them, and whether so much is left. They count over a whole plan."""

from dataclasses import dataclass

import numpy as np

from phalanx.engine.session.residents import Residents
from phalanx.engine.session.session import Session
from phalanx.model.axis import Bool, Int
from phalanx.model.running import OVERBUDGETED


@dataclass(frozen=True, slots=True)
class Needs:
    """How much each unit takes of which budget: one entry per unit and budget, sorted by unit."""

    unit: Int
    budget: Int
    count: Int


def needs_of(residents: Residents, budgets: int, first: Int, count: Int) -> Needs:
    """Return the needs of units that have rows first … first + count - 1; every row is in one of them."""
    rows = np.flatnonzero(residents.budget >= 0)
    order = np.argsort(first, kind="stable")
    order = order[count[order] > 0]
    unit = order[np.searchsorted(first[order], rows, "right") - 1]
    width = max(budgets, 1)
    pairs, counts = np.unique(unit * width + residents.budget[rows], return_counts=True)
    return Needs(pairs // width, pairs % width, counts)


def affordable(session: Session, needs: Needs, units: int) -> Bool:
    """Return, per unit, whether the budgets would let it go now if nobody else went."""
    fine = np.ones(units, np.bool_)
    fine[needs.unit[needs.count > session.budgets[needs.budget]]] = False
    return fine


def affords(session: Session, needs: Needs, unit: int) -> bool:
    """Tell whether the budgets let one unit go, after all who have gone before."""
    if not len(needs.unit):
        return True
    first, last = np.searchsorted(needs.unit, [unit, unit + 1])
    return bool((needs.count[first:last] <= session.budgets[needs.budget[first:last]]).all())


def affords_together(session: Session, needs: Needs, chosen: list[int]) -> list[int]:
    """Return which of the chosen candidates the budgets allow to leave together, tried in their order."""
    if not len(needs.unit):
        return chosen
    left = session.budgets.copy()
    fine: list[int] = []
    # A loop over the units of few nodes.
    for unit in chosen:
        first, last = np.searchsorted(needs.unit, [unit, unit + 1])
        rest = left[needs.budget[first:last]] - needs.count[first:last]
        if (rest >= 0).all():
            left[needs.budget[first:last]] = rest
            fine.append(unit)
    return fine


def affords_all(session: Session, rows: Int) -> bool:
    """Tell whether the budgets let all these tasks of the running table go at once."""
    under = session.snapshot.running.budget[rows]
    used = np.bincount(under[under >= 0], minlength=len(session.budgets))
    return bool((under != OVERBUDGETED).all() and (used <= session.budgets).all())
