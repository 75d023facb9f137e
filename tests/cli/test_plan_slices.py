"""Slices of GPUs in `phalanx plan`: who gets one, what is said of a profile that nobody has, and what queues count."""

import json
from pathlib import Path

import pytest

from phalanx.cli.main import main

EXAMPLE = Path(__file__).parents[2] / "examples" / "mig"


def test_the_example_gives_every_slice_away_and_counts_them_as_five_sevenths_of_a_gpu(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["plan", "-f", str(EXAMPLE), "-o", "json"]) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    steps = found["cycles"][0]["steps"]
    assert (printed.err, found["refused"]) == ("", [])
    assert [(step["pod"], step["node"]) for step in steps if step["step"] == "bind"] == [
        ("default/large", "h100-1"), ("default/small-0", "h100-1"),
        ("default/small-1", "h100-1"), ("default/small-2", "h100-1"),
    ]  # fmt: skip
    none = "(0/1 nodes have one; other"
    assert {step["gang"]: f"{step['code']}: {step['reason']}" for step in steps if step["step"] == "wait"} == {
        "default/misspelt": "never: 0/1 nodes: 1 without nvidia.com/mig-1g.20gb "
        f"{none} slices here: nvidia.com/mig-1g.10gb, nvidia.com/mig-2g.20gb)",
        "default/picky": "never: 0/1 nodes: 1 without a device of model A100 "
        f"{none} models here: NVIDIA-H100-80GB-HBM3-MIG-1g.10gb)",
        "default/small-3": "full: 0/1 nodes: 1 short of nvidia.com/mig-1g.10gb (most free on one node: 0 of 3)",
    }
    assert found["queues"][0]["allocated"] == {"nvidia.com/gpu": "711m"}


def test_queues_counts_by_the_policy_that_it_is_given(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("extends: default\ncharges: [{resource: nvidia.com/mig-*, as: nvidia.com/gpu, amount: 2}]\n")
    assert main(["queues", "-f", str(EXAMPLE), "--policy", str(policy), "-o", "json"]) == 0
    (queue,) = json.loads(capsys.readouterr().out)["queues"]
    assert queue["requested"] == {"nvidia.com/gpu": "14"}
