"""Kubernetes 1.37's CompositePodGroup: groups of groups are one gang, with a minimum of groups on each level."""

import json
from pathlib import Path
from typing import Any

import pytest

from phalanx.cli.main import main
from phalanx.dialects.read import read
from phalanx.loop import Loop
from phalanx.model.events import GroupsGone, GroupsSeen, Refused
from phalanx.model.gang import Group
from phalanx.model.plan import Bind, Wait
from phalanx.model.reference import Reference
from phalanx.policy.load import load_policy
from phalanx.world.world import World

API = "scheduling.k8s.io/v1alpha3"
RACK = "topology.kubernetes.io/rack"
COMPOSITE = "CompositePodGroup"
FULL = "(4/4 nodes: 4 short of nvidia.com/gpu (most free on one node: 0 of 1))"
ONE_OF = "found neither, allowed is exactly one of basic, gang"


def composite(name: str, groups: int | None = 1, parent: str | None = None, **spec: Any) -> dict[str, Any]:
    policy = {"basic": {}} if groups is None else {"gang": {"minGroupCount": groups}}
    above = {"parentCompositePodGroupName": parent} if parent else {}
    return {
        "apiVersion": API, "kind": COMPOSITE, "metadata": {"name": name, "namespace": "ml", "uid": name},
        "spec": {"schedulingPolicy": policy, **above, **spec},
    }  # fmt: skip


def group(name: str, minimum: int, parent: str | None, rack: bool = False) -> dict[str, Any]:
    above = {"parentCompositePodGroupName": parent} if parent else {}
    near = {"schedulingConstraints": {"topology": [{"key": RACK}]}} if rack else {}
    return {
        "apiVersion": API, "kind": "PodGroup", "metadata": {"name": name, "namespace": "ml", "uid": name},
        "spec": {"schedulingPolicy": {"gang": {"minCount": minimum}}, "priority": 0, **above, **near},
    }  # fmt: skip


def node(name: str, rack: str, gpus: int = 1) -> dict[str, Any]:
    room = {"cpu": "9", "pods": "99", "nvidia.com/gpu": str(gpus)}
    meta = {"name": name, "labels": {RACK: rack}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "status": {"allocatable": room}}


def pods(of: str, count: int) -> list[dict[str, Any]]:
    return [
        {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": f"{of}-{at}", "namespace": "ml", "uid": f"{of}-{at}"},
            "spec": {
                "schedulerName": "phalanx", "priority": 0, "schedulingGroup": {"podGroupName": of},
                "containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "1"}}}],
            },
        }
        for at in range(count)
    ]  # fmt: skip


class Cluster:
    def __init__(self, *documents: Any) -> None:
        self.world, self.policy = World(), load_policy("default")
        self.see(*documents)

    def see(self, *documents: Any) -> None:
        for one in documents:
            for document in one if isinstance(one, list) else [one]:
                event = read(document, ["phalanx"])
                assert event is not None
                self.world.apply(event)

    def plan(self, now: float = 1.0) -> list[str]:
        steps = Loop(self.world, self.policy).cycle(now).plan.steps
        bound = [f"{step.task.partition('/')[2]} {step.node}" for step in steps if isinstance(step, Bind)]
        return bound + [f"{step.gang}: {step.reason.text}" for step in steps if isinstance(step, Wait)]


NODES = [node(f"{rack}{at}", rack) for rack in "ab" for at in (1, 2)]
REPLICAS = [group(name, 2, "serve", rack=True) for name in ("r0", "r1", "r2")]


def test_so_many_groups_start_each_in_its_own_rack_and_the_others_follow_whole() -> None:
    cluster = Cluster(NODES, composite("serve", 2), REPLICAS, pods("r0", 2), pods("r1", 2), pods("r2", 2))
    assert cluster.plan() == [
        "r0-0 a1", "r0-1 a2", "r1-0 b1", "r1-1 b2",
        f"ml/serve: 2 needed of subgroup r2 in one rack: no rack has room for any of 2 {FULL}",
    ]  # fmt: skip
    cluster.see(node("c1", "c"), node("c2", "c"))
    assert cluster.plan(2.0) == ["r2-0 c1", "r2-1 c2"]


def test_fewer_groups_than_must_start_do_not_start() -> None:
    cluster = Cluster(NODES, composite("serve", 3), REPLICAS, pods("r0", 2), pods("r1", 2), pods("r2", 2))
    assert [line.partition(":")[0] for line in cluster.plan()] == ["ml/serve"]
    assert Cluster(NODES, composite("serve", 2), REPLICAS, pods("r0", 2)).plan() == [
        "ml/serve: 1 of 2 groups are there: 0 of 2 members of subgroup r1 are there"
    ]


