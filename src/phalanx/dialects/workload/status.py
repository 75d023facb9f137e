"""What a PodGroup's status says of its gang, in the condition that kube-scheduler of the same version writes."""

from datetime import UTC, datetime
from typing import Any

from phalanx.dialects.workload.groups import CONDITIONS
from phalanx.model.events import GroupsSeen
from phalanx.model.gang import Condition
from phalanx.model.plan import Code, Reason

#: Autoscalers add nodes for Unschedulable. kube-scheduler has no word for a gang that waits for something else
#: than room and leaves the condition as it was, which would go on telling a reason that is none any more.
_REASONS = {
    Code.FULL: "Unschedulable",
    Code.NEVER: "Unschedulable",
    Code.HELD: "Held",
    Code.ERROR: "SchedulerError",
}
#: The longest message that an API server takes in a condition.
_MESSAGE_MAX = 32_768


def group_condition(seen: GroupsSeen, reason: Reason | None, now: float) -> dict[str, Any] | None:
    """Return the condition to merge into `status.conditions` by its type, or None when nothing is to be written.

    `reason` says why the gang waits; None: its minimum has got its places. That is final: kube-scheduler never
    takes it back, even if pods are lost later, and others rely on it.
    """
    # A Workload with groups has no status.
    if seen.api_version not in CONDITIONS:
        return None
    had = seen.condition
    status = "True" if reason is None else "False"
    if had is not None and had.status == "True" and status == "False":
        return None
    # The time of the last change of the status, not of the last word about it.
    since = had.since if had is not None and had.status == status else ""
    fresh = Condition(
        status,
        "Scheduled" if reason is None else _REASONS[reason.code],
        "" if reason is None else reason.text[:_MESSAGE_MAX],
        since or _stamp(now),
        seen.generation,
    )
    if fresh == had:
        return None
    return {
        "type": CONDITIONS[seen.api_version],
        "status": fresh.status,
        "reason": fresh.reason,
        "message": fresh.message,
        "lastTransitionTime": fresh.since,
        "observedGeneration": fresh.generation,
    }


def group_status(seen: GroupsSeen, reason: Reason | None, now: float) -> dict[str, Any] | None:
    """Return what to merge into the status, or None when nothing is to be written."""
    condition = group_condition(seen, reason, now)
    return None if condition is None else {"conditions": [condition]}


def _stamp(now: float) -> str:
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
