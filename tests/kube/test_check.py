"""`phalanx check` says of each thing how it is, and for each thing that is wrong the one line that mends it."""

import asyncio
import base64
import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import yaml

from phalanx.cli.checking import table
from phalanx.cli.main import main
from phalanx.kube.clock import Clock, micro_stamp
from phalanx.kube.doctor.examine import examine
from phalanx.kube.doctor.finding import Finding, Mark
from phalanx.kube.doctor.grant import grant, role
from phalanx.kube.doctor.rights import Right, needed
from phalanx.kube.doctor.wish import Wish
from phalanx.kube.install import Installation, Values, objects
from phalanx.kube.installation.values import Admission
from phalanx.kube.local import ControlPlane, certificates
from phalanx.kube.local.nodes import node_manifest
from phalanx.kube.queue_crd import queue_crd
from phalanx.testing.control_plane import need_binaries
from phalanx.testing.objects import create_all, gang_manifests, pod_manifest
from phalanx.testing.running import Scheduler, eventually, places
from tests.kube.served import served

pytestmark = pytest.mark.slow

RENEW = "get a kubeconfig with fresh credentials, as from `kubeadm kubeconfig user` or your cloud's login command"
HOME = ("phalanx-system", "phalanx")
RIGHTS = needed(Wish())
FREE = "phalanx-system/phalanx is free: nobody ever held it"
DEFINE = "phalanx install --print --crds-only | kubectl apply -f -"
ADMIT = "install with --admission (the chart: --set admission.enabled=true)"
_WORKLOADS = "absent   Workload               scheduling.k8s.io/v1alpha1: not served, and not needed"
_VERSIONS = "scheduling.k8s.io/v1beta1, scheduling.k8s.io/v1alpha3, scheduling.k8s.io/v1alpha2"
GROUPS = {
    "1.35": (
        "ok       Workload               read as scheduling.k8s.io/v1alpha1",
        f"absent   PodGroup               {_VERSIONS}: not served, and not needed",
    ),
    "1.36": (_WORKLOADS, "ok       PodGroup               read as scheduling.k8s.io/v1alpha2"),
    "1.37": (_WORKLOADS, "ok       PodGroup               read as scheduling.k8s.io/v1beta1"),
}


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    need_binaries()
    with ControlPlane(controller_manager=False) as running:
        running.kubectl("create", "namespace", HOME[0])
        yield running


def look(kubeconfig: Path, clock: Clock | None = None, **wish: Any) -> list[Finding]:
    return asyncio.run(examine(Wish(str(kubeconfig), port=0, **wish), clock))


def wrong(findings: list[Finding]) -> list[tuple[Mark, str, str, str | None]]:
    return [(one.mark, one.about, one.says, one.remedy) for one in findings if one.wrong]


def marks(findings: list[Finding]) -> dict[str, str]:
    """Return how each thing is, the kinds left out."""
    return {one.about: one.mark.value for one in findings if one.about.islower()}


def granted(plane: ControlPlane, user: str) -> Path:
    plane.kubectl("apply", "-f", "-", stdin=grant(user, Wish()))
    kubeconfig = plane.user(user)
    eventually(f"{user} has his rights", lambda: marks(look(kubeconfig))["rights"] == "ok")
    return kubeconfig


