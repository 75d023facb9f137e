"""What a real API server makes of the examples, and what it takes as the status of a group."""

import json
from pathlib import Path

import pytest
import yaml

from phalanx.dialects.read import read
from phalanx.dialects.workload.status import group_condition
from phalanx.kube.local import ControlPlane
from phalanx.model.events import GroupsSeen
from phalanx.model.gang import Condition
from phalanx.model.plan import Code, Reason
from phalanx.model.reference import Reference

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples" / "workload-api"
NOW = 1_793_534_400.0


def groups(objects: list[object]) -> dict[Reference, GroupsSeen]:
    """Return the objects that describe groups, by owner."""
    events = [read(one, []) for one in objects if isinstance(one, dict)]
    return {event.owner: event for event in events if isinstance(event, GroupsSeen)}


def served(plane: ControlPlane) -> dict[Reference, GroupsSeen]:
    kinds = "workloads" if plane.version == "1.35" else "workloads,podgroups"
    return groups(json.loads(plane.kubectl("get", kinds, "-n", "ml", "-o", "json"))["items"])


@pytest.fixture
def applied(control_plane: ControlPlane) -> ControlPlane:
    """A server that has the groups of the example of its own release."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml"}}
    control_plane.kubectl("apply", "-f", "-", stdin=json.dumps(namespace))
    control_plane.kubectl("apply", "-f", str(_file(control_plane)))
    return control_plane


def _file(plane: ControlPlane) -> Path:
    return EXAMPLES / plane.version / ("workload.yaml" if plane.version == "1.35" else "groups.yaml")


def test_the_example_of_a_release_means_on_its_server_what_it_means_on_disk(applied: ControlPlane) -> None:
    written = groups(list(yaml.safe_load_all(_file(applied).read_text())))
    found = served(applied)
    assert sorted(found) == sorted(written)
    for owner, seen in written.items():
        assert found[owner].api_version == seen.api_version
        for mine, theirs in zip(seen.groups, found[owner].groups, strict=True):
            assert (theirs.name, theirs.minimum, theirs.hold) == (mine.name, mine.minimum, mine.hold)
            assert theirs.disrupted_singly is mine.disrupted_singly


def test_every_word_of_a_groups_status_is_taken_and_the_last_one_holds(applied: ControlPlane) -> None:
    if applied.version == "1.35":
        assert group_condition(served(applied)[Reference("Workload", "ml/train")], None, NOW) is None
        return
    told: list[Reason | None] = [Reason(code, f"{code.value}: why") for code in Code]
    for reason in (*told, None):
        seen = served(applied)[Reference("PodGroup", "ml/train-0")]
        condition = group_condition(seen, reason, NOW)
        assert condition is not None
        body = json.dumps({"metadata": {"uid": seen.uid}, "status": {"conditions": [condition]}})
        where = ("patch", "podgroup", "train-0", "-n", "ml", "--subresource=status", "--type=strategic")
        applied.kubectl(*where, "-p", body)
    final = served(applied)[Reference("PodGroup", "ml/train-0")]
    assert final.condition == Condition("True", "Scheduled", "", "2026-11-01T12:00:00Z", final.generation)
    assert group_condition(final, told[0], NOW) is None
