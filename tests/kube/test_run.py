"""`phalanx run` on a real API server, with exactly the rights that `phalanx install --print` grants."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from phalanx.kube.local.control_plane import ControlPlane
from phalanx.kube.local.nodes import node_manifest
from phalanx.kube.local.versions import wanted
from phalanx.kube.playground import without_job_groups
from phalanx.testing.objects import create_all, delete_all, gang_manifests, list_all, pod_manifest
from phalanx.testing.running import Scheduler, condition, eventually, places, schedulers

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


@pytest.fixture
def plane(fresh_control_plane: Callable[..., ControlPlane]) -> ControlPlane:
    return fresh_control_plane(controller_manager=True)


@pytest.fixture
def start(plane: ControlPlane, tmp_path: Path) -> Iterator[Callable[..., Scheduler]]:
    with schedulers(plane, tmp_path) as run:
        yield run


def test_the_packing_story_end_to_end(fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path) -> None:
    """Three on one node; scaled to five, the fourth fills that node and one goes to the other."""
    # Were this alpha gate on, the Job controller would put the pods into a group of Kubernetes' own as well.
    plane = fresh_control_plane(flags=without_job_groups(wanted()))
    with schedulers(plane, tmp_path) as start:
        scheduler = start()
        plane.kubectl("apply", "-f", str(EXAMPLES / "packing" / "three"))
        first = eventually("three are bound", lambda: len(found := places(plane)) == 3 and found, scheduler.log)
        assert set(first.values()) == {"node-a"}
        plane.kubectl("patch", "job", "render", "-p", json.dumps({"spec": {"parallelism": 5, "completions": 5}}))
        second = eventually("five are bound", lambda: len(found := places(plane)) == 5 and found, scheduler.log)
        assert sorted(second.values()) == ["node-a"] * 4 + ["node-b"]
        assert scheduler.stop() == 0


def test_a_gang_too_large_waits_whole_and_tells_a_person_why_until_there_is_room(
    plane: ControlPlane, start: Callable[..., Scheduler]
) -> None:
    create_all(plane.kubeconfig, [node_manifest("n1", gpus=2), *gang_manifests("big", 4)])
    scheduler = start()
    told = eventually("a condition", lambda: condition(plane, "big-3").get("reason") and condition(plane, "big-3"))
    assert told["reason"] == "Unschedulable"
    assert "4 needed together, 2 fit" in told["message"]

    def events() -> list[str]:
        """What each pod is told."""
        found = list_all(plane.kubeconfig, "/apis/events.k8s.io/v1/namespaces/default/events")
        return [event["note"] for event in found if event["reason"] == "FailedScheduling"]

    assert all(
        "4 needed together, 2 fit" in note for note in eventually("events", lambda: len(events()) == 4 and events())
    )
    assert places(plane) == {}
    create_all(plane.kubeconfig, [node_manifest("n2", gpus=2)])
    found = eventually("the gang is bound", lambda: len(now := places(plane)) == 4 and now, scheduler.log)
    assert sorted(found.values()) == ["n1", "n1", "n2", "n2"]


def test_a_resource_nobody_had_before_appears_on_a_node(plane: ControlPlane, start: Callable[..., Scheduler]) -> None:
    create_all(plane.kubeconfig, [node_manifest("n1", gpus=0), pod_manifest("p", requests={"example.com/dongle": "1"})])
    scheduler = start()
    eventually("it waits", lambda: condition(plane, "p").get("reason") == "Unschedulable", scheduler.log)
    more = {"status": {"capacity": {"example.com/dongle": "4"}, "allocatable": {"example.com/dongle": "4"}}}
    plane.kubectl("patch", "node", "n1", "--subresource=status", "--type=merge", "-p", json.dumps(more))
    assert eventually("it is bound", lambda: places(plane), scheduler.log) == {"p": "n1"}


def test_slices_of_gpus_are_given_out_by_their_own_names_and_the_next_waits_for_one(
    plane: ControlPlane, start: Callable[..., Scheduler]
) -> None:
    small, large = "nvidia.com/mig-1g.10gb", "nvidia.com/mig-2g.20gb"
    node = node_manifest("n1", gpus=0)
    for amounts in (node["status"]["capacity"], node["status"]["allocatable"]):
        amounts |= {small: "3", large: "1"}
    fitting = [*(pod_manifest(f"s{number}", requests={small: "1"}) for number in range(3))]
    create_all(plane.kubeconfig, [node, *fitting, pod_manifest("m", requests={large: "1"})])
    scheduler = start()
    there = dict.fromkeys(["m", "s0", "s1", "s2"], "n1")
    eventually("four have a slice each", lambda: places(plane) == there, scheduler.log)
    create_all(plane.kubeconfig, [pod_manifest("s3", requests={small: "1"})])
    told = eventually("the fourth small one is told why", lambda: condition(plane, "s3"), scheduler.log)
    assert told["message"] == f"0/1 nodes: 1 short of {small} (most free on one node: 0 of 3)"
    delete_all(plane.kubeconfig, fitting[:1])
    there = dict.fromkeys(["m", "s1", "s2", "s3"], "n1")
    eventually("it has the slice of one that is gone", lambda: places(plane) == there, scheduler.log)


def test_held_is_not_unschedulable_so_that_autoscalers_leave_it_alone(
    plane: ControlPlane, start: Callable[..., Scheduler]
) -> None:
    create_all(plane.kubeconfig, [node_manifest("n1"), *gang_manifests("g", 4)[:3]])
    start()
    told = eventually("a condition", lambda: condition(plane, "g-0").get("reason") and condition(plane, "g-0"))
    assert (told["reason"], told["message"]) == ("Held", "3 of 4 members are there")


def test_a_slip_in_a_key_is_named_on_the_pods_that_it_holds_with_the_right_key(
    plane: ControlPlane, start: Callable[..., Scheduler]
) -> None:
    """Without any admission policy."""
    pods = gang_manifests("g", 2)
    for pod in pods:
        keys = pod["metadata"]["annotations"]
        keys["phalanx.dev/minimun"] = keys.pop("phalanx.dev/minimum")
    create_all(plane.kubeconfig, [node_manifest("n1"), *pods])
    scheduler = start()
    said = (
        "metadata.annotations[phalanx.dev/minimun]: unknown key phalanx.dev/minimun, did you mean phalanx.dev/minimum"
    )
    names = ("g-0", "g-1")

    def all_told() -> bool:
        return all(condition(plane, name).get("message", "").startswith(said) for name in names)

    eventually("their conditions say so", all_told, scheduler.log)
    eventually("so do events", lambda: all(said in plane.kubectl("describe", "pod", name) for name in names))


def test_an_idle_cluster_sees_no_write(plane: ControlPlane, start: Callable[..., Scheduler]) -> None:
    # One after the other: were the gang the older one, it would be told that one fits, and later that none does.
    for objects in ([node_manifest("n1", gpus=1), pod_manifest("a")], gang_manifests("big", 2)):
        create_all(plane.kubeconfig, objects)
    scheduler = start("--no-leader-election")
    eventually("all is said", lambda: places(plane) and condition(plane, "big-1").get("reason"), scheduler.log)
    time.sleep(3)

    def versions() -> list[str]:
        pods = list_all(plane.kubeconfig, "/api/v1/namespaces/default/pods")
        return [item["metadata"]["resourceVersion"] for item in (*pods, *events())]

    def events() -> list[dict[str, Any]]:
        return list_all(plane.kubeconfig, "/apis/events.k8s.io/v1/namespaces/default/events")

    before, told = versions(), len(events())
    time.sleep(4)
    assert versions() == before
    scheduler.stop()
    start("--no-leader-election")
    time.sleep(4)
    # It does not know when the last one told why they wait; its turn to tell it again may be just now.
    assert (versions()[:3], len(events())) == (before[:3], told)


def test_it_stops_in_good_order_and_gives_the_lease_back(plane: ControlPlane, start: Callable[..., Scheduler]) -> None:
    create_all(plane.kubeconfig, [node_manifest("n1")])
    one = start()

    def holder() -> str:
        leases = list_all(plane.kubeconfig, "/apis/coordination.k8s.io/v1/namespaces/phalanx-system/leases")
        return "".join(lease["spec"].get("holderIdentity") or "" for lease in leases)

    eventually("somebody leads", holder, one.log)
    assert one.stop() == 0
    assert holder() == ""


def test_a_policy_in_a_config_map_is_reloaded_and_a_bad_one_changes_nothing(
    plane: ControlPlane, start: Callable[..., Scheduler]
) -> None:
    def config(text: str) -> None:
        about = {"name": "phalanx-policy", "namespace": "phalanx-system"}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": about, "data": {"policy.yaml": text}}
        plane.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(body))

    config("extends: default\n")
    scheduler = start("--policy-config-map", "phalanx-system/phalanx-policy")
    eventually("it runs", lambda: "leading" in scheduler.log.read_text(), scheduler.log)
    config("extends: defalt\n")
    eventually("the mistake is told", lambda: "did you mean default" in scheduler.log.read_text(), scheduler.log)
    eventually(
        "an event on the ConfigMap",
        lambda: [
            event for event in list_all(plane.kubeconfig, "/apis/events.k8s.io/v1/namespaces/phalanx-system/events")
            if event["reason"] == "PolicyRefused"
        ],
        scheduler.log,
    )  # fmt: skip
    create_all(plane.kubeconfig, [node_manifest("n1"), pod_manifest("a")])
    assert eventually("the old policy still decides", lambda: places(plane), scheduler.log) == {"a": "n1"}
    config("extends: default\nschedulerNames: [phalanx, other]\n")
    eventually("the new one is in force", lambda: "policy name=" in scheduler.log.read_text(), scheduler.log)
    create_all(plane.kubeconfig, [pod_manifest("b", scheduler="other")])
    eventually("the other name is served", lambda: "b" in places(plane), scheduler.log)


def test_a_pod_deleted_while_it_waits_leaves_nothing_behind(
    plane: ControlPlane, start: Callable[..., Scheduler]
) -> None:
    create_all(plane.kubeconfig, [node_manifest("n1", gpus=1), *gang_manifests("g", 2)])
    scheduler = start()
    eventually("it waits", lambda: condition(plane, "g-0").get("reason"), scheduler.log)
    delete_all(plane.kubeconfig, gang_manifests("g", 2))
    create_all(plane.kubeconfig, [pod_manifest("late")])
    assert eventually("the next one is bound", lambda: places(plane), scheduler.log) == {"late": "n1"}


def test_without_a_cluster_it_says_so_in_one_line(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "phalanx", "run", "--kubeconfig", str(tmp_path / "none")],
        capture_output=True, text=True, check=False, env={**os.environ, "KUBECONFIG": ""},
    )  # fmt: skip
    assert result.returncode == 2
    assert len(result.stderr.strip().splitlines()) == 1
