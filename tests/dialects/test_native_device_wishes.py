"""Which GPUs a pod wants, as its annotations say it: read once, and a wrong one is one line."""

import pytest

from phalanx.dialects.native.device_wishes import MEMORY_ALLOWED, MODELS_ALLOWED
from phalanx.dialects.read import read
from phalanx.model.device import DeviceWish
from phalanx.model.events import Refused, TaskSeen
from phalanx.model.task import Task
from phalanx.testing.objects import pod_manifest

MODEL, MEMORY = "phalanx.dev/gpu-model", "phalanx.dev/gpu-memory-minimum"


def event(annotations: dict[str, str], name: str = "p", node: str | None = None) -> object:
    made = pod_manifest(name, node=node)
    made["metadata"]["annotations"] |= annotations
    return read(made, ["phalanx"])


def task(annotations: dict[str, str], name: str = "p", node: str | None = None) -> Task:
    found = event(annotations, name, node)
    assert isinstance(found, TaskSeen), found
    return found.task


@pytest.mark.parametrize(
    ("annotations", "wish"),
    [
        ({}, None),
        ({MODEL: "H100"}, DeviceWish((("H100", 1.0),))),
        ({MODEL: "H100,A100, T4"}, DeviceWish((("H100", 3.0), ("A100", 2.0), ("T4", 1.0)))),
        ({MODEL: "H100=2.0,A100=1"}, DeviceWish((("H100", 2.0), ("A100", 1.0)))),
        ({MODEL: "H100=2.5, NVIDIA A100"}, DeviceWish((("H100", 2.5), ("NVIDIA A100", 1.0)))),
        ({MEMORY: "40Gi"}, DeviceWish(memory=40 << 30)),
        ({MEMORY: "40G", MODEL: "A100"}, DeviceWish((("A100", 1.0),), 40 * 10**9)),
    ],
)
def test_models_in_order_or_with_weights_and_memory_with_a_unit(
    annotations: dict[str, str], wish: DeviceWish | None
) -> None:
    assert task(annotations).shape.devices == wish


@pytest.mark.parametrize(
    "value", ["", ",", "H100,", "H100,,A100", "H100=", "H100=fast", "H100=-1", "=2", "x" * 64, "é"]
)
def test_a_wrong_list_of_models_is_one_line(value: str) -> None:
    found = event({MODEL: value})
    assert isinstance(found, Refused)
    assert found.field == f"metadata.annotations[{MODEL}]"
    assert found.message.startswith("found ")
    assert found.message.endswith(f", allowed is {MODELS_ALLOWED}")


@pytest.mark.parametrize(
    "value", ["", "40", "40 Gi", "40gb", "0Gi", "-1Gi", "1.5Gi", "lots", "NaN", "99999999Gi", "4Ei"]
)
def test_a_wrong_memory_is_one_line(value: str) -> None:
    found = event({MEMORY: value})
    assert isinstance(found, Refused)
    assert found.field == f"metadata.annotations[{MEMORY}]"
    assert found.message.startswith("found ")
    assert found.message.endswith(f", allowed is {MEMORY_ALLOWED}")


def test_a_pod_that_runs_with_a_wrong_wish_is_counted_all_the_same() -> None:
    running = task({MEMORY: "lots"}, node="n1")
    assert running.shape.devices is None
    assert dict(running.shape.requests)["nvidia.com/gpu"] == 1000
    assert running.hold is not None
    assert running.hold.field == f"metadata.annotations[{MEMORY}]"


def test_pods_of_one_template_have_one_shape_and_those_that_want_something_else_another() -> None:
    """The members of a gang may differ in it."""
    gang = {"phalanx.dev/gang": "g", "phalanx.dev/minimum": "2"}
    first, second = (task({**gang, MODEL: "H100"}, name) for name in ("a", "b"))
    assert first.shape is second.shape
    assert first.membership == second.membership == task({**gang, MODEL: "T4"}, "c").membership
    assert task({**gang, MODEL: "T4"}, "c").shape != first.shape
