"""Look before you leap: what Phalanx would do on a real cluster, with no right but to read, and nothing is written."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from phalanx.cli.main import main
from phalanx.kube.credentials import load_access
from phalanx.kube.local.binaries import binaries
from phalanx.kube.local.control_plane import ControlPlane
from phalanx.kube.local.nodes import node_manifest
from phalanx.kube.reading import ReadingClient
from phalanx.testing.control_plane import need_binaries
from phalanx.testing.objects import create_all, gang_manifests
from phalanx.testing.running import ENDS_WITHIN, Scheduler, eventually
from tests.kube.served import served

pytestmark = pytest.mark.slow

Captured = pytest.CaptureFixture[str]
#: As docs/operate.md has it.
READ = Path("docs/operate.md").read_text(encoding="utf-8").split("<!-- read rights -->")[1]


#: As much as somebody has who works in one namespace.
ONE_NAMESPACE = """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: bob, namespace: default}
rules:
  - {apiGroups: [""], resources: [pods], verbs: [get, list, watch]}
  - {apiGroups: [scheduling.k8s.io], resources: [workloads, podgroups], verbs: [list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: bob, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: bob}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: bob}]
"""


def read_rights() -> str:
    """Return the manifest of the page."""
    return "\n".join(line[4:] for line in READ.splitlines())


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("audit") / "audit.log"


@pytest.fixture(scope="module")
def running(audit: Path) -> Iterator[ControlPlane]:
    """One control plane for the file."""
    need_binaries()
    with ControlPlane(controller_manager=False, audit=audit) as plane:
        yield plane


@pytest.fixture
def plane(running: ControlPlane) -> ControlPlane:
    """A cluster of two nodes, a gang that fits and one that does not; `reader` may read and no more."""
    plane = running
    plane.kubectl("apply", "-f", "-", stdin=read_rights())
    plane.kubectl("apply", "-f", "-", stdin=binding("phalanx-reader", "reader"))
    plane.kubectl("delete", "pods", "--all", "--grace-period=0", "--force")
    objects = [node_manifest("n1"), node_manifest("n2"), *gang_manifests("train", 4), *gang_manifests("big", 40)]
    create_all(plane.kubeconfig, objects)
    return plane


def binding(role: str, user: str) -> str:
    group = "rbac.authorization.k8s.io"
    subject = {"apiGroup": group, "kind": "User", "name": user}
    reference = {"apiGroup": group, "kind": "ClusterRole", "name": role}
    head = {"apiVersion": f"{group}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": role}}
    return json.dumps({**head, "roleRef": reference, "subjects": [subject]})


def requests_of(user: str, audit: Path) -> Iterator[dict[str, Any]]:
    for line in audit.read_text().splitlines():
        entry = json.loads(line)
        if entry["user"]["username"] == user:
            yield entry


def scrape(log: Path) -> dict[str, float]:
    lines = served(log, "/metrics")[1].splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[:1] != "#")}


def test_a_plan_and_a_dry_run_need_no_right_but_to_read_and_write_nothing(
    plane: ControlPlane, audit: Path, tmp_path: Path, capsys: Captured
) -> None:
    reader = plane.user("reader")
    job = tmp_path / "job.json"
    job.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": gang_manifests("late", 3)}))

    assert main(["plan", "--live", "--kubeconfig", str(reader), "-f", str(job)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert re.match(r"cycle 1  \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n", out), "the server tells no fractions of a second"
    assert "  bind  default/train  4 pods: n1 ×4  (train-0 … train-3)\n" in out
    assert "  wait  default/big    40 pods  never: 40 needed together, " in out
    assert "  bind  default/late   3 pods: n1 ×3  (late-0, late-1, late-2)\n" in out
    assert out.endswith("\n2 nodes, 47 pods: 7 pods bound, 1 gang waits (40 pods)\n")

    dry = Scheduler(reader, tmp_path / "dry.log", "--dry-run")
    try:
        eventually("the plan is printed", lambda: "  bind  default/train  4 pods: n1 ×4" in dry.log.read_text())
        figures = scrape(dry.log)
        assert (figures["phalanx_dry_run"], figures["phalanx_leader"], figures["phalanx_ready"]) == (1.0, 0.0, 1.0)
        assert figures['phalanx_pending_gangs{code="never"}'] == 1.0
        create_all(plane.kubeconfig, gang_manifests("late", 3))
        eventually("the news is printed", lambda: "  bind  default/late  3 pods: n1 ×3" in dry.log.read_text())
        assert dry.log.read_text().count("default/big") == 1
        plane.kubectl("delete", "pod", "train-0", "train-1", "train-2", "train-3", "--grace-period=0", "--force")
        eventually("its end is printed", lambda: "  over  default/train  it has" in dry.log.read_text())
    finally:
        assert dry.stop() == 0

    seen = list(requests_of("reader", audit))
    assert {entry["objectRef"]["resource"] for entry in seen if "objectRef" in entry} >= {"pods", "nodes", "queues"}
    assert {entry["verb"] for entry in seen} == {"list", "watch"}
    assert {entry["responseStatus"]["code"] for entry in seen if entry["verb"] == "list"} == {200, 404}
    # Nor was anything made with other hands: no lease, no namespace for it, no event.
    assert plane.kubectl("get", "events,leases", "-n", "default", "-o", "name") == ""
    assert "phalanx" not in plane.kubectl("get", "namespaces", "-o", "name")


def test_what_names_no_namespace_is_planned_where_kubectl_would_put_it(
    plane: ControlPlane, tmp_path: Path, capsys: Captured
) -> None:
    config = yaml.safe_load(plane.user("reader").read_text())
    config["contexts"][0]["context"]["namespace"] = "ml"
    (tmp_path / "config").write_text(json.dumps(config))
    late = gang_manifests("late", 1)[0]
    late["metadata"].pop("namespace", None)
    (tmp_path / "late.json").write_text(json.dumps(late))
    assert main(["plan", "--live", "--kubeconfig", str(tmp_path / "config"), "-f", str(tmp_path / "late.json")]) == 0
    out, err = capsys.readouterr()
    assert "  bind  ml/late " in out
    assert err == f"phalanx: namespace ml ({tmp_path}/late.json): not on the cluster\n"


def test_the_client_that_reads_sends_nothing_else(plane: ControlPlane) -> None:
    async def write() -> None:
        async with ReadingClient(load_access(str(plane.kubeconfig), None)) as client:
            assert (await client.request("GET", "/api/v1/namespaces/default")).ok
            with pytest.raises(AssertionError, match="DELETE /api/v1/nodes/n1: nothing is written here"):
                await client.request("DELETE", "/api/v1/nodes/n1")

    asyncio.run(write())
    assert plane.kubectl("get", "node", "n1", "-o", "name") == "node/n1\n"


def test_kinds_that_may_not_be_listed_are_named_or_end_the_plan(plane: ControlPlane, capsys: Captured) -> None:
    """KAI's are not on this cluster, and the API server tells that to nobody who may not list them."""
    less = read_rights().replace("phalanx-reader", "less").replace("scheduling.run.ai", "other.example")
    less = less.replace("[priorityclasses, workloads, podgroups]", "[priorityclasses]")
    plane.kubectl("apply", "-f", "-", stdin=less)
    plane.kubectl("apply", "-f", "-", stdin=binding("less", "alice"))
    assert main(["plan", "--live", "--kubeconfig", str(plane.user("alice"))]) == 0
    out, err = capsys.readouterr()
    assert "  bind  default/train  4 pods: n1 ×4" in out
    assert (err.count("\n"), "scheduling.run.ai" in err) == (1, False)
    # Kubernetes' own groups, as this version has them.
    own = "Workload" if plane.version == "1.35" else "PodGroup"
    assert err.startswith(f"phalanx: left out, because you may not list them: {own} (scheduling.k8s.io/")

    plane.kubectl("apply", "-f", "-", stdin=less.replace("[pods, nodes, ", "[pods, "))
    assert main(["plan", "--live", "--kubeconfig", str(plane.user("alice"))]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("phalanx: Node (v1): cannot be listed at /api/v1/nodes: 403 nodes is forbidden: ")


def test_what_a_runtime_class_adds_to_a_pod_of_a_file_is_read_from_the_cluster(
    plane: ControlPlane, tmp_path: Path, capsys: Captured
) -> None:
    """Without it all four would fit on one node."""
    kata = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "kata"}, "handler": "kata"}
    plane.kubectl("apply", "-f", "-", stdin=json.dumps(kata | {"overhead": {"podFixed": {"cpu": "60"}}}))
    job = tmp_path / "job.json"
    items = gang_manifests("boxed", 4)
    for one in items:
        one["spec"]["runtimeClassName"] = "kata"
    job.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    plane.kubectl("delete", "pods", "--all", "--grace-period=0", "--force")
    command = ["plan", "--live", "-f", str(job), "--kubeconfig"]
    assert main([*command, str(plane.kubeconfig)]) == 0
    out, err = capsys.readouterr()
    assert (err, "  wait  default/boxed  4 pods  never: 4 needed together, 2 fit: " in out) == ("", True), out
    assert main([*command, str(plane.user("reader"))]) == 0
    out, err = capsys.readouterr()
    assert err == "phalanx: left out, because you may not list them: RuntimeClass (node.k8s.io/v1)\n"
    assert "refused Pod default/boxed-0: spec.runtimeClassName: found 'kata', allowed is " in out