def kubeconfig_text(server: str, user: dict[str, str], cluster: dict[str, str] | None = None) -> str:
    """Return a kubeconfig; JSON is YAML too."""
    return json.dumps({
        "clusters": [{"name": "c", "cluster": {"server": server, **(cluster or {})}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    })  # fmt: skip


def authority(plane: ControlPlane) -> dict[str, str]:
    return {"certificate-authority-data": base64.b64encode(plane.ca.read_bytes()).decode()}


@contextmanager
def defined(plane: ControlPlane, definition: dict[str, Any]) -> Iterator[None]:
    """Have Queues as this says, for a while."""
    plane.kubectl("apply", "-f", "-", stdin=json.dumps(definition))
    version = definition["spec"]["versions"][0]["name"]
    path = f"/openapi/v3/apis/scheduling.phalanx.dev/{version}"
    eventually(
        "it is described", lambda: path.removeprefix("/openapi/v3/") in plane.kubectl("get", "--raw", "/openapi/v3")
    )
    try:
        yield
    finally:
        plane.kubectl("delete", "crd", definition["metadata"]["name"])
        eventually("it is gone", lambda: "phalanx.dev" not in plane.kubectl("get", "--raw", "/apis"))


def test_an_administrator_on_a_fresh_cluster_sees_the_table_of_the_page_and_nothing_wrong(
    plane: ControlPlane, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "150")
    assert main(["check", "--kubeconfig", str(plane.kubeconfig), "--port", "0"]) == 0
    version = json.loads(plane.kubectl("get", "--raw", "/version"))["gitVersion"]
    page = (
        dedent(Path("docs/check.md").read_text("utf-8")).partition("administrator:\n\n")[2].partition("\n\n| mark")[0]
    )
    told = dedent(page)
    for there, here in (
        ("https://10.0.0.1:6443 is Kubernetes v1.36.4", f"{plane.url} is Kubernetes {version}"),
        ("its namespace phalanx-system does not exist yet; phalanx run makes it", FREE),
        ("port 10261", "any free port"),
        *zip(GROUPS["1.36"], GROUPS[plane.version], strict=True),
    ):
        assert there in told
        told = told.replace(there, here)
    assert capsys.readouterr().out == f"{told}\n"


def test_whoever_has_just_the_printed_rights_is_healthy_with_queues_defined_and_programs_read_the_same(
    plane: ControlPlane, capsys: pytest.CaptureFixture[str]
) -> None:
    kubeconfig = granted(plane, "healthy")
    with defined(plane, queue_crd()):
        assert main(["check", "--kubeconfig", str(kubeconfig), "--port", "0", "-o", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["healthy"] is True
    found = {one["about"]: one for one in document["findings"] if one["about"].islower()}
    assert {about: one["mark"] for about, one in found.items()} == {
        "server": "ok", "clock": "ok", "identity": "ok", "rights": "ok", "lease": "ok", "others": "ok", "queues": "ok",
        "admission": "skipped", "policy": "ok", "port": "ok",
    }  # fmt: skip
    assert found["queues"] == {
        "about": "queues", "mark": "ok", "remedy": None,
        "says": "queues.scheduling.phalanx.dev is defined as this Phalanx reads it, in v1alpha1",
    }  # fmt: skip


def test_without_a_server_everything_that_rests_on_it_is_skipped(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        server = f"https://127.0.0.1:{taken.getsockname()[1]}"
        kubeconfig = tmp_path / "config"
        kubeconfig.write_text(kubeconfig_text(server, {}))
        found = look(kubeconfig)
    assert "\n".join(table(found, 120)) == dedent(f"""\
        FAILED   server     {server}: connection refused
                            to mend it: start the API server, or name another cluster with --kubeconfig and --context
        skipped  clock      see server
        skipped  identity   see server
        skipped  rights     see server
        skipped  kinds      see server
        skipped  lease      see server
        skipped  others     see server
        skipped  queues     see server
        skipped  admission  see server
        ok       policy     default: schedules pods whose schedulerName is phalanx
        ok       port       127.0.0.1, any free port: free, for /healthz, /readyz, /metrics

        1 failed, 8 skipped.""")


def test_a_certificate_that_expired_is_named_with_its_date(
    plane: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certificates, "_UNTIL", datetime(2021, 1, 1, tzinfo=UTC))
    kubeconfig = plane.user("late")
    found = look(kubeconfig)
    says = f"kubeconfig {kubeconfig}: user 'late': its client certificate expired at 2021-01-01T00:00:00Z"
    assert wrong(found) == [(Mark.FAILED, "identity", says, RENEW)]
    assert marks(found)["rights"] == "skipped"


def test_a_server_that_is_not_trusted_is_told_with_what_is_missing_in_the_kubeconfig(
    plane: ControlPlane, tmp_path: Path
) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(kubeconfig_text(plane.url, {}))
    says = f"{plane.url}: its certificate is not trusted: unable to get local issuer certificate"
    remedy = "give the certificate of its authority in the kubeconfig, as certificate-authority of the cluster"
    assert wrong(look(kubeconfig)) == [(Mark.FAILED, "server", says, remedy)]


def test_nobody_without_credentials_is_let_in(plane: ControlPlane, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(kubeconfig_text(plane.url, {}, authority(plane)))
    says = "the server takes us for anybody: no credentials were shown"
    assert wrong(look(kubeconfig)) == [(Mark.FAILED, "identity", says, RENEW)]


def test_a_token_without_rights_gets_the_one_line_that_gives_them(plane: ControlPlane, tmp_path: Path) -> None:
    """The line is carried out as it stands, and mends it."""
    plane.kubectl("create", "serviceaccount", "poor")
    token = plane.kubectl("create", "token", "poor").strip()
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(kubeconfig_text(plane.url, {"token": token}, authority(plane)))
    found = look(kubeconfig)
    user = "system:serviceaccount:default:poor"
    says = f"{user} has none of the rights that a scheduler needs; an administrator can give them"
    remedy = f"phalanx check --grant {user} | kubectl apply -f -"
    assert wrong(found) == [(Mark.FAILED, "rights", says, remedy)]
    assert (marks(found)["lease"], marks(found)["others"]) == ("skipped", "skipped")
    command, _, kubectl = remedy.partition(" | kubectl ")
    printed = subprocess.run([sys.executable, "-m", *command.split()], capture_output=True, text=True, check=True)
    plane.kubectl(*kubectl.split(), stdin=printed.stdout)
    eventually("it is mended", lambda: wrong(look(kubeconfig)) == [])


@pytest.fixture(scope="module")
def deprived(plane: ControlPlane) -> dict[Right, Path]:
    """Return a user for each right, who has all the others."""
    objects: list[dict[str, Any]] = []
    for number, right in enumerate(RIGHTS):
        for namespace in ("", HOME[0]):
            left = [one for one in RIGHTS if one.namespace == namespace and one != right]
            objects += role(f"without-{number}", namespace, left)
    create_all(plane.kubeconfig, objects)
    users = {right: plane.user(f"without-{number}") for number, right in enumerate(RIGHTS)}
    last = f"without-{len(RIGHTS) - 1} may not {RIGHTS[-1]};"
    eventually("rights have arrived", lambda: any(one.says.startswith(last) for one in look(users[RIGHTS[-1]])))
    return users


@pytest.mark.parametrize("right", RIGHTS, ids=str)
def test_each_right_that_is_missing_is_named(plane: ControlPlane, deprived: dict[Right, Path], right: Right) -> None:
    del plane
    user = f"without-{RIGHTS.index(right)}"
    remedy = f"phalanx check --grant {user} | kubectl apply -f -"
    says = f"{user} may not {right}; an administrator can give it"
    assert wrong(look(deprived[right])) == [(Mark.FAILED, "rights", says, remedy)]


def test_queues_of_an_older_definition_are_told_by_the_fields_that_get_lost(plane: ControlPlane) -> None:
    older = deepcopy(queue_crd())
    schema = older["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    del schema["properties"]["spec"]["properties"]["consolidation"]
    name = "queues.scheduling.phalanx.dev"
    says = f"{name} is older than this Phalanx: the API server drops spec.consolidation without a word"
    with defined(plane, older):
        assert wrong(look(plane.kubeconfig)) == [(Mark.FAILED, "queues", says, DEFINE)]


def test_queues_of_another_version_do_not_count(plane: ControlPlane) -> None:
    older = deepcopy(queue_crd())
    older["spec"]["versions"][0]["name"] = "v1alpha0"
    with defined(plane, older):
        found = look(plane.kubeconfig)
    says = "queues.scheduling.phalanx.dev is served as v1alpha0, and read as v1alpha1: no Queue counts"
    assert wrong(found) == [(Mark.FAILED, "queues", says, DEFINE)]


def test_admission_policies_are_in_force_when_each_has_its_binding(plane: ControlPlane) -> None:
    # Kubernetes 1.35 has no policies that change objects.
    changing = plane.version != "1.35"
    values = Values(admission=Admission(enabled=True, defaults=changing))
    ours = [one for one in objects(Installation(values=values)) if "AdmissionPolicy" in one["kind"]]
    loose = "bound.phalanx.phalanx-system.phalanx.dev"
    says = "namespace ml: labelled phalanx.dev/scheduler-name=phalanx, and no policy gives that to its pods"
    remedy = "install with admission.defaults (Kubernetes 1.36 and newer), or name it in the pods"
    lonely = [(Mark.WARNING, "admission", says, remedy)]
    plane.kubectl("create", "namespace", "ml")
    plane.kubectl("label", "namespace", "ml", "phalanx.dev/scheduler-name=phalanx")
    assert wrong(look(plane.kubeconfig)) == lonely
    plane.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(ours))
    try:
        if not changing:
            assert wrong(look(plane.kubeconfig)) == lonely
            plane.kubectl("label", "namespace", "ml", "phalanx.dev/scheduler-name-")
        plane.kubectl("create", "serviceaccount", HOME[1], "-n", HOME[0])
        found = [one.says for one in look(plane.kubeconfig) if one.about == "admission"]
        plane.kubectl("delete", "serviceaccount", HOME[1], "-n", HOME[0])
        removed = wrong(look(plane.kubeconfig))
        plane.kubectl("delete", "validatingadmissionpolicybinding", loose)
        without = look(plane.kubeconfig)
    finally:
        plane.kubectl("delete", "--ignore-not-found", "-f", "-", stdin=yaml.safe_dump_all(ours))
        plane.kubectl("label", "namespace", "ml", "phalanx.dev/scheduler-name-")
    more = "defaults, " if changing else ""
    assert found == [f"in force: bound, {more}keys, namespaces, queues, queues-of-made-pods, queues-of-pods"]
    left = "defaults.phalanx.phalanx-system.phalanx.dev"
    says = f"{left}: left over, the scheduler that it is for is not installed any more"
    remedy = f"kubectl delete mutatingadmissionpolicy,mutatingadmissionpolicybinding {left}"
    assert removed == ([(Mark.WARNING, "admission", says, remedy)] if changing else [])
    assert wrong(without) == [(Mark.WARNING, "admission", f"{loose}: not in force, nothing binds it", ADMIT)]


def test_a_lease_that_another_holds_is_told_and_one_that_ran_out_is_free(plane: ControlPlane) -> None:
    def held(name: str, renewed: float) -> dict[str, Any]:
        spec = {"holderIdentity": "gpu-master_1", "leaseDurationSeconds": 15, "renewTime": micro_stamp(renewed)}
        metadata = {"name": name, "namespace": HOME[0]}
        return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}

    create_all(plane.kubeconfig, [held("new", Clock().now()), held("old", 1_700_000_000.0)])
    says = (
        "phalanx-system/new is held by gpu-master_1: "
        "another phalanx run follows it, and decides only when that one ends"
    )
    remedy = "nothing if this is to be a replica of it; else give --lease-name and schedulerNames of its own"
    assert wrong(look(plane.kubeconfig, lease=(HOME[0], "new"))) == [(Mark.WARNING, "lease", says, remedy)]
    ended = look(plane.kubeconfig, lease=(HOME[0], "old"))
    assert [one.says for one in ended if one.about == "lease"] == [
        "phalanx-system/old ran out: gpu-master_1 renewed it last at 2023-11-14T22:13:20.000000Z and is gone"
    ]


def test_a_namespace_that_is_missing_and_may_not_be_made_has_its_line(plane: ControlPlane) -> None:
    home = ("nowhere", "phalanx")
    assert [one.says for one in look(plane.kubeconfig, lease=home) if one.about == "lease"] == [
        "its namespace nowhere does not exist yet; phalanx run makes it"
    ]
    everywhere = [Right(one.group, one.resource, one.verb) for one in needed(Wish(lease=home))]
    create_all(plane.kubeconfig, role("homeless", "", everywhere))
    kubeconfig = plane.user("homeless")
    says = "its namespace nowhere does not exist, and we may not make it"
    expected = [(Mark.FAILED, "lease", says, "kubectl create namespace nowhere")]
    eventually("he has his rights", lambda: wrong(look(kubeconfig, lease=home)) == expected)


def test_a_port_that_is_taken_is_told(plane: ControlPlane) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        found = asyncio.run(examine(Wish(str(plane.kubeconfig), port=port)))
    says = f"--address and --port: 127.0.0.1:{port}: address already in use"
    remedy = "stop what listens there, or give another with --port (0 takes any free one)"
    assert wrong(found) == [(Mark.FAILED, "port", says, remedy)]


def test_a_port_that_a_scheduler_of_ours_has_is_no_failure(plane: ControlPlane) -> None:
    async def both() -> tuple[int, list[Finding]]:
        async def figures(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b'HTTP/1.1 200 OK\r\n\r\nphalanx_build_info{version="0.1.0"} 1.0\n')
            writer.close()

        async with await asyncio.start_server(figures, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            return port, await examine(Wish(str(plane.kubeconfig), port=port))

    port, found = asyncio.run(both())
    says = f"127.0.0.1, port {port}: a phalanx run on this machine has it"
    remedy = "nothing, if that one is meant; a second one here needs another --port (0: any)"
    assert wrong(found) == [(Mark.WARNING, "port", says, remedy)]


class Late(Clock):
    """A clock that nobody set."""

    def now(self) -> float:
        return super().now() - 90.0


def test_a_clock_that_is_wrong_is_told(plane: ControlPlane) -> None:
    [(mark, about, says, remedy)] = wrong(look(plane.kubeconfig, Late()))
    assert (mark, about, remedy) == (
        Mark.WARNING, "clock", "set this machine's clock by the network: timedatectl set-ntp true",
    )  # fmt: skip
    assert re.fullmatch(
        r"(8[89]|9[01]) s behind the API server's, which says \S+Z: "
        "timeouts and waiting times of gangs are off by as much",
        says,
    )


def test_another_phalanx_with_the_same_scheduler_name_and_another_lease_is_told(plane: ControlPlane) -> None:
    policy = {"policy.yaml": "extends: default\nschedulerNames: [blue, phalanx]\n"}
    options = ["run", "--policy-config-map=default/theirs", "--lease-namespace=default", "--lease-name", "blue"]
    create_all(plane.kubeconfig, [
        {
            "apiVersion": "v1", "kind": "ConfigMap", "data": policy,
            "metadata": {"name": "theirs", "namespace": "default"},
        },
        {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "theirs", "namespace": "default", "labels": {"app.kubernetes.io/part-of": "phalanx"}},
            "spec": {"containers": [{"name": "phalanx", "image": "phalanx", "args": options}]},
        },
    ])  # fmt: skip
    try:
        found = look(plane.kubeconfig)
        replica = look(plane.kubeconfig, lease=("default", "blue"))
    finally:
        plane.kubectl("delete", "pod", "theirs", "--grace-period=0", "--force")
    says = "another Phalanx in default serves phalanx under the lease default/blue: both would bind"
    remedy = "share its lease, so that one decides: --lease-namespace default --lease-name blue"
    assert wrong(found) == [(Mark.FAILED, "others", says, remedy)]
    assert wrong(replica) == []


def test_another_scheduler_that_writes_on_pods_of_ours_is_told_until_we_wrote_after_it(plane: ControlPlane) -> None:
    create_all(plane.kubeconfig, [pod_manifest("contested", namespace="default")])

    def write(manager: str, message: str) -> None:
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
        plane.kubectl(
            "patch", "pod", "contested", "--subresource=status", f"--field-manager={manager}",
            "-p", json.dumps({"status": {"conditions": [condition]}}),
        )  # fmt: skip

    try:
        write("kube-scheduler", "no room")
        found = look(plane.kubeconfig)
        time.sleep(1.1)
        write("phalanx", "no room for a gang")
        after = look(plane.kubeconfig)
    finally:
        plane.kubectl("delete", "pod", "contested", "--grace-period=0", "--force")
    [(mark, about, says, remedy)] = wrong(found)
    assert (mark, about) == (Mark.WARNING, "others")
    assert re.fullmatch(
        r"kube-scheduler said at \S+Z why pod default/contested waits, which is for phalanx: "
        "two who bind get in each other's way",
        says,
    )
    assert remedy == "take phalanx out of that one's configuration, or another name into the policy's schedulerNames"
    assert wrong(after) == []


def test_another_scheduler_that_bound_a_pod_of_ours_is_known_by_its_event(plane: ControlPlane) -> None:
    """Its component is the name of the scheduler, which is ours; its instance is not."""
    create_all(plane.kubeconfig, [pod_manifest("taken", node="n9")])
    uid = plane.kubectl("get", "pod", "taken", "-o", "jsonpath={.metadata.uid}")

    def tell(instance: str) -> None:
        create_all(plane.kubeconfig, [{
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": "taken.1", "namespace": "default"},
            "involvedObject": {"kind": "Pod", "name": "taken", "namespace": "default", "uid": uid},
            "reason": "Scheduled", "action": "Binding", "type": "Normal", "message": "Successfully assigned",
            "eventTime": micro_stamp(Clock().now()), "reportingComponent": "phalanx", "reportingInstance": instance,
        }])  # fmt: skip

    try:
        tell("master_2f1b6c7e-0a3d-4c57-9d1c-6f0a2b8e4d11")
        ours = wrong(look(plane.kubeconfig))
        plane.kubectl("delete", "event", "taken.1")
        tell("phalanx-master")
        [(mark, about, says, _)] = wrong(look(plane.kubeconfig))
    finally:
        plane.kubectl("delete", "pod", "taken", "--grace-period=0", "--force")
        plane.kubectl("delete", "event", "taken.1")
    assert ours == []
    assert (mark, about) == (Mark.WARNING, "others")
    assert says.startswith("a scheduler called phalanx-master bound pod default/taken at ")


def test_run_says_every_missing_right_in_one_line_and_goes_on_once_they_are_given(
    plane: ControlPlane, tmp_path: Path
) -> None:
    create_all(plane.kubeconfig, [node_manifest("n1"), *gang_manifests("g", 4)])
    scheduler = Scheduler(plane.user("newcomer"), tmp_path / "log")
    remedy = "phalanx check --grant newcomer | kubectl apply -f -"
    try:
        eventually("it is told", lambda: "rights-missing" in scheduler.log.read_text(), scheduler.log)
        assert scheduler.log.read_text().count("rights-missing") == 1
        assert f'remedy="{remedy}"' in scheduler.log.read_text()
        assert "newcomer has none of the rights" in scheduler.log.read_text()
        assert served(scheduler.log, "/readyz")[0] == 503
        plane.kubectl("apply", "-f", "-", stdin=grant("newcomer", Wish()))
        eventually("the gang is bound", lambda: len(places(plane, "g-")) == 4, scheduler.log)
        eventually("it is told", lambda: "rights-granted" in scheduler.log.read_text(), scheduler.log)
        assert scheduler.log.read_text().count("rights-missing") == 1
        eventually("it is ready", lambda: served(scheduler.log, "/readyz") == (200, "ok\n"), scheduler.log)
    finally:
        assert scheduler.stop() == 0