def test_groups_of_groups_of_groups_have_constraints_on_each_level() -> None:
    """Two cells, of which one must start; in it a leader and both workers, in one rack."""
    near = {"schedulingConstraints": {"topology": [{"key": RACK}]}}
    cells = [composite(cell, 2, "top", **near) for cell in ("x", "y")]
    inside = [group(f"{cell}-{part}", size, cell) for cell in ("x", "y") for part, size in (("l", 1), ("w", 2))]
    members = [*pods("x-l", 1), *pods("x-w", 2), *pods("y-l", 1), *pods("y-w", 2)]
    cluster = Cluster(node("a1", "a", 2), node("b1", "b", 3), composite("top", 1), cells, inside, members)
    assert cluster.plan()[:3] == ["x-l-0 b1", "x-w-0 b1", "x-w-1 b1"]
    assert cluster.world.gang_of(cluster.world.tasks["y-l-0"]) == cluster.world.gang_of(cluster.world.tasks["x-l-0"])


def test_whatever_order_objects_come_in_the_gangs_are_the_same() -> None:
    documents = [*NODES, composite("serve", 2), *REPLICAS, *pods("r0", 2), *pods("r1", 2)]
    first, second = Cluster(*documents), Cluster()
    for document in reversed(documents):
        second.see(document)
        second.world.compile(0.0)
    assert first.plan() == second.plan() == ["r0-0 a1", "r0-1 a2", "r1-0 b1", "r1-1 b2"]


def test_a_group_without_its_composite_one_waits_and_says_what_is_missing_and_starts_when_it_is_there() -> None:
    cluster = Cluster(NODES, group("r0", 2, "serve"), pods("r0", 2))
    said = "PodGroup ml/r0: spec.parentCompositePodGroupName: there is no CompositePodGroup ml/serve"
    assert cluster.plan() == [f"ml/serve: {said}"]
    cluster.see(composite("serve", 1))
    assert cluster.plan(2.0) == ["r0-0 a1", "r0-1 a2"]


def test_a_group_that_is_no_longer_part_of_another_is_a_gang_of_its_own() -> None:
    cluster = Cluster(NODES, composite("serve", 2), group("r0", 2, "serve"), pods("r0", 2))
    assert cluster.plan() == ["ml/serve: 1 of 2 groups are there: there are no more"]
    cluster.see(group("r0", 2, None))
    assert cluster.plan(2.0) == ["r0-0 a1", "r0-1 a2"]


def test_a_composite_group_that_goes_or_is_part_of_itself_holds_its_pods_and_nobody_else() -> None:
    other = group("other", 1, None)
    cluster = Cluster(NODES, composite("serve", 1), group("r0", 2, "serve"), pods("r0", 2), other, pods("other", 1))
    cluster.world.apply(GroupsGone(Reference(COMPOSITE, "ml/serve")))
    assert cluster.plan()[0] == "other-0 a1"
    cluster = Cluster(NODES, composite("a", 1, "b"), composite("b", 1, "a"), group("r0", 2, "a"), pods("r0", 2))
    said = f"{COMPOSITE} ml/a: spec.parentCompositePodGroupName: it is part of itself"
    assert cluster.plan() == [f"ml/a: {said}"]


def test_the_example_starts_two_replicas_each_in_its_rack(capsys: pytest.CaptureFixture[str]) -> None:
    """No rack has room for the third one."""
    example = Path(__file__).parents[2] / "examples" / "workload-api" / "composite"
    assert main(["plan", "-f", str(example), "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    steps = found["cycles"][0]["steps"]
    where = {step["pod"].partition("/")[2][:9]: step["node"] for step in steps if step["step"] == "bind"}
    assert where == {"replica-0": "a1", "replica-1": "b1"}
    assert [(step["gang"], step["missing"]) for step in steps if step["step"] == "wait"] == [("ml/serving", 3)]
    assert found["refused"] == []


def test_a_composite_group_is_read_with_its_policy_its_constraint_and_its_parent() -> None:
    near = {"schedulingConstraints": {"topology": [{"key": RACK}]}, "priority": 7, "disruptionMode": {"all": {}}}
    expected = Group(
        "cell", 1, priority=7, disrupted_singly=False, topology_required=RACK, groups=2, all_in_leaves=False,
        composite=True, parent=Reference(COMPOSITE, "ml/top"),
    )  # fmt: skip
    found = read(composite("cell", 2, "top", **near), [])
    assert found == GroupsSeen(Reference(COMPOSITE, "ml/cell"), (expected,), API, "cell")
    basic = read(composite("cell", None), [])
    assert isinstance(basic, GroupsSeen)
    assert basic.groups[0].groups == 0


@pytest.mark.parametrize(
    ("document", "field", "message"),
    [
        (composite("c", 0), "spec.schedulingPolicy.gang.minGroupCount",
         "found 0, allowed is a whole number from 1 to 2147483647"),
        (composite("c", schedulingPolicy={}), "spec.schedulingPolicy", ONE_OF),
        (composite("c", disruptionMode={"some": {}}), "spec.disruptionMode",
         "found 'some', allowed is exactly one of single, all"),
    ],
)  # fmt: skip
def test_a_mistake_names_its_field(document: dict[str, Any], field: str, message: str) -> None:
    assert read(document, []) == Refused(COMPOSITE, "ml/c", field, message)
