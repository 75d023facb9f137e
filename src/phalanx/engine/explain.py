"""Explain: why tasks found no place, as data: which filter removed how many nodes, what is short, what would fit."""

from dataclasses import replace

import numpy as np

from phalanx.engine.placement.copies import readings, room_of
from phalanx.engine.placement.find import request_of
from phalanx.engine.plugin import UNLIMITED, Filter
from phalanx.engine.policy import Policy
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Lack
from phalanx.model.axis import Int
from phalanx.model.plan import Code, Reason, Refusals


def explain(session: Session, policy: Policy, gang: int, lack: Lack) -> Reason:
    """Say why not all wanted tasks of a gang fit. A node is counted under the first filter that leaves it no room."""
    request = request_of(session, gang, lack.shape)
    same = replace(lack, shape=int(readings(session, policy)[lack.shape]))
    return session.once(("why", same, session.view(request)), lambda: _explain(session, policy, request, lack))


def _explain(session: Session, policy: Policy, request: Request, lack: Lack) -> Reason:
    nodes = len(session.snapshot.nodes)
    left = np.ones(nodes, np.bool_)
    refusals: list[Refusals] = []
    tightest: tuple[int, Filter] | None = None
    for plugin in policy.filters:
        free = room_of(session, plugin, request)
        if free is None:
            continue
        refused = np.flatnonzero(left & (free <= 0))
        left[refused] = False
        if len(refused):
            counted = plugin.refusals(session, request, refused)
            refusals += [Refusals(plugin.name, count, text) for count, text in counted]
        total = int(np.minimum(free, lack.own).sum())
        tightest = min(tightest or (total, plugin), (total, plugin), key=lambda pair: pair[0])
    could = int(np.minimum(ceiling(session, policy, request.shape), lack.own).sum())
    # Never is said only where it can be proven: this shape alone would not fit if nobody else were there.
    code = Code.FULL if could >= lack.own else Code.NEVER
    limit = _limit(session, request, np.flatnonzero(left), tightest) if lack.fit < lack.wanted and not refusals else ""
    text = _told(nodes, int(left.sum()), lack.wanted, lack.fit, refusals, limit)
    if code is Code.NEVER and could and lack.own == lack.wanted:
        text += f"; on empty nodes, {could} would fit"
    reason = Reason(code, text, lack.wanted, lack.fit, nodes, tuple(refusals))
    return replace(reason, code=Code.NEVER) if lack.too_much else reason


def ceiling(session: Session, policy: Policy, shape: int) -> Int:
    """Return how many copies each node would take if nobody else were there, as far as the filters can say."""

    def answer() -> Int:
        request = Request(shape)
        least = np.full(len(session.snapshot.nodes), UNLIMITED, np.int64)
        for plugin in policy.filters:
            most = getattr(plugin, "ceiling", None)
            if plugin.static or most is not None:
                room = room_of(session, plugin, request) if most is None else most(session, request)
                least = least if room is None else np.minimum(least, room)
        return least

    return session.once(("ceiling", int(readings(session, policy)[shape])), answer, static=True)


def _limit(session: Session, request: Request, roomy: Int, tightest: tuple[int, Filter] | None) -> str:
    """Name what bounds the number of copies where every node takes some, if the filter can say."""
    limits = getattr(tightest[1], "limits", None) if tightest else None
    return limits(session, request, roomy) if limits is not None and len(roomy) else ""


def _told(nodes: int, roomy: int, wanted: int, fit: int, refusals: list[Refusals], limit: str) -> str:
    """Return the reason in a sentence: what is needed, what fits, and which filter removed how many nodes."""
    if not nodes:
        return "there are no nodes"
    why = ", ".join(f"{refusal.nodes} {refusal.text}" for refusal in refusals)
    if roomy:
        noun, verb = "node" if nodes == 1 else "nodes", "has" if roomy == 1 else "have"
        head = f"{wanted} needed together, {fit} fit: {roomy} of {nodes} {noun} {verb} room"
        return ", ".join(part for part in (head, why, limit) if part)
    head = f"0/{nodes} nodes"
    return f"{wanted} needed together, {head}: {why}" if wanted > 1 else f"{head}: {why}"
