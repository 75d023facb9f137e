"""Parts of GPUs in the document of `phalanx plan`: which GPU each pod shares, in steps and in pods."""

import json
from pathlib import Path
from typing import Any

import pytest

from phalanx.cli import planning
from phalanx.cli.main import main

EXAMPLE = Path(__file__).parents[2] / "examples" / "gpu-sharing"


def planned(capsys: pytest.CaptureFixture[str], *paths: Path, policy: str = "default") -> dict[str, Any]:
    files = [word for path in paths for word in ("-f", str(path))]
    assert main(["plan", *files, "--policy", policy, "-o", "json"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    found: dict[str, Any] = json.loads(printed.out)
    return found


def on(gpu: str) -> dict[str, list[str]]:
    return {"nvidia.com/gpu": [gpu]}


def test_the_example_says_who_shares_which_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    found = planned(capsys, EXAMPLE)
    steps = found["cycles"][0]["steps"]
    assert [(step["pod"], step["node"], step["devices"]) for step in steps if step["step"] == "bind"] == [
        ("default/half", "l4-1", on("0")),
        ("default/tenth", "l4-1", on("0")),
        ("default/models-0", "l4-1", on("1")),
        ("default/models-1", "l4-1", on("1")),
    ]
    assert [(step["gang"], step["code"], step["reason"]) for step in steps if step["step"] == "wait"] == [
        ("default/huge", "never", "0/1 nodes: 1 too small in nvidia.com/gpu (40Gi asked, largest 24Gi)")
    ]
    assert {pod["pod"].partition("/")[2]: pod["devices"] for pod in found["pods"]} == {
        "half": on("0"), "huge": {}, "models-0": on("1"), "models-1": on("1"), "notebook": on("0"), "tenth": on("0"),
    }  # fmt: skip
    assert found["queues"][0]["allocated"]["nvidia.com/gpu"] == "1900m"


def test_a_person_reads_on_which_gpu_each_pod_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "-f", str(EXAMPLE)]) == 0
    bound = [line.split("  ", 3)[1:] for line in capsys.readouterr().out.splitlines() if line.startswith("  bind")]
    assert [" ".join(" ".join(words).split()) for words in bound] == [
        "bind default/half 1 pod: l4-1 GPU 0",
        "bind default/tenth 1 pod: l4-1 GPU 0",
        "bind default/models 2 pods: l4-1 GPU 1 ×2 (models-0, models-1)",
    ]


def test_a_policy_that_does_not_know_parts_holds_who_asks_for_one(capsys: pytest.CaptureFixture[str]) -> None:
    found = planned(capsys, EXAMPLE, policy="pod-by-pod")
    steps = found["cycles"][0]["steps"]
    assert {step["code"] for step in steps} == {"held"}
    why = "parts of a GPU are given out only with the plugin shared_devices, which the policy does not have"
    assert all(step["reason"].endswith(why) for step in steps)


def test_nodes_and_queues_from_files_count_a_gpu_that_is_shared_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nodes", "-f", str(EXAMPLE / "nodes.yaml"), "-o", "json"]) == 0
    (node,) = json.loads(capsys.readouterr().out)["nodes"]
    assert [(one["running"], one["left"]) for one in node["resources"]] == [(1, 1)]
    assert main(["queues", "-f", str(EXAMPLE), "-o", "json"]) == 0
    (queue,) = json.loads(capsys.readouterr().out)["queues"]
    assert queue["allocated"]["nvidia.com/gpu"] == "300m"


def test_on_top_of_a_live_cluster_parts_are_given_out_as_by_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing lies under the files here: it is the option that counts."""
    monkeypatch.setattr(planning, "_lay_on_cluster", lambda *_: 0.0)
    plans = []
    for live in ([], ["--live"]):
        assert main(["plan", *live, "-f", str(EXAMPLE), "-o", "json"]) == 0
        plans.append(json.loads(capsys.readouterr().out)["cycles"][0]["steps"])
    assert plans[0] == plans[1]
