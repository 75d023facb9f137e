"""Volcano's objects through `plan`: our examples, and every file that Volcano publishes as one, as it is."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from phalanx.cli.main import main
from tests.kube.volcano_modules import module

EXAMPLE = Path(__file__).parents[2] / "examples" / "dialects" / "volcano"
NODES = EXAMPLE / "nodes.yaml"


def planned(capsys: pytest.CaptureFixture[str], *files: Path, more: tuple[str, ...] = ()) -> tuple[dict[str, Any], str]:
    words = [word for file in files for word in ("-f", str(file))]
    status = main(["plan", *words, "--scheduler-name", "volcano", "-o", "json", *more])
    printed = capsys.readouterr()
    assert status == 0, printed.err
    found: dict[str, Any] = json.loads(printed.out)
    return found, printed.err


def steps(found: dict[str, Any], cycle: int = 1) -> list[str]:
    forms = {
        "bind": "bind {pod} {node}", "wait": "wait {gang} {missing} {code}: {reason}", "evict": "evict {pod} for {for}",
        "nominate": "nominate {pod} {node}",
    }  # fmt: skip
    return [forms[step["step"]].format(**step) for step in found["cycles"][cycle - 1]["steps"]]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("job", [f"bind default/train-worker-{index} gpu-1" for index in range(4)]),
        ("pytorch", [f"bind default/ddp-{name} gpu-1" for name in ("master-0", "worker-0", "worker-1")]),
        ("mpi", [f"bind default/hello-mpi-mpiworker-{index} gpu-1" for index in range(2)]),
        ("tensorflow", [f"bind default/mnist-{name} gpu-1" for name in ("ps-0", "worker-0", "worker-1")]),
        ("ray", [f"bind default/ray-{name} gpu-1" for name in ("head-0", "worker-0", "worker-1")]),
        ("depends-on", ["bind default/pipeline-prepare-0 gpu-1"]),
        ("restarts", [f"bind default/careful-{name} gpu-1" for name in ("driver-0", "worker-0", "worker-1")]),
        ("elastic", [
            "bind default/elastic-worker-0 gpu-1", "bind default/elastic-worker-1 gpu-2",
            "wait default/elastic 2 full: 0/2 nodes: 2 short of nvidia.com/gpu (most free on one node: 1 of 4)",
        ]),
        ("queues", [
            "wait default/old 1 held: Queue archive: status.state: 'Closed', and only an Open queue takes new work",
            *(f"bind default/serve-server-{index} gpu-{1 if index < 4 else 2}" for index in range(6)),
            "wait default/serve 2 held: queue product has 6 of its limit of 6 nvidia.com/gpu: 1 asked, 1 too many",
        ]),
        ("hypernodes", [
            "bind default/near-w-0 a1-1", "bind default/near-w-1 a1-2",
            (
                "wait default/never 3 never: 3 needed in one leaf: leaf leaf-a2 has room for 2 of 3 "
                "(2/10 nodes: 2 short of nvidia.com/gpu (most free on one node: 0 of 4)); empty, the best would hold 2"
            ),
            "bind default/soft-w-0 a2-1", "bind default/soft-w-1 a2-2",
            "bind default/wide-w-0 b1-1", "bind default/wide-w-1 b1-2",
            "bind default/wide-w-2 gpu-7", "bind default/wide-w-3 gpu-8",
        ]),
    ],
)  # fmt: skip
def test_an_example_gets_the_plan_that_its_page_promises(
    capsys: pytest.CaptureFixture[str], name: str, expected: list[str]
) -> None:
    found, err = planned(capsys, NODES, EXAMPLE / f"{name}.yaml")
    assert (steps(found), found["refused"], err) == (expected, [], "")


def test_what_was_borrowed_comes_back_from_what_groups_have_beyond_their_minimums(
    capsys: pytest.CaptureFixture[str],
) -> None:
    more = ("--policy", str(EXAMPLE / "reclaim.yaml"), "--cycles", "2")
    found, err = planned(capsys, NODES, EXAMPLE / "borrow.yaml", more=more)
    assert (found["refused"], err) == ([], "")
    nodes = {0: "gpu-1", 1: "gpu-2", 2: "gpu-1", 3: "gpu-2"}
    assert steps(found) == [
        *(f"evict default/{name} for default/serve" for name in ("sweep-b-3", "sweep-b-2", "sweep-a-3", "sweep-a-2")),
        *(f"nominate default/serve-{number} {node}" for number, node in nodes.items()),
    ]
    assert steps(found, 2) == [f"bind default/serve-{number} {node}" for number, node in nodes.items()]


def test_a_job_with_a_mistake_is_one_line_and_pods_of_its_template_name_their_task(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = (EXAMPLE / "job.yaml").read_text()
    (tmp_path / "bad.yaml").write_text(text.replace('nvidia.com/gpu: "1"', 'nvidia.com/gpu: "half"'))
    found, _ = planned(capsys, NODES, tmp_path / "bad.yaml", EXAMPLE / "ray.yaml")
    (refused,) = found["refused"]
    field = "spec.tasks[0].template.spec.containers[0].resources"
    assert refused["object"] == "Job.batch.volcano.sh default/train"
    assert refused["field"].startswith(field)
    assert len(steps(found)) == 3


def test_a_job_whose_pods_are_there_is_left_alone_and_one_whose_group_is_there_gets_its_pods(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": "train"},
        "spec": {"minMember": 5},
    }  # fmt: skip
    (tmp_path / "group.json").write_text(json.dumps(group))
    found, _ = planned(capsys, NODES, EXAMPLE / "job.yaml", tmp_path / "group.json")
    assert steps(found) == ["wait default/train 4 held: 4 of 5 members are there"]
    owner = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "train", "controller": True}
    pod = {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train-worker-0", "ownerReferences": [owner]},
        "spec": {"schedulerName": "volcano", "containers": [{"name": "x"}]},
    }  # fmt: skip
    (tmp_path / "group.json").write_text(json.dumps(pod))
    found, _ = planned(capsys, NODES, EXAMPLE / "job.yaml", tmp_path / "group.json")
    assert steps(found) == ["bind default/train-worker-0 gpu-1"]


def test_every_example_of_volcano_is_planned_as_it_is_and_its_jobs_are_grouped(
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = sorted((module() / "example").rglob("*.yaml"))
    assert len(files) > 30
    for file in files:
        found, err = planned(capsys, NODES, file)
        text = file.read_text()
        jobs = text.count("apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\n")
        # A PodGroup of the time before Volcano had this name stands among the Spark samples.
        assert not re.search(r"ignored.* (Job|PodGroup|Queue)\b", err) or "spark-sample" in file.parts, f"{file}: {err}"
        if "invalid_jobs" in file.parts:
            assert [one["object"].split()[0] for one in found["refused"]] == ["Job.batch.volcano.sh"], file
        else:
            assert found["refused"] == [], file
            assert len({pod["gang"] for pod in found["pods"] if pod["gang"]}) >= jobs, file
