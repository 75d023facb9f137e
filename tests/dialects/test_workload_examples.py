"""`phalanx plan` with the Workload API of every release, as manifests on disk."""

import json
from pathlib import Path
from typing import Any

import pytest

from phalanx.cli.main import main

EXAMPLES = Path(__file__).parents[2] / "examples" / "workload-api"


def planned(capsys: pytest.CaptureFixture[str], *files: Path) -> dict[str, Any]:
    status = main(["plan", *(part for file in files for part in ("-f", str(file))), "-o", "json"])
    printed = capsys.readouterr()
    assert (status, printed.err) == (0, "")
    found: dict[str, Any] = json.loads(printed.out)
    return found


def steps(found: dict[str, Any]) -> list[str]:
    forms = {"bind": "bind {pod} {node} of {gang}", "wait": "wait {gang} {missing} {code}: {reason}"}
    return [forms[step["step"]].format(**step) for step in found["cycles"][0]["steps"]]


@pytest.mark.parametrize(
    ("version", "whole", "short", "basic"),
    [
        ("1.35", "ml/train/workers/0", "ml/train/workers/1", "ml/train/watchers"),
        ("1.36", "ml/train-0", "ml/train-1", "ml/watchers"),
        ("1.37", "ml/train-0", "ml/train-1", "ml/watchers"),
    ],
)
def test_the_groups_of_every_release_are_planned_alike(
    capsys: pytest.CaptureFixture[str], version: str, whole: str, short: str, basic: str
) -> None:
    found = planned(capsys, EXAMPLES / version)
    assert found["refused"] == []
    assert steps(found) == [
        *(f"bind ml/train-0-{index} n1 of {whole}" for index in range(4)),
        f"wait {short} 3 held: 3 of 4 members are there",
        *(f"bind ml/watch-{index} n2 of {basic}" for index in range(2)),
    ]
    gangs = {pod["pod"]: pod["gang"] for pod in found["pods"]}
    assert (gangs["ml/train-1-0"], gangs["ml/watch-0"]) == (short, basic)


@pytest.mark.parametrize(
    ("version", "gang", "reason"),
    [
        ("1.35", "ml/train/workers/0", "spec.workloadRef.name: there is no Workload ml/train"),
        ("1.36", "ml/train-0", "spec.schedulingGroup.podGroupName: there is no PodGroup ml/train-0"),
        ("1.37", "ml/train-0", "spec.schedulingGroup.podGroupName: there is no PodGroup ml/train-0"),
    ],
)
def test_pods_whose_group_is_not_among_the_files_are_held(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, version: str, gang: str, reason: str
) -> None:
    jobs = tmp_path / "jobs.yaml"
    jobs.write_text((EXAMPLES / version / "jobs.yaml").read_text().replace("priorityClassName: training", ""))
    assert f"wait {gang} 4 held: {reason}" in steps(planned(capsys, EXAMPLES / version / "nodes.yaml", jobs))


def changed(
    capsys: pytest.CaptureFixture[str], folder: Path, version: str, old: str, new: str
) -> tuple[list[str], list[str]]:
    """Plan an example with another text in its first PodGroup; return what was refused, and the steps."""
    for file in (EXAMPLES / version).iterdir():
        text = file.read_text()
        if file.name == "groups.yaml":
            head, kind, rest = text.partition("kind: PodGroup")
            assert old in rest
            text = head + kind + rest.replace(old, new, 1)
        (folder / file.name).write_text(text)
    assert main(["plan", "-f", str(folder), "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    return [f"{one['object']}: {one['field']}: {one['message']}" for one in found["refused"]], steps(found)


COUNT = "spec.schedulingPolicy.gang.minCount: found 0, allowed is a whole number from 1 to 2147483647"
CLASS = "spec.priorityClassName: found 'lost', allowed is the name of a PriorityClass that exists"


@pytest.mark.parametrize(
    ("version", "change", "mistake"),
    [
        ("1.36", ("minCount: 4", "minCount: 0"), COUNT),
        ("1.36", ("spec:\n", "spec:\n  priorityClassName: lost\n"), CLASS),
        ("1.37", ("minCount: 4", "minCount: 0"), COUNT),
        ("1.37", ("priorityClassName: training", "priorityClassName: lost"), CLASS),
    ],
)
def test_a_bad_group_is_refused_and_its_pods_say_that_it_cannot_be_read(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, version: str, change: tuple[str, str], mistake: str
) -> None:
    refused, found = changed(capsys, tmp_path, version, *change)
    held = "spec.schedulingGroup.podGroupName: PodGroup ml/train-0 cannot be read: "
    assert refused == [f"PodGroup ml/train-0: {mistake}"]
    assert f"wait ml/train-0 4 held: {held}{mistake}" in found


def test_in_1_37_a_group_without_a_class_has_priority_0_as_on_a_real_cluster(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    refused, found = changed(capsys, tmp_path, "1.37", "  priorityClassName: training\n", "")
    pods = "1000 on train-0-0, train-0-1, train-0-2 and 1 more"
    held = f"spec.priority: the pods of a group must have its priority 0, found {pods}"
    assert refused == []
    assert f"wait ml/train-0 4 held: {held}" in found


def test_groups_alone_are_nothing_to_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "-f", str(EXAMPLES / "1.36" / "groups.yaml")]) == 2
    assert capsys.readouterr().err == "phalanx: nothing to plan: found no Node and no Pod\n"
