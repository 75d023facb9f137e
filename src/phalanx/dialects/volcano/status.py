"""What the status of a PodGroup and of a Queue says, as Volcano's scheduler writes it."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from phalanx.dialects.dialect import Members
from phalanx.dialects.volcano.queues import OPEN
from phalanx.model.events import GroupsSeen, QueueSeen
from phalanx.model.plan import Code, Reason
from phalanx.model.quantity import written

PENDING, INQUEUE, RUNNING, UNKNOWN, COMPLETED = "Pending", "Inqueue", "Running", "Unknown", "Completed"
#: Volcano's controllers make a Job's pods from here on.
_ADMITTED = frozenset({INQUEUE, RUNNING, UNKNOWN, COMPLETED})
UNSCHEDULABLE, SCHEDULED = "Unschedulable", "Scheduled"
_MESSAGE_MAX = 32_768


def group_status(seen: GroupsSeen, members: Members, reason: Reason | None, now: float) -> dict[str, Any] | None:
    """Return what to merge into the status of a PodGroup, or None when it stands there already.

    `reason` says why something of it waits; None: nothing does, or nobody has looked yet.
    """
    old = seen.status
    fresh: dict[str, Any] = {
        "phase": _phase(seen, members, reason),
        "running": members.running, "succeeded": members.succeeded, "failed": members.failed,
    }  # fmt: skip
    # Volcano leaves zeros out.
    patch = {key: value for key, value in fresh.items() if (old.get(key) or 0) != (value or 0)}
    conditions = _conditions(seen, members, reason, now)
    if conditions is not None:
        patch["conditions"] = conditions
    return patch or None


def queue_status(seen: QueueSeen, allocated: Mapping[str, int]) -> dict[str, Any] | None:
    """Return what to merge into the status of a Queue, or None when it stands there already.

    A queue that nobody has opened or closed is open.
    """
    old = seen.status
    patch: dict[str, Any] = {} if old.get("state") else {"state": OPEN}
    amounts = {name: written(amount, name) for name, amount in sorted(allocated.items())}
    stands = old.get("allocated")
    stands = stands if isinstance(stands, Mapping) else {}
    if stands != amounts:
        # By the rules of a merge patch null takes a key away.
        patch["allocated"] = {**dict.fromkeys(stands), **amounts}
    return patch or None


def _phase(seen: GroupsSeen, members: Members, reason: Reason | None) -> str:
    minimum = seen.groups[0].minimum or 0
    if members.running and reason is not None and reason.code is not Code.HELD:
        return UNKNOWN
    scheduled = members.placed + members.succeeded + members.failed
    if scheduled and scheduled >= minimum:
        return RUNNING if members.placed else COMPLETED
    waits = seen.groups[0].hold is None and (reason is None or reason.code is not Code.HELD or members.pending)
    return INQUEUE if waits or seen.status.get("phase") in _ADMITTED else PENDING


def _conditions(seen: GroupsSeen, members: Members, reason: Reason | None, now: float) -> list[Any] | None:
    """Return the conditions with what is true now in its place; others' stay. None: nothing changes."""
    found = seen.status.get("conditions")
    stands = [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []
    fresh: dict[str, Any]
    if reason is not None:
        count = members.pending + members.placed + members.succeeded + members.failed
        text = f"{members.pending}/{count} tasks in gang unschedulable: {reason}"
        why = "NotEnoughResources" if reason.code in {Code.FULL, Code.NEVER} else "NotEnoughTasks"
        fresh = {"type": UNSCHEDULABLE, "status": "True", "reason": why, "message": text[:_MESSAGE_MAX]}
    elif members.placed or members.succeeded:
        fresh = {
            "type": SCHEDULED,
            "status": "True",
            "reason": "tasks in gang are ready to be scheduled",
            "message": "",
        }
    else:
        return None
    own = {UNSCHEDULABLE, SCHEDULED}
    before = [one for one in stands if one.get("type") in own]
    if len(before) == 1 and all((before[0].get(key) or "") == value for key, value in fresh.items()):
        return None
    fresh["lastTransitionTime"] = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return [*(one for one in stands if one.get("type") not in own), fresh]
