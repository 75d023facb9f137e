"""A control plane of one's own: real servers, real certificates and RBAC, and nothing left when it is over."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from phalanx.kube.local import ControlPlane, LocalError, node_manifest
from phalanx.kube.local.folders import sweep

pytestmark = pytest.mark.slow

Start = Callable[..., ControlPlane]


def test_the_chosen_version_runs_and_serves_its_own_gangs(control_plane: ControlPlane) -> None:
    gangs = {"1.35": {"v1alpha1 Workload"}}
    gangs |= {"1.36": {"v1alpha2 Workload", "v1alpha2 PodGroup"}, "1.37": {"v1beta1 Workload", "v1beta1 PodGroup"}}

    server = json.loads(control_plane.kubectl("version", "-o", "json"))["serverVersion"]
    served = control_plane.kubectl("api-resources", "--api-group=scheduling.k8s.io", "--no-headers").splitlines()

    assert f"{server['major']}.{server['minor']}" == control_plane.version
    kinds = {(line.split()[-3], line.split()[-1]) for line in served}
    found = {f"{group.split('/')[1]} {kind}" for group, kind in kinds}
    assert found == gangs[control_plane.version] | {"v1 PriorityClass"}


def test_a_node_is_created_and_its_status_patched(control_plane: ControlPlane) -> None:
    create(control_plane, node_manifest("patched", gpus=8, cpu="64", memory="512Gi", rack="r1", zone="z1"))

    more = {"status": {"allocatable": {"example.com/dongle": "4"}, "capacity": {"example.com/dongle": "4"}}}
    control_plane.kubectl("patch", "node", "patched", "--subresource=status", "--type=merge", "-p", json.dumps(more))

    node = json.loads(control_plane.kubectl("get", "node", "patched", "-o", "json"))
    expected = {"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": "8", "example.com/dongle": "4"}
    assert node["status"]["allocatable"] == expected
    assert node["status"]["conditions"][0]["type"] == "Ready"
    assert "taints" not in node["spec"]


def test_a_restricted_user_gets_what_rbac_gives_and_no_more(control_plane: ControlPlane) -> None:
    reader = control_plane.user("reader", ["readers"])

    with pytest.raises(LocalError, match=r'Forbidden.* User "reader" cannot list resource "nodes"'):
        control_plane.kubectl("get", "nodes", kubeconfig=reader)

    control_plane.kubectl("create", "clusterrole", "see-nodes", "--verb=list", "--resource=nodes")
    control_plane.kubectl("create", "clusterrolebinding", "see-nodes", "--clusterrole=see-nodes", "--group=readers")
    control_plane.kubectl("get", "nodes", kubeconfig=reader)
    with pytest.raises(LocalError, match=r'Forbidden.* User "reader" cannot list resource "pods"'):
        control_plane.kubectl("get", "pods", kubeconfig=reader)


def test_the_certificate_also_holds_for_a_proxy_on_localhost(control_plane: ControlPlane) -> None:
    through = control_plane.url.replace("127.0.0.1", "localhost")
    assert control_plane.kubectl(f"--server={through}", "get", "--raw", "/readyz") == "ok"


def test_two_run_side_by_side_and_know_nothing_of_each_other(
    control_plane: ControlPlane, fresh_control_plane: Start, tmp_path: Path
) -> None:
    audit = tmp_path / "audit.log"
    other = fresh_control_plane(controller_manager=False, audit=audit, inflight=2000, fairness=False)

    create(other, node_manifest("only-there"))

    assert other.kubectl("get", "nodes", "-o", "name") == "node/only-there\n"
    assert "only-there" not in control_plane.kubectl("get", "nodes", "-o", "name")
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    writers = [line["user"]["username"] for line in lines if (line.get("objectRef") or {}).get("name") == "only-there"]
    assert writers == ["admin"]


def test_a_killed_server_comes_back_at_the_same_place_with_the_same_objects(fresh_control_plane: Start) -> None:
    running = fresh_control_plane(controller_manager=False)
    create(running, node_manifest("kept"))
    url, pids = running.url, running.pids

    running.kill("kube-apiserver")
    assert set(running.pids) == {"etcd"}
    with pytest.raises(LocalError, match="refused"):
        running.kubectl("get", "nodes")
    running.restart("kube-apiserver")
    running.restart("etcd")

    assert running.url == url
    assert set(running.pids) == set(pids)
    assert set(running.pids.values()).isdisjoint(pids.values())
    assert running.kubectl("get", "nodes", "-o", "name") == "node/kept\n"


def test_a_paused_process_answers_nothing_until_it_goes_on(fresh_control_plane: Start) -> None:
    running = fresh_control_plane(controller_manager=False)

    running.pause("kube-apiserver")
    with pytest.raises(LocalError, match=r"(?i)timeout|deadline"):
        running.kubectl("get", "nodes", "--request-timeout=1s")
    running.resume("kube-apiserver")

    assert running.kubectl("get", "nodes", "-o", "name") == ""
    with pytest.raises(LocalError, match="kwok is not running here, running are etcd, kube-apiserver"):
        running.pause("kwok")


def test_a_server_that_cannot_start_is_quoted_and_leaves_nothing(
    fresh_control_plane: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(LocalError, match=r"(?s)kube-apiserver ended by itself .* unknown flag: --no-such-flag"):
        fresh_control_plane(flags={"kube-apiserver": ["--no-such-flag"]})
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_the_user_named_stays_and_is_not_used_twice(fresh_control_plane: Start, tmp_path: Path) -> None:
    broken = {"kube-apiserver": ["--no-such-flag"]}
    with pytest.raises(LocalError, match="unknown flag"):
        fresh_control_plane(folder=tmp_path / "kept", flags=broken)
    assert "unknown flag" in (tmp_path / "kept/kube-apiserver.log").read_text()
    with pytest.raises(LocalError, match=r"kept is not empty: name a new one for a new control plane$"):
        fresh_control_plane(folder=tmp_path / "kept")


def test_jobs_run_and_end_with_the_controllers_kube_scheduler_and_pretend_kubelets(fresh_control_plane: Start) -> None:
    running = fresh_control_plane(controller_manager=True, scheduler=True, kwok=True)
    create(running, node_manifest("n1"))
    container = {"name": "main", "image": "train", "resources": {"limits": {"nvidia.com/gpu": "4"}}}
    template = {
        "metadata": {"annotations": {"phalanx.dev/expected-runtime": "1s"}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    spec = {"parallelism": 2, "completions": 2, "template": template}
    create(running, {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train"}, "spec": spec})

    running.kubectl("wait", "--for=condition=Complete", "job/train", "--timeout=60s")

    pods = json.loads(running.kubectl("get", "pods", "-o", "json"))["items"]
    assert [(pod["spec"]["nodeName"], pod["status"]["phase"]) for pod in pods] == [("n1", "Succeeded")] * 2


_OWNER = """
import json, sys, time
from phalanx.kube.local import ControlPlane
with ControlPlane(controller_manager=False) as running:
    keeper = running._processes._keeper.pid
    print(json.dumps({"keeper": keeper, "pids": list(running.pids.values()), "folder": str(running.ca.parent)}))
    sys.stdout.flush()
    time.sleep(600)
