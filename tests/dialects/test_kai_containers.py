"""KAI 0.18: what each container asks of a GPU: memory requested and limited, and whether it computes side by side."""

from typing import Any

import pytest

from phalanx.dialects.read import read
from phalanx.model.events import Refused, TaskSeen
from phalanx.model.sharing import Part
from phalanx.model.task import Hold, Task

GIB = 2**30
PREFIX = "nvidia.com/container."
SM, TURNS = "sm-sharing", "time-slicing"


def seen(said: dict[str, str], **more: Any) -> Any:
    annotations = {
        key if key.startswith(("gpu-", "phalanx")) else PREFIX + key: value for key, value in said.items()
    }  # fmt: skip
    spec = {
        "schedulerName": "phalanx", "containers": [{"name": "main"}, {"name": "side"}],
        "initContainers": [{"name": "first"}], **more,
    }  # fmt: skip
    metadata = {"name": "p", "annotations": annotations}
    return read({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}, ["phalanx"])


def task(said: dict[str, str], **more: Any) -> Task:
    event = seen(said, **more)
    assert isinstance(event, TaskSeen), event
    return event.task


@pytest.mark.parametrize(
    ("said", "part"),
    [
        ({"main.gpu-memory.request": "1Gi", "main.gpu-memory.limit": "2Gi"}, Part(memory=GIB)),
        ({"main.gpu-memory.limit": "2Gi"}, Part(memory=2 * GIB)),
        ({"side.gpu-memory.request": "1Gi", "gpu-fraction-num-devices": "3"}, Part(3, memory=GIB)),
        ({"main.gpu-memory.request": "1Gi", "main.gpu-compute.mode": SM}, Part(memory=GIB, abreast=True)),
        ({"main.gpu-memory.request": "1Gi", "main.gpu-compute.mode": TURNS}, Part(memory=GIB)),
        ({"gpu-fraction": "0.5", "main.gpu-compute.mode": SM}, Part(milli=500, cores=500, abreast=True)),
        # The request of a container counts for more than the older words.
        ({"gpu-fraction": "0.5", "main.gpu-memory.request": "1Gi"}, Part(memory=GIB)),
        ({"gpu-memory": "1024", "main.gpu-memory.request": "1Gi"}, Part(memory=GIB)),
        # What KAI's binder wrote.
        ({"main.gpu-memory.request": "1Gi", "main.gpus.devices": "GPU-0"}, Part(memory=GIB)),
    ],
)
def test_what_is_requested_is_what_is_taken(said: dict[str, str], part: Part) -> None:
    found = task(said)
    assert (found.part, found.hold) == (part, None)


@pytest.mark.parametrize(
    ("said", "field", "message"),
    [
        ({"main.gpu-memory.request": "0"}, "main.gpu-memory.request",
         "found '0', allowed is memory such as 2Gi, at least 1Mi"),
        ({"main.gpu-memory.request": "half"}, "main.gpu-memory.request", None),
        ({"main.gpu-memory.request": "2Gi", "main.gpu-memory.limit": "1Gi"}, "main.gpu-memory.limit",
         "found '1Gi', allowed is at least the request"),
        ({"main.gpu-memory.request": "1Gi", "main.gpu-compute.mode": "mps"}, "main.gpu-compute.mode",
         "found 'mps', allowed is time-slicing, sm-sharing"),
        ({"main.gpu-memory.request": "1Gi", "main.gpu-compute.mode": ""}, "main.gpu-compute.mode",
         "found '', allowed is time-slicing, sm-sharing"),
        ({"other.gpu-memory.request": "1Gi"}, "other.gpu-memory.request", "found no container of the name 'other'"),
        ({"gpu-memory": "2048", "main.gpu-memory.request": "1Gi"}, "main.gpu-memory.request",
         "contradicts metadata.annotations[gpu-memory]"),
        ({"gpu-fraction": "0.5", "main.gpu-memory.limit": "1Gi"}, "main.gpu-memory.limit",
         "contradicts metadata.annotations[gpu-fraction]: allowed is one of them"),
        ({"main.gpu-memory.request": "1Gi", "main.gpu-compute.mode": SM, "side.gpu-compute.mode": TURNS},
         "main.gpu-compute.mode",
         f"contradicts metadata.annotations[{PREFIX}side.gpu-compute.mode]: allowed is one of them"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_one_line(said: dict[str, str], field: str, message: str | None) -> None:
    found = seen(said)
    assert isinstance(found, Refused), found
    assert found.field == f"metadata.annotations[{PREFIX}{field}]"
    assert message in {None, found.message}
    assert "\n" not in found.message


def test_parts_for_two_containers_and_for_one_that_runs_before_the_others_are_held() -> None:
    why = "parts of GPUs are given to one container of a pod by this version"
    both = {"main.gpu-memory.request": "1Gi", "side.gpu-memory.request": "1Gi"}
    assert task(both).hold == Hold(f"metadata.annotations[{PREFIX}side.gpu-memory.request]", why)
    first = task({"first.gpu-memory.request": "1Gi"})
    assert first.hold == Hold(f"metadata.annotations[{PREFIX}first.gpu-memory.request]", why)
    ours = task({"phalanx.dev/gpu-fraction": "0.5", "main.gpu-compute.mode": SM})
    assert ours.hold == Hold(
        f"metadata.annotations[{PREFIX}main.gpu-compute.mode]", "goes with parts in KAI's words alone"
    )
