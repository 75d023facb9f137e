"""Parts of GPUs as other systems write them, on nodes as their device plugins describe them: who shares which GPU."""

import json
from pathlib import Path
from typing import Any

import pytest

from phalanx.cli.main import main

EXAMPLE = Path(__file__).parents[2] / "examples" / "gpu-dialects"


def planned(capsys: pytest.CaptureFixture[str], *names: str) -> dict[str, Any]:
    files = [word for name in ("nodes", *names) for word in ("-f", str(EXAMPLE / f"{name}.yaml"))]
    assert main(["plan", *files, "-o", "json"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    found: dict[str, Any] = json.loads(printed.out)
    return found


def bound(found: dict[str, Any]) -> dict[str, tuple[str, list[str]]]:
    steps = [step for step in found["cycles"][0]["steps"] if step["step"] == "bind"]
    return {step["pod"].partition("/")[2]: (step["node"], step["devices"].get("nvidia.com/gpu")) for step in steps}


def waiting(found: dict[str, Any]) -> dict[str, tuple[str, str]]:
    steps = [step for step in found["cycles"][0]["steps"] if step["step"] == "wait"]
    return {step["gang"].partition("/")[2]: (step["code"], step["reason"]) for step in steps}


def test_parts_in_hamis_words_join_who_is_on_the_very_gpu_that_its_annotation_names(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """8000 MiB beside 8192 of 24 GiB; 60 % of the cores no more."""
    found = planned(capsys, "hami")
    assert bound(found) == {"hami-memory": ("hami-1", ["1"]), "hami-share": ("hami-1", ["0"])}
    assert waiting(found) == {
        "hami-uuid": ("held", "metadata.annotations[nvidia.com/use-gpuuuid]: not honoured by this version")
    }


def test_vgpus_of_volcano_are_bounded_by_memory_and_by_cores(capsys: pytest.CaptureFixture[str]) -> None:
    found = planned(capsys, "volcano")
    assert bound(found) == {"volcano-pair": ("volcano-1", ["0", "1"])}
    assert {name: code for name, (code, _) in waiting(found).items()} == {"volcano-single": "full"}
    assert (
        "short of nvidia.com/gpu with 1000Mi and 0.7 of the cores left (most of the cores of one: 0.6)"
        in waiting(found)["volcano-single"][1]
    )


def test_koordinators_amounts_are_of_all_gpus_of_the_container_together(capsys: pytest.CaptureFixture[str]) -> None:
    """15 % of the cores and 8 GiB of each of two GPUs, and half of one beside."""
    found = planned(capsys, "koordinator")
    assert bound(found) == {
        "koordinator-pair": ("koordinator-1", ["0", "1"]),
        "koordinator-share": ("koordinator-1", ["0"]),
    }


def test_the_words_of_every_system_stand_beside_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    found = planned(capsys, "hami", "volcano", "koordinator", "kai")
    assert sorted(bound(found)) == [
        "hami-memory", "hami-share", "kai-quarter", "koordinator-pair", "koordinator-share", "volcano-pair",
    ]  # fmt: skip
    assert sorted(waiting(found)) == ["hami-uuid", "volcano-single"]
