"""Parts of GPUs on a real control plane, with kube-scheduler beside us: what we share is nobody else's."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from phalanx.kube.local import ControlPlane, node_manifest
from phalanx.kube.reserving.pods import LABEL
from phalanx.testing.objects import Manifest, create_all, delete_all, list_all, pod_manifest
from phalanx.testing.running import Scheduler, condition, eventually, places, schedulers
from tests.faults.kubelet import StrictKubelet

pytestmark = pytest.mark.slow

GPU = "nvidia.com/gpu"
FOREIGN = "default-scheduler"
SYSTEM = "phalanx-system"
#: How a container says that it wants to know its GPU.
READS = {
    "name": "NVIDIA_VISIBLE_DEVICES",
    "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['phalanx.dev/gpu-ids']"}},
}


class Cluster:
    """A control plane with kube-scheduler, a kubelet for pretend nodes, and Phalanx with the rights that it prints."""

    def __init__(self, plane: ControlPlane, start: Callable[..., Scheduler], kubelet: StrictKubelet) -> None:
        self.plane, self._start, self.kubelet = plane, start, kubelet
        self.phalanx = start()

    def restart(self) -> None:
        self.phalanx.stop(signal.SIGKILL)
        self.phalanx = self._start("--lease-duration=3", "--renew-deadline=2", "--retry-period=0.5")

    def create(self, *objects: Manifest) -> None:
        create_all(self.plane.kubeconfig, objects)

    def delete(self, *objects: Manifest) -> None:
        delete_all(self.plane.kubeconfig, objects)

    def pod(self, name: str, namespace: str = "default") -> Manifest:
        pods = list_all(self.plane.kubeconfig, f"/api/v1/namespaces/{namespace}/pods")
        return next((pod for pod in pods if pod["metadata"]["name"] == name), {})

    def reservations(self) -> list[Manifest]:
        return [
            pod for pod in list_all(self.plane.kubeconfig, f"/api/v1/namespaces/{SYSTEM}/pods")
            if LABEL in pod["metadata"].get("labels", {})
        ]  # fmt: skip

    def eventually(self, what: str, check: Callable[[], Any]) -> Any:
        return eventually(what, check, self.phalanx.log)

    def runs(self, *names: str) -> None:
        self.eventually(f"{names} run", lambda: set(names) <= places(self.plane).keys())


@pytest.fixture
def cluster(fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path) -> Callable[..., Any]:
    @contextmanager
    def start(*nodes: Manifest) -> Iterator[Cluster]:
        plane = fresh_control_plane(scheduler=True)
        create_all(plane.kubeconfig, nodes)
        with schedulers(plane, tmp_path) as begin, StrictKubelet(plane.kubeconfig) as kubelet:
            yield Cluster(plane, begin, kubelet)

    return start


def half(name: str, fraction: str = "0.5", *, env: list[Any] | None = None, **options: Any) -> Manifest:
    pod = pod_manifest(name, requests={"cpu": "1"}, **options)
    pod["metadata"]["annotations"] |= {"phalanx.dev/gpu-fraction": fraction}
    pod["spec"]["containers"][0]["env"] = env or []
    return pod


def whole(name: str, scheduler: str = FOREIGN) -> Manifest:
    return pod_manifest(name, requests={GPU: "1"}, scheduler=scheduler)


def test_a_gpu_that_we_share_is_not_given_to_anybody_else_until_ours_have_ended(cluster: Any) -> None:
    with cluster(node_manifest("n1", gpus=1)) as here:
        here.create(half("ours", env=[READS]))
        here.runs("ours")
        (reservation,) = here.reservations()
        said = here.pod("ours")["metadata"]["annotations"]
        # It knows its GPU, and that is the one that is kept for it.
        assert said["phalanx.dev/gpu-group"] == "0"
        assert [said["phalanx.dev/gpu-ids"]] == here.kubelet.ids(reservation)

        here.create(whole("theirs"), half("second"))
        here.runs("second")
        here.create(half("third"))
        waits = here.eventually(
            "kube-scheduler says that it waits",
            lambda: [
                one for one in here.pod("theirs")["status"].get("conditions", []) if one["reason"] == "Unschedulable"
            ],
        )
        assert f"Insufficient {GPU}" in waits[0]["message"]
        assert places(here.plane).keys() == {"ours", "second"}

        here.delete(half("ours"), half("second"), half("third"))
        here.runs("theirs")
        assert here.reservations() == []
        assert here.kubelet.turned_away == []


def kai(name: str, fraction: str = "0.5") -> Manifest:
    """Return a pod as KAI's admission webhook leaves it."""
    maps = f"{name}-shared-gpu"
    reads = {"configMapKeyRef": {"name": f"{maps}-0", "key": "NVIDIA_VISIBLE_DEVICES"}}
    portion = {"configMapKeyRef": {"name": f"{maps}-0", "key": "GPU_PORTION"}}
    pod = pod_manifest(name, requests={"cpu": "1"})
    pod["metadata"]["annotations"] |= {"gpu-fraction": fraction, "runai/shared-gpu-configmap": maps}
    pod["spec"]["containers"][0] |= {
        "env": [
            {"name": "NVIDIA_VISIBLE_DEVICES", "valueFrom": reads},
            {"name": "GPU_PORTION", "valueFrom": portion},
        ],
        "envFrom": [{"configMapRef": {"name": f"{maps}-0-evar", "optional": False}}],
    }
    return pod


