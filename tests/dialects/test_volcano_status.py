"""The status of Volcano's PodGroups and Queues: phases, counts and conditions as its users look for them."""

from typing import Any

import pytest

from phalanx.dialects.dialect import Members
from phalanx.dialects.volcano.status import group_status, queue_status
from phalanx.model.events import GroupsSeen, QueueSeen
from phalanx.model.gang import Group
from phalanx.model.plan import Code, Reason
from phalanx.model.queue import Queue
from phalanx.model.reference import Reference

NOW = 1_793_534_400.0
STAMP = "2026-11-01T12:00:00Z"
FULL = Reason(Code.FULL, "3 of 4 fit")
SHUT = Reason(Code.HELD, "Queue shut is closed")


def seen(minimum: int | None = 4, hold: str | None = None, **status: Any) -> GroupsSeen:
    return GroupsSeen(Reference("PodGroup.x", "ml/train"), (Group("train", minimum, hold=hold),), status=status)


def phase(group: GroupsSeen, members: Members, reason: Reason | None = None) -> str | None:
    patch = group_status(group, members, reason, NOW) or {}
    found = patch.get("phase", group.status.get("phase"))
    assert found is None or isinstance(found, str)
    return found


@pytest.mark.parametrize(
    ("minimum", "stands", "members", "reason", "expected"),
    [
        # Nobody has made its pods: they may be made now, and then they are seen.
        (4, "Pending", Members(), None, "Inqueue"),
        (4, None, Members(), None, "Inqueue"),
        (None, "Pending", Members(), None, "Inqueue"),
        (4, "Pending", Members(), SHUT, "Pending"),
        (4, "Inqueue", Members(), SHUT, "Inqueue"),
        (4, "Inqueue", Members(pending=4), FULL, "Inqueue"),
        (4, "Inqueue", Members(pending=1, placed=3), None, "Inqueue"),
        (4, "Inqueue", Members(placed=4), None, "Running"),
        (4, "Running", Members(placed=4, running=4), None, "Running"),
        (4, "Running", Members(pending=1, placed=3, running=3), FULL, "Unknown"),
        (4, "Running", Members(placed=1, running=1, succeeded=3), None, "Running"),
        (4, "Running", Members(succeeded=3, failed=1), None, "Completed"),
        (4, "Running", Members(succeeded=3, pending=1), None, "Inqueue"),
    ],
)
def test_a_phase_follows_from_the_pods(
    minimum: int | None, stands: str | None, members: Members, reason: Reason | None, expected: str
) -> None:
    assert phase(seen(minimum, **({"phase": stands} if stands else {})), members, reason) == expected


def test_a_group_that_is_held_for_a_field_keeps_waiting() -> None:
    assert phase(seen(hold="spec.networkTopology: not honoured by this version"), Members()) == "Pending"


def test_who_waits_says_why_and_nothing_is_written_twice() -> None:
    group = seen(phase="Inqueue")
    patch = group_status(group, Members(pending=4), FULL, NOW)
    condition = {
        "type": "Unschedulable", "status": "True", "reason": "NotEnoughResources",
        "message": "4/4 tasks in gang unschedulable: 3 of 4 fit", "lastTransitionTime": STAMP,
    }  # fmt: skip
    assert patch == {"conditions": [condition]}
    written = seen(phase="Inqueue", conditions=[{**condition, "transitionID": "x"}])
    assert group_status(written, Members(pending=4), FULL, NOW + 60) is None


def test_who_got_its_places_says_so_and_not_any_more_why_it_waited() -> None:
    old = {"type": "Unschedulable", "status": "True", "reason": "NotEnoughResources", "message": "x"}
    other = {"type": "Other", "status": "True"}
    group = seen(phase="Inqueue", conditions=[old, other])
    assert group_status(group, Members(placed=4, running=3), None, NOW) == {
        "phase": "Running", "running": 3,
        "conditions": [
            other,
            {"type": "Scheduled", "status": "True", "reason": "tasks in gang are ready to be scheduled", "message": "",
             "lastTransitionTime": STAMP},
        ],
    }  # fmt: skip


def test_a_queue_is_opened_once_and_tells_what_its_work_has() -> None:
    fresh = QueueSeen(Queue("q"))
    assert queue_status(fresh, {"cpu": 1500, "nvidia.com/gpu": 2000}) == {
        "state": "Open", "allocated": {"cpu": "1500m", "nvidia.com/gpu": "2"},
    }  # fmt: skip
    shut = QueueSeen(Queue("q"), status={"state": "Closed", "allocated": {"cpu": "1", "memory": "1Gi"}})
    assert queue_status(shut, {"cpu": 2000}) == {"allocated": {"cpu": "2", "memory": None}}
    same = QueueSeen(Queue("q"), status={"state": "Open", "allocated": {"cpu": "2"}})
    assert queue_status(same, {"cpu": 2000}) is None
