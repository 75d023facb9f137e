"""Parts of a GPU as HAMi's users ask for them, and as Volcano's do for vGPUs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from phalanx.dialects.hami.annotations import HELD
from phalanx.dialects.read import read
from phalanx.model.device import DeviceWish
from phalanx.model.events import Refused, TaskSeen
from phalanx.model.sharing import MIB, WHOLE, Part
from phalanx.model.task import Task

HAMI = ("nvidia.com/gpu", "nvidia.com/gpumem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores")
VOLCANO = tuple(f"volcano.sh/vgpu-{name}" for name in ("number", "memory", "memory-percentage", "cores"))
LIMITS = "spec.containers[0].resources.limits[{}]".format


def seen(
    *limits: dict[str, Any],
    init: tuple[dict[str, Any], ...] = (),
    annotations: dict[str, str] | None = None,
    node: str | None = None,
    scheduler: str = "phalanx",
) -> TaskSeen | Refused:
    spec: dict[str, Any] = {
        "schedulerName": scheduler,
        "containers": [{"name": f"c{at}", "resources": {"limits": one}} for at, one in enumerate(limits)],
        "initContainers": [{"name": f"i{at}", "resources": {"limits": one}} for at, one in enumerate(init)],
    }
    metadata = {"name": "p", "uid": "p", "annotations": annotations or {}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec | ({"nodeName": node} if node else {})}
    event = read(pod, ["phalanx"])
    assert isinstance(event, TaskSeen | Refused)
    return event


def task(*limits: dict[str, Any], **more: Any) -> Task:
    event = seen(*limits, **more)
    assert isinstance(event, TaskSeen), event
    return event.task


@pytest.mark.parametrize("words", [HAMI, VOLCANO], ids=["HAMi", "Volcano"])
@pytest.mark.parametrize(
    ("asked", "part"),
    [
        ((1, 3000, None, None), Part(memory=3000 * MIB)),
        ((1, "3k", None, None), Part(memory=3000 * MIB)),
        ((None, 3000, None, None), Part(memory=3000 * MIB)),
        ((2, 3000, None, 30), Part(2, memory=3000 * MIB, cores=300)),
        ((1, None, 50, None), Part(milli=500)),
        ((1, None, 50, 80), Part(milli=500, cores=800)),
        ((1, 3000, None, 0), Part(memory=3000 * MIB)),
        # Who does not limit its memory has all of it, and who has all the cores has the GPU for itself.
        ((2, None, None, 30), Part(2, milli=WHOLE, cores=300)),
        ((1, 3000, None, 100), Part(milli=WHOLE, memory=3000 * MIB, cores=WHOLE)),
    ],
)
def test_memory_and_cores_are_asked_for_of_each_of_so_many_gpus(
    words: tuple[str, ...], asked: tuple[Any, ...], part: Part
) -> None:
    limits = {name: value for name, value in zip(words, asked, strict=True) if value is not None}
    found = task({"cpu": "1", **limits})
    part = replace(part, side="hami" if words is HAMI else "volcano")
    assert (found.part, found.hold, found.shape.requests) == (part, None, (("cpu", 1000), ("pods", 1)))
    assert found.part_field.startswith("spec.containers[0].resources.limits[")


def test_plain_gpus_are_whole_ones_and_no_part() -> None:
    found = task({"nvidia.com/gpu": 2})
    assert (found.part, dict(found.shape.requests)["nvidia.com/gpu"]) == (None, 2000)


def test_vgpus_without_a_word_of_memory_are_whole_gpus() -> None:
    assert task({"volcano.sh/vgpu-number": 2}).part == Part(2, milli=WHOLE, side="volcano")


@pytest.mark.parametrize(
    ("limits", "field", "message"),
    [
        ({HAMI[1]: "0.5"}, HAMI[1], f"found '0.5', allowed is a whole number of {HAMI[1]}"),
        ({HAMI[1]: 0}, HAMI[1], "found 0, allowed is a whole number of MiB, at least 1"),
        ({HAMI[1]: "20Ti"}, HAMI[1], "found '20Ti', allowed is a whole number of MiB, at least 1"),
        ({HAMI[2]: 0}, HAMI[2], "found 0, allowed is a whole number of percent from 1 to 100"),
        ({HAMI[2]: 101}, HAMI[2], "found 101, allowed is a whole number of percent from 1 to 100"),
        ({HAMI[0]: 1, HAMI[3]: 120}, HAMI[3], "found 120, allowed is a whole number of percent from 0 to 100"),
        ({HAMI[0]: 0, HAMI[1]: 9}, HAMI[0], "found 0, allowed is a whole number from 1 to 99"),
        ({VOLCANO[0]: 100}, VOLCANO[0], "found 100, allowed is a whole number from 1 to 99"),
        ({HAMI[1]: 9, HAMI[2]: 9}, HAMI[1], f"contradicts {LIMITS(HAMI[2])}: allowed is one of them"),
        ({HAMI[1]: 9, VOLCANO[0]: 1}, HAMI[1], f"contradicts {LIMITS(VOLCANO[0])}: allowed is one of them"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_one_line(limits: dict[str, Any], field: str, message: str) -> None:
    found = seen(limits)
    assert isinstance(found, Refused)
    assert (found.field, found.message) == (LIMITS(field), message)


def test_words_of_two_systems_contradict_each_other() -> None:
    found = seen({HAMI[1]: 9}, annotations={"gpu-fraction": "0.5"})
    assert isinstance(found, Refused)
    assert (found.field, found.message) == (
        "metadata.annotations[gpu-fraction]", f"contradicts {LIMITS(HAMI[1])}: allowed is one of them"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("limits", "init", "field"),
    [
        (({HAMI[0]: 1, HAMI[1]: 9}, {HAMI[0]: 1}), (), "spec.containers[1].resources"),
        (({"cpu": 1},), ({HAMI[0]: 1, HAMI[1]: 9},), "spec.initContainers[0].resources"),
    ],
)
def test_parts_for_several_containers_are_held_and_on_a_node_they_are_whole_gpus(
    limits: tuple[dict[str, Any], ...], init: tuple[dict[str, Any], ...], field: str
) -> None:
    why = "parts of GPUs are given to one container of a pod by this version, which is no init one"
    assert str(task(*limits, init=init).hold) == f"{field}: {why}"
    there = task(*limits, init=init, node="n1")
    assert there.part is not None
    assert there.part.milli == WHOLE


@pytest.mark.parametrize(
    ("key", "value"),
    [("nvidia.com/use-gpuuuid", "GPU-a"), ("nvidia.com/nouse-gpuuuid", "GPU-a"),
     ("nvidia.com/numa-bind", "true"), ("nvidia.com/vgpu-mode", "mig"), ("volcano.sh/vgpu-mode", "mig")],
)  # fmt: skip
def test_which_very_gpu_is_not_honoured_yet_and_holds_the_pod(key: str, value: str) -> None:
    held = task({HAMI[0]: 1}, annotations={key: value}).hold
    assert str(held) == f"metadata.annotations[{key}]: not honoured by this version"
    assert task({"cpu": 1}, annotations={key: value}).hold is None


def test_who_goes_first_on_a_gpu_is_not_honoured_yet_either() -> None:
    held = task({HAMI[0]: 1, HAMI[1]: 9, "nvidia.com/priority": 0}).hold
    assert str(held) == f"{LIMITS('nvidia.com/priority')}: not honoured by this version"


def test_what_asks_for_nothing_special_or_only_prefers_holds_nobody() -> None:
    said = {
        "nvidia.com/vgpu-mode": "hami-core",
        "nvidia.com/numa-bind": "false",
        "hami.io/gpu-scheduler-policy": "spread",
    }
    assert task({HAMI[0]: 1, HAMI[1]: 9}, annotations=said).hold is None


def test_models_are_a_wish() -> None:
    wish = DeviceWish((("A100", 1.0), ("Tesla V100-PCIE-32GB", 1.0)))
    said = {"nvidia.com/use-gputype": "A100, Tesla V100-PCIE-32GB"}
    assert task({VOLCANO[0]: 1}, annotations=said).shape.devices == wish
    assert task({"cpu": 1}, annotations=said).shape.devices is None
    both = said | {"nvidia.com/nouse-gputype": "40GB,T4"}
    assert task({HAMI[0]: 1}, annotations=both).shape.devices == DeviceWish(wish.models, excluded=("40GB", "T4"))
    allowed = "allowed is up to 16 models with commas between them, such as A100,V100"
    for key in ("nvidia.com/use-gputype", "nvidia.com/nouse-gputype"):
        found = seen({HAMI[0]: 1}, annotations={key: "A100;V100"})
        assert isinstance(found, Refused)
        assert (found.field, found.message) == (f"metadata.annotations[{key}]", f"found 'A100;V100', {allowed}")


def test_a_model_that_is_not_wanted_is_told_by_any_part_of_its_name_and_an_unknown_one_may_be_it() -> None:
    wish = DeviceWish(excluded=("a10", "T4"))
    assert [wish.worth(model) for model in ("NVIDIA-A100-SXM4-80GB", "Tesla-T4", "", "NVIDIA-L4")] == [None] * 3 + [1.0]
    assert wish.model_names == "other than a10 or T4"
    assert DeviceWish((("A100", 1.0),), excluded=("40GB",)).model_names == "A100 other than 40GB"


def test_a_pod_on_a_node_says_which_gpus_it_has() -> None:
    said = {"hami.io/vgpu-devices-allocated": "GPU-0fc3,NVIDIA,3000,30:GPU-11,NVIDIA,3000,30:;"}
    assert task({HAMI[0]: 2, HAMI[1]: 3000}, annotations=said, node="n1").groups == ("GPU-0fc3", "GPU-11")
    whole = task({HAMI[0]: 2}, annotations=said, node="n1", scheduler="hami-scheduler")
    assert (whole.groups, whole.part) == (("GPU-0fc3", "GPU-11"), Part(2, milli=WHOLE, cores=WHOLE, side="hami"))


def test_the_page_of_what_is_honoured_names_every_annotation_that_holds_a_pod() -> None:
    text = (Path(__file__).parents[2] / "docs" / "honoured.md").read_text()
    assert [key for key in HELD if f"`{key}`" not in text] == []