def test_pods_of_kai_learn_their_gpu_from_the_config_maps_that_they_read(cluster: Any) -> None:
    with cluster(node_manifest("n1", gpus=1)) as here:
        here.create(kai("a"))
        here.runs("a")
        maps = {one["metadata"]["name"]: one for one in list_all(here.plane.kubeconfig, "/api/v1/configmaps")}
        said, environment = maps["a-shared-gpu-0"], maps["a-shared-gpu-0-evar"]
        assert (said["data"]["NVIDIA_VISIBLE_DEVICES"], said["data"]["GPU_PORTION"]) == ("GPU-n1-0", "0.5")
        assert environment["data"] == {"NVIDIA_VISIBLE_DEVICES": "GPU-n1-0"}
        owners = {one["metadata"]["ownerReferences"][0]["uid"] for one in (said, environment)}
        assert owners == {here.pod("a")["metadata"]["uid"]}

        # What is somebody else's is not touched, and the pod says why it waits.
        theirs = {"name": "b-shared-gpu-0", "namespace": "default"}
        here.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": theirs, "data": {"mine": "yes"}}, kai("b"))
        here.eventually("b waits", lambda: "is not the pod's own" in condition(here.plane, "b").get("message", ""))
        assert "b" not in places(here.plane)
        maps = {one["metadata"]["name"]: one for one in list_all(here.plane.kubeconfig, "/api/v1/configmaps")}
        assert maps["b-shared-gpu-0"]["data"] == {"mine": "yes"}


def test_a_gang_that_shares_is_bound_when_all_its_gpus_are_kept(cluster: Any) -> None:
    """Four halves need two GPUs, and the kubelet has given one of them away already."""
    with cluster(node_manifest("n1", gpus=2)) as here:
        here.kubelet.hide("n1", 1)
        here.create(*(half(f"g-{n}", gang="g", minimum=4) for n in range(4)))
        refused = f"could not be reserved: OutOf{GPU}"
        here.eventually("it says why it waits", lambda: refused in condition(here.plane, "g-0").get("message", ""))
        assert places(here.plane) == {}
        here.eventually("nothing is kept for nobody", lambda: not here.reservations())
        here.kubelet.hide("n1", 0)
        here.runs("g-0", "g-1", "g-2", "g-3")
        assert len(here.reservations()) == 2


