"""The three stories as manifests: what a pod-by-pod scheduler does to them, and what Phalanx does."""

import json
from pathlib import Path
from typing import Any

import pytest

from phalanx.cli.main import main

EXAMPLES = Path(__file__).parents[2] / "examples"


def steps(capsys: pytest.CaptureFixture[str], example: str, policy: str) -> list[str]:
    """Plan an example and return its steps as lines; every step must be one of these two."""
    status = main(["plan", "-f", str(EXAMPLES / example), "--policy", policy, "-o", "json"])
    printed = capsys.readouterr()
    assert (status, printed.err) == (0, "")
    found: dict[str, Any] = json.loads(printed.out)
    assert (len(found["cycles"]), found["refused"]) == (1, [])
    forms = {"bind": "bind {pod} {node}", "wait": "wait {gang} {missing} {code}: {reason}"}
    return [forms[step["step"]].format(**step) for step in found["cycles"][0]["steps"]]


def binds(gang: str, nodes: str, first: int = 0) -> list[str]:
    """Return one bind per node of the list, in order of the pods' numbers."""
    return [f"bind default/{gang}-{index} {node}" for index, node in enumerate(nodes.split(), start=first)]


def test_pod_by_pod_two_gangs_take_all_gpus_and_the_training_is_never_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert steps(capsys, "deadlock/arriving", "pod-by-pod") == [
        *binds("training", "n1 n2 n1 n2 n1"),
        *binds("inference", "n2 n1 n2 n1 n2"),
    ]


def test_phalanx_starts_the_gang_that_is_complete_and_the_other_waits_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert steps(capsys, "deadlock/arriving", "default") == [
        "wait default/training 5 held: 5 of 8 members are there",
        *binds("inference", "n1 n1 n1 n1 n1"),
    ]


def test_phalanx_starts_the_older_of_two_complete_gangs_whole(capsys: pytest.CaptureFixture[str]) -> None:
    *placed, waiting = steps(capsys, "deadlock/complete", "default")
    assert placed == binds("training", "n1 n1 n1 n1 n1 n2 n2 n2")
    assert waiting.startswith("wait default/inference 5 full: 5 needed together, 2 fit: ")


def test_pod_by_pod_the_younger_of_two_complete_gangs_holds_gpus_that_it_cannot_use(
    capsys: pytest.CaptureFixture[str],
) -> None:
    *placed, waiting = steps(capsys, "deadlock/complete", "pod-by-pod")
    assert placed == [*binds("training", "n1 n2 n1 n2 n1 n2 n1 n2"), *binds("inference", "n1 n2")]
    assert waiting.startswith("wait default/inference 3 full: ")


def test_pod_by_pod_small_pods_fragment_both_nodes_and_the_large_one_waits(capsys: pytest.CaptureFixture[str]) -> None:
    assert steps(capsys, "fragmentation", "pod-by-pod") == [
        *binds("small", "n1 n2 n1 n2 n1 n2 n1 n2", first=1),
        "wait default/large 1 full: 0/2 nodes: 2 short of nvidia.com/gpu (most free on one node: 4 of 8)",
    ]


def test_phalanx_packs_small_pods_and_the_large_one_starts(capsys: pytest.CaptureFixture[str]) -> None:
    assert steps(capsys, "fragmentation", "default") == [
        *binds("small", "n1 n1 n1 n1 n1 n1 n1 n1", first=1),
        "bind default/large n2",
    ]


def test_pod_by_pod_a_group_is_spread_over_both_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    assert steps(capsys, "packing/three", "pod-by-pod") == binds("render", "node-a node-b node-a")
    assert steps(capsys, "packing/five", "pod-by-pod") == binds("render", "node-b node-b", first=3)


def test_phalanx_packs_a_group_and_fills_its_node_before_it_takes_another(capsys: pytest.CaptureFixture[str]) -> None:
    assert steps(capsys, "packing/three", "default") == binds("render", "node-a node-a node-a")
    assert steps(capsys, "packing/five", "default") == binds("render", "node-a node-b", first=3)


HUGE = "without a device of at least 141Gi (largest 81559Mi, 0/3 nodes have one)"


def test_pods_go_to_the_models_and_sizes_of_gpu_that_they_ask_for(capsys: pytest.CaptureFixture[str]) -> None:
    """One H100 is cordoned. What no GPU here can serve never starts, and says so."""
    assert steps(capsys, "gpus", "default") == [
        f"wait default/huge 1 never: 0/3 nodes: 3 {HUGE}",
        "bind default/infer t4-1",
        "bind default/tune a100-1",
        *binds("train", "h100-1 h100-1 h100-1 a100-1"),
    ]
