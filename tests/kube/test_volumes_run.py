"""Volumes on a real control plane: its own volume controller, and a provisioner that keeps to the protocol."""

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from phalanx.kube.local.control_plane import ControlPlane
from phalanx.kube.local.nodes import node_manifest
from phalanx.testing.objects import create_all, delete_all, list_all, pod_manifest
from phalanx.testing.running import Scheduler, condition, eventually, places, schedulers
from tests.kube.provisioner import DRIVER, SELECTED, ZONE, Provisioner, provisioning

pytestmark = pytest.mark.slow

#: How often a scheduler is killed; a long run sets more.
KILLS = int(os.environ.get("PHALANX_VOLUME_KILLS", "4"))
FAST = {
    "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": DRIVER,
    "volumeBindingMode": "WaitForFirstConsumer",
}  # fmt: skip
LOCAL = FAST | {"metadata": {"name": "local"}, "provisioner": "kubernetes.io/no-provisioner"}
#: Whoever comes next does not wait long for the lease of who was killed.
QUICK = ("--lease-duration", "2", "--renew-deadline", "1.5", "--retry-period", "0.3")
CLAIMS, VOLUMES = "/api/v1/persistentvolumeclaims", "/api/v1/persistentvolumes"


@pytest.fixture
def plane(fresh_control_plane: Callable[..., ControlPlane]) -> ControlPlane:
    return fresh_control_plane(controller_manager=True)


@pytest.fixture
def start(plane: ControlPlane, tmp_path: Path) -> Iterator[Callable[..., Scheduler]]:
    with schedulers(plane, tmp_path) as run:
        yield run


@pytest.fixture
def provisioner(plane: ControlPlane) -> Iterator[Provisioner]:
    with provisioning(plane) as running:
        yield running


def nodes(count: int, zones: str = "ab", gpus: int = 8) -> list[dict[str, Any]]:
    made = [node_manifest(f"n{number}", gpus=gpus) for number in range(count)]
    for number, one in enumerate(made):
        labels = {ZONE: zones[number % len(zones)], "kubernetes.io/hostname": f"n{number}"}
        one["metadata"]["labels"] = one["metadata"].get("labels", {}) | labels
    return made


def claim(name: str, storage_class: str = "fast") -> dict[str, Any]:
    spec = {
        "accessModes": ["ReadWriteOnce"], "storageClassName": storage_class,
        "resources": {"requests": {"storage": "1Gi"}},
    }  # fmt: skip
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}


def local_volume(name: str, host: str) -> dict[str, Any]:
    wish = {"key": "kubernetes.io/hostname", "operator": "In", "values": [host]}
    return {
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "local",
            "persistentVolumeReclaimPolicy": "Retain", "local": {"path": f"/mnt/{name}"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [wish]}]}},
        },
    }  # fmt: skip