def test_a_scheduler_that_was_killed_finds_who_shares_which_gpu(cluster: Any) -> None:
    """Nobody is put on a GPU beside more than it has, and the reservations that were there are used."""
    with cluster(node_manifest("n1", gpus=2)) as here:
        here.create(half("a", "0.6"), half("b", "0.6"))
        here.runs("a", "b")
        before = {pod["metadata"]["uid"] for pod in here.reservations()}
        here.restart()
        here.create(half("c", "0.4"), half("d", "0.4"))
        here.runs("c", "d")
        here.create(half("e", "0.4"), whole("w", "phalanx"))
        groups = [here.pod(name)["metadata"]["annotations"]["phalanx.dev/gpu-group"] for name in "abcd"]
        assert sorted(groups) == ["0", "0", "1", "1"]
        assert {pod["metadata"]["uid"] for pod in here.reservations()} == before
        assert places(here.plane).keys() == set("abcd")
        # One that nobody shares any more while nobody is there goes too.
        here.phalanx.stop(signal.SIGKILL)
        here.delete(*(half(name) for name in "abcde"))
        here.restart()
        here.runs("w")
        here.eventually("no reservation is left over", lambda: not here.reservations())


def test_a_reservation_that_somebody_deletes_is_made_again(cluster: Any) -> None:
    with cluster(node_manifest("n1", gpus=1)) as here:
        here.create(half("a"))
        here.runs("a")
        (lost,) = here.reservations()
        # kubectl of 1.35 would wait for the end of the one that is made again.
        here.plane.kubectl("delete", "pod", "-n", SYSTEM, lost["metadata"]["name"], "--wait=false")
        again = here.eventually("it is there again", here.reservations)
        assert again[0]["metadata"]["uid"] != lost["metadata"]["uid"]
        assert again[0]["metadata"]["name"] == lost["metadata"]["name"]


def test_pods_whose_gpu_somebody_else_got_are_told_and_nobody_joins_them(cluster: Any) -> None:
    """The kubelet picks the GPU of a reservation that is made again, and the one that was there may be taken."""
    with cluster(node_manifest("n1", gpus=2)) as here:
        here.create(half("a", env=[READS]))
        here.runs("a")
        (lost,) = here.reservations()
        here.phalanx.stop(signal.SIGKILL)
        here.delete(lost)
        thief = pod_manifest("thief", requests={GPU: "1"}, scheduler=FOREIGN, node="n1")
        here.eventually("the reservation is gone", lambda: not here.reservations())
        here.create(thief)
        here.eventually("it has the GPU", lambda: here.kubelet.ids(here.pod("thief")) == ["GPU-n1-0"])
        here.restart()

        def warnings() -> list[str]:
            events = list_all(here.plane.kubeconfig, "/apis/events.k8s.io/v1/namespaces/default/events")
            return [one["note"] for one in events if one["reason"] == "GpuChanged"]

        (note,) = here.eventually("its owner is told", warnings)
        assert note == "its GPU GPU-n1-0 is not kept for it any more, but GPU-n1-1"
        here.create(half("b"))
        here.eventually("b waits", lambda: "keeps another GPU" in condition(here.plane, "b").get("message", ""))
        assert "b" not in places(here.plane)


def test_slices_are_given_out_as_there_are_and_no_more(cluster: Any) -> None:
    node = node_manifest("n1", gpus=0)
    slices = {"nvidia.com/mig-1g.10gb": "3", "nvidia.com/mig-2g.20gb": "1"}
    node["status"]["capacity"] |= slices
    node["status"]["allocatable"] |= slices
    with cluster(node) as here:
        small = [pod_manifest(f"small-{n}", requests={"nvidia.com/mig-1g.10gb": "1"}) for n in range(3)]
        here.create(*small, pod_manifest("large", requests={"nvidia.com/mig-2g.20gb": "1"}))
        here.runs("small-0", "small-1", "small-2", "large")
        here.create(pod_manifest("fourth", requests={"nvidia.com/mig-1g.10gb": "1"}))
        told = here.eventually(
            "the fourth is told why it waits",
            lambda: [one["message"] for one in here.pod("fourth")["status"].get("conditions", [])],
        )
        assert "nvidia.com/mig-1g.10gb" in told[0]
        assert "fourth" not in places(here.plane)
        assert here.kubelet.turned_away == []