"""


@pytest.mark.parametrize("also_the_keeper", [False, True])
@pytest.mark.usefixtures("control_plane")
def test_nothing_survives_when_its_owner_is_killed(
    also_the_keeper: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The keeper ends the processes and removes the folder; without it the kernel and the next start do."""
    owner = subprocess.Popen(
        [sys.executable, "-c", _OWNER], env=os.environ | {"TMPDIR": str(tmp_path)}, stdout=subprocess.PIPE
    )
    with owner:
        assert owner.stdout
        started = json.loads(owner.stdout.readline())
        assert all(alive(pid) for pid in started["pids"])
        assert Path(started["folder"]).parent == tmp_path
        if also_the_keeper:
            os.kill(started["keeper"], signal.SIGKILL)
        owner.kill()

    until(lambda: not any(alive(pid) for pid in [*started["pids"], started["keeper"]]))
    if also_the_keeper:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        sweep()
    assert list(tmp_path.iterdir()) == []


def create(running: ControlPlane, manifest: dict[str, object]) -> None:
    running.kubectl("create", "-f", "-", stdin=json.dumps(manifest))


def alive(pid: int) -> bool:
    """A zombie has ended: only its new parent has not looked yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def until(holds: Callable[[], bool]) -> None:
    """Wait for something that must come; the test's own time limit is the only one."""
    while not holds():
        time.sleep(0.05)