def mounting(name: str, of: str, **options: Any) -> dict[str, Any]:
    return pod_manifest(name, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": of}}], **options)


def gang(name: str, size: int, storage_class: str = "fast") -> list[dict[str, Any]]:
    claims = [claim(f"{name}-{number}", storage_class) for number in range(size)]
    pods = [mounting(f"{name}-{n}", f"{name}-{n}", gang=name, minimum=size) for n in range(size)]
    return [*claims, *pods]


def claims_of(plane: ControlPlane, name: str = "") -> list[dict[str, Any]]:
    found = list_all(plane.kubeconfig, CLAIMS)
    return [one for one in found if one["metadata"]["name"].startswith(name)]


def available(plane: ControlPlane) -> bool:
    return all(one["status"].get("phase") == "Available" for one in list_all(plane.kubeconfig, VOLUMES))


def left_behind(plane: ControlPlane) -> list[str]:
    """Return the claims and volumes on which something is written that nobody acted upon."""
    claims = [
        one["metadata"]["name"] for one in list_all(plane.kubeconfig, CLAIMS)
        if not one["spec"].get("volumeName") and SELECTED in one["metadata"].get("annotations", {})
    ]  # fmt: skip
    volumes = [
        one["metadata"]["name"] for one in list_all(plane.kubeconfig, VOLUMES)
        if one["spec"].get("claimRef") and one["status"].get("phase") != "Bound"
    ]  # fmt: skip
    return claims + volumes


def zones_agree(plane: ControlPlane, bound: dict[str, str]) -> bool:
    """Tell whether each pod is in the zone of its volume."""
    zones = {
        one["metadata"]["name"]: one["metadata"]["labels"][ZONE] for one in list_all(plane.kubeconfig, "/api/v1/nodes")
    }
    where = {}
    for one in list_all(plane.kubeconfig, VOLUMES):
        (term,) = one["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
        where[one["spec"]["claimRef"]["name"]] = term["matchExpressions"][0]["values"][0]
    return all(where[pod] == zones[node] for pod, node in bound.items())


@pytest.mark.usefixtures("provisioner")
def test_a_stateful_set_gets_a_volume_for_each_of_its_claims(
    plane: ControlPlane, start: Callable[..., Scheduler]
) -> None:
    pod = mounting("x", "x")
    pod["spec"]["volumes"], labels = [], {"app": "db"}
    create_all(plane.kubeconfig, [FAST, *nodes(2)])
    scheduler = start()
    create_all(plane.kubeconfig, [{
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db", "namespace": "default"},
        "spec": {
            "replicas": 3, "serviceName": "db", "podManagementPolicy": "Parallel", "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod["spec"]},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim("data")["spec"]}],
        },
    }])  # fmt: skip
    eventually("all are bound", lambda: len(places(plane, "db")) == 3, scheduler.log)
    assert all(one["status"]["phase"] == "Bound" for one in claims_of(plane, "data-db"))


@pytest.mark.usefixtures("provisioner")
def test_a_gang_of_sixteen_gets_its_volumes_in_two_zones_and_starts_together(
    plane: ControlPlane, start: Callable[..., Scheduler]
) -> None:
    create_all(plane.kubeconfig, [FAST, *nodes(4, gpus=4)])
    scheduler = start()
    create_all(plane.kubeconfig, gang("train", 16))
    bound = eventually("all are bound", lambda: len(now := places(plane, "train")) == 16 and now, scheduler.log)
    assert sorted(Counter(bound.values()).values()) == [4, 4, 4, 4]
    assert zones_agree(plane, bound)
    assert left_behind(plane) == []


def test_static_volumes_for_three_of_four_members_are_given_to_none_of_them(
    plane: ControlPlane, start: Callable[..., Scheduler]
) -> None:
    create_all(plane.kubeconfig, [LOCAL, *nodes(4), *[local_volume(f"pv{n}", f"n{n}") for n in range(3)]])
    eventually("volumes are available", lambda: available(plane))
    scheduler = start()
    create_all(plane.kubeconfig, gang("train", 4, "local"))
    told = eventually("a reason", lambda: condition(plane, "train-0").get("message"), scheduler.log)
    assert "4 needed together" in told
    assert places(plane) == {}
    assert left_behind(plane) == []
    assert all("volumeName" not in one["spec"] for one in claims_of(plane))
    create_all(plane.kubeconfig, [local_volume("pv3", "n3")])
    bound = eventually("all are bound", lambda: len(now := places(plane)) == 4 and now, scheduler.log)
    assert sorted(bound.values()) == ["n0", "n1", "n2", "n3"]
    assert len({one["spec"]["volumeName"] for one in claims_of(plane)}) == 4


def test_a_gang_of_which_one_volume_cannot_be_made_steps_back_whole_and_starts_when_it_can(
    plane: ControlPlane, start: Callable[..., Scheduler], provisioner: Provisioner
) -> None:
    provisioner.can = lambda name: name != "train-2"
    create_all(plane.kubeconfig, [FAST, *nodes(2)])
    scheduler = start()
    create_all(plane.kubeconfig, gang("train", 4))
    eventually("one was given back", lambda: provisioner.refused >= 1, scheduler.log)
    eventually("it is told", lambda: "train-2" in str(condition(plane, "train-0").get("message")), scheduler.log)
    assert places(plane) == {}
    provisioner.can = lambda _: True
    bound = eventually("all are bound", lambda: len(now := places(plane)) == 4 and now, scheduler.log)
    assert zones_agree(plane, bound)


def test_claims_that_get_no_volume_in_time_are_given_back(plane: ControlPlane, start: Callable[..., Scheduler]) -> None:
    create_all(plane.kubeconfig, [FAST, *nodes(2)])
    scheduler = start("--wave-deadline", "3")
    create_all(plane.kubeconfig, gang("train", 2))
    eventually("a node was chosen", lambda: len(left_behind(plane)) == 2, scheduler.log)
    eventually("both were given back", lambda: scheduler.log.read_text().count("given-back") >= 2, scheduler.log)
    told = eventually("a reason", lambda: condition(plane, "train-0").get("message"), scheduler.log)
    assert "got no volume within 3 s" in told
    assert places(plane) == {}
    delete_all(plane.kubeconfig, list_all(plane.kubeconfig, "/api/v1/namespaces/default/pods"))
    eventually("nothing is left behind", lambda: left_behind(plane) == [], scheduler.log)


def test_a_gang_steps_back_whole_when_one_of_its_claims_is_deleted_while_it_waits(
    plane: ControlPlane, start: Callable[..., Scheduler]
) -> None:
    create_all(plane.kubeconfig, [FAST, *nodes(2)])
    scheduler = start()
    create_all(plane.kubeconfig, gang("train", 2))
    eventually("a node was chosen", lambda: len(left_behind(plane)) == 2, scheduler.log)
    plane.kubectl("delete", "pvc", "train-1", "--wait=false")
    told = eventually("a reason", lambda: condition(plane, "train-0").get("message"), scheduler.log)
    assert "claim default/train-1" in told
    eventually("nothing is left behind", lambda: left_behind(plane) == [], scheduler.log)
    assert places(plane) == {}


def test_killed_at_any_moment_nothing_is_given_twice_and_no_gang_is_bound_in_part(
    plane: ControlPlane, start: Callable[..., Scheduler], provisioner: Provisioner
) -> None:
    """Two gangs for which there are volumes, one for which there is one too few, again and again."""
    chance, seed = random.Random(), random.randrange(10**6)  # noqa: S311 (spread, not secrecy)
    chance.seed(seed)
    volumes = [local_volume(f"pv{n}", f"n{n % 4}") for n in range(6)]
    create_all(plane.kubeconfig, [FAST, LOCAL, *nodes(4), *volumes])
    eventually("volumes are available", lambda: available(plane))
    provisioner.can = lambda _: chance.random() < 0.8
    scheduler = start(*QUICK)
    create_all(plane.kubeconfig, [*gang("made", 8), *gang("given", 4, "local"), *gang("short", 3, "local")])
    for _ in range(KILLS):
        time.sleep(chance.uniform(0.2, 2.5))
        scheduler.stop(signal.SIGKILL)
        scheduler = start(*QUICK)
    provisioner.can = lambda _: True
    sizes = {"made": 8, "given": 4, "short": 3}

    def settled() -> bool:
        counts = {name: len(places(plane, name)) for name in sizes}
        whole = all(counts[name] in {0, size} for name, size in sizes.items())
        return whole and counts["made"] == 8 and counts["given"] + counts["short"] in {4, 3} and not left_behind(plane)

    eventually(f"all is whole (seed {seed})", settled, scheduler.log)
    owners = Counter(one["spec"]["volumeName"] for one in claims_of(plane) if one["spec"].get("volumeName"))
    assert max(owners.values()) == 1, (seed, owners)
    refs = Counter(
        one["spec"]["claimRef"]["name"] for one in list_all(plane.kubeconfig, VOLUMES) if one["spec"].get("claimRef")
    )
    assert max(refs.values()) == 1, (seed, refs)


def test_a_gang_steps_back_whole_when_its_class_vanishes_while_it_waits(
    plane: ControlPlane, start: Callable[..., Scheduler]
) -> None:
    create_all(plane.kubeconfig, [FAST, *nodes(2)])
    scheduler = start("--wave-deadline", "3")
    create_all(plane.kubeconfig, gang("train", 2))
    eventually("a node was chosen", lambda: len(left_behind(plane)) == 2, scheduler.log)
    plane.kubectl("delete", "storageclass", "fast")

    def told_of_class() -> str:
        text = str(condition(plane, "train-0").get("message", ""))
        return text if "class fast" in text else ""

    told = eventually("a reason that names the class", told_of_class, scheduler.log)
    assert "got no volume within 3 s: its class fast is not there" in told
    assert "class fast of claim default/train-0 is not there" in told
    eventually("nothing is left behind", lambda: left_behind(plane) == [], scheduler.log)
    assert places(plane) == {}
    # Whoever comes now is told at once.
    create_all(plane.kubeconfig, gang("late", 2))
    told = eventually("a reason", lambda: condition(plane, "late-0").get("message"), scheduler.log)
    assert "class fast of claim default/late-0 is not there" in told
    assert places(plane) == {}


def test_a_gang_steps_back_whole_when_a_volume_is_deleted_after_its_claim_was_bound(
    plane: ControlPlane, start: Callable[..., Scheduler]
) -> None:
    create_all(plane.kubeconfig, [FAST, LOCAL, *nodes(2), local_volume("pv0", "n0")])
    eventually("the volume is available", lambda: available(plane))
    scheduler = start()
    pods = [mounting(f"train-{n}", f"train-{n}", gang="train", minimum=2) for n in range(2)]
    create_all(plane.kubeconfig, [claim("train-0", "local"), claim("train-1"), *pods])

    def phase() -> str:
        (one,) = claims_of(plane, "train-0")
        return str(one["status"]["phase"])

    eventually("one is bound", lambda: phase() == "Bound" and left_behind(plane) == ["train-1"], scheduler.log)
    plane.kubectl("delete", "pv", "pv0", "--wait=false")
    plane.kubectl("patch", "pv", "pv0", "-p", '{"metadata":{"finalizers":null}}')
    eventually("its volume is lost", lambda: phase() == "Lost", scheduler.log)
    with provisioning(plane):
        told = eventually("a reason", lambda: condition(plane, "train-1").get("message"), scheduler.log)
        assert "claim default/train-0 lost its volume pv0" in told
        eventually("nothing is left behind", lambda: left_behind(plane) == [], scheduler.log)
    assert places(plane) == {}
