"""`phalanx queues` on a real cluster: one look, nothing written, and every refusal is one line."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from phalanx.cli.main import main
from phalanx.kube.queue_crd import NAME, queue_crd
from phalanx.sim.documents import queue_document
from phalanx.sim.scenario import read_scenario
from phalanx.testing.control_plane import ControlPlane, node_manifest

Captured = pytest.CaptureFixture[str]
QUEUES = """
queue research quota:gpu=8
queue team-a   parent=research quota:gpu=6 limit:gpu=12
queue team-b   parent=research quota:gpu=2
queue lost     parent=nobody
"""
TREE = """\
nvidia.com/gpu  quota  share  allocated  pending  0                           16
research            8     14          0       14  ··························│
├ team-a            6     12          0       12  ·······················]
└ team-b            2      2          0        2  ····│
█ within quota   ▒ borrowed   · pending   │ share   ] limit   16 to divide

set aside Queue lost: spec.parent: there is no Queue nobody
"""


def pod(name: str, queue: str, gpus: int) -> dict[str, Any]:
    container = {"name": "main", "image": "x", "resources": {"limits": {"nvidia.com/gpu": gpus}}}
    labels = {"phalanx.dev/queue": queue}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {"schedulerName": "phalanx", "containers": [container]},
    }


def create(plane: ControlPlane, *objects: dict[str, Any]) -> None:
    plane.kubectl("create", "-f", "-", stdin="\n---\n".join(json.dumps(one) for one in objects))


def test_the_tree_of_a_cluster_is_listed_once_and_a_refusal_is_one_line(
    fresh_control_plane: Callable[..., ControlPlane], capsys: Captured
) -> None:
    plane = fresh_control_plane()
    create(plane, node_manifest("gpu-1"), node_manifest("gpu-2"))
    # A controller may have made it already.
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "default"}}
    plane.kubectl("apply", "-f", "-", stdin=json.dumps(account))
    create(plane, pod("a", "team-a", 8), pod("b", "team-a", 4), pod("c", "team-b", 2))
    look = ["queues", "--kubeconfig", str(plane.kubeconfig), "--width", "80"]

    assert main(look) == 0
    assert capsys.readouterr().out.startswith(
        "There is no Queue: everybody is in one queue, default, without bounds.\n"
    )

    create(plane, queue_crd())
    plane.kubectl("wait", "--for=condition=Established", f"crd/{NAME}", "--timeout=60s")
    create(plane, *(queue_document(line) for line in read_scenario(QUEUES).queues))
    assert main(look) == 0
    assert capsys.readouterr() == (TREE, "")

    stranger = ["queues", "--kubeconfig", str(plane.user("stranger"))]
    assert main(stranger) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert printed.err.startswith("phalanx: Node (v1): cannot be listed at /api/v1/nodes: 403 nodes is forbidden: ")

    plane.kill("kube-apiserver")
    assert main(look) == 2
    printed = capsys.readouterr()
    assert printed == ("", "phalanx: Node (v1): no answer from the API server: connection refused\n")
