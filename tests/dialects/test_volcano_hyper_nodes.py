"""Volcano's HyperNodes, to domains; and gangs in the tree that they make, with Volcano's own fixture."""

from typing import Any

import pytest

from phalanx.dialects.mistakes import NAME_ALLOWED
from phalanx.dialects.read import read
from phalanx.loop import Loop
from phalanx.model.events import DomainSeen, Refused, TaskSeen
from phalanx.model.pattern import Pattern
from phalanx.model.plan import Bind, Wait
from phalanx.model.reference import Reference
from phalanx.model.selectors import LabelSelector, Requirement
from phalanx.policy.load import load_policy
from phalanx.world.neighbourhood import neighbourhood
from phalanx.world.world import World

LEAF = "HyperNode of tier 1"
FULL = "(4/4 nodes: 4 short of cpu (most free on one node: 0 of 2))"
KIND = "HyperNode.topology.volcano.sh"
ONE_OF = "of exactMatch, regexMatch, labelMatch, allowed is exactly one"


def hyper_node(name: str, tier: Any, *members: Any, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode", "metadata": {"name": name, "uid": name},
        "spec": {"tier": tier, "members": list(members), **spec},
    }  # fmt: skip


def node(name: str) -> dict[str, Any]:
    return {"type": "Node", "selector": {"exactMatch": {"name": name}}}


def inner(name: str) -> dict[str, Any]:
    return {"type": "HyperNode", "selector": {"exactMatch": {"name": name}}}


def by(**selector: Any) -> dict[str, Any]:
    return {"type": "Node", "selector": selector}


def test_a_hyper_node_is_a_domain_of_its_tier_by_names_patterns_labels_and_smaller_ones() -> None:
    labels = {"matchLabels": {"rack": "1"}, "matchExpressions": [{"key": "gpu", "operator": "Exists"}]}
    found = hyper_node(
        "s", 2, node("n1"), by(regexMatch={"pattern": "^n-[0-9]+$"}), by(labelMatch=labels), by(labelMatch={}),
        inner("s0"), tierName="spine",
    )  # fmt: skip
    chosen = LabelSelector((Requirement("rack", "In", ("1",)), Requirement("gpu", "Exists", ())))
    assert read(found, []) == DomainSeen(
        Reference(KIND, "s"), "topology.volcano.sh/tier-2", ("n1",), "s", (Pattern("^n-[0-9]+$"), chosen),
        (("s0", "spec.members[4].selector.exactMatch.name"),), 2, "spine",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        ({"tier": "1"}, "tier", "found '1', allowed is a whole number"),
        ({"tier": -1}, "tier", "found -1, allowed is a whole number >= 0"),
        ({"members": []}, "members", "found none, allowed is at least one"),
        ({"members": [{"type": "Rack"}]}, "members[0].type", "found 'Rack', allowed is Node, HyperNode"),
        ({"members": [{"type": "Node"}]}, "members[0].selector", f"found none {ONE_OF}"),
        ({"members": [by(exactMatch={"name": "n"}, labelMatch={})]}, "members[0].selector", f"found 2 {ONE_OF}"),
        ({"members": [node("N")]}, "members[0].selector.exactMatch.name", f"found 'N', allowed is {NAME_ALLOWED}"),
        ({"members": [node("n"), by(regexMatch={"pattern": "n("})]}, "members[1].selector.regexMatch.pattern",
         "found 'n(', allowed is a regular expression that names of nodes need: a ( without its )"),
        ({"members": [by(labelMatch={"matchExpressions": [{"key": "a", "operator": "Near"}]})]},
         "members[0].selector.labelMatch.matchExpressions[0].operator",
         "found 'Near', allowed is In, NotIn, Exists, DoesNotExist"),
        ({"members": [{"type": "HyperNode", "selector": {"regexMatch": {"pattern": "s"}}}]}, "members[0].selector",
         "found no exactMatch, allowed is nothing else for a HyperNode"),
    ],
)  # fmt: skip
def test_a_mistake_names_its_field(spec: Any, field: str, message: str) -> None:
    document = hyper_node("s", 1, node("n"))
    document["spec"] |= spec
    found = read(document, [])
    assert found == Refused(KIND, "s", f"spec.{field}", message)


