"""What an ML engineer reads with kubectl: why a job waits, where it went, on the pod and on the job."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from phalanx.kube.client import Reply
from phalanx.kube.clock import Clock
from phalanx.kube.events import Events, Notice
from phalanx.kube.feed import Feed
from phalanx.kube.local.control_plane import ControlPlane
from phalanx.kube.local.nodes import node_manifest
from phalanx.kube.local.versions import wanted
from phalanx.kube.playground import without_job_groups
from phalanx.kube.writes import Write
from phalanx.testing.objects import client_of, create_all, gang_manifests, list_all
from phalanx.testing.running import Scheduler, condition, eventually, places, schedulers
from phalanx.world.world import World
from tests.kube.restricted import user_who_may

pytestmark = pytest.mark.slow

EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"


def job(name: str, pods: int) -> str:
    """A Job as people write it, all its pods or none."""
    container = {"name": "main", "image": "train:1", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    about = {"annotations": {"phalanx.dev/gang": name, "phalanx.dev/minimum": str(pods)}}
    pod = {"schedulerName": "phalanx", "restartPolicy": "Never", "containers": [container]}
    spec = {"parallelism": pods, "completions": pods, "template": {"metadata": about, "spec": pod}}
    return yaml.safe_dump({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec})


def told(plane: ControlPlane, kind: str, name: str) -> str:
    """Return the events that `kubectl describe` shows, without the columns' width."""
    events = plane.kubectl("describe", kind, name).partition("Events:")[2]
    return "\n".join(" ".join(line.split()) for line in events.splitlines())


def describe(plane: ControlPlane, kind: str, name: str, words: str, scheduler: Scheduler) -> None:
    """Wait until `kubectl describe` shows these words."""
    eventually(f"{kind} {name} says {words}", lambda: words in told(plane, kind, name), scheduler.log)


def test_describe_says_why_on_every_pod_and_on_the_job_and_then_where(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    """Then a scheduler that may write no events binds all the same."""
    # Were this alpha gate on, the Job controller would put the pods into a group of Kubernetes' own as well.
    plane = fresh_control_plane(controller_manager=True, flags=without_job_groups(wanted()))
    create_all(plane.kubeconfig, [node_manifest("gpu-0", gpus=2)])
    plane.kubectl("apply", "-f", "-", stdin=job("train", 4))
    with schedulers(plane, tmp_path) as start:
        scheduler = start()
        names = eventually("four pods", lambda: len(found := pods(plane, "train")) == 4 and found)
        why = "phalanx 4 needed together, 2 fit"
        for kind, name in (("job", "train"), *(("pod", name) for name in names)):
            describe(plane, kind, name, f"{name}: 4 needed together, 2 fit" if kind == "job" else why, scheduler)
            assert "Warning FailedScheduling" in told(plane, kind, name)
        assert "phalanx gang default/train: 4 needed together, 2 fit" in told(plane, "job", "train")

        create_all(plane.kubeconfig, [node_manifest("gpu-1", gpus=2)])
        where = eventually("it is bound", lambda: len(found := places(plane, "train")) == 4 and found, scheduler.log)
        behind = "gang default/train: 4 of 4 pods, gpu-0 ×2, gpu-1 ×2"
        for name, node in where.items():
            describe(plane, "pod", name, f"Successfully assigned default/{name} to {node} ({behind})", scheduler)
            assert "Normal Scheduled" in told(plane, "pod", name)
        describe(plane, "job", "train", behind, scheduler)
        plane.kubectl("apply", "-f", "-", stdin=job("slip", 2).replace("minimum: '2'", "minimum: two"))
        slip = "metadata.annotations[phalanx.dev/minimum]: found 'two', allowed is a whole number from 1 to"
        slips = eventually("two pods", lambda: len(found := pods(plane, "slip")) == 2 and found)
        for kind, name in (("job", "slip"), *(("pod", name) for name in slips)):
            describe(plane, kind, name, slip, scheduler)
        tell_again(plane, next(event for event in list_all(plane.kubeconfig, EVENTS) if event["reason"] == "Scheduled"))

    mute = user_who_may(plane, "mute", lambda right: right.resource != "events")
    create_all(plane.kubeconfig, gang_manifests("later", 4))
    scheduler = Scheduler(mute, tmp_path / "mute.log", "--no-leader-election")
    eventually("a condition", lambda: condition(plane, "later-3").get("reason"), scheduler.log)
    create_all(plane.kubeconfig, [node_manifest(f"gpu-{number}", gpus=2) for number in (2, 3)])
    eventually("it is bound", lambda: len(places(plane, "later")) == 4, scheduler.log)
    eventually("it is said", lambda: "event-refused" in scheduler.log.read_text(), scheduler.log)
    assert scheduler.stop() == 0
    assert scheduler.log.read_text().count("event-refused") == 1


def tell_again(plane: ControlPlane, event: dict[str, Any]) -> None:
    """The server takes a renewal of the same event, and kubectl counts it."""
    world = World()
    events = Events(world, Feed(world, ("phalanx",)), Refuses(), Clock(), "phalanx", "another leader")
    kind, action = event["type"], event["action"]
    notice = Notice(event["regarding"], kind, event["reason"], action, event["note"], times=3)
    write = events.write(notice, lambda: True)

    async def send() -> Reply:
        async with client_of(plane.kubeconfig) as client:
            return await client.request(write.method, write.path, body=write.body, content_type=write.content_type)

    reply = asyncio.run(send())
    assert reply.ok, reply.message
    regarding = event["regarding"]
    assert "(x3 over" in told(plane, regarding["kind"].lower(), regarding["name"])


class Refuses:
    """Nothing else is written."""

    def submit(self, write: Write) -> None:
        raise AssertionError(write)


def pods(plane: ControlPlane, prefix: str) -> list[str]:
    """Return the names of a job's pods."""
    found = [pod["metadata"]["name"] for pod in list_all(plane.kubeconfig, "/api/v1/namespaces/default/pods")]
    return sorted(name for name in found if name.startswith(prefix))
