"""`phalanx plan` keeps its public contract: options, output, exit status."""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from phalanx.cli.main import main

CLUSTER = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "8", memory: 32Gi, pods: "110", nvidia.com/gpu: "2"}}
---
apiVersion: v1
kind: Pod
metadata: {name: old, namespace: ml, uid: u1, creationTimestamp: "2026-11-01T11:00:00Z"}
spec:
  schedulerName: phalanx
  nodeName: n1
  containers: [{name: main, resources: {requests: {cpu: 500m, memory: 1Gi, nvidia.com/gpu: 1}}}]
status: {phase: Running, startTime: "2026-11-01T12:30:00Z"}
---
apiVersion: v1
kind: Pod
metadata: {name: theirs, namespace: ml, uid: u2}
spec: {nodeName: n1, containers: [{name: main, resources: {requests: {cpu: 1}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: done, namespace: ml, uid: u3}
spec: {schedulerName: phalanx, nodeName: n1, containers: [{name: main}]}
status: {phase: Succeeded}
---
apiVersion: batch/v1
kind: Job
metadata: {name: pair, namespace: ml, creationTimestamp: "2026-11-01T12:00:00Z"}
spec:
  parallelism: 2
  template:
    metadata: {annotations: {phalanx.dev/gang: pair, phalanx.dev/minimum: "2"}}
    spec:
      schedulerName: phalanx
      containers: [{name: main, resources: {limits: {nvidia.com/gpu: 1}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: single, namespace: ml, uid: u4, creationTimestamp: "2026-11-01T12:10:00Z"}
spec: {schedulerName: phalanx, containers: [{name: main, resources: {limits: {nvidia.com/gpu: 1}}}]}
"""
OTHERS = """
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {schedulerName: volcano, containers: [{name: main}]}
---
apiVersion: v1
kind: Pod
metadata: {name: b}
spec: {containers: [{name: main}]}
"""


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    file = tmp_path / "cluster.yaml"
    file.write_text(CLUSTER)
    return str(file)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["plan", *arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def planned(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    status, out, err = run(capsys, *arguments, "-o", "json")
    assert (status, err) == (0, "")
    return json.loads(out)


def pod(name: str, uid: str, gang: str | None, state: str, node: str | None) -> dict[str, Any]:
    queue = "default" if gang else None
    return {
        "pod": f"ml/{name}", "uid": uid, "gang": gang, "queue": queue, "state": state, "node": node,
        "nominated": None, "devices": {},
    }  # fmt: skip


def test_json_has_every_key_of_the_contract(capsys: pytest.CaptureFixture[str], cluster: str) -> None:
    found = planned(capsys, "-f", cluster)
    pair, single = found["cycles"][0]["steps"]
    reason = pair.pop("reason")
    assert reason.startswith("2 needed together, 1 fit: ")
    assert found == {
        "cycles": [{"cycle": 1, "now": "2026-11-01T12:30:00Z", "steps": [pair, single]}],
        "pods": [
            pod("old", "u1", "ml/old", "running", "n1"),
            pod("pair-0", "Pod/ml/pair-0", "ml/pair", "pending", None),
            pod("pair-1", "Pod/ml/pair-1", "ml/pair", "pending", None),
            pod("single", "u4", "ml/single", "running", "n1"),
            pod("theirs", "u2", None, "running", "n1"),
        ],
        "queues": [
            {
                "queue": "default", "parent": None, "share": {}, "quota": {}, "limit": {},
                "allocated": {"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": "2"},
                "requested": {}, "pending": 1, "problem": None,
            }
        ],
        "topology": {"levels": [{"name": "node", "label": "kubernetes.io/hostname"}], "remarks": []},
        "gangs": [],
        "refused": [],
    }  # fmt: skip
    assert pair == {"step": "wait", "gang": "ml/pair", "missing": 2, "code": "full"}
    assert single == {"step": "bind", "pod": "ml/single", "node": "n1", "gang": "ml/single", "devices": {}}


def test_yaml_says_the_same_as_json(capsys: pytest.CaptureFixture[str], cluster: str) -> None:
    _, text, _ = run(capsys, "-f", cluster, "-o", "yaml", "--cycles", "2")
    assert yaml.safe_load(text) == planned(capsys, "-f", cluster, "--cycles", "2")


def test_text_is_for_people(capsys: pytest.CaptureFixture[str], cluster: str) -> None:
    status, text, err = run(capsys, "-f", cluster, "--cycles", "3")
    assert (status, err) == (0, "")
    first, second, third, summary = text.split("\n\n")
    reason = r"  wait  ml/pair +2 pods  full: 2 needed together, .*"
    assert re.fullmatch(f"cycle 1  2026-11-01T12:30:00Z\n{reason}\n  bind  ml/single  1 pod: n1", first)
    assert re.fullmatch(f"cycle 2  2026-11-01T12:31:00Z\n{reason}", second)
    assert third == "cycle 3  2026-11-01T12:32:00Z\n  as in the cycle before"
    assert summary == "1 node, 6 pods: 1 pod bound, 1 gang waits (2 pods) in 3 cycles\n"


def test_pods_are_grouped_by_gang_and_shortened(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    node = 'apiVersion: v1\nkind: Node\nmetadata: {{name: n{}}}\nstatus: {{allocatable: {{cpu: "3", pods: "110"}}}}\n'
    job = CLUSTER.split("---")[4].replace("parallelism: 2", "parallelism: 21").replace("nvidia.com/gpu: 1", "cpu: 1")
    plain = re.sub(r"metadata: {ann.*", "metadata: {}", job).replace("name: pair", "name: free").replace("21\n", "6\n")
    nodes = [node.format(number) for number in range(1, 11)]
    (tmp_path / "x.yaml").write_text(
        "---\n".join([*nodes, job, plain, plain.replace("free", "late").replace("6\n", "3\n")])
    )
    _, text, _ = run(capsys, "-f", str(tmp_path))
    assert [" ".join(line.split()) for line in text.splitlines()[1:]] == [
        "bind ml/free-* 6 pods: n1 ×3, n10 ×3 (free-0 … free-5)",
        "bind ml/late-* 3 pods: n2 ×3 (late-0, late-1, late-2)",
        "bind ml/pair 21 pods: n3 ×3, n4 ×3, n5 ×3, n6 ×3, n7 ×3, n8 ×3 and 1 node more (pair-0 … pair-20)",
        "",
        "10 nodes, 30 pods: 30 pods bound",
    ]


def test_now_may_be_given(capsys: pytest.CaptureFixture[str], cluster: str) -> None:
    cycles = planned(capsys, "-f", cluster, "--now", "2026-12-01T10:00:00+01:00", "--cycles", "2")["cycles"]
    assert [cycle["now"] for cycle in cycles] == ["2026-12-01T09:00:00Z", "2026-12-01T09:01:00Z"]


def test_without_any_time_the_first_cycle_is_in_1970(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(CLUSTER.partition("---")[0])
    assert planned(capsys, "-f", str(tmp_path))["cycles"] == [{"cycle": 1, "now": "1970-01-01T00:00:00Z", "steps": []}]


def test_a_date_that_nobody_gave_is_not_told_to_people(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(CLUSTER.partition("---")[0])
    _, text, _ = run(capsys, "-f", str(tmp_path), "--cycles", "2")
    assert text.startswith("cycle 1\n  nothing to do\n\ncycle 2\n")


def test_manifests_come_from_several_paths_lists_and_standard_input(
    capsys: pytest.CaptureFixture[str], cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = planned(capsys, "-f", cluster)
    node, *pods = yaml.safe_load_all(CLUSTER)
    (tmp_path / "node.json").write_text(json.dumps(node))
    (tmp_path / "pods.yml").write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": pods}))
    assert planned(capsys, "-f", str(tmp_path / "node.json"), "-f", str(tmp_path / "pods.yml")) == whole
    assert planned(capsys, "-f", str(tmp_path / "node.json"), str(tmp_path / "pods.yml")) == whole
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((tmp_path / "pods.yml").read_bytes())))
    assert planned(capsys, "-f", str(tmp_path / "node.json"), "-f", "-") == whole


def test_pods_of_other_schedulers_are_counted_and_can_be_taken_over(
    capsys: pytest.CaptureFixture[str], cluster: str, tmp_path: Path
) -> None:
    (tmp_path / "others.yaml").write_text(OTHERS)
    _, _, err = run(capsys, "-f", str(tmp_path))
    hint = "plan them too with --scheduler-name NAME"
    assert err == f"phalanx: 2 pending pods of other schedulers left out (default-scheduler 1, volcano 1); {hint}\n"
    names = ["--scheduler-name", "volcano", "--scheduler-name", "default-scheduler"]
    found = planned(capsys, "-f", cluster, str(tmp_path / "others.yaml"), *names)
    assert [step["pod"] for step in found["cycles"][0]["steps"] if step["step"] == "bind"] == [
        "ml/single", "default/a", "default/b",
    ]  # fmt: skip


def test_unknown_kinds_are_ignored_and_counted(
    capsys: pytest.CaptureFixture[str], cluster: str, tmp_path: Path
) -> None:
    assert Path(cluster).parent == tmp_path
    (tmp_path / "more.yaml").write_text("{kind: ConfigMap}\n---\n{kind: Secret}\n---\n{kind: ConfigMap}\n")
    status, _, err = run(capsys, "-f", str(tmp_path))
    assert (status, err) == (0, "phalanx: ignored objects of kinds that are not read: 2 ConfigMap, 1 Secret\n")
    assert run(capsys, "-f", str(tmp_path / "more.yaml")) == (
        2, "", "phalanx: nothing to plan: found no Node and no Pod (ignored: 2 ConfigMap, 1 Secret)\n",
    )  # fmt: skip


def test_a_node_that_contradicts_itself_is_one_line_and_counted_all_the_same(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Its annotation was cut in the middle, and its label counts more than the device plugin."""
    hami = "GPU-a,1,81920,100,NVIDIA H100,0,true:GPU-b,1,81920,1"
    file = tmp_path / "cut.yaml"
    file.write_text(f"""
apiVersion: v1
kind: Node
metadata:
  name: n1
  annotations: {{hami.io/node-nvidia-register: "{hami}"}}
  labels: {{nvidia.com/gpu.count: "8"}}
status: {{allocatable: {{pods: "9", nvidia.com/gpu: "2"}}}}
---
apiVersion: v1
kind: Pod
metadata: {{name: p}}
spec: {{schedulerName: phalanx, containers: [{{name: main, resources: {{limits: {{nvidia.com/gpu: 2}}}}}}]}}
""")
    assert main(["plan", "-f", str(file), "--strict"]) == 0
    printed = capsys.readouterr()
    assert "bind  default/p  1 pod: n1" in printed.out
    register = "metadata.annotations[hami.io/node-nvidia-register]"
    cut = f"found '{hami[-40:]}' at its end, where every record ends with ':'"
    assert printed.err.splitlines() == [
        f"phalanx: Node n1: {register}: {cut}; its nvidia.com/gpu are counted and no more",
        "phalanx: Node n1: metadata.labels[nvidia.com/gpu.count]: says 8, the device plugin 2 of nvidia.com/gpu",
    ]


def test_a_running_pod_with_a_constraint_that_is_not_honoured_yet_is_no_mistake(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    volume = "volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]"
    (tmp_path / "x.yaml").write_text(CLUSTER.replace("nodeName: n1\n", f"nodeName: n1\n  {volume}\n"))
    status, _, err = run(capsys, "-f", str(tmp_path), "--strict")
    assert (status, err) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ([], "plan: -f is missing; give a manifest, a directory, or - for standard input, or --live for your cluster"),
        (["-f", "missing.yaml"], "missing.yaml: no such file or directory"),
        (["-f", ".", "--cycles", "0"], "plan: --cycles: found 0, allowed is 1 or more"),
        (
            ["-f", ".", "--cycles", "two"],
            "Invalid value for --cycles: found two, allowed is a whole number from 1 to 999999",
        ),
        (
            ["-f", ".", "--cycles", "1.5"],
            "Invalid value for --cycles: found 1.5, allowed is a whole number from 1 to 999999",
        ),
        (["-f", ".", "--now", "noon"], "plan: --now: found 'noon', allowed is a time such as 2026-11-01T12:00:00Z"),
        (["-f", ".", "-o", "xml"], 'Invalid value "xml" for -o. Choose from: "text", "json", "yaml".'),
        (["-f", ".", "--polici", "x"], "plan: unknown option --polici; see phalanx plan --help"),
    ],
)
def test_a_mistake_in_the_options_is_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], line: str
) -> None:
    assert run(capsys, *arguments) == (2, "", f"phalanx: {line}\n")


def test_a_missing_path_stops_the_plan_even_beside_good_ones(capsys: pytest.CaptureFixture[str], cluster: str) -> None:
    said = "phalanx: gone.yaml: no such file or directory\nphalanx: gone: no such file or directory\n"
    assert run(capsys, "-f", cluster, "gone.yaml", "gone") == (2, "", said)


def test_a_policy_that_does_not_exist_is_one_line(capsys: pytest.CaptureFixture[str], cluster: str) -> None:
    status, out, err = run(capsys, "-f", cluster, "--policy", "defualt")
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert err.startswith("phalanx: defualt: no such file or preset, did you mean default?")


def test_a_policy_file_adds_its_scheduler_names(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "pods.yaml").write_text(OTHERS)
    (tmp_path / "mine.policy").write_text("{extends: default, schedulerNames: [volcano]}")
    arguments = ["--policy", str(tmp_path / "mine.policy"), "--scheduler-name", "default-scheduler"]
    found = planned(capsys, "-f", str(tmp_path / "pods.yaml"), *arguments)
    assert [step["gang"] for step in found["cycles"][0]["steps"]] == ["default/a", "default/b"]


def test_a_job_alone_is_pointed_to_where_nodes_are(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(CLUSTER.split("---")[1].replace("  nodeName: n1\n", "").partition("status")[0])
    status, out, err = run(capsys, "-f", str(tmp_path / "pod.yaml"))
    assert (status, "never: there are no nodes" in out) == (0, True)
    assert err == "phalanx: no Node among the objects, so nothing fits; --live plans for your cluster\n"


def test_timings_name_every_stage_and_the_memory(capsys: pytest.CaptureFixture[str], cluster: str) -> None:
    _, _, err = run(capsys, "-f", cluster, "--timings")
    stages = ["policy", "read", "decode", "admit", "apply", "compile", "decide", "output", "total", "memory"]
    assert [line.split()[0] for line in err.splitlines()] == stages


def test_a_fault_of_ours_is_one_line_and_status_1(
    capsys: pytest.CaptureFixture[str], cluster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("one\ntwo")

    monkeypatch.delenv("PHALANX_DEBUG", raising=False)
    monkeypatch.setattr("phalanx.cli.planning.play", fail)
    hint = "set PHALANX_DEBUG=1 for the traceback"
    assert run(capsys, "-f", cluster) == (1, "", f"phalanx: internal error: ZeroDivisionError: one two ({hint})\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_is_told_in_one_line(cluster: str) -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "phalanx", "plan", "-f", cluster]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (1, "phalanx: cannot write: no space left on device\n")


def test_a_closed_output_ends_nothing(cluster: str) -> None:
    command = f"exec '{sys.executable}' -m phalanx plan -f '{cluster}' >&-"
    ended = subprocess.run(["/bin/sh", "-c", command], stderr=subprocess.PIPE, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_word_that_means_nothing_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "help"]) == 2
    line = "phalanx: check: found help, which means nothing here; see phalanx check --help\n"
    assert capsys.readouterr() == ("", line)


def test_ctrl_c_is_status_130_and_nothing_more(
    capsys: pytest.CaptureFixture[str], cluster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("phalanx.cli.planning.play", interrupt)
    assert run(capsys, "-f", cluster) == (130, "", "")


def test_a_reader_that_stops_early_is_no_error(cluster: str) -> None:
    code = f"from phalanx.cli.main import main; raise SystemExit(main(['plan', '-f', {cluster!r}, '-o', 'json']))"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert (process.stderr.read(), process.wait()) == (b"", 0)


@pytest.mark.parametrize("seed", ["1", "2"])
def test_neither_the_order_of_objects_nor_the_hash_seed_changes_the_plan(
    capsys: pytest.CaptureFixture[str], cluster: str, tmp_path: Path, seed: str
) -> None:
    (tmp_path / "backwards.yaml").write_text("\n---\n".join(reversed(CLUSTER.split("\n---\n"))))
    command = [sys.executable, "-m", "phalanx", "plan", "-f", str(tmp_path / "backwards.yaml"), "-o", "json"]
    ran = subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True)
    assert json.loads(ran.stdout) == planned(capsys, "-f", cluster)


def test_a_job_that_is_not_submitted_yet_comes_after_all_that_wait(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has no creation time: it was not made in 1970."""
    spec = "{schedulerName: phalanx, containers: [{name: c, resources: {requests: {nvidia.com/gpu: 4}}}]}"
    (tmp_path / "new.yaml").write_text(f"""
apiVersion: v1
kind: Node
metadata: {{name: n1}}
status: {{allocatable: {{nvidia.com/gpu: "4", pods: "20"}}}}
---
apiVersion: v1
kind: Pod
metadata: {{name: old, creationTimestamp: "2026-11-01T11:00:00Z"}}
spec: {spec}
---
apiVersion: batch/v1
kind: Job
metadata: {{name: a-new-job}}
spec: {{template: {{spec: {spec}}}}}
""")
    for more in ((), ("--now", "2026-11-02T12:00:00Z")):
        steps = planned(capsys, "-f", str(tmp_path), *more)["cycles"][0]["steps"]
        assert [(step["step"], step["gang"]) for step in steps] == [
            ("bind", "default/old"), ("wait", "default/a-new-job-0")
        ]  # fmt: skip
        assert "waited" not in steps[1]["reason"]