class Cluster:
    """Volcano's fixture: s0 has n1 and n2, s1 has n3 and n4, s2 has both; a node has room for one pod."""

    def __init__(self, *hyper_nodes: dict[str, Any], nodes: str = "n1 n2 n3 n4") -> None:
        self.world, self.policy = World(), load_policy("default")
        fixture = (
            hyper_node("s0", 1, node("n1"), node("n2")), hyper_node("s1", 1, by(regexMatch={"pattern": "^n[34]$"})),
            hyper_node("s2", 2, inner("s0"), inner("s1"), tierName="spine"),
        )  # fmt: skip
        for name in nodes.split():
            room = {"cpu": "2", "pods": "110"}
            meta = {"name": name}
            self.see({"apiVersion": "v1", "kind": "Node", "metadata": meta, "status": {"allocatable": room}})
        self.see(*(hyper_nodes or fixture))

    def see(self, *documents: dict[str, Any]) -> None:
        for document in documents:
            event = read(document, ["volcano"])
            assert event is not None
            self.world.apply(event)

    def gang(self, name: str, size: int, minimum: int, wish: Any, *placed: str) -> None:
        """Make a PodGroup and its pods, of which the first ones run on these nodes."""
        group = {
            "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
            "metadata": {"name": name, "namespace": "ns"}, "spec": {"minMember": minimum, "networkTopology": wish},
        }  # fmt: skip
        self.see(group, *(self.pod(name, at, placed[at] if at < len(placed) else None) for at in range(size)))

    @staticmethod
    def pod(of: str, at: int, on: str | None = None) -> dict[str, Any]:
        spec = {"schedulerName": "volcano", "containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}
        return {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": f"{of}-{at}", "namespace": "ns", "uid": f"{of}-{at}",
                "annotations": {"scheduling.k8s.io/group-name": of},
            },
            "spec": spec if on is None else spec | {"nodeName": on},
            "status": {"phase": "Running" if on else "Pending"},
        }  # fmt: skip

    def plan(self, now: float = 1.0) -> list[str]:
        """Decide; return who goes where, and why others wait."""
        cycle = Loop(self.world, self.policy).cycle(now)
        return [f"{step.task.partition('/')[2]} {step.node}" for step in cycle.plan.steps if isinstance(step, Bind)] + [
            f"wait {step.reason.text}" for step in cycle.plan.steps if isinstance(step, Wait)
        ]


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        ({"mode": "soft"}, ["g-0 n1", "g-1 n2", "g-2 n3"]),
        ({"mode": "hard", "highestTierAllowed": 2}, ["g-0 n1", "g-1 n2", "g-2 n3"]),
        ({"mode": "hard", "highestTierName": "spine"}, ["g-0 n1", "g-1 n2", "g-2 n3"]),
        ({"mode": "hard"}, ["g-0 n1", "g-1 n2", "g-2 n3"]),
        ({"mode": "hard", "highestTierAllowed": 9}, ["g-0 n1", "g-1 n2", "g-2 n3"]),
        ({"mode": "hard", "highestTierAllowed": 1}, [
            f"wait 3 needed in one {LEAF}: {LEAF} s0 has room for 2 of 3; empty, the best would hold 2"]),
        ({"mode": "hard", "highestTierAllowed": 0}, ["wait no domain is of tier 0 or below: the lowest tier is 1"]),
        ({"mode": "hard", "highestTierName": "leaf"}, [
            "wait no tier is called leaf: the tiers are spine, HyperNode of tier 1"]),
    ],
)  # fmt: skip
def test_a_group_is_in_one_hyper_node_up_to_the_highest_tier_that_it_allows(wish: Any, expected: list[str]) -> None:
    """Numbers of Volcano's own cases: soft binds three, hard 1 none, hard 2 three."""
    cluster = Cluster()
    cluster.gang("g", 3, 3, wish)
    assert cluster.plan() == expected


def test_as_many_as_fit_into_one_hyper_node_start_and_a_repaired_member_stays_in_it() -> None:
    cluster = Cluster()
    cluster.gang("g", 3, 2, {"mode": "hard", "highestTierAllowed": 1})
    assert cluster.plan()[:2] == ["g-0 n1", "g-1 n2"]
    cluster = Cluster()
    cluster.gang("g", 2, 2, {"mode": "hard", "highestTierAllowed": 1}, "n3")
    assert cluster.plan() == ["g-1 n4"]


def test_without_any_hyper_node_soft_groups_run_and_hard_ones_say_what_is_missing() -> None:
    cluster = Cluster(hyper_node("s0", 1, node("n1")))
    # It cannot be read any more.
    cluster.see(hyper_node("s0", 1))
    cluster.gang("soft", 2, 2, {"mode": "soft"})
    cluster.gang("hard", 2, 2, {"highestTierAllowed": 1})
    assert cluster.plan() == ["soft-0 n1", "soft-1 n2", f"wait there is no {KIND}"]


