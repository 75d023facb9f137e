"""GPUs that belong together inside a node, as the example of the documentation has them."""

import json
from pathlib import Path

import pytest

from phalanx.cli.main import main

EXAMPLE = Path(__file__).parents[2] / "examples" / "gpu-together"


def test_the_example_gives_boards_and_numa_nodes_to_those_who_need_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "-f", str(EXAMPLE), "-o", "json"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    found = json.loads(printed.out)
    assert found["refused"] == []
    steps = found["cycles"][0]["steps"]
    assert {one["pod"]: one["node"] for one in steps if one["step"] == "bind"} == {
        "default/first-eight": "board",
        "default/four": "boards",
        "default/another-four": "boards",
        "default/three": "aligned",
        "default/another-three": "aligned",
    }
    reasons = {one["gang"]: one["reason"] for one in steps if one["step"] == "wait"}
    assert "1 without room for it on devices that are linked" in reasons["default/second-eight"]
    assert "1 without room for it on one NUMA node, or on as few as can be" in reasons["default/two"]
