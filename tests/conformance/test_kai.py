"""KAI's own cases, re-expressed as Kubernetes objects, give KAI's end states.

The cases lie beside the project, in `shared/conformance`; without them these tests are named as not run.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from phalanx.cli.main import main

SHARED = Path(__file__).parents[3] / "shared" / "conformance"

#: What cases may need beyond whole GPUs, queues and gangs.
HONOURED = {"fraction", "mig", "topology"}
#: Cases that end otherwise on purpose, with the difference; `docs/making-room.md` says why.
OTHERWISE = {"allocatemig-4": ["pending-job-0: should be {'state': 'pending'}, is running on node0"]}
#: One case gives a pending pod a node. No pending pod is on one.
PLACELESS = ("node", "pending")


def cases() -> list[Any]:
    """Return every case that needs nothing that is not honoured yet."""
    if not SHARED.is_dir():
        why = "shared/conformance is not beside the project: KAI's cases were not tried"
        return [pytest.param({}, id="all", marks=pytest.mark.skip(reason=why))]
    read = (case for file in sorted((SHARED / "kai").glob("*.json")) for case in json.loads(file.read_text()))
    return [pytest.param(case, id=case["id"]) for case in read if set(case["needs"]) <= HONOURED]


@pytest.mark.parametrize("case", cases())
def test_the_end_state_is_kais(case: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "case.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": case["objects"]}))
    cycles = case["cycles"] + case["stable"]
    options = [
        "--policy",
        str(SHARED / "policy.yaml"),
        "--now",
        "2026-11-01T12:00:00Z",
        "--cycles",
        str(cycles),
        "-o",
        "json",
    ]
    assert main(["plan", "-f", str(file), *options]) == 0
    planned = json.loads(capsys.readouterr().out)
    found = {pod["pod"].partition("/")[2]: pod for pod in planned["pods"]}
    assert _differences(case, found) == OTHERWISE.get(case["id"], [])
    last = [step for cycle in planned["cycles"][-case["stable"] :] for step in cycle["steps"]]
    assert [step for step in last if step["step"] == "evict"] == []


def _differences(case: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Return one line per pod that is not where KAI has it."""
    members: dict[str, list[str]] = {}
    for one in case["objects"]:
        if one["kind"] == "Pod":
            members.setdefault(one["metadata"]["annotations"]["pod-group-name"], []).append(one["metadata"]["name"])
    expect = case["expect"]
    wanted = {pod: state for job, state in expect["jobs"].items() for pod in members[job]} | expect["tasks"]
    gone = {pod for job in expect["deleted"] for pod in members[job]}
    wrong = [f"{pod}: should be gone" for pod in sorted(gone & found.keys())]
    for pod, state in wanted.items():
        there = found.get(pod)
        if there is None:
            if state["state"] != "releasing":
                wrong.append(f"{pod}: should be {state}, is gone")
        elif any(there[key] != value for key, value in state.items() if (key, state["state"]) != PLACELESS):
            wrong.append(f"{pod}: should be {state}, is {there['state']} on {there['node']}")
    return wrong
