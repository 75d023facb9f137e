"""What `phalanx plan` tells of topology: how close gangs are, what is odd about the labels, who is split."""

import json
from pathlib import Path
from typing import Any

import pytest

from phalanx.cli.main import main

EXAMPLE = Path(__file__).parents[2] / "examples" / "topology"
RACK = "topology.kubernetes.io/rack"
ZONE = "topology.kubernetes.io/zone"


def planned(capsys: pytest.CaptureFixture[str], path: Path) -> tuple[dict[str, Any], str]:
    """Return the document and the text of a plan."""
    assert main(["plan", "-f", str(path), "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert main(["plan", "-f", str(path)]) == 0
    return found, capsys.readouterr().out


def test_the_example_keeps_each_gang_where_it_wishes(capsys: pytest.CaptureFixture[str]) -> None:
    found, text = planned(capsys, EXAMPLE)
    steps = [(step.get("pod"), step.get("node"), step.get("gang")) for step in found["cycles"][0]["steps"]]
    assert steps == [
        ("default/serving-decode-0", "c1", "default/serving"),
        ("default/serving-decode-1", "c1", "default/serving"),
        ("default/serving-prefill-0", "c2", "default/serving"),
        ("default/training-0", "a1", "default/training"),
        ("default/training-1", "a2", "default/training"),
        ("default/training-2", "b1", "default/training"),
        ("default/training-3", "b2", "default/training"),
        (None, None, "default/wide"),
    ]
    assert "3 needed in one rack" in found["cycles"][0]["steps"][-1]["reason"]
    assert [level["name"] for level in found["topology"]["levels"]] == ["block", "rack", "node"]
    assert [(one["gang"], one["domains"], one["nodes"], one["distance"]) for one in found["gangs"]] == [
        ("default/serving", 1, 2, 0.6667),
        ("default/training", 2, 4, 1.6667),
    ]
    assert "default/training: 4 pods in 2 racks, mean distance 1.67" in text


def test_a_rack_name_in_two_zones_is_two_racks_and_is_told_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "nodes.json").write_text(json.dumps(listed(
        node("n1", {ZONE: "a", RACK: "1"}), node("n2", {ZONE: "b", RACK: "1"}), node("n3", {ZONE: "b", RACK: "2"}),
        *(pod(f"g-{at}", {"phalanx.dev/topology-required": "rack"}) for at in range(2)),
    )))  # fmt: skip
    found, text = planned(capsys, tmp_path)
    assert found["topology"]["remarks"] == [f"rack 1 is in a, b: it counts as 2 ({RACK})"]
    assert f"topology: rack 1 is in a, b: it counts as 2 ({RACK})" in text
    [wait] = found["cycles"][0]["steps"]
    assert wait["reason"].startswith("2 needed in one rack: rack a/1 has room for 1 of 2")


def test_a_gang_that_relabelling_split_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wish = {"phalanx.dev/topology-required": "rack"}
    (tmp_path / "nodes.json").write_text(json.dumps(listed(
        node("n1", {RACK: "1"}), node("n2", {RACK: "2"}), pod("g-0", wish, "n1"), pod("g-1", wish, "n2"),
    )))  # fmt: skip
    found, text = planned(capsys, tmp_path)
    said = "default/g must be in one rack, and since the topology changed is in 1, 2"
    assert [one["split"] for one in found["gangs"]] == [said]
    assert f"topology: {said}" in text
    assert found["cycles"][0]["steps"] == []


def listed(*items: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "items": list(items)}


def node(name: str, labels: dict[str, str]) -> dict[str, Any]:
    amounts = {"cpu": "8", "memory": "8Gi", "pods": "110", "nvidia.com/gpu": "8"}
    return {
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]},
    }  # fmt: skip


def pod(name: str, wish: dict[str, str], on: str | None = None) -> dict[str, Any]:
    told = {"phalanx.dev/gang": "g", "phalanx.dev/minimum": "2", **wish}
    resources = {"limits": {"nvidia.com/gpu": "8"}}
    spec: dict[str, Any] = {"schedulerName": "phalanx", "containers": [{"name": "c", "resources": resources}]}
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": told},
        "spec": spec if on is None else spec | {"nodeName": on}, "status": {"phase": "Running" if on else "Pending"},
    }  # fmt: skip
