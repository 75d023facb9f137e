"""The condition of a PodGroup: what kube-scheduler of its version would write, with our reason as the message."""

from typing import Any

import pytest

from phalanx.dialects.workload.status import group_condition
from phalanx.model.events import GroupsSeen
from phalanx.model.gang import Condition
from phalanx.model.plan import Code, Reason
from phalanx.model.reference import Reference

NOW = 1_793_534_400.0
NOON = "2026-11-01T12:00:00Z"
EARLIER = "2026-11-01T11:00:00Z"
FULL = Reason(Code.FULL, "4 needed together, 3 fit")


def group(version: str = "v1beta1", condition: Condition | None = None, generation: int = 3) -> GroupsSeen:
    return GroupsSeen(Reference("PodGroup", "ml/train"), (), f"scheduling.k8s.io/{version}", "u", generation, condition)


def written(status: str, reason: str, message: str, since: str = NOON, generation: int = 3) -> dict[str, Any]:
    return {
        "type": "PodGroupInitiallyScheduled", "status": status, "reason": reason, "message": message,
        "lastTransitionTime": since, "observedGeneration": generation,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("version", "type_"),
    [
        ("v1alpha2", "PodGroupScheduled"),
        ("v1alpha3", "PodGroupInitiallyScheduled"),
        ("v1beta1", "PodGroupInitiallyScheduled"),
    ],
)
def test_each_version_has_its_own_condition(version: str, type_: str) -> None:
    expected = {**written("False", "Unschedulable", "4 needed together, 3 fit"), "type": type_}
    assert group_condition(group(version), FULL, NOW) == expected
    assert group_condition(group(version), None, NOW) == {**written("True", "Scheduled", ""), "type": type_}


def test_a_workload_has_no_status() -> None:
    workload = GroupsSeen(Reference("Workload", "ml/train"), (), "scheduling.k8s.io/v1alpha1")
    assert group_condition(workload, FULL, NOW) is None
    assert group_condition(workload, None, NOW) is None


@pytest.mark.parametrize(
    ("code", "word"),
    [
        (Code.FULL, "Unschedulable"),
        (Code.NEVER, "Unschedulable"),
        (Code.HELD, "Held"),
        (Code.ERROR, "SchedulerError"),
    ],
)
def test_only_what_more_nodes_could_help_is_called_unschedulable(code: Code, word: str) -> None:
    assert group_condition(group(), Reason(code, "why"), NOW) == written("False", word, "why")


def test_what_is_true_is_never_taken_back() -> None:
    done = Condition("True", "Scheduled", "", EARLIER, 3)
    assert group_condition(group(condition=done), FULL, NOW) is None
    assert group_condition(group(condition=done, generation=4), FULL, NOW) is None


def test_what_the_object_says_already_is_not_written_again() -> None:
    for reason, said in (
        (FULL, Condition("False", "Unschedulable", FULL.text, EARLIER, 3)),
        (None, Condition("True", "Scheduled", "", EARLIER, 3)),
    ):
        assert group_condition(group(condition=said), reason, NOW) is None


def test_another_reason_keeps_the_time_of_the_last_change() -> None:
    said = group(condition=Condition("False", "Held", "3 of 4 members are there", EARLIER, 2))
    assert group_condition(said, FULL, NOW) == written("False", "Unschedulable", FULL.text, since=EARLIER)


def test_a_group_that_starts_after_it_waited_changes_now() -> None:
    said = group(condition=Condition("False", "Unschedulable", FULL.text, EARLIER, 3))
    assert group_condition(said, None, NOW) == written("True", "Scheduled", "")


def test_a_message_is_no_longer_than_the_server_takes() -> None:
    found = group_condition(group(), Reason(Code.HELD, "x" * 100_000), NOW)
    assert found is not None
    assert len(found["message"]) == 32_768