def test_a_hyper_node_that_is_edited_moves_nobody_and_the_next_plan_uses_the_new_tree() -> None:
    """What is split since then is told, and a new gang goes where the tree is now."""
    cluster = Cluster(nodes="n1 n2 n3 n4 n5")
    cluster.gang("old", 2, 2, {"mode": "hard", "highestTierAllowed": 1})
    assert cluster.plan() == ["old-0 n1", "old-1 n2"]
    cluster.see(hyper_node("s0", 1, node("n1"), node("n5")), hyper_node("s1", 1, node("n2"), node("n3"), node("n4")))
    around = neighbourhood(cluster.world, None)
    members = [cluster.world.tasks[f"old-{at}"] for at in range(2)]
    gang = cluster.world.gang_of(members[0])
    assert gang is not None
    assert around.split(gang, members) == (
        "ns/old must be in one HyperNode of tier 1, and since the topology changed is in s0, s1"
    )
    cluster.gang("new", 2, 2, {"mode": "hard", "highestTierAllowed": 1})
    assert cluster.plan(2.0) == ["new-0 n3", "new-1 n4"]


def test_hyper_nodes_that_contradict_each_other_are_named_and_everybody_else_proceeds() -> None:
    cluster = Cluster(
        hyper_node("a", 1, inner("b"), node("n1")), hyper_node("b", 1, inner("a"), node("n2")),
        hyper_node("c", 1, node("n2"), node("n3"), node("n4")), hyper_node("d", 2, inner("c"), inner("gone")),
    )  # fmt: skip
    cluster.gang("g", 2, 2, {"mode": "hard", "highestTierAllowed": 1})
    assert cluster.plan() == ["g-0 n3", "g-1 n4"]
    name = "selector.exactMatch.name"
    circle = "of tier 1, allowed is a tier below 1"
    assert neighbourhood(cluster.world, None).remarks == [
        f"{KIND} a: spec.members[0].{name}: found b {circle}: a > b > a is a circle",
        f"{KIND} b: spec.members[0].{name}: found a {circle}: b > a > b is a circle",
        f"{KIND} d: spec.members[1].{name}: there is no {KIND} gone",
        f"{KIND} c: spec.members: counted where they are already: n2 in b",
    ]


def test_partitions_of_a_job_are_each_in_one_hyper_node_and_so_many_start_as_must() -> None:
    """What Volcano's controller makes of a task of three partitions of two, of which two must start."""
    cluster = Cluster()
    policy = {
        "name": "w", "subGroupSize": 2, "minSubGroups": 2, "matchLabelKeys": ["volcano.sh/partition-id"],
        "labelSelector": {"matchLabels": {"volcano.sh/task-spec": "w"}},
        "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
    }  # fmt: skip
    cluster.see({
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": "g", "namespace": "ns"},
        "spec": {"minMember": 4, "minTaskMember": {"w": 4}, "subGroupPolicy": [policy]},
    })  # fmt: skip
    for at in range(6):
        pod = cluster.pod("g", at)
        pod["metadata"]["labels"] = {"volcano.sh/partition-id": str(at // 2), "volcano.sh/task-spec": "w"}
        pod["metadata"]["annotations"]["volcano.sh/task-spec"] = "w"
        cluster.see(pod)
    assert cluster.plan() == [
        "g-0 n1", "g-1 n2", "g-2 n3", "g-3 n4",
        f"wait 2 needed of subgroup w/2 in one {LEAF}: no {LEAF} has room for any of 2 {FULL}",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"network-topology-highest-tier": "1"}, ["d-0 n1", "d-1 n2"]),
        ({"network-topology-mode": "Soft", "network-topology-highest-tier": "1"}, ["d-0 n1", "d-1 n2", "d-2 n3"]),
        ({"network-topology-highest-tier": "0"}, []),
    ],
)
def test_pods_in_no_group_say_in_annotations_how_near_they_must_be(told: Any, expected: list[str]) -> None:
    cluster = Cluster()
    for at in range(3):
        pod = cluster.pod("d", at)
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "d", "uid": "d", "controller": True}
        pod["metadata"] |= {
            "annotations": {f"volcano.sh/{key}": value for key, value in told.items()}, "ownerReferences": [owner],
        }  # fmt: skip
        cluster.see(pod)
    assert [line for line in cluster.plan() if not line.startswith("wait")] == expected


@pytest.mark.parametrize(("key", "value"), [("mode", "near"), ("highest-tier", "one")])
def test_a_wrong_annotation_of_a_pod_names_itself(key: str, value: str) -> None:
    pod = Cluster.pod("d", 0)
    pod["metadata"]["annotations"] = {f"volcano.sh/network-topology-{key}": value}
    pod["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": "d", "uid": "d", "controller": True}]
    found = read(pod, ["volcano"])
    assert isinstance(found, Refused)
    assert found.field == f"metadata.annotations[volcano.sh/network-topology-{key}]"


def test_pods_are_tasks_here() -> None:
    """Guards the fixture: a pod that could not be read would make every plan above empty."""
    assert isinstance(read(Cluster.pod("g", 0), ["volcano"]), TaskSeen)
