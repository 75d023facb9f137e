"""`phalanx nodes`: a cell for each device, who has some, what is left, what is out of service."""

import json
from pathlib import Path
from typing import Any

import pytest

from phalanx.cli.main import main
from phalanx.cli.node_rows import Held, Holder, NodeRow
from phalanx.cli.node_text import node_table
from phalanx.model.device import Device
from phalanx.model.node import Node
from phalanx.testing.objects import pod_manifest

Captured = pytest.CaptureFixture[str]
GPU = "nvidia.com/gpu"
REGISTER = "hami.io/node-nvidia-register"


def node(
    name: str, amounts: dict[str, str], labels: Any = None, annotations: Any = None, **spec: Any
) -> dict[str, Any]:
    meta = {"name": name, "labels": labels or {}, "annotations": annotations or {}}
    status = {"allocatable": {"pods": "110", "cpu": "64", **amounts}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": spec, "status": status}


def pod(name: str, gpus: int, on: str | None = None, **options: Any) -> dict[str, Any]:
    found = pod_manifest(name, node=on, **options)
    found["spec"]["containers"][0]["resources"] = {"limits": {GPU: str(gpus)}}
    return found


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    h100 = {f"{GPU}.product": "NVIDIA-H100-80GB-HBM3", f"{GPU}.memory": "81920", f"{GPU}.count": "8"}
    leaving = pod("leaving", 1, "gpu-1")
    leaving["metadata"]["deletionTimestamp"] = "2026-11-01T12:00:00Z"
    coming = pod("coming", 1)
    coming["status"] = {"nominatedNodeName": "gpu-1"}
    hami = "GPU-a,1,81920,100,H100,0,true:GPU-b,1,16384,100,T4,1,false:"
    found = [
        node("gpu-1", {GPU: "8"}, h100, {"phalanx.dev/cordoned-devices": f"{GPU}=7"}),
        node("gpu-2", {GPU: "1", "example.com/npu": "2"}, {f"{GPU}.count": "4"}, unschedulable=True),
        node("mixed", {GPU: "2"}, {}, {REGISTER: hami}),
        node("cpu-1", {}),
        pod("train-0", 2, "gpu-1", gang="train", minimum=2),
        pod("train-1", 2, "gpu-1", gang="train", minimum=2),
        pod("notebook", 1, "gpu-1", scheduler="default-scheduler"),
        leaving,
        coming,
    ]
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": found}))
    return str(file)


def told(capsys: Captured, *arguments: str) -> str:
    assert main(["nodes", *arguments]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


WHO = "default/train ×4, default/coming ×1, default/leaving ×1, default/notebook ×1; cordoned 7"
MIXED_MODELS = "1× H100, 1× T4         80Gi, 16Gi"
TABLE = f"""\
node              resource        model                  memory      devices   left  who
gpu-1             nvidia.com/gpu  NVIDIA-H100-80GB-HBM3  80Gi        █████▒○x     0  {WHO}
gpu-2 (cordoned)  nvidia.com/gpu                                     ·            1
mixed             nvidia.com/gpu  {MIXED_MODELS}  ·!           1  unhealthy 1
█ in use   ▒ leaving   ○ promised   · free   ! unhealthy   x cordoned
1 node without devices left out (-o wide shows them)

gpu-2: metadata.labels[nvidia.com/gpu.count]: says 4, the device plugin 1 of nvidia.com/gpu
"""


def test_a_node_is_a_line_with_a_cell_for_each_device(cluster: str, capsys: Captured) -> None:
    assert told(capsys, "-f", cluster) == TABLE


WIDE = """\
node              resource        model                  memory      devices    left  who
cpu-1
gpu-1             nvidia.com/gpu  NVIDIA-H100-80GB-HBM3  80Gi        █████▒○x      0  default/notebook (1), \
default/train-0 (2), default/train-1 (2), default/coming (1, promised), default/leaving (1, leaving); cordoned 7
                    7             NVIDIA-H100-80GB-HBM3  80Gi        cordoned
gpu-2 (cordoned)  nvidia.com/gpu                                     ·             1
mixed             nvidia.com/gpu  1× H100, 1× T4         80Gi, 16Gi  ·!            1  unhealthy 1
                    0             H100                   80Gi                         GPU-a, numa 0
                    1             T4                     16Gi        unhealthy        GPU-b, numa 1
"""


def test_wide_has_every_node_pod_and_device_that_is_described(cluster: str, capsys: Captured) -> None:
    assert told(capsys, "-f", cluster, "-o", "wide").startswith(WIDE)


def test_programs_get_every_key(cluster: str, capsys: Captured) -> None:
    nodes = json.loads(told(capsys, "-f", cluster, "-o", "json"))["nodes"]
    assert [one["node"] for one in nodes] == ["cpu-1", "gpu-1", "gpu-2", "mixed"]
    assert nodes[0] == {"node": "cpu-1", "ready": True, "cordoned": False, "resources": [], "remarks": []}
    assert nodes[2]["remarks"] == [f"metadata.labels[{GPU}.count]: says 4, the device plugin 1 of {GPU}"]
    [held] = nodes[3]["resources"]
    assert held == {
        "resource": GPU, "places": 2, "allocatable": 1, "running": 0, "leaving": 0, "promised": 0, "left": 1,
        "devices": [
            {"index": 0, "id": "GPU-a", "model": "H100", "memory": 80 << 30, "numa": 0, "group": None, "replicas": 1,
             "healthy": True, "cordoned": False},
            {"index": 1, "id": "GPU-b", "model": "T4", "memory": 16 << 30, "numa": 1, "group": None, "replicas": 1,
             "healthy": False, "cordoned": False},
        ],
        "pods": [],
    }  # fmt: skip
    assert nodes[1]["resources"][0]["pods"][1] == {
        "pod": "default/train-0", "gang": "default/train", "count": 2, "state": "running",
    }  # fmt: skip


def test_the_policy_says_what_else_is_a_device(cluster: str, tmp_path: Path, capsys: Captured) -> None:
    policy = tmp_path / "npu.yaml"
    policy.write_text("extends: default\ndevices: [example.com/*]\n")
    lines = told(capsys, "-f", cluster, "--policy", str(policy)).splitlines()
    assert "gpu-2 (cordoned)  example.com/npu                                     ··           2" in lines


def row(*devices: Device, allocatable: int, holders: tuple[Holder, ...] = ()) -> NodeRow:
    return NodeRow(Node("n1"), [Held(GPU, devices, allocatable, holders)])


def cells(one: NodeRow, encoding: str = "utf-8") -> list[str]:
    return node_table([one], wide=False, width=None, encoding=encoding)[1][0].split()


FOUR = tuple(Device(GPU, index) for index in range(4))


def test_what_the_device_plugin_withholds_is_a_cell_of_its_own() -> None:
    assert cells(row(*FOUR, allocatable=3)) == ["n1", GPU, "···?", "3"]


def test_who_runs_on_more_than_is_left_stays_in_sight() -> None:
    three = tuple(Device(GPU, index, cordoned=index > 0) for index in range(4))
    holder = Holder("a/b", None, 4, "running")
    assert cells(row(*three, allocatable=1, holders=(holder,))) == [
        "n1", GPU, "████", "-3", "a/b", "×4;", "cordoned", "1,2,3"
    ]  # fmt: skip


def test_a_terminal_without_these_letters_gets_others_and_many_places_are_a_number() -> None:
    holder = Holder("a/b", None, 2, "running")
    assert cells(row(*FOUR, allocatable=4, holders=(holder,)), "ascii")[2] == "##.."
    split = tuple(Device(GPU, index, replicas=10) for index in range(4))
    assert " ".join(cells(row(*split, allocatable=40, holders=(holder,)))) == f"n1 {GPU} 2 of 40 in use 38 a/b ×2"


def test_nothing_of_a_stranger_reaches_the_terminal_raw() -> None:
    device = Device(GPU, 0, id="\x1b[31m", model="\x1b[2J")
    one = NodeRow(Node("n1", remarks=("\x1b]0;x",)), [Held(GPU, (device,), 1, (Holder("a/\x1b", None, 1, "running"),))])
    for wide in (False, True):
        assert "\x1b" not in str([line for line, _ in node_table([one], wide=wide, width=None, encoding="utf-8")])


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["gpu-1"], "nodes: found gpu-1, allowed are options alone: -f gpu-1, if that is a file"),
        (["--contxt", "a"], "nodes: unknown option --contxt; see phalanx nodes --help"),
        (["-f", "a", "-x"], "nodes: unknown option -x; see phalanx nodes --help"),
        (
            ["-f", "a", "--context", "c"],
            "nodes: found -f with --kubeconfig or --context, allowed is one of files and a cluster",
        ),
        (["--kubeconfig", "/nowhere"], "kubeconfig /nowhere: No such file or directory"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line(options: list[str], line: str, capsys: Captured) -> None:
    assert main(["nodes", *options]) == 2
    assert capsys.readouterr() == ("", f"phalanx: {line}\n")


def test_there_may_be_none(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "pod.json"
    file.write_text(json.dumps(pod("a", 1)))
    assert told(capsys, "-f", str(file)) == "no nodes\n"


@pytest.mark.parametrize("backwards", [False, True])
def test_a_shared_gpu_is_in_use_once_whichever_pod_is_read_first(
    backwards: bool, tmp_path: Path, capsys: Captured
) -> None:
    """The pods that keep two shared GPUs from others count with those who share; one of the GPUs has gone since."""
    shared = [pod_manifest(f"half-{group}", requests={"cpu": "1"}, node="n1") for group in "01"]
    keepers = [pod(f"gpu-{group}", 1, "n1", namespace="system", scheduler="default-scheduler") for group in "01"]
    for group, one, keeper in zip("01", shared, keepers, strict=True):
        one["metadata"]["annotations"] = {"phalanx.dev/gpu-fraction": "0.5", "phalanx.dev/gpu-group": group}
        keeper["metadata"]["annotations"] = {"phalanx.dev/gpu-group": group}
    pods = [*shared, *keepers]
    found = [node("n1", {GPU: "1"}), *(reversed(pods) if backwards else pods)]
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": found}))
    row = told(capsys, "-f", str(file)).splitlines()[1]
    assert row.split() == ["n1", GPU, "██", "-1", "default/half-0", "×1,", "default/half-1", "×1"]
