"""Reprieve: victims stay as long as every filter and every veto holds on the places that were chosen."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from phalanx.engine.eviction.candidates import Candidates
from phalanx.engine.placement.copies import by_amounts
from phalanx.engine.placement.find import request_of
from phalanx.engine.placement.settle import settle, together
from phalanx.engine.policy import Policy
from phalanx.engine.session.entries import Promised
from phalanx.engine.session.request import When
from phalanx.engine.session.rows import distinct
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Unit
from phalanx.model.axis import Int


def reprieve(
    session: Session, policy: Policy, unit: Unit, candidates: Candidates, victims: list[int], places: list[Promised]
) -> list[int]:
    """Return the victims that the places need; those that would leave last are spared first."""
    table = session.residents
    nodes = distinct(np.concatenate([promised.nodes for promised in places]))
    lack, worth = _lack(session, unit, places, nodes)
    #: [node]: its place among the nodes with places. On others nobody counts what is given.
    at = np.full(len(session.snapshot.nodes), -1)
    at[nodes] = np.arange(len(nodes))

    def given(tasks: Int) -> tuple[Int, Int]:
        """Return what tasks give, entry by entry, and to which of the nodes."""
        here = at[table.node[tasks]]
        return worth(tasks[here >= 0]), here[here >= 0]

    gives = np.zeros_like(lack)
    amounts, where = given(candidates.tasks_of(victims))
    np.add.at(gives, where, amounts)
    if len(victims) == 1 and (gives > 0)[lack > 0].any():
        return list(victims)
    #: Amounts alone do not decide. Asked for where amounts would spare somebody.
    exact: bool | None = None
    leaving: set[int] = set()
    needed: list[int] = []
    spared: set[int] = set()
    # A loop over the victims, who are few; each costs a look at its own nodes, never a placement.
    for victim in reversed(victims):
        gang = int(candidates.gang[victim])
        if gang not in leaving:
            amounts, where = given(candidates.tasks(victim))
            rows = distinct(where)
            less = gives[rows]
            np.add.at(less, np.searchsorted(rows, where), -amounts)
            if (less >= np.minimum(lack[rows], gives[rows])).all():
                spared.add(victim)
                exact = not _amounts_decide(session, policy, unit, places) if exact is None else exact
                left = [one for one in victims if one not in spared] if exact else []
                if not exact or _holds(session, policy, unit, candidates, left, places):
                    gives[rows] = less
                    continue
                spared.discard(victim)
        needed.append(victim)
        if candidates.is_minimum[victim]:
            # Without its minimum nothing of a gang may stay.
            leaving.add(gang)
    return needed[::-1]


def _lack(session: Session, unit: Unit, places: list[Promised], nodes: Int) -> tuple[Int, Callable[[Int], Int]]:
    """Return [entry of nodes, amount] what is not there for these places, and what residents would add.

    Beside a reservation it is asked twice: now, and when the reserved place is needed.
    """
    snapshot, table, shapes = session.snapshot, session.residents, session.snapshot.tasks.shape
    request = request_of(session, unit.gang, int(shapes[unit.tasks[0]]), when=When.LATER)
    asked = np.zeros((len(nodes), len(snapshot.axis)), np.int64)
    for promised in places:
        np.add.at(asked, np.searchsorted(nodes, promised.nodes), snapshot.requests[shapes[promised.tasks]])
    there = session.spare_amounts(request if session.reservation is None else replace(request, beside=False), nodes)
    lack = asked - there
    reservation, slack = session.reservation, session.ledger.books().slack
    if reservation is None or slack is None or not request.beside:
        return lack, lambda rows: snapshot.requests[table.shape[rows]]
    lasting = reservation.lasting

    def twice(rows: Int) -> Int:
        amounts = snapshot.requests[table.shape[rows]]
        return np.hstack([amounts, amounts * lasting[rows][:, None]])

    return np.hstack([lack, asked - slack[nodes]]), twice


def _amounts_decide(session: Session, policy: Policy, unit: Unit, places: list[Promised]) -> bool:
    """Tell whether amounts alone decide which victims are needed: no other filter and no veto has a say here."""
    shapes = session.snapshot.tasks.shape
    return not policy.judges_singly and all(
        by_amounts(session, policy, request_of(session, unit.gang, int(shapes[promised.tasks[0]]), when=When.LATER))
        for promised in places
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