def test_a_gpu_out_of_service_is_seen_by_who_may_read_and_taken_by_nobody(
    plane: ControlPlane, capsys: Captured
) -> None:
    """Five of eight are away, so that a gang of four needs the second node too."""
    reader = str(plane.user("reader"))
    plane.kubectl("annotate", "node", "n1", "phalanx.dev/cordoned-devices=nvidia.com/gpu=0,1,2,3,4")
    try:
        assert main(["nodes", "--kubeconfig", reader]) == 0
        lines = [line.split() for line in capsys.readouterr().out.splitlines()]
        assert lines[1:3] == [
            ["n1", "nvidia.com/gpu", "H100", "···xxxxx", "3", "cordoned", "0,1,2,3,4"],
            ["n2", "nvidia.com/gpu", "H100", "········", "8"],
        ]
        assert main(["plan", "--live", "--kubeconfig", reader]) == 0
        assert "  bind  default/train  4 pods: n1 ×3, n2 ×1  (train-0 … train-3)\n" in capsys.readouterr().out
    finally:
        plane.kubectl("annotate", "node", "n1", "phalanx.dev/cordoned-devices-")


def test_gangs_are_shown_to_who_may_see_their_namespace_as_kubectl_phalanx_too(
    plane: ControlPlane, tmp_path: Path, capsys: Captured
) -> None:
    """In the namespace of the context, as kubectl does; and a table that is watched is printed when it changes."""
    plane.kubectl("apply", "-f", "-", stdin=ONE_NAMESPACE)
    bob = plane.user("bob")
    table = [
        ["gang", "queue", "min", "pods        where, or why not"],
        ["big", "default", "40", "40 waiting  no scheduler has said why"],
        ["train", "default", "4", "4 waiting   no scheduler has said why"],
    ]
    assert main(["gangs", "--kubeconfig", str(bob)]) == 0
    out, err = capsys.readouterr()
    assert _without_ages(out) == table
    hidden = "Namespace (v1), PriorityClass (scheduling.k8s.io/v1)"
    assert err == f"phalanx: left out, because you may not list them: {hidden}\n"
    assert main(["gangs", "-A", "--kubeconfig", str(bob)]) == 2
    assert capsys.readouterr().err.startswith("phalanx: Pod (v1): cannot be listed at /api/v1/pods: 403 ")

    folder = Path(sys.executable).parent
    if not (folder / "kubectl-phalanx").exists():
        pytest.skip("kubectl-phalanx is not installed beside this Python")
    environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "KUBECONFIG": str(bob)}
    kubectl = str(binaries(["kubectl"], plane.version)["kubectl"])

    def ask(*words: str) -> str:
        return subprocess.run([kubectl, *words], env=environment, capture_output=True, text=True, check=True).stdout

    assert _without_ages(ask("phalanx", "gangs", "-n", "default")) == table
    assert ask("__complete", "phalanx", "gangs", "--out") == "--output\n:4\n"

    shown = tmp_path / "shown"
    with (
        shown.open("w") as out_file,
        subprocess.Popen(
            [kubectl, "phalanx", "gangs", "--watch"], env=environment, stdout=out_file, stderr=subprocess.PIPE
        ) as watching,
    ):
        try:
            eventually("the table is printed", lambda: "\ntrain " in shown.read_text())
            create_all(plane.kubeconfig, gang_manifests("late", 2))
            eventually("it is printed again", lambda: "\nlate " in shown.read_text())
            text = shown.read_text()
            assert text.count("\nbig ") == text.count("\ngang ") <= 3
        finally:
            watching.send_signal(signal.SIGINT)
            assert watching.wait(timeout=ENDS_WITHIN) != 0


def _without_ages(table: str) -> list[list[str]]:
    """Leave out the column of what changes by itself."""
    cells = [line.split(maxsplit=4) for line in table.splitlines()]
    return [[*line[:3], *line[4:]] for line in cells]
