"""Parts of GPUs on the nodes of HAMi, Volcano and Koordinator, on a real control plane: each is told who has which."""

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from phalanx.kube.install import Installation, objects
from phalanx.kube.installation.values import GpuSharing, Values
from phalanx.kube.local import ControlPlane, node_manifest
from phalanx.model.sharing import WHOLE
from phalanx.testing.objects import Manifest, create_all, delete_all, list_all, pod_manifest
from phalanx.testing.running import Scheduler, condition, eventually, places, schedulers
from tests.faults.node_programs import LOCK, NodePrograms
from tests.faults.open_books import fresh_books

pytestmark = pytest.mark.slow

GPU, MIB, CORES = "nvidia.com/gpu", "nvidia.com/gpumem", "nvidia.com/gpucores"
VGPU = "volcano.sh/vgpu"
KOORDINATOR = "koordinator.sh/gpu"
DEVICES = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "devices.scheduling.koordinator.sh"},
    "spec": {
        "group": "scheduling.koordinator.sh", "scope": "Cluster",
        "names": {"kind": "Device", "plural": "devices", "singular": "device", "listKind": "DeviceList"},
        "versions": [{"name": "v1alpha1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
            "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}],
    },
}  # fmt: skip


class Cluster:
    """A control plane, the programs of the nodes, and Phalanx with the rights that it prints."""

    def __init__(self, plane: ControlPlane, start: Callable[..., Scheduler], programs: NodePrograms) -> None:
        self.plane, self._start, self.programs = plane, start, programs
        self.phalanx = start()

    def restart(self) -> None:
        self.phalanx.stop(signal.SIGKILL)
        self.phalanx = self._start("--lease-duration=3", "--renew-deadline=2", "--retry-period=0.5")

    def allow_locks(self) -> None:
        wanted = objects(
            Installation(namespace="phalanx-system", values=Values(gpu_sharing=GpuSharing(node_locks=True)))
        )
        rights = [one for one in wanted if one["kind"] == "ClusterRole"]
        self.plane.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(rights))

    def create(self, *made: Manifest) -> None:
        create_all(self.plane.kubeconfig, made)

    def said(self, name: str) -> dict[str, str]:
        pods = list_all(self.plane.kubeconfig, "/api/v1/namespaces/default/pods")
        return next(dict(pod["metadata"]["annotations"]) for pod in pods if pod["metadata"]["name"] == name)

    def lock(self, node: str) -> str | None:
        nodes = list_all(self.plane.kubeconfig, "/api/v1/nodes")
        return next(dict(one["metadata"]["annotations"]).get(LOCK) for one in nodes if one["metadata"]["name"] == node)

    def given(self, *names: str) -> None:
        eventually(f"{names} have their GPUs", lambda: set(names) <= self.programs.given.keys(), self.phalanx.log)

    def shared(self) -> Any:
        """Return what a scheduler that starts now reads of who shares which GPU."""
        paths = ("/api/v1/nodes", "/api/v1/pods", "/apis/scheduling.koordinator.sh/v1alpha1/devices")
        return fresh_books([one for path in paths for one in list_all(self.plane.kubeconfig, path)])["shared"]


@pytest.fixture
def cluster(fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path) -> Callable[..., Any]:
    @contextmanager
    def start(*made: Manifest) -> Iterator[Cluster]:
        plane = fresh_control_plane()
        create_all(plane.kubeconfig, [DEVICES])
        plane.kubectl("wait", "--for=condition=Established", "crd/devices.scheduling.koordinator.sh")
        create_all(plane.kubeconfig, made)
        with schedulers(plane, tmp_path) as begin, NodePrograms(plane.kubeconfig) as programs:
            here = Cluster(plane, begin, programs)
            yield here
            assert programs.complaints == []

    return start


def hami(name: str, gpus: int) -> Manifest:
    node = node_manifest(name, gpus=0)
    amounts = {GPU: str(10 * gpus)}
    text = "".join(f"GPU-{name}-{at},10,20000,100,NVIDIA-L4,0,true:" for at in range(gpus))
    node["metadata"]["annotations"] |= {"hami.io/node-nvidia-register": text}
    for kind in ("capacity", "allocatable"):
        node["status"][kind] |= amounts
    return node


def volcano(name: str, gpus: int) -> Manifest:
    node = node_manifest(name, gpus=0)
    text = "".join(f"GPU-{name}-{at},10,20000,NVIDIA-L4,true,hami-core:" for at in range(gpus))
    node["metadata"]["annotations"] |= {"volcano.sh/node-vgpu-register": text}
    for kind in ("capacity", "allocatable"):
        node["status"][kind] |= {f"{VGPU}-number": str(10 * gpus)}
    return node


def koordinator(name: str, gpus: int) -> list[Manifest]:
    node = node_manifest(name, gpus=0)
    for kind in ("capacity", "allocatable"):
        node["status"][kind] |= {
            f"{KOORDINATOR}-core": str(100 * gpus), f"{KOORDINATOR}-memory-ratio": str(100 * gpus),
            f"{KOORDINATOR}-memory": f"{20_000 * gpus}Mi",
        }  # fmt: skip
    listed = [
        {"type": "gpu", "minor": at, "id": f"GPU-{name}-{at}", "health": True,
         "resources": {f"{KOORDINATOR}-memory": "20000Mi"}}
        for at in range(gpus)
    ]  # fmt: skip
    device = {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "Device",
        "metadata": {"name": name}, "spec": {"devices": listed},
    }  # fmt: skip
    return [node, device]


