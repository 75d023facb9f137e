"""Parts of a GPU as Koordinator's users ask for them: percent and memory of all GPUs of a container together."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from phalanx.dialects.koordinator.parts import HELD
from phalanx.dialects.read import read
from phalanx.model.events import Refused, TaskSeen
from phalanx.model.sharing import WHOLE, Part
from phalanx.model.task import Task

GIB = 2**30
LIMITS = "spec.containers[0].resources.limits[koordinator.sh/{}]".format


def seen(
    *limits: dict[str, Any], annotations: dict[str, str] | None = None, node: str | None = None
) -> TaskSeen | Refused:
    containers = [
        {"name": f"c{at}", "resources": {"limits": {f"koordinator.sh/{name}": value for name, value in one.items()}}}
        for at, one in enumerate(limits)
    ]
    spec: dict[str, Any] = {"schedulerName": "phalanx", "containers": containers}
    metadata = {"name": "p", "uid": "p", "annotations": annotations or {}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec | ({"nodeName": node} if node else {})}
    event = read(pod, ["phalanx"])
    assert isinstance(event, TaskSeen | Refused)
    return event


def task(*limits: dict[str, Any], **more: Any) -> Task:
    event = seen(*limits, **more)
    assert isinstance(event, TaskSeen), event
    return event.task


@pytest.mark.parametrize(
    ("limits", "part"),
    [
        ({"gpu": 50}, Part(milli=500, cores=500)),
        ({"gpu": 100}, Part(milli=WHOLE, cores=WHOLE)),
        ({"gpu": 200}, Part(2, milli=WHOLE, cores=WHOLE)),
        ({"gpu-memory": "8Gi"}, Part(memory=8 * GIB)),
        ({"gpu-memory-ratio": 50}, Part(milli=500)),
        ({"gpu-core": 80, "gpu-memory-ratio": 50}, Part(milli=500, cores=800)),
        ({"gpu-core": 30, "gpu-memory": "8Gi"}, Part(memory=8 * GIB, cores=300)),
        ({"gpu-core": 400, "gpu-memory-ratio": 400}, Part(4, milli=WHOLE, cores=WHOLE)),
        ({"gpu.shared": 1, "gpu-core": 50, "gpu-memory-ratio": 50}, Part(milli=500, cores=500)),
        ({"gpu.shared": 2, "gpu-core": 100, "gpu-memory": "16Gi"}, Part(2, memory=8 * GIB, cores=500)),
        ({"gpu.shared": 2, "gpu-memory-ratio": 60}, Part(2, milli=300)),
    ],
)
def test_percent_and_memory_are_of_all_gpus_of_the_container_together(limits: dict[str, Any], part: Part) -> None:
    found = task(limits)
    part = replace(part, side="koordinator")
    assert (found.part, found.hold, found.shape.requests) == (part, None, (("pods", 1),))


@pytest.mark.parametrize(
    ("limits", "field", "message"),
    [
        ({"gpu": 150}, "gpu", "found 150, allowed is up to 100, or whole hundreds"),
        ({"gpu": 0}, "gpu", "found 0, allowed is a whole number of percent from 1 to 9900"),
        ({"gpu": "0.5"}, "gpu", "found '0.5', allowed is a whole number of koordinator.sh/gpu"),
        ({"gpu": 50, "gpu-core": 50}, "gpu", f"contradicts {LIMITS('gpu-core')}: allowed is one of them"),
        ({"gpu-memory": 0}, "gpu-memory", "found 0, allowed is memory such as 8Gi, at least 1 byte"),
        ({"gpu-memory": "1Gi", "gpu-memory-ratio": 5}, "gpu-memory",
         f"contradicts {LIMITS('gpu-memory-ratio')}: allowed is one of them"),
        ({"gpu-core": 50}, "gpu-core",
         "means nothing without koordinator.sh/gpu-memory or koordinator.sh/gpu-memory-ratio"),
        ({"gpu.shared": 2}, "gpu.shared",
         "means nothing without koordinator.sh/gpu-memory or koordinator.sh/gpu-memory-ratio"),
        ({"gpu.shared": 2, "gpu-memory-ratio": 5}, "gpu-memory-ratio",
         "found 5, allowed is a multiple of the 2 GPUs, at most 200"),
        ({"gpu.shared": 2, "gpu-memory-ratio": 202}, "gpu-memory-ratio",
         "found 202, allowed is a multiple of the 2 GPUs, at most 200"),
        ({"gpu-core": 200, "gpu-memory": "1Gi"}, "gpu-core", "found 200, allowed is at most 100"),
        ({"gpu.shared": 0, "gpu-memory": "1Gi"}, "gpu.shared", "found 0, allowed is a whole number from 1 to 99"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_one_line(limits: dict[str, Any], field: str, message: str) -> None:
    found = seen(limits)
    assert isinstance(found, Refused)
    assert (found.field, found.message) == (LIMITS(field), message)


def test_parts_for_several_containers_are_held_and_on_a_node_they_are_whole_gpus() -> None:
    why = "parts of GPUs are given to one container of a pod by this version, which is no init one"
    both = ({"gpu": 50}, {"gpu": 200})
    assert str(task(*both).hold) == f"spec.containers[1].resources: {why}"
    assert task(*both, node="n1").part == Part(3, milli=WHOLE, cores=WHOLE, side="koordinator")


@pytest.mark.parametrize("key", sorted(HELD))
def test_which_gpus_of_a_node_is_not_honoured_yet_and_holds_the_pod(key: str) -> None:
    held = task({"gpu": 100}, annotations={key: "{}"}).hold
    assert str(held) == f"metadata.annotations[{key}]: not honoured by this version"
    assert f"`{key}`" in (Path(__file__).parents[2] / "docs" / "honoured.md").read_text()


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ('{"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"50"}},{"minor":3}]}', ("0", "3")),
        ('{"gpu":[{"minor":0,', ()),
        ('{"gpu":7}', ()),
        ('{"rdma":[{"minor":0}]}', ()),
        ("[]", ()),
    ],
)
def test_a_pod_on_a_node_says_which_gpus_it_has(text: str, groups: tuple[str, ...]) -> None:
    said = {"scheduling.koordinator.sh/device-allocated": text}
    assert task({"gpu.shared": 2, "gpu-memory-ratio": 100}, annotations=said, node="n1").groups == groups
