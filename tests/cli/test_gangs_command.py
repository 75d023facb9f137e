"""`phalanx gangs` from files: who is in a gang, where, for how long, and why it waits."""

import json
from pathlib import Path
from typing import Any

import pytest

from phalanx.cli.gang_text import age
from phalanx.cli.main import main
from phalanx.testing.objects import pod_manifest

Captured = pytest.CaptureFixture[str]
WHY = "4 needed together, 2 fit: 1 of 1 node has room"


def pod(name: str, phase: str = "Pending", why: str | None = None, **options: Any) -> dict[str, Any]:
    found = pod_manifest(name, **options)
    false = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": why}
    minute = name.count("late") * 10
    found["metadata"]["creationTimestamp"] = f"2026-11-01T12:{minute:02d}:00Z"
    return found | {"status": {"phase": phase, "conditions": [false] if why else []}}


@pytest.fixture
def pods(tmp_path: Path) -> str:
    found = [
        pod("train-0", "Running", gang="train", minimum=2, node="n1"),
        pod("train-1", gang="train", minimum=2, node="n1"),
        pod("train-2", gang="train", minimum=2, why=WHY),
        pod("train-3", "Succeeded", gang="train", minimum=2, node="n2"),
        pod("big-0", gang="big", minimum=4, namespace="ml", why="old words"),
        *(pod(f"big-{number}", gang="big", minimum=4, namespace="ml", why=WHY) for number in range(1, 4)),
        pod("over", "Succeeded", node="n1"),
        pod("late", namespace="ml"),
        pod("others", scheduler="default-scheduler"),
    ]
    file = tmp_path / "pods.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": found}))
    return str(file)


def told(capsys: Captured, *arguments: str) -> str:
    assert main(["gangs", *arguments]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


TABLE = f"""\
gang           queue    min  for  pods                                       where, or why not
default/train  default    2  10m  1 running, 1 starting, 1 waiting, 1 ended  n1 ×2; {WHY}
ml/big         default    4  10m  4 waiting                                  {WHY}
ml/late        default    1  0s   1 waiting                                  no scheduler has said why
"""


def test_a_gang_is_a_line_with_what_most_of_its_pods_were_told(pods: str, capsys: Captured) -> None:
    assert told(capsys, "-f", pods) == TABLE


def test_one_namespace_leaves_its_name_out_and_wide_has_the_priority(pods: str, capsys: Captured) -> None:
    assert (
        told(capsys, "-f", pods, "-n", "ml", "-o", "wide")
        == f"""\
gang  queue    priority  min  for  pods       where, or why not
big   default         0    4  10m  4 waiting  {WHY}
late  default         0    1  0s   1 waiting  no scheduler has said why
"""
    )


@pytest.mark.parametrize("columns", [1, 20, 33, 48, 80])
def test_a_narrow_screen_cuts_lines_and_nothing_else_happens(
    columns: int, pods: str, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    lines = told(capsys, "-f", pods).splitlines()
    assert len(lines) == 4
    assert max(len(line) for line in lines) == columns


def test_a_long_name_keeps_the_columns_where_nothing_is_cut(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "pods.json"
    pods = [pod("a" * 50, why=WHY), pod("b", why=WHY)]
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}))
    _, *rows = told(capsys, "-f", str(file)).splitlines()
    assert len({row.index(WHY) for row in rows}) == 1


def test_programs_get_every_key(pods: str, capsys: Captured) -> None:
    first = json.loads(told(capsys, "-f", pods, "-o", "json"))["gangs"][0]
    assert first == {
        "gang": "default/train", "namespace": "default", "queue": "default", "priority": 0,
        "minimum": 2, "maximum": None,
        "members": {"running": 1, "bound": 1, "pending": 1, "leaving": 0, "finished": 1},
        "nodes": {"n1": 2}, "nominated": {}, "state": "waiting",
        "since": "2026-11-01T12:00:00Z", "seconds": 600, "reason": "Unschedulable", "message": WHY,
    }  # fmt: skip


def test_where_there_is_none_it_says_who_else_schedules_there(pods: str, capsys: Captured) -> None:
    assert told(capsys, "-f", pods, "-n", "empty") == "no gangs in namespace empty\n"
    assert main(["gangs", "-f", pods, "-n", "default", "--scheduler-name", "default-scheduler"]) == 0
    assert "\nothers " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["train"], "gangs: found train, allowed are options alone: -n NAMESPACE, or -f FILE for manifests"),
        (["--namespce", "ml"], "gangs: unknown option --namespce; see phalanx gangs --help"),
        (["-n", "a", "-A"], "gangs: found --namespace and --all-namespaces, allowed is one of them"),
        (
            ["-f", "a", "-w"],
            "gangs: found -f with --kubeconfig, --context or --watch, allowed is one of files and a cluster",
        ),
        (["-w", "-o", "json"], "gangs: --watch with -o json: allowed with --watch are text and wide"),
        (["--kubeconfig", "/nowhere"], "kubeconfig /nowhere: No such file or directory"),
    ],
)
def test_a_mistake_is_one_line(options: list[str], line: str, capsys: Captured) -> None:
    assert main(["gangs", *options]) == 2
    assert capsys.readouterr() == ("", f"phalanx: {line}\n")


@pytest.mark.parametrize(
    ("seconds", "text"), [(-3, "0s"), (119, "119s"), (120, "2m"), (7199, "119m"), (7200, "2h"), (172800, "2d")]
)
def test_a_span_has_one_unit(seconds: float, text: str) -> None:
    assert age(seconds) == text
