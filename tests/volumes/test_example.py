"""The example of volumes says what its page says."""

import json
from pathlib import Path
from typing import Any

import pytest

from phalanx.cli.main import main

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "volumes"


def steps(capsys: pytest.CaptureFixture[str], *files: Path) -> list[dict[str, Any]]:
    names = [one for file in files for one in ("-f", str(file))]
    assert main(["plan", *names, "-o", "json"]) == 0
    cycles = json.loads(capsys.readouterr().out)["cycles"]
    return list(cycles[0]["steps"])


def test_without_a_fourth_disk_nobody_of_the_gang_starts(capsys: pytest.CaptureFixture[str]) -> None:
    found = steps(capsys, EXAMPLE / "cluster")
    assert {one["pod"]: one["node"] for one in found if one["step"] == "bind"} == {"ml/fresh": "n2", "ml/old": "n0"}
    waits = {one["gang"]: one["reason"] for one in found if one["step"] == "wait"}
    assert waits["ml/train"].startswith("4 needed together, 3 fit")
    assert "claim ml/nowhere is not there" in waits["ml/lost"]


def test_with_it_each_member_starts_where_its_volume_is(capsys: pytest.CaptureFixture[str]) -> None:
    found = steps(capsys, EXAMPLE)
    given = {one["node"]: one["volumes"] for one in found if one["step"] == "bind" and "train" in one["pod"]}
    assert sorted(volume for each in given.values() for volume in each.values()) == [f"disk-{n}" for n in range(4)]
    assert all(next(iter(each.values())) == node.replace("n", "disk-") for node, each in given.items())
