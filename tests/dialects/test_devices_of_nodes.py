"""Devices: what labels and annotations of a node say of each, and what happens when they contradict the counts."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from phalanx.dialects.read import read
from phalanx.model.device import UNLISTED, Device
from phalanx.model.events import NodeSeen
from phalanx.model.node import Node

GPU = "nvidia.com/gpu"
H100 = "NVIDIA-H100-80GB-HBM3"
REGISTER = "hami.io/node-nvidia-register"
CORDON = "phalanx.dev/cordoned-devices"


def node(
    given: dict[str, str], labels: Any = None, annotations: Any = None, capacity: dict[str, str] | None = None
) -> Node:
    event = read(
        {"apiVersion": "v1", "kind": "Node",
         "metadata": {"name": "n1", "labels": labels, "annotations": annotations},
         "status": {"allocatable": given, "capacity": capacity or given}},
        ["phalanx"],
    )  # fmt: skip
    assert isinstance(event, NodeSeen), event
    return event.node


def test_feature_discovery_says_model_and_memory_of_every_gpu() -> None:
    found = node(
        {GPU: "2", "cpu": "8"}, {f"{GPU}.product": H100, f"{GPU}.memory": "81559", f"{GPU}.count": "2"}
    )  # fmt: skip
    assert found.devices == tuple(Device(GPU, index, model=H100, memory=81559 << 20) for index in range(2))
    assert found.allocatable == {GPU: 2000, "cpu": 8000}
    assert found.remarks == ()


def test_a_plain_count_is_left_to_the_table_of_the_policy() -> None:
    assert node({GPU: "2"}) == Node("n1", allocatable={GPU: 2000}, labels={})


def test_time_slicing_gives_every_gpu_to_several_pods() -> None:
    """Feature discovery says so of the model, and perhaps of the resource."""
    labels = {f"{GPU}.product": "Tesla-T4-SHARED", f"{GPU}.memory": "15360", f"{GPU}.count": "2"}
    labels |= {f"{GPU}.replicas": "4"}
    for resource in (GPU, f"{GPU}.shared"):
        found = node({resource: "8"}, labels)
        assert found.devices == tuple(
            Device(resource, index, model="Tesla-T4", memory=15360 << 20, replicas=4) for index in range(2)
        )
        assert found.remarks == ()


def test_slices_have_a_resource_and_a_memory_of_their_own() -> None:
    mig = "nvidia.com/mig-1g.10gb"
    labels = {"nvidia.com/mig.strategy": "mixed", f"{GPU}.product": H100, f"{GPU}.count": "8"}
    labels |= {f"{mig}.product": f"{H100}-MIG-1g.10gb", f"{mig}.memory": "9728", f"{mig}.count": "2"}
    found = node({GPU: "1", mig: "2"}, labels)
    assert found.devices == (
        Device(GPU, 0, model=H100),
        *(Device(mig, index, model=f"{H100}-MIG-1g.10gb", memory=9728 << 20) for index in range(2)),
    )
    assert found.remarks == ()


def test_amd_names_its_labels_in_its_own_way() -> None:
    found = node({"amd.com/gpu": "1"}, {"amd.com/gpu.product-name": "AMD_Instinct_MI300X", "amd.com/gpu.vram": "192G"})
    assert found.devices == (Device("amd.com/gpu", 0, model="AMD_Instinct_MI300X", memory=192 * 10**9),)


HAMI_TEXT = "GPU-a,10,32768,100,NVIDIA-Tesla V100,0,true:GPU-b,10,16384,100,NVIDIA-Tesla T4,1,false:"
HAMI_NINE = "GPU-a,10,32768,100,NVIDIA-Tesla V100,0,true,3,hami-core:"
HAMI_JSON = '[{"id":"GPU-a","count":2,"devmem":49140,"devcore":100,"type":"NVIDIA L40","health":true,"index":1}]'


@pytest.mark.parametrize(
    ("text", "count", "devices"),
    [
        (HAMI_TEXT, "20", (
            Device(GPU, 0, "GPU-a", "NVIDIA-Tesla V100", 32 << 30, 0, side="hami", by_name=True, seats=10),
            Device(GPU, 1, "GPU-b", "NVIDIA-Tesla T4", 16 << 30, 1, healthy=False, side="hami", by_name=True, seats=10),
        )),
        (HAMI_NINE, "10", (
            Device(GPU, 3, "GPU-a", "NVIDIA-Tesla V100", 32 << 30, 0, side="hami", by_name=True, seats=10),
        )),
        (HAMI_JSON, "2", (Device(GPU, 1, "GPU-a", "NVIDIA L40", 49140 << 20, side="hami", by_name=True, seats=2),)),
    ],
    ids=["seven fields", "nine fields", "json"],
)  # fmt: skip
def test_hami_lists_every_gpu(text: str, count: str, devices: tuple[Device, ...]) -> None:
    """What it lists counts for more than a label that says the same of all. The places of a GPU are one GPU."""
    found = node({GPU: count}, {f"{GPU}.product": H100}, {REGISTER: text})
    assert found.devices == devices
    assert found.allocatable == {GPU: 1000}
    assert found.remarks == ()


def test_gpus_of_which_places_are_withheld_are_not_given_out_and_a_cordon_counts_once() -> None:
    text = HAMI_TEXT.replace("false", "true")
    assert node({GPU: "20"}, annotations={REGISTER: text}).allocatable == {GPU: 2000}
    assert node({GPU: "19"}, annotations={REGISTER: text}, capacity={GPU: "20"}).allocatable == {GPU: 1000}
    assert node({GPU: "20"}, annotations={REGISTER: text, CORDON: f"{GPU}=GPU-a"}).allocatable == {GPU: 1000}
    withheld = node({GPU: "10"}, annotations={REGISTER: text, CORDON: f"{GPU}=GPU-a"}, capacity={GPU: "20"})
    assert withheld.allocatable == {GPU: 1000}


def test_gpus_that_are_cut_into_slices_are_not_given_out_by_the_mebibyte() -> None:
    found = node({GPU: "7"}, annotations={REGISTER: "GPU-a,7,81920,100,NVIDIA-A100,0,true,0,mig:"})
    assert found.devices == (Device(GPU, 0, "GPU-a", "NVIDIA-A100", 80 << 30, 0, replicas=7),)
    assert found.allocatable == {GPU: 7000}


def test_volcano_lists_every_gpu_under_its_own_resource_and_here_they_are_gpus() -> None:
    """Unless the node has GPUs under their own name too: then nobody knows whether they are the same."""
    vgpu = "volcano.sh/vgpu-number"
    text = "GPU-a,4,81920,NVIDIA-H100,true,hami-core:GPU-b,4,81920,NVIDIA-H100,true,hami-core:"
    register = {"volcano.sh/node-vgpu-register": text}
    counts = {vgpu: "8", "volcano.sh/vgpu-memory": "163840", "volcano.sh/vgpu-cores": "200", "cpu": "4"}
    found = node(counts, {f"{GPU}.count": "2"}, register)
    assert found.devices == tuple(
        Device(GPU, index, id_, "NVIDIA-H100", 80 << 30, side="volcano", seats=4)
        for index, id_ in enumerate(("GPU-a", "GPU-b"))
    )
    assert found.allocatable == {GPU: 2000, "cpu": 4000}
    assert found.remarks == ()
    beside = node({vgpu: "8", GPU: "2"}, {}, register)
    assert beside.allocatable == {vgpu: 8, GPU: 2000}
    assert {one.resource for one in beside.devices} == {vgpu}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (HAMI_TEXT[:60],
         "found 'VIDIA-Tesla V100,0,true:GPU-b,10,16384,1' at its end, where every record ends with ':'"),
        (HAMI_JSON[:50], "found no whole JSON list: 'U-a\",\"count\":2,\"devmem\":49140,\"devcore\":' at its end"),
        ("GPU-a,10:", "found 'GPU-a,10', allowed is id,count,devmem,devcore,type,numa,health,index,mode"),
        ("GPU-a,10,lots,100,T4,0,true:", "devmem: found 'lots', allowed is a number up to 1073741824"),
        ("GPU-a,10,9,100,T4,0,maybe:", "health: found 'maybe', allowed is true or false"),
        ("[1]", "found something that is no device in the list"),
        ('[{"health":[]}]', "health: found a list, allowed is true or false"),
        ('[{"id":7}]', "id: found 7, allowed is a short word"),
        (HAMI_NINE * 2, "found two devices with one index"),
        ("a,1,1,1,T4,0,true:" * 300, "found 300 devices, allowed are at most 256"),
    ],
)  # fmt: skip
def test_a_register_that_cannot_be_read_is_one_line_and_the_node_is_counted(text: str, why: str) -> None:
    """Twenty places may be of one GPU: as those of one that is sliced, they are given out whole, and never in parts."""
    found = node({GPU: "20", "cpu": "8"}, {}, {REGISTER: text})
    assert found.devices == (Device(GPU, 0, replicas=20),)
    assert found.allocatable == {GPU: 20_000, "cpu": 8000}
    assert found.remarks == (f"metadata.annotations[{REGISTER}]: {why}; its {GPU} are counted and no more",)


@pytest.mark.parametrize(
    ("labels", "given", "capacity", "remark"),
    [
        ({f"{GPU}.count": "8"}, "6", "6", f"metadata.labels[{GPU}.count]: says 8, the device plugin 6 of {GPU}"),
        ({f"{GPU}.count": "8"}, "7", "8",
         f"1 of its 8 {GPU} is withheld by the device plugin, which does not say which"),
        ({}, "5", "8", f"3 of its 8 {GPU} are withheld by the device plugin, which does not say which"),
        ({f"{GPU}.product": H100, f"{GPU}.memory": "lots"}, "1", "1",
         f"metadata.labels[{GPU}.memory]: found 'lots', allowed is a number of MiB"),
        ({f"{GPU}.product": H100, f"{GPU}.count": "a"}, "1", "1",
         f"metadata.labels[{GPU}.count]: found 'a', allowed is a number"),
        ({f"{GPU}.product": H100, f"{GPU}.replicas": "3"}, "4", "4",
         f"metadata.labels[{GPU}.replicas]: says 3 for each device, the device plugin gives out 4"),
    ],
)  # fmt: skip
def test_the_node_says_which_count_does_not_agree(
    labels: dict[str, str], given: str, capacity: str, remark: str
) -> None:
    found = node({GPU: given}, labels, capacity={GPU: capacity})
    assert found.remarks == (remark,)
    assert found.allocatable == {GPU: int(given) * 1000}


def test_a_register_that_does_not_add_up_is_told() -> None:
    found = node({GPU: "10"}, {}, {REGISTER: HAMI_TEXT})
    assert found.remarks == (f"its annotations list 20 of {GPU}, the device plugin 10",)


def test_a_cordoned_gpu_is_a_place_less() -> None:
    found = node({GPU: "4", "cpu": "8"}, {}, {CORDON: f"{GPU}=1, 3"})
    assert found.devices == tuple(Device(GPU, index, cordoned=index in {1, 3}) for index in range(4))
    assert found.allocatable == {GPU: 2000, "cpu": 8000}
    assert found.remarks == ()


def test_a_device_is_cordoned_by_its_id_and_takes_all_its_places_along() -> None:
    found = node({GPU: "10"}, {}, {REGISTER: HAMI_TEXT, CORDON: f"{GPU}=GPU-a"}, {GPU: "20"})
    assert [one.cordoned for one in found.devices] == [True, False]
    assert found.allocatable == {GPU: 0}


def test_what_the_plugin_withholds_is_not_taken_off_twice() -> None:
    """It is most likely the one that is cordoned."""
    labels, cordon = {f"{GPU}.product": H100}, {CORDON: f"{GPU}=0"}
    assert node({GPU: "7"}, labels, cordon, {GPU: "8"}).allocatable == {GPU: 7000}
    assert node({GPU: "7"}, labels, {CORDON: f"{GPU}=0,1"}, {GPU: "8"}).allocatable == {GPU: 6000}
    assert node({GPU: "8"}, labels, {CORDON: f"{GPU}=0; {GPU}=1"}).allocatable == {GPU: 6000}


def test_an_unhealthy_gpu_is_a_place_less_whether_the_plugin_counts_it_or_not() -> None:
    for given in ("20", "10"):
        assert node({GPU: given}, {}, {REGISTER: HAMI_TEXT}, {GPU: "20"}).allocatable == {GPU: 1000}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"{GPU}=4", f"found '{GPU}=4', it has 4 of these, counted from 0"),
        (f"{GPU}=x", f"found '{GPU}=x', it has 4 of these, counted from 0"),
        (f"{GPU}=",
         f"found '{GPU}=', allowed is RESOURCE=INDEX,INDEX…, several with ';' between them, such as {GPU}=3,5"),
        ("3,5", "found '3,5', it has none of these"),
        ("amd.com/gpu=1", "found 'amd.com/gpu=1', it has none of these"),
    ],
)  # fmt: skip
def test_a_cordon_that_names_nothing_is_one_line(text: str, why: str) -> None:
    found = node({GPU: "4"}, {}, {CORDON: text})
    assert found.allocatable == {GPU: 4000}
    assert found.remarks == (f"metadata.annotations[{CORDON}]: {why}; it cordons nothing",)


def test_a_misspelt_key_on_a_node_is_one_line_whatever_the_node_has() -> None:
    key = "phalanx.dev/cordoned-device"
    assert node({"cpu": "1"}, {}, {key: f"{GPU}=1"}).remarks == (
        f"metadata.annotations[{key}]: unknown key {key}, did you mean {CORDON}",
    )
    assert node({"cpu": "1"}, {}, {CORDON: f"{GPU}=1"}).remarks == (
        f"metadata.annotations[{CORDON}]: found '{GPU}=1', it has none of these; it cordons nothing",
    )


def test_a_count_beyond_any_node_makes_no_devices() -> None:
    found = node({GPU: "9000000000000"}, {f"{GPU}.product": H100})
    assert found.devices == ()
    assert found.allocatable == {GPU: 9 * 10**15}


PIECES = [
    "GPU-a",
    "true",
    "[",
    "{",
    "}",
    "]",
    '"',
    ":",
    ",",
    ";",
    "=",
    "-1",
    "9" * 40,
    GPU,
    '"index"',
    "NaN",
    "1e9",
    "\ud800",
]
WORDS = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=20).map("".join)


@drawn(WORDS, WORDS, WORDS, st.integers(0, 4))
def test_whatever_a_node_says_it_is_read_and_never_gives_out_more(
    register: str, cordon: str, label: str, count: int
) -> None:
    found = node(
        {GPU: str(count)},
        {f"{GPU}{end}": label for end in (".product", ".memory", ".count", ".replicas")},
        {REGISTER: register, CORDON: cordon},
    )
    assert found.allocatable.get(GPU, 0) <= count * 1000
    assert all("\n" not in remark for remark in found.remarks)


KOORDINATOR = {"koordinator.sh/gpu-core": "200", "koordinator.sh/gpu-memory-ratio": "200", "koordinator.sh/gpu": "200",
               "koordinator.sh/gpu-memory": "48Gi"}  # fmt: skip
MODEL, VENDOR = "node.koordinator.sh/gpu-model", "node.koordinator.sh/gpu-vendor"


@pytest.mark.parametrize("beside", [{}, {GPU: "2"}], ids=["alone", "with a device plugin"])
def test_whole_hundreds_of_koordinators_percentages_are_gpus(beside: dict[str, str]) -> None:
    found = node(KOORDINATOR | beside, {MODEL: "NVIDIA-L4", VENDOR: "nvidia"})
    like = Device(GPU, 0, model="NVIDIA-L4", memory=24 << 30, side="" if beside else UNLISTED)
    assert found.devices == (like, replace(like, index=1))
    assert found.allocatable[GPU] == 2000
    assert found.remarks == ()


def test_percentages_of_other_vendors_and_other_numbers_than_the_device_plugins_say_nothing() -> None:
    assert GPU not in node(KOORDINATOR, {VENDOR: "huawei"}).allocatable
    assert node(KOORDINATOR | {GPU: "3"}).devices == ()
    assert node({"koordinator.sh/gpu-core": "50"}).allocatable == {"koordinator.sh/gpu-core": 50}
