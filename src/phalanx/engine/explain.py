"""Explain: why tasks found no place, as data: which filter removed how many nodes, what is short, what would fit."""

import numpy as np

from phalanx.engine.plugin import UNLIMITED, Filter
from phalanx.engine.policy import Policy
from phalanx.engine.session import Session
from phalanx.model.axis import Int
from phalanx.model.plan import Code, Reason, Refusals

_UNTOLD = Reason(Code.FULL, "there is no room")


def explain(session: Session, policy: Policy, shape: int, wanted: int, fit: int, own: int | None = None) -> Reason:
    """Say why not all wanted tasks fit, of which `own` are of this shape (absent: all of them).

    Each node is counted under the first filter that leaves it no room.
    """
    if session.curt:
        return _UNTOLD
    key = ("why", shape, wanted, fit, own)
    return session.once(key, lambda: _explain(session, policy, shape, wanted, fit, wanted if own is None else own))


def _explain(session: Session, policy: Policy, shape: int, wanted: int, fit: int, own: int) -> Reason:
    nodes = len(session.snapshot.nodes)
    left = np.ones(nodes, np.bool_)
    refusals: list[Refusals] = []
    tightest: tuple[int, Filter] | None = None
    for plugin in policy.filters:
        free = plugin.room(session, shape)
        refused = np.flatnonzero(left & (free <= 0))
        left[refused] = False
        if len(refused):
            counted = plugin.refusals(session, shape, refused)
            refusals += [Refusals(plugin.name, count, text) for count, text in counted]
        total = int(np.minimum(free, own).sum())
        tightest = min(tightest or (total, plugin), (total, plugin), key=lambda pair: pair[0])
    could = int(np.minimum(ceiling(session, policy, shape), own).sum())
    # Never is said only where it can be proven: this shape alone would not fit if nobody else were there.
    code = Code.FULL if could >= own else Code.NEVER
    limit = _limit(session, shape, np.flatnonzero(left), tightest) if fit < wanted and not refusals else ""
    text = _told(nodes, int(left.sum()), wanted, fit, refusals, limit)
    if code is Code.NEVER and could and own == wanted:
        text += f"; with nobody else there, {could} would fit"
    return Reason(code, text, wanted, fit, nodes, tuple(refusals))


def ceiling(session: Session, policy: Policy, shape: int) -> Int:
    """Return how many copies each node would take if nobody else were there, as far as the filters can say."""

    def answer() -> Int:
        least = np.full(len(session.snapshot.nodes), UNLIMITED, np.int64)
        for plugin in policy.filters:
            most = getattr(plugin, "ceiling", None)
            if plugin.static or most is not None:
                least = np.minimum(least, plugin.room(session, shape) if most is None else most(session, shape))
        return least

    return session.once(("ceiling", shape), answer, static=True)


def _limit(session: Session, shape: int, roomy: Int, tightest: tuple[int, Filter] | None) -> str:
    """Name what bounds the number of copies where every node takes some, if the filter can say."""
    limits = getattr(tightest[1], "limits", None) if tightest else None
    return limits(session, shape, roomy) if limits is not None and len(roomy) else ""


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
