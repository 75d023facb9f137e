"""Reprieve: victims stay as long as every filter and every veto holds on the places that were chosen."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from phalanx.engine.eviction.candidates import Candidates
from phalanx.engine.placement.copies import by_amounts, spare_amounts
from phalanx.engine.placement.place import request_of
from phalanx.engine.placement.settle import settle, together
from phalanx.engine.policy import Policy
from phalanx.engine.session.entries import Promised
from phalanx.engine.session.request import When
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Unit
from phalanx.model.axis import Int


def reprieve(
    session: Session, policy: Policy, unit: Unit, candidates: Candidates, victims: list[int], places: list[Promised]
) -> list[int]:
    """Return the victims that the places need; those that would leave last are spared first."""
    table = session.residents
    lack, worth = _lack(session, unit, places)
    wanted = np.zeros(len(lack), np.bool_)
    for kept in places:
        wanted[kept.nodes] = True
    gives = np.zeros_like(lack)
    everybody = candidates.tasks_of(victims)
    # On nodes without a place nobody counts what is given.
    here = everybody[wanted[table.node[everybody]]]
    np.add.at(gives, table.node[here], worth(here))
    exact = not _amounts_decide(session, policy, unit, places)
    leaving: set[int] = set()
    needed: list[int] = []
    spared: set[int] = set()
    # A loop over the victims, who are few; each costs a look at its own nodes, never a placement.
    for victim in reversed(victims):
        tasks = candidates.tasks(victim)
        here = tasks[wanted[table.node[tasks]]]
        gang = int(candidates.gang[victim])
        if gang not in leaving:
            nodes = np.unique(table.node[here])
            less = gives[nodes].copy()
            np.add.at(less, np.searchsorted(nodes, table.node[here]), -worth(here))
            if (less >= np.minimum(lack[nodes], gives[nodes])).all():
                spared.add(victim)
                if not exact or _holds(
                    session, policy, unit, candidates, [one for one in victims if one not in spared], places
                ):
                    gives[nodes] = less
                    continue
                spared.discard(victim)
        needed.append(victim)
        if candidates.is_minimum[victim]:
            # Without its minimum nothing of a gang may stay.
            leaving.add(gang)
    return needed[::-1]


def _lack(session: Session, unit: Unit, places: list[Promised]) -> tuple[Int, Callable[[Int], Int]]:
    """Return [node, amount] what is not there for these places, and what residents would add.

    Beside a reservation it is asked twice: now, and when the reserved place is needed.
    """
    snapshot, table, shapes = session.snapshot, session.residents, session.snapshot.tasks.shape
    request = request_of(session, unit.gang, int(shapes[unit.tasks[0]]), when=When.LATER)
    asked = np.zeros(snapshot.nodes.allocatable.shape, np.int64)
    for kept in places:
        np.add.at(asked, kept.nodes, snapshot.requests[shapes[kept.tasks]])
    lack = asked - spare_amounts(session, replace(request, beside=False))
    reservation, slack = session.reservation, session.ledger.books().slack
    if reservation is None or slack is None or not request.beside:
        return lack, lambda rows: snapshot.requests[table.shape[rows]]
    lasting = reservation.lasting

    def twice(rows: Int) -> Int:
        amounts = snapshot.requests[table.shape[rows]]
        return np.hstack([amounts, amounts * lasting[rows][:, None]])

    return np.hstack([lack, asked - slack]), twice


def _amounts_decide(session: Session, policy: Policy, unit: Unit, places: list[Promised]) -> bool:
    """Tell whether amounts alone decide which victims are needed: no other filter and no veto has a say here."""
    shapes = session.snapshot.tasks.shape
    return not policy.judges_singly and all(
        by_amounts(session, policy, request_of(session, unit.gang, int(shapes[kept.tasks[0]]), when=When.LATER))
        for kept in places
    )


def _holds(
    session: Session, policy: Policy, unit: Unit, candidates: Candidates, leaving: list[int], places: list[Promised]
) -> bool:
    """Tell whether the places are there once only these have left, by every filter and every veto."""
    start = session.checkpoint()
    session.evict(candidates.tasks_of(leaving))
    fine = settle(session, policy, unit, together(places), When.LATER)
    session.rollback(start)
    return fine
