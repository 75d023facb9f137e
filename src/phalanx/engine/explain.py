"""Explain: why tasks found no place, as data: which filter removed how many nodes, what is short, what would fit."""

from dataclasses import replace

import numpy as np

from phalanx.engine.kernels.tree_capacity import summed, whole_pieces
from phalanx.engine.placement.copies import copies, readings, room_of
from phalanx.engine.placement.find import request_of
from phalanx.engine.placement.wishes import wish_of
from phalanx.engine.plugin import UNLIMITED, Filter
from phalanx.engine.policy import Policy
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Lack
from phalanx.model.axis import Int
from phalanx.model.gang import every
from phalanx.model.plan import Code, Reason, Refusals
from phalanx.model.wish import EVERYWHERE, Wish


def explain(session: Session, policy: Policy, gang: int, lack: Lack) -> Reason:
    """Say why not all wanted tasks of a gang fit. A node is counted under the first filter that leaves it no room."""
    request = request_of(session, gang, lack.shape)
    same = replace(lack, shape=int(readings(session, policy)[lack.shape]))
    # Of those that wish to be in one domain each may wish for another.
    key = ("why", same, session.view(request), gang if lack.domain else -1)
    return session.once(key, lambda: _explain(session, policy, gang, request, lack))


def _explain(session: Session, policy: Policy, gang: int, request: Request, lack: Lack) -> Reason:
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
    tightest = _tightest_caps(session, policy, replace(request, count=lack.own), tightest)
    could = _could(session, policy, request.shape, lack.own)
    # Never is said only where it can be proven: this shape alone would not fit if nobody else were there.
    code = Code.FULL if could >= lack.own else Code.NEVER
    if lack.domain:
        return _apart(session, policy, gang, lack, nodes, refusals, enough=could >= lack.own)
    limit = _limit(session, request, np.flatnonzero(left), tightest) if lack.fit < lack.wanted and not refusals else ""
    text = _told(nodes, int(left.sum()), lack.wanted, lack.fit, refusals, limit)
    if code is Code.NEVER and could and lack.own == lack.wanted:
        text += f"; on empty nodes, {could} would fit"
    reason = Reason(code, text, lack.wanted, lack.fit, nodes, tuple(refusals))
    return replace(reason, code=Code.NEVER) if lack.too_much else reason


def _apart(
    session: Session, policy: Policy, gang: int, lack: Lack, nodes: int, refusals: list[Refusals], *, enough: bool
) -> Reason:
    """Say why tasks that must be in one domain are not placed, though there may be room enough in several."""
    row = session.snapshot.gangs.gangs[gang]
    of = next((part for part in every(row.subgroups) if part.name == lack.part), row) if lack.part else row
    wish = wish_of(session.snapshot, policy, of)
    if wish is not None and wish.problem is not None:
        return Reason(Code.NEVER, wish.problem, lack.wanted, 0, nodes)
    where, best, enough = _in_the_end(session, policy, wish, lack)
    who = "" if lack.segment is None else f" of segment {lack.segment}"
    who += f" of subgroup {lack.part}" if lack.part else ""
    text = f"{lack.wanted} needed{who} {where}: {lack.domain}"
    why = ", ".join(f"{refusal.nodes} {refusal.text}" for refusal in refusals)
    text += f" ({len(refusals) and sum(refusal.nodes for refusal in refusals)}/{nodes} nodes: {why})" if why else ""
    text += "" if enough else f"; empty, the best would hold {best}"
    code = Code.FULL if enough and not lack.too_much else Code.NEVER
    return Reason(code, text, lack.wanted, lack.fit, nodes, tuple(refusals))


def _in_the_end(session: Session, policy: Policy, wish: Wish | None, lack: Lack) -> tuple[str, int, bool]:
    """Return where it must be, how many the best domain would hold if it were empty, and whether that is enough."""
    level = EVERYWHERE if wish is None else wish.required
    if wish is not None and lack.segment is not None and wish.segment is not None:
        level = wish.segment
    cut = wish is not None and wish.segment is not None and lack.segment is None
    if wish is None or (level == EVERYWHERE and not cut):
        return "together", 0, True
    most = np.minimum(ceiling(session, policy, lack.shape), lack.own)
    where = f"in one {wish.tree.levels[level].name}" if level != EVERYWHERE else ""
    if cut and wish.segment is not None:
        lower = wish.tree.levels[wish.segment].name
        where += f"{', ' if where else ''}in segments of {wish.size} in one {lower} each"
        most = whole_pieces(wish.tree.domain_of(wish.segment), wish.tree.size(wish.segment), most, wish.size)
    if level == EVERYWHERE:
        best = int(most.sum())
    else:
        everywhere = np.ones(len(most), np.bool_)
        best = int(summed(wish.tree.domain_of(level), wish.tree.size(level), most, everywhere).max(initial=0))
    return where, best, best >= lack.own // wish.size * wish.size if cut else best >= lack.own


def _tightest_caps(
    session: Session, policy: Policy, request: Request, tightest: tuple[int, Filter] | None
) -> tuple[int, Filter] | None:
    """Return the filter that bounds the copies most, where some count per domain."""
    for plugin in policy.filters if request.count > 1 else ():
        for caps in plugin.caps(session, request) if plugin.reach != "node" else ():
            total = caps.holds(copies(session, policy, request), request.count)
            if tightest is None or total < tightest[0]:
                tightest = total, plugin
    return tightest


def _could(session: Session, policy: Policy, shape: int, count: int) -> int:
    """Return how many of so many copies would fit if nobody else were there, as far as the filters can say."""
    room = ceiling(session, policy, shape)
    total = int(np.minimum(room, count).sum())
    for plugin in policy.reaching if count > 1 else ():
        empty = getattr(plugin, "empty", None)
        every = empty(session, Request(shape, count)) if empty is not None else ()
        total = min([total, *(caps.holds(room, count) for caps in every)])
    return total


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
