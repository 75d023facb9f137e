"""Topology on a real API server: racks and zones as labels of pretend nodes, a scheduler that is killed in between."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from phalanx.kube.local.control_plane import ControlPlane
from phalanx.kube.local.nodes import node_manifest
from phalanx.testing.objects import Manifest, create_all, delete_all, list_all, pod_manifest
from phalanx.testing.running import Scheduler, condition, eventually, places, schedulers

pytestmark = pytest.mark.slow

KEY = "phalanx.dev/topology-required"
RACK = {KEY: "rack"}
OF_PART = "phalanx.dev/subgroup-topology-required"


@pytest.fixture
def plane(fresh_control_plane: Callable[..., ControlPlane]) -> ControlPlane:
    """Two zones of two racks of three nodes, two GPUs each."""
    plane = fresh_control_plane()
    racks = [(zone, rack) for zone in "ab" for rack in "xy"]
    create_all(
        plane.kubeconfig,
        [node_manifest(f"{zone}{rack}{at}", gpus=2, zone=zone, rack=rack) for zone, rack in racks for at in range(3)],
    )
    return plane


@pytest.fixture
def start(plane: ControlPlane, tmp_path: Path) -> Iterator[Callable[..., Scheduler]]:
    with schedulers(plane, tmp_path) as run:
        yield run


def pods(
    gang: str, size: int, minimum: int, wishes: dict[str, str], part: str | None = None, first: int = 0
) -> list[Manifest]:
    """Return pods of a gang, each of which takes a whole node."""
    found = []
    for at in range(first, first + size):
        name = f"{gang}-{part}-{at}" if part else f"{gang}-{at}"
        pod = pod_manifest(name, gang=gang, minimum=minimum, requests={"cpu": "1", "nvidia.com/gpu": "2"})
        pod["metadata"]["annotations"] |= wishes
        if part:
            told = {"phalanx.dev/subgroup": part, "phalanx.dev/subgroup-minimum": str(size)}
            pod["metadata"]["annotations"] |= told
        found.append(pod)
    return found


def racks(plane: ControlPlane, prefix: str) -> set[str]:
    """Return the racks in which these pods are."""
    return {node[:2] for node in places(plane, prefix).values()}


def test_gangs_and_their_parts_keep_to_their_racks_through_a_kill_and_a_repair(
    plane: ControlPlane, start: Callable[..., Scheduler]
) -> None:
    """The names of racks occur in both zones. A lost member comes back in its rack, though others are emptier."""
    scheduler = start("--no-leader-election")
    create_all(plane.kubeconfig, pods("train", 2, 2, RACK))
    eventually("the training runs", lambda: len(places(plane, "train")) == 2, scheduler.log)
    [home] = racks(plane, "train")
    both = {KEY: "topology.kubernetes.io/zone", OF_PART: "rack"}
    create_all(plane.kubeconfig, [*pods("serve", 3, 5, both, "prefill"), *pods("serve", 2, 5, both, "decode")])
    eventually("the first of them is bound", lambda: places(plane, "serve"), scheduler.log)
    scheduler.stop(signal.SIGKILL)
    lost = pods("train", 1, 2, RACK, first=1)
    delete_all(plane.kubeconfig, lost)
    create_all(plane.kubeconfig, lost)
    scheduler = start("--no-leader-election")
    eventually("all of them run", lambda: len(places(plane, "serve")) == 5, scheduler.log)
    eventually("the lost one is back", lambda: len(places(plane, "train")) == 2, scheduler.log)
    assert racks(plane, "train") == {home}
    assert len(racks(plane, "serve-prefill")) == len(racks(plane, "serve-decode")) == 1
    assert len({rack[0] for rack in racks(plane, "serve")}) == 1
    assert sorted(places(plane).values()) == sorted(set(places(plane).values()))


def test_a_gang_that_no_rack_holds_is_told_so_and_the_next_one_runs(
    plane: ControlPlane, start: Callable[..., Scheduler]
) -> None:
    create_all(plane.kubeconfig, [*pods("wide", 4, 4, RACK), *pods("small", 3, 3, RACK)])
    scheduler = start("--no-leader-election")
    eventually("the small one runs", lambda: len(places(plane, "small")) == 3, scheduler.log)
    told = eventually("a condition", lambda: condition(plane, "wide-3").get("message"), scheduler.log)
    # Before or after the small one has taken a rack.
    assert told.startswith(("4 needed in one rack: rack a/x has room for 3 of 4", "4 needed in one rack: rack a/y"))
    assert len(racks(plane, "small")) == 1
    assert places(plane, "wide") == {}


def test_a_gang_that_relabelling_splits_goes_on_and_is_told_and_the_next_plan_uses_the_new_tree(
    plane: ControlPlane, start: Callable[..., Scheduler]
) -> None:
    """The event names what it requires and where it is; after a restart it is told again, and then no more."""
    scheduler = start("--no-leader-election")
    create_all(plane.kubeconfig, pods("train", 2, 2, RACK))
    eventually("the training runs", lambda: len(places(plane, "train")) == 2, scheduler.log)
    before = places(plane, "train")
    moved = sorted(before.values())[1]
    plane.kubectl("label", "node", moved, "topology.kubernetes.io/rack=z", "--overwrite")

    def told() -> list[str]:
        found = list_all(plane.kubeconfig, "/apis/events.k8s.io/v1/namespaces/default/events")
        return [one["note"] for one in found if one["reason"] == "TopologySplit"]

    [said] = eventually("an event", told, scheduler.log)
    assert said.startswith("default/train must be in one rack, and since the topology changed is in ")
    assert "gang-split" in scheduler.log.read_text()
    assert places(plane, "train") == before
    # Of the others only racks with three nodes that still belong together hold it.
    create_all(plane.kubeconfig, pods("next", 3, 3, RACK))
    eventually("the next one runs", lambda: len(places(plane, "next")) == 3, scheduler.log)
    assert moved[:2] not in racks(plane, "next")
    assert len(racks(plane, "next")) == 1
    plane.kubectl("label", "node", moved, f"topology.kubernetes.io/rack={moved[1]}", "--overwrite")
    eventually("it is together again", lambda: "gang-together" in scheduler.log.read_text(), scheduler.log)