def test_hamis_device_plugin_is_told_pod_by_pod_which_gpu_each_has(cluster: Any) -> None:
    """One alone, a gang of three, after a restart those that fit beside them; nobody without the right to lock."""
    with cluster(hami("h1", 3), node_manifest("p1", gpus=0)) as here:
        asked = {GPU: "1", MIB: "9000", CORES: "40"}
        here.create(pod_manifest("early", requests=asked))

        def told(name: str, words: str) -> None:
            eventually(words, lambda: words in condition(here.plane, name).get("message", ""), here.phalanx.log)

        told("early", 'cannot get resource "nodes"')
        assert places(here.plane) == {}
        here.allow_locks()
        here.given("early")
        assert here.said("early")["hami.io/vgpu-devices-allocated"] == "GPU-h1-0,NVIDIA,9000,40:;"
        here.create(*(pod_manifest(f"g-{at}", requests=asked, gang="g", minimum=3) for at in range(3)))
        here.given("g-0", "g-1", "g-2")
        assert here.programs.sums() == {"GPU-h1-0": (18_000, 80), "GPU-h1-1": (18_000, 80)}
        eventually("the node is free for the next", lambda: here.lock("h1") is None)
        # Whoever starts now knows that 2,000 MiB and 20 percent are left of each.
        here.restart()
        # Where all GPUs are HAMi's, a pod that asks for a whole one need not say more.
        here.create(pod_manifest("whole", requests={GPU: "1"}))
        here.given("whole")
        assert here.programs.given["whole"] == [("GPU-h1-2", 20_000, 100)]
        here.create(
            pod_manifest("large", requests={GPU: "1", MIB: "2001"}),
            pod_manifest("busy", requests={GPU: "1", MIB: "100", CORES: "21"}),
            pod_manifest("fits", requests={GPU: "1", MIB: "2000", CORES: "20"}),
        )
        here.given("fits")
        assert places(here.plane).keys() == {"early", "g-0", "g-1", "g-2", "whole", "fits"}
        read = {f"GPU-{one[0]}-{one[1]}": one[3] for one in here.shared()}
        assert {id_: (levels[0] // WHOLE, levels[1] // 10) for id_, levels in read.items()} == here.programs.sums()


def test_a_lock_that_a_killed_scheduler_left_behind_is_taken_over(cluster: Any) -> None:
    with cluster(hami("h1", 1)) as here:
        here.allow_locks()
        here.programs.asleep = True
        here.create(pod_manifest("a", requests={GPU: "1", MIB: "9000"}))
        eventually("it is bound", lambda: "a" in places(here.plane))
        here.create(pod_manifest("b", requests={GPU: "1", MIB: "9000"}))
        here.restart()
        assert (here.lock("h1") or "").endswith(",default,a")
        here.programs.asleep = False
        here.given("a", "b")
        assert here.programs.sums() == {"GPU-h1-0": (18_000, 0)}


def test_volcanos_device_plugin_gets_one_pod_at_a_time_and_koordinators_agent_all_at_once(cluster: Any) -> None:
    with cluster(volcano("v1", 1), *koordinator("k1", 2), node_manifest("p1", gpus=1)) as here:
        here.create(
            *(pod_manifest(f"v-{at}", requests={f"{VGPU}-number": "1", f"{VGPU}-memory": "5000", f"{VGPU}-cores": "25"})
              for at in range(5)),
            *(pod_manifest(f"k-{at}", requests={f"{KOORDINATOR}-memory-ratio": "50", f"{KOORDINATOR}-core": "30"})
              for at in range(3)),
            pod_manifest("whole", requests={KOORDINATOR: "100"}),
        )  # fmt: skip

        def have(first: str) -> int:
            return len([one for one in here.programs.given if one.startswith(first)])

        eventually("both GPUs of Koordinator's node are told", lambda: have("k-") + 2 * have("whole") >= 3)
        eventually("four of five have a place", lambda: have("v-") == 4)
        sums = here.programs.sums()
        assert sums["GPU-v1-0"] == (20_000, 100)
        assert all(memory <= 20_000 and cores <= 100 for memory, cores in sums.values())
        some = next(name for name in here.programs.given if name.startswith("k-"))
        (gpu,) = json.loads(here.said(some)["scheduling.koordinator.sh/device-allocated"])["gpu"]
        assert gpu["resources"] == {
            f"{KOORDINATOR}-memory": "10000Mi", f"{KOORDINATOR}-memory-ratio": "50", f"{KOORDINATOR}-core": "30",
        }  # fmt: skip
        # Nobody reserves anything: these programs hand out nothing else.
        assert list_all(here.plane.kubeconfig, "/api/v1/namespaces/phalanx-system/pods") == []
        there = set(places(here.plane))
        here.restart()
        delete_all(here.plane.kubeconfig, [pod_manifest(next(one for one in there if one.startswith("v-")))])
        eventually("the fifth follows", lambda: len([one for one in places(here.plane) if one.startswith("v-")]) == 4)
